//! Reading a container.

use std::{fs::File, io::Read, ops::Range, path::PathBuf, sync::Arc};

use super::{
    checksum,
    header::{Entry, FACTS, FILE, HEADER, PAGES, Remedies, damaged, decode},
    map::{Map, Plain, View},
    seal::{PAGE, Seal, page_checksums},
};
use crate::error::{Error, IoContext, Result};

/// A container file, mapped for reading.
#[derive(Debug)]
pub struct Sections {
    path: PathBuf,
    map: Map,
    version: u32,
    facts: [u64; FACTS],
    entries: Vec<Entry>,
    /// What is known of the content of each section.
    seals: Vec<Arc<Seal>>,
    remedies: Remedies,
}

impl Sections {
    /// Maps a file of this kind. Only the header is read.
    ///
    /// # Errors
    /// If the file cannot be read, is of another format, version or kind, or its header is damaged.
    pub fn open(path: PathBuf, kind: u32) -> Result<Self> {
        Self::open_with(path, kind, FILE)
    }

    /// As [`Sections::open`], with errors that give this advice.
    pub(crate) fn open_with(path: PathBuf, kind: u32, remedies: Remedies) -> Result<Self> {
        let file = File::open(&path).at("open", &path)?;
        let mut header = Vec::with_capacity(HEADER);
        Read::take(&file, HEADER as u64).read_to_end(&mut header).at("read", &path)?;
        let length = file.metadata().at("read", &path)?.len();
        let (version, facts, entries) = decode(&path, &header, kind, length, remedies)?;
        let map = Map::whole(&file, &path).at("map", &path)?;
        if map.bytes().len() as u64 != length {
            let found = map.bytes().len() as u64;
            return Err(Error::Length { path, expected: length, found, remedy: remedies.damage });
        }
        let mut file = Self { path, map, version, facts, entries, seals: Vec::new(), remedies };
        file.seals = file.seals()?;
        Ok(file)
    }

    /// A seal for each section: with checksums of pages, where the file has them.
    fn seals(&self) -> Result<Vec<Arc<Seal>>> {
        let seal = |entry: &Entry| Seal::new(entry.tag, entry.crc, entry.place());
        let table = self.entries.iter().find(|entry| entry.tag == PAGES);
        let shared = table.map(|entry| Arc::new(seal(entry)));
        let mut first = 0;
        let seals = self.entries.iter().map(|entry| match &shared {
            Some(table) if entry.has_pages() => {
                let start = first;
                first += entry.place().len().div_ceil(PAGE);
                Arc::new(seal(entry).with_pages(table.clone(), start))
            }
            _ => Arc::new(seal(entry)),
        });
        let seals = seals.collect();
        match table.filter(|table| (table.dtype, table.length) != (u32::CODE, 4 * first as u64)) {
            Some(table) => Err(self.damaged("the checksums of pages", format!("{first} numbers"), table.length)),
            None => Ok(seals),
        }
    }

    /// The version of the format that the file needs.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// The facts of the header.
    pub fn facts(&self) -> [u64; FACTS] {
        self.facts
    }

    /// A section that must hold `parts[0] × parts[1] × …` values.
    ///
    /// # Errors
    /// If there is no such section, or it has another type or length.
    pub fn view<T: Plain>(&self, tag: u32, parts: &[u64]) -> Result<View<T>> {
        let entry = self.entries.iter().zip(&self.seals).find(|(entry, _)| entry.tag == tag);
        let (entry, seal) = entry.ok_or_else(|| self.damaged(format!("section {tag}"), "present", "missing"))?;
        let length = parts.iter().try_fold(size_of::<T>() as u64, |length, &part| length.checked_mul(part));
        if length != Some(entry.length) || entry.dtype != T::CODE {
            let expected = format!("{parts:?} values of type {}", T::CODE);
            let found = format!("{} bytes of type {}", entry.length, entry.dtype);
            return Err(self.damaged(format!("section {tag}"), expected, found));
        }
        let view = self.map.view(entry.offset, entry.length, Some(seal.clone()));
        view.ok_or_else(|| self.damaged(format!("section {tag}"), "aligned and inside the file", entry.offset))
    }

    /// Whether there is such a section.
    pub(crate) fn has(&self, tag: u32) -> bool {
        self.entries.iter().any(|entry| entry.tag == tag)
    }

    /// A section of bytes, of any length.
    ///
    /// # Errors
    /// If there is no such section, or it has another type.
    pub fn bytes(&self, tag: u32) -> Result<View<u8>> {
        let length = self.entries.iter().find(|entry| entry.tag == tag).map_or(0, |entry| entry.length);
        self.view(tag, &[length])
    }

    /// Reads the whole file, compares every checksum, and checks that the bytes between sections are zero.
    ///
    /// # Errors
    /// [`Error::Damaged`] for the first difference.
    pub fn check(&self) -> Result<()> {
        let mut end = HEADER;
        let mut checksums = Vec::new();
        for entry in &self.entries {
            // Opening checked that sections are in order and inside the file.
            let Range { start, end: next } = entry.place();
            let bytes = |range: Range<usize>| self.map.bytes().get(range).unwrap_or_default();
            if let Some(byte) = bytes(end..start).iter().find(|byte| **byte != 0) {
                return Err(self.damaged(format!("a byte before section {}", entry.tag), 0, byte));
            }
            let found = checksum(bytes(start..next));
            if found != entry.crc {
                let (expected, found) = (format!("{:08x}", entry.crc), format!("{found:08x}"));
                return Err(self.damaged(format!("the checksum of section {}", entry.tag), expected, found));
            }
            if entry.has_pages() && self.has(PAGES) {
                checksums.extend(page_checksums(bytes(start..next)));
            }
            end = next;
        }
        match self.has(PAGES) && *self.view::<u32>(PAGES, &[checksums.len() as u64])? != checksums[..] {
            true => Err(self.damaged("the checksums of pages", "those of the pages", "others")),
            false => Ok(()),
        }
    }

    /// Whether everything that was read so far is as its checksums say. Costs next to nothing. A [`View`] returns damaged
    /// values as they are, so ask this before you use what was computed from them.
    ///
    /// # Errors
    /// [`Error::Damaged`] for the first difference.
    pub fn intact(&self) -> Result<()> {
        match self.map.difference() {
            Some(found) => {
                let [expected, actual] = [found.expected, found.found].map(|crc| format!("{crc:08x}"));
                Err(self.damaged(&found.what, expected, actual))
            }
            None => Ok(()),
        }
    }

    /// An [`Error::Damaged`] about this file, for checks that the caller makes.
    pub fn damaged(&self, what: impl ToString, expected: impl ToString, found: impl ToString) -> Error {
        damaged(&self.path, what, expected, found, self.remedies)
    }
}
