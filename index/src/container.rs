//! The container that every mapped file of a bundle is, as a writer and a mapped reader of sections.
//!
//! Opening looks at the header alone, so that it costs the same for any number of rows; checksums of the sections are
//! for [`Sections::check`].

use std::{
    fs::{File, OpenOptions},
    io::{BufWriter, Read, Seek, SeekFrom, Write},
    path::PathBuf,
};

use rayon::prelude::*;

use crate::{
    error::{Error, IoContext, REBUILD, Result},
    format::{ALIGN, Entry, FACTS, HEADER, damaged, decode, encode},
    map::{Map, Plain, View, bytes_of},
};

/// Writes a container: sections in any number, each at once, in pieces, or at known places.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    kind: u32,
    file: BufWriter<File>,
    entries: Vec<Entry>,
    end: u64,
    at: u64,
}

impl Writer {
    /// A new file, which must not exist; `kind` says what its sections are.
    pub fn create(path: PathBuf, kind: u32) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).at("create", &path)?;
        Ok(Self {
            path,
            kind,
            file: BufWriter::with_capacity(1 << 20, file),
            entries: Vec::new(),
            end: HEADER as u64,
            at: 0,
        })
    }

    /// Sets room aside for a section whose values come in any order; what is never written stays zero.
    pub fn reserve<T: Plain>(&mut self, tag: u32, count: u64) -> Result<u64> {
        let length = count
            .checked_mul(size_of::<T>() as u64)
            .filter(|length| *length < 1 << 56)
            .ok_or_else(|| Error::input("the size of a section", "fewer than 2^56 bytes", format!("{count} values")))?;
        let offset = self.end.next_multiple_of(ALIGN);
        self.entries.push(Entry { tag, dtype: T::CODE, offset, length, crc: 0 });
        self.end = offset + length;
        self.file.flush().at("write", &self.path)?;
        self.file.get_ref().set_len(self.end).at("extend", &self.path)?;
        Ok(offset)
    }

    /// Writes values into a reserved section.
    pub fn write_at<T: Plain>(&mut self, offset: u64, values: &[T]) -> Result<()> {
        // Seeking flushes the buffer even when it need not move: values that follow each other stay buffered.
        if self.at != offset {
            self.file.seek(SeekFrom::Start(offset)).at("seek in", &self.path)?;
        }
        self.at = offset + size_of_val(values) as u64;
        self.file.write_all(bytes_of(values)).at("write", &self.path)
    }

    /// Writes a whole section.
    pub fn section<T: Plain>(&mut self, tag: u32, values: &[T]) -> Result<()> {
        let offset = self.reserve::<T>(tag, values.len() as u64)?;
        self.write_at(offset, values)
    }

    /// Starts a section of unknown length; [`Writer::push`] adds to it until the next section begins.
    pub fn start<T: Plain>(&mut self, tag: u32) -> Result<()> {
        self.reserve::<T>(tag, 0).map(drop)
    }

    /// Adds values to the section that [`Writer::start`] began.
    pub fn push<T: Plain>(&mut self, values: &[T]) -> Result<()> {
        let end = self.end;
        self.write_at(end, values)?;
        if let Some(last) = self.entries.last_mut() {
            last.length += size_of_val(values) as u64;
            self.end = last.offset + last.length;
        }
        Ok(())
    }

    /// What was written so far, mapped, so that later sections can be computed from earlier ones without a copy.
    pub fn view<T: Plain>(&mut self, tag: u32) -> Result<View<T>> {
        self.file.flush().at("write", &self.path)?;
        let map = Map::of(self.file.get_ref()).at("map", &self.path)?;
        let entry = self.entries.iter().find(|entry| entry.tag == tag && entry.dtype == T::CODE);
        entry
            .and_then(|entry| map.view(entry.offset, entry.length))
            .ok_or_else(|| Error::input("a section to view", format!("section {tag}"), "none"))
    }

    /// Completes the file: checksums, header, and everything on the disk before it returns.
    pub fn finish(mut self, facts: [u64; FACTS]) -> Result<()> {
        self.file.flush().at("write", &self.path)?;
        self.file.get_ref().set_len(self.end).at("extend", &self.path)?;
        let map = Map::of(self.file.get_ref()).at("map", &self.path)?;
        for entry in &mut self.entries {
            entry.crc = checksum(map.bytes().get(entry.offset as usize..).unwrap_or_default(), entry.length as usize);
        }
        let header = encode(self.kind, self.end, facts, &self.entries);
        self.write_at(0, &header)?;
        self.file.flush().at("write", &self.path)?;
        self.file.get_ref().sync_all().at("save", &self.path)
    }
}

/// A container, mapped for reading.
#[derive(Debug)]
pub struct Sections {
    path: PathBuf,
    map: Map,
    facts: [u64; FACTS],
    entries: Vec<Entry>,
}

impl Sections {
    /// Maps a file of this kind; only its header is looked at.
    pub fn open(path: PathBuf, kind: u32) -> Result<Self> {
        let file = File::open(&path).at("open", &path)?;
        let mut header = Vec::with_capacity(HEADER);
        Read::take(&file, HEADER as u64).read_to_end(&mut header).at("read", &path)?;
        let length = file.metadata().at("read", &path)?.len();
        let (facts, entries) = decode(&path, &header, kind, length)?;
        let map = Map::of(&file).at("map", &path)?;
        if map.bytes().len() as u64 != length {
            let found = map.bytes().len() as u64;
            return Err(Error::Length { path, expected: length, found, remedy: REBUILD });
        }
        Ok(Self { path, map, facts, entries })
    }

    /// The free numbers of the header.
    pub fn facts(&self) -> [u64; FACTS] {
        self.facts
    }

    /// A section that must hold `parts[0] × parts[1] × …` values.
    pub fn view<T: Plain>(&self, tag: u32, parts: &[u64]) -> Result<View<T>> {
        let entry = self.entries.iter().find(|entry| entry.tag == tag);
        let entry = entry.ok_or_else(|| self.damaged(format!("section {tag}"), "present", "missing"))?;
        let length = parts.iter().try_fold(size_of::<T>() as u64, |length, &part| length.checked_mul(part));
        if length != Some(entry.length) || entry.dtype != T::CODE {
            let expected = format!("{parts:?} values of type {}", T::CODE);
            let found = format!("{} bytes of type {}", entry.length, entry.dtype);
            return Err(self.damaged(format!("section {tag}"), expected, found));
        }
        let view = self.map.view(entry.offset, entry.length);
        view.ok_or_else(|| self.damaged(format!("section {tag}"), "aligned and inside the file", entry.offset))
    }

    /// A section of any number of bytes.
    pub fn bytes(&self, tag: u32) -> Result<View<u8>> {
        let length = self.entries.iter().find(|entry| entry.tag == tag).map_or(0, |entry| entry.length);
        self.view(tag, &[length])
    }

    /// Reads the whole file and compares every checksum; bytes between sections must be zero.
    pub fn check(&self) -> Result<()> {
        let mut end = HEADER as u64;
        for entry in &self.entries {
            let bytes = self.map.bytes();
            let gap = bytes.get(end as usize..entry.offset as usize).unwrap_or_default();
            if let Some(byte) = gap.iter().find(|byte| **byte != 0) {
                return Err(self.damaged(format!("a byte before section {}", entry.tag), 0, byte));
            }
            let found = checksum(bytes.get(entry.offset as usize..).unwrap_or_default(), entry.length as usize);
            if found != entry.crc {
                let (expected, found) = (format!("{:08x}", entry.crc), format!("{found:08x}"));
                return Err(self.damaged(format!("the checksum of section {}", entry.tag), expected, found));
            }
            end = entry.offset + entry.length;
        }
        Ok(())
    }

    /// The error that this file is not what it should be.
    pub fn damaged(&self, what: impl ToString, expected: impl ToString, found: impl ToString) -> Error {
        damaged(&self.path, what, expected, found)
    }
}

/// CRC32C of the first `length` bytes, taken in parallel pieces.
fn checksum(bytes: &[u8], length: usize) -> u32 {
    const PIECE: usize = 1 << 22;
    let pieces: Vec<(u32, usize)> =
        bytes[..length.min(bytes.len())].par_chunks(PIECE).map(|piece| (crc32c::crc32c(piece), piece.len())).collect();
    pieces.into_iter().fold(0, |crc, (piece, length)| crc32c::crc32c_combine(crc, piece, length))
}
