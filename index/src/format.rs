//! The header of every index file: magic, version, kind, length, facts and a table of sections, all checksummed.
//!
//! All numbers are little-endian. The header takes the first 1,024 bytes; sections follow, each aligned to 64 bytes, with
//! zeros between them.

use std::path::Path;

use crate::error::{Error, REBUILD, Result};

/// The version of the format that this crate writes and reads.
pub const VERSION: u32 = 1;

/// Free numbers in the header: what they mean is the matter of each kind of file.
pub const FACTS: usize = 10;

/// Bytes of the header.
pub(crate) const HEADER: usize = 1024;

/// Every section begins at a multiple of this: a cache line, and more than any number needs.
pub(crate) const ALIGN: u64 = 64;

const MAGIC: [u8; 8] = *b"citree\x1a\n";
const TABLE: usize = 128;
const ENTRY: usize = 32;
const SLOTS: usize = 27;
const OTHER_VERSION: &str = "build the index again with this program, or use the program that built it";

/// A section as the table describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) tag: u32,
    pub(crate) dtype: u32,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) crc: u32,
}

/// The header as bytes.
pub(crate) fn encode(kind: u32, length: u64, facts: [u64; FACTS], entries: &[Entry]) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(&MAGIC);
    [VERSION, kind, entries.len() as u32, 0].iter().for_each(|number| header.extend(number.to_le_bytes()));
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

/// Reads a header and checks it against itself and the file's length; nothing of the sections is looked at.
pub(crate) fn decode(path: &Path, header: &[u8], kind: u32, length: u64) -> Result<([u64; FACTS], Vec<Entry>)> {
    let small = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap_or_default());
    let large = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap_or_default());
    if !header.starts_with(&MAGIC) {
        let found = header[..header.len().min(8)].to_vec();
        return Err(Error::Foreign { path: path.to_owned(), expected: MAGIC, found, remedy: REBUILD });
    }
    if header.len() < HEADER {
        let (expected, found) = (HEADER as u64, header.len() as u64);
        return Err(Error::Length { path: path.to_owned(), expected, found, remedy: REBUILD });
    }
    let crc = crc32c::crc32c(&header[..HEADER - 4]);
    // The version is looked at before the checksum: another version may keep its checksum elsewhere.
    if small(8) != VERSION {
        let (expected, found) = (VERSION, small(8));
        return Err(Error::Version { path: path.to_owned(), expected, found, remedy: OTHER_VERSION });
    }
    if crc != small(HEADER - 4) {
        let (expected, found) = (format!("{:08x}", small(HEADER - 4)), format!("{crc:08x}"));
        return Err(damaged(path, "the checksum of the header", expected, found));
    }
    if small(12) != kind {
        return Err(damaged(path, "the kind of file", kind, small(12)));
    }
    if large(24) != length {
        return Err(Error::Length { path: path.to_owned(), expected: large(24), found: length, remedy: REBUILD });
    }
    let count = small(16) as usize;
    if count > SLOTS {
        return Err(damaged(path, "the number of sections", format!("at most {SLOTS}"), count));
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
            damaged(
                path,
                format!("section {}", entry.tag),
                "in order and inside the file",
                format!("at {}", entry.offset),
            )
        })?;
        entries.push(entry);
    }
    if end != length {
        return Err(damaged(path, "the end of the last section", length, end));
    }
    Ok((facts, entries))
}

pub(crate) fn damaged(path: &Path, what: impl ToString, expected: impl ToString, found: impl ToString) -> Error {
    Error::Damaged {
        path: path.to_owned(),
        what: what.to_string(),
        expected: expected.to_string(),
        found: found.to_string(),
        remedy: REBUILD,
    }
}
