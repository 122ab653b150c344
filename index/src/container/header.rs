//! The header of a container: magic, version, kind, length, facts and a table of sections, under one checksum.
//!
//! All numbers are little-endian. The header takes the first 1,024 bytes. Sections follow, each aligned to 64 bytes, with
//! zeros between them.

use std::{ops::Range, path::Path};

use super::seal::LARGE;
use crate::error::{Error, Result};

/// The newest version of the format that this crate writes and reads. All versions lay files out alike. The manifest of an
/// index with contrast records has version 2, and that of an index of several segments or with removed records version 3,
/// so that a program of an older version refuses it instead of ignoring them.
pub const VERSION: u32 = 3;

/// The oldest version that this crate reads, and the one that it writes where nothing newer is used.
pub const OLDEST: u32 = 1;

/// Numbers of metadata in the header. The kind of the file says what they mean.
pub const FACTS: usize = 10;

/// Bytes of the header.
pub(super) const HEADER: usize = 1024;

/// Every section begins at a multiple of this: a cache line, and at least the alignment of every number type.
pub(super) const ALIGN: u64 = 64;

const MAGIC: [u8; 8] = *b"citree\x1a\n";
const TABLE: usize = 128;
const ENTRY: usize = 32;
/// Sections that the table has room for.
pub(super) const SLOTS: usize = 27;

/// The tag of the section with the checksums of the pages of large sections. Files of earlier versions of this program have
/// none, and earlier versions ignore it.
pub(super) const PAGES: u32 = u32::MAX;

/// What errors about a file advise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remedies {
    /// Against a damaged file.
    pub(crate) damage: &'static str,
    /// Against a file of another version.
    pub(crate) version: &'static str,
}

/// Advice about a file whose purpose is unknown.
pub(super) const FILE: Remedies = Remedies {
    damage: "write the file again, or restore it from a copy",
    version: "write the file again with this program, or use the program that wrote it",
};

/// A section as the table describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) tag: u32,
    pub(super) dtype: u32,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) crc: u32,
}

impl Entry {
    /// The bytes of the file that the section has.
    pub(super) fn place(&self) -> Range<usize> {
        self.offset as usize..(self.offset + self.length) as usize
    }

    /// Whether its pages have checksums, in a file that has any.
    pub(super) fn has_pages(&self) -> bool {
        self.tag != PAGES && self.length >= LARGE
    }
}

/// The header as bytes.
pub(super) fn encode(version: u32, kind: u32, length: u64, facts: [u64; FACTS], entries: &[Entry]) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(&MAGIC);
    [version, kind, entries.len() as u32, 0].iter().for_each(|number| header.extend(number.to_le_bytes()));
    header.extend(length.to_le_bytes());
    facts.iter().for_each(|fact| header.extend(fact.to_le_bytes()));
    header.resize(TABLE, 0);
    for entry in entries {
        [entry.tag, entry.dtype].iter().for_each(|number| header.extend(number.to_le_bytes()));
        [entry.offset, entry.length].iter().for_each(|number| header.extend(number.to_le_bytes()));
        [entry.crc, 0].iter().for_each(|number| header.extend(number.to_le_bytes()));
    }
    header.resize(HEADER - 4, 0);
    header.extend(crc32c::crc32c(&header).to_le_bytes());
    header
}

/// Reads a header and checks it against itself and the length of the file. Returns its version, facts and table. The
/// sections are not read.
pub(super) fn decode(
    path: &Path,
    header: &[u8],
    kind: u32,
    length: u64,
    remedies: Remedies,
) -> Result<(u32, [u64; FACTS], Vec<Entry>)> {
    let (remedy, path_of) = (remedies.damage, || path.to_owned());
    let damaged = |what: &str, expected: String, found: String| damaged(path, what, expected, found, remedies);
    let small = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap_or_default());
    let large = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap_or_default());
    if !header.starts_with(&MAGIC) {
        let found = header[..header.len().min(8)].to_vec();
        return Err(Error::Foreign { path: path_of(), expected: MAGIC, found, remedy });
    }
    if header.len() < HEADER {
        let (expected, found) = (HEADER as u64, header.len() as u64);
        return Err(Error::Length { path: path_of(), expected, found, remedy });
    }
    let crc = crc32c::crc32c(&header[..HEADER - 4]);
    // The version comes before the checksum: another version may store its checksum elsewhere.
    if !(OLDEST..=VERSION).contains(&small(8)) {
        let (expected, found) = (VERSION, small(8));
        return Err(Error::Version { path: path_of(), expected, found, remedy: remedies.version });
    }
    if crc != small(HEADER - 4) {
        let (expected, found) = (format!("{:08x}", small(HEADER - 4)), format!("{crc:08x}"));
        return Err(damaged("the checksum of the header", expected, found));
    }
    if small(12) != kind {
        return Err(damaged("the kind of file", kind.to_string(), small(12).to_string()));
    }
    if large(24) != length {
        return Err(Error::Length { path: path_of(), expected: large(24), found: length, remedy });
    }
    let count = small(16) as usize;
    if count > SLOTS {
        return Err(damaged("the number of sections", format!("at most {SLOTS}"), count.to_string()));
    }
    let facts = std::array::from_fn(|i| large(32 + 8 * i));
    let mut end = HEADER as u64;
    let mut entries = Vec::with_capacity(count);
    for at in (0..count).map(|i| TABLE + ENTRY * i) {
        let entry = Entry {
            tag: small(at),
            dtype: small(at + 4),
            offset: large(at + 8),
            length: large(at + 16),
            crc: small(at + 24),
        };
        let follows = entry.offset >= end && entry.offset.is_multiple_of(ALIGN);
        end = entry.offset.checked_add(entry.length).filter(|end| follows && *end <= length).ok_or_else(|| {
            let (what, found) = (format!("section {}", entry.tag), format!("at {}", entry.offset));
            damaged(&what, "in order and inside the file".to_string(), found)
        })?;
        entries.push(entry);
    }
    if end != length {
        return Err(damaged("the end of the last section", length.to_string(), end.to_string()));
    }
    Ok((small(8), facts, entries))
}

/// An [`Error::Damaged`] with the advice for this file.
pub(super) fn damaged(
    path: &Path,
    what: impl ToString,
    expected: impl ToString,
    found: impl ToString,
    remedies: Remedies,
) -> Error {
    Error::Damaged {
        path: path.to_owned(),
        what: what.to_string(),
        expected: expected.to_string(),
        found: found.to_string(),
        remedy: remedies.damage,
    }
}
