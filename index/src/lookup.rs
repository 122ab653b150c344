//! The file `lookup` of a segment: ids of its records, and sources by what they are called.
//!
//! It is optional. Without it, records have the ids that their places give, and a source is found by reading all sources.

use std::path::PathBuf;

use crate::{
    container::{FACTS, Sections, View, Writer},
    error::{REMEDIES, Result},
    hash,
};

/// The name of the file.
pub(crate) const LOOKUP: &str = "lookup";
const KIND: u32 = 5;
const HASHES: u32 = 1;
const SOURCES: u32 = 2;
const IDS: u32 = 3;
const CONTRAST_IDS: u32 = 4;

/// The part of a source's bytes by which it is found: its name. It must not depend on anything but these bytes.
pub type KeyOf = fn(&[u8]) -> &[u8];

/// What is written to a `lookup` file.
#[derive(Debug, Default)]
pub(crate) struct LookupWriter {
    /// The hash of the key of each source.
    pub(crate) hashes: Vec<u64>,
    /// The ids of the records and of the contrast records, by place. Empty if their places give them.
    pub(crate) ids: [Vec<u64>; 2],
}

impl LookupWriter {
    pub(crate) fn finish(self, path: PathBuf) -> Result<()> {
        let mut sorted: Vec<(u64, u32)> = self.hashes.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let (hashes, sources): (Vec<u64>, Vec<u32>) = sorted.into_iter().unzip();
        let mut file = Writer::create(path, KIND)?;
        file.section(HASHES, &hashes)?;
        file.section(SOURCES, &sources)?;
        file.section(IDS, &self.ids[0])?;
        file.section(CONTRAST_IDS, &self.ids[1])?;
        let mut facts = [0; FACTS];
        facts[..3].copy_from_slice(&[hashes.len() as u64, self.ids[0].len() as u64, self.ids[1].len() as u64]);
        file.finish(facts)
    }
}

/// A `lookup` file, mapped.
#[derive(Debug)]
pub(crate) struct Lookup {
    pub(crate) file: Sections,
    hashes: View<u64>,
    sources: View<u32>,
    ids: [View<u64>; 2],
}

impl Lookup {
    /// Opens the file of a segment with so many sources, records and contrast records.
    pub(crate) fn open(path: PathBuf, sources: u64, records: [u64; 2]) -> Result<Self> {
        let file = Sections::open_with(path, KIND, REMEDIES)?;
        let [keys, ids, contrast_ids, ..] = file.facts();
        if keys != 0 && keys != sources {
            return Err(file.damaged("the number of keys", sources, keys));
        }
        if [ids, contrast_ids] != [0, 0] && [ids, contrast_ids] != records {
            return Err(file.damaged("the number of ids", format!("{records:?}"), format!("{ids}, {contrast_ids}")));
        }
        Ok(Self {
            hashes: file.view(HASHES, &[keys])?,
            sources: file.view(SOURCES, &[keys])?,
            ids: [file.view(IDS, &[ids])?, file.view(CONTRAST_IDS, &[contrast_ids])?],
            file,
        })
    }

    /// The sources whose key can be this one. `None` if the segment has no keys.
    pub(crate) fn sources(&self, key: &[u8]) -> Option<impl Iterator<Item = u32> + '_> {
        let hash = hash::bytes(key);
        let first = self.hashes.partition_point(|other| *other < hash);
        let same = self.hashes.get(first..)?.iter().take_while(move |other| **other == hash).count();
        (!self.hashes.is_empty()).then(|| self.sources.get(first..first + same).unwrap_or_default().iter().copied())
    }

    /// The ids of the records (0) or of the contrast records (1), by place. Empty if their places give them.
    pub(crate) fn ids(&self, kind: usize) -> &[u64] {
        &self.ids[kind]
    }

    /// Compares the checksums, and checks that keys are those of the sources.
    pub(crate) fn check(&self) -> Result<()> {
        self.file.check()?;
        let mut seen = self.sources.to_vec();
        seen.sort_unstable();
        let sorted = self.hashes.is_sorted() && seen.iter().copied().eq(0..seen.len() as u32);
        if sorted { Ok(()) } else { Err(self.file.damaged("the table of keys", "sorted, each source once", "not")) }
    }
}
