//! The table of records, the sources they come from, and their groups.

use std::{ops::Range, path::PathBuf};

use rayon::prelude::*;

use crate::{
    container::{FACTS, Section, Sections, View, Writer},
    error::{Error, REMEDIES, Result},
    groups::{self, Groups, MOST_GROUPINGS},
};

/// What the index stores about a row besides its vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Number of the source that the record comes from, in the order in which sources were added. Records can share one.
    pub source: u32,
    /// Number of its class. Rows are ordered by class.
    pub class: u32,
    /// Two numbers that only the caller interprets.
    pub payload: [u32; 2],
}

const KIND: u32 = 1;
const RECORDS: u32 = 1;
const CLASSES: u32 = 2;
const ENDS: u32 = 3;
const SOURCES: u32 = 4;
const GROUPS: u32 = 5;
const GROUP_COUNTS: u32 = 6;
const ATTACHMENT: u32 = 7;

/// Writes records in the order of their classes as they arrive, and collects sources.
#[derive(Debug)]
pub(crate) struct RecordWriter {
    file: Writer,
    records: Section<u32>,
    groups: Section<u32>,
    sources: Section<u8>,
    group_counts: Vec<u32>,
    /// Where the records of each class begin, and where the last class ends.
    starts: Vec<u64>,
    /// How many records of each class have arrived.
    filled: Vec<u64>,
    /// Where each source ends.
    ends: Vec<u64>,
}

impl RecordWriter {
    /// `counts` is the number of records of each class. It gives each record its final place when it arrives.
    pub(crate) fn create(path: PathBuf, counts: &[u64], groupings: &[u32], attachment: &[u8]) -> Result<Self> {
        let mut starts = vec![0u64];
        for count in counts {
            let end =
                starts.last().and_then(|start| start.checked_add(*count)).filter(|end| *end < u64::from(u32::MAX >> 1));
            starts.push(end.ok_or_else(|| Error::input("the number of records", "fewer than 2^31", "more"))?);
        }
        if groups::total(groupings).is_none() {
            let expected = format!("at most {MOST_GROUPINGS} groupings of fewer than 2^31 groups");
            return Err(Error::input("the number of groups", expected, "more"));
        }
        let mut file = Writer::create(path, KIND)?;
        let total = starts.last().copied().unwrap_or_default();
        let records = file.reserve(RECORDS, total * 4)?;
        let groups = file.reserve(GROUPS, total * groupings.len() as u64)?;
        file.section(CLASSES, &starts)?;
        file.section(GROUP_COUNTS, groupings)?;
        file.section(ATTACHMENT, attachment)?;
        let sources = file.start(SOURCES)?;
        let (filled, group_counts) = (vec![0; counts.len()], groupings.to_vec());
        Ok(Self { file, records, groups, sources, group_counts, filled, starts, ends: Vec::new() })
    }

    /// Where the records of each class begin, and where the last class ends.
    pub(crate) fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// Adds a record and returns its number.
    pub(crate) fn add(&mut self, record: Record, groups: &[u32]) -> Result<u64> {
        groups::fits(groups, &self.group_counts)?;
        let class = record.class as usize;
        let classes = self.filled.len();
        let filled = self
            .filled
            .get_mut(class)
            .ok_or_else(|| Error::input("the class of a record", format!("below {classes}"), class))?;
        let number = self.starts[class] + *filled;
        if number == self.starts[class + 1] {
            return Err(Error::input("the number of records of a class", format!("{filled} as announced"), "more"));
        }
        *filled += 1;
        let Record { source, class, payload: [first, second] } = record;
        self.file.write_at(&self.records, number * 4, &[source, first, second, class])?;
        self.file.write_at(&self.groups, number * groups.len() as u64, groups)?;
        Ok(number)
    }

    /// Adds a source and returns its number.
    pub(crate) fn add_source(&mut self, bytes: &[u8]) -> Result<u32> {
        let number = u32::try_from(self.ends.len()).ok().filter(|number| *number < u32::MAX);
        let number = number.ok_or_else(|| Error::input("the number of sources", "fewer than 2^32", "more"))?;
        self.file.push(&self.sources, bytes)?;
        self.ends.push(self.ends.last().copied().unwrap_or_default() + bytes.len() as u64);
        Ok(number)
    }

    /// Completes the file. Returns the number of records, the number of sources, and the groups of the records. `shared`
    /// is the number of sources of another table that the records refer to, if they have none of their own.
    pub(crate) fn finish(mut self, shared: Option<u64>) -> Result<(u64, u64, Groups)> {
        let missing: u64 =
            self.starts.windows(2).zip(&self.filled).map(|(ends, filled)| ends[1] - ends[0] - filled).sum();
        if missing > 0 {
            return Err(Error::input("the number of records", "as announced", format!("{missing} fewer")));
        }
        let (count, sources) = (self.starts.last().copied().unwrap_or_default(), self.ends.len() as u64);
        let records = self.file.seal(self.records)?;
        let known = shared.unwrap_or(sources);
        if let Some(record) = records.chunks_exact(4).find(|record| u64::from(record[0]) >= known) {
            return Err(Error::input("the source of a record", format!("below {known}"), record[0]));
        }
        self.file.section(ENDS, &self.ends)?;
        let mut facts = [0; FACTS];
        let groupings = self.group_counts.len() as u64;
        facts[..4].copy_from_slice(&[count, self.filled.len() as u64, sources, groupings]);
        let groups = Groups::new(self.group_counts, self.file.seal(self.groups)?);
        self.file.finish(facts)?;
        Ok((count, sources, groups))
    }
}

/// The table of records, mapped.
#[derive(Debug)]
pub(crate) struct Records {
    pub(crate) file: Sections,
    records: View<u32>,
    /// Where the records of each class begin, and where the last class ends.
    starts: View<u64>,
    /// Where each source ends in `bytes`.
    ends: View<u64>,
    bytes: View<u8>,
    pub(crate) groups: Groups,
    attachment: View<u8>,
}

impl Records {
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        let file = Sections::open_with(path, KIND, REMEDIES)?;
        let [records, classes, sources, groupings, ..] = file.facts();
        if records > u64::from(u32::MAX >> 1) || classes > u64::from(u32::MAX) {
            return Err(file.damaged("the number of records and classes", "less than 2^31", records.max(classes)));
        }
        if groupings > MOST_GROUPINGS {
            return Err(file.damaged("the number of groupings", format!("at most {MOST_GROUPINGS}"), groupings));
        }
        // Read now: these few numbers give the position of each grouping's sums in the spaces.
        let counts = file.view::<u32>(GROUP_COUNTS, &[groupings])?.to_vec();
        if groups::total(&counts).is_none() {
            return Err(file.damaged("the number of groups", "less than 2^31", "more"));
        }
        Ok(Self {
            groups: Groups::new(counts, file.view(GROUPS, &[records, groupings])?),
            attachment: file.bytes(ATTACHMENT)?,
            records: file.view(RECORDS, &[records, 4])?,
            starts: file.view(CLASSES, &[classes + 1])?,
            ends: file.view(ENDS, &[sources])?,
            bytes: file.bytes(SOURCES)?,
            file,
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.records.len() / 4
    }

    pub(crate) fn classes(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn sources(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<Record> {
        let record = self.records.part(number as usize * 4..number as usize * 4 + 4)?;
        Some(Record { source: record[0], class: record[3], payload: [record[1], record[2]] })
    }

    /// The numbers of a class's records. Empty for a class that does not exist.
    pub(crate) fn range(&self, class: u32) -> Range<usize> {
        let Some([start, end]) = self.starts.get(class as usize..).and_then(|starts| starts.first_chunk()) else {
            return 0..0;
        };
        let inside = |end: u64| usize::try_from(end).unwrap_or(usize::MAX).min(self.count());
        inside(*start)..inside(*end).max(inside(*start))
    }

    pub(crate) fn source(&self, number: u32) -> Option<&[u8]> {
        let end = self.ends.value(number as usize)?;
        let start = if number == 0 { 0 } else { self.ends.value(number as usize - 1)? };
        self.bytes.part(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    /// The records of some sources, ascending. `sources` ascends too.
    pub(crate) fn of_sources(&self, sources: &[u32]) -> Vec<u32> {
        if sources.is_empty() {
            return Vec::new();
        }
        let records = self.records.par_chunks_exact(4).enumerate();
        let of_sources = records.filter(|(_, record)| sources.binary_search(&record[0]).is_ok());
        of_sources.map(|(number, _)| number as u32).collect()
    }

    pub(crate) fn attachment(&self) -> &[u8] {
        &self.attachment
    }

    /// Compares the checksums, and checks that records, classes, sources and groups agree. `sources` is the number of
    /// sources that the records refer to.
    pub(crate) fn check(&self, sources: usize) -> Result<()> {
        self.file.check()?;
        let ordered = self.starts.is_sorted() && self.starts.first() == Some(&0);
        if !ordered || self.starts.last() != Some(&(self.count() as u64)) {
            return Err(self.file.damaged("the table of classes", "an ascending cover of all records", "another"));
        }
        if !self.ends.is_sorted() || self.ends.last().copied().unwrap_or_default() != self.bytes.len() as u64 {
            return Err(self.file.damaged("the table of sources", "an ascending cover of their bytes", "another"));
        }
        for class in 0..self.classes() as u32 {
            for record in self.range(class).filter_map(|number| self.get(number as u32)) {
                if record.class != class || record.source as usize >= sources {
                    return Err(self.file.damaged("a record", format!("of class {class}"), format!("{record:?}")));
                }
            }
        }
        if let Some(record) = self.groups.without_group() {
            return Err(self.file.damaged(format!("a group of record {record}"), "one of its grouping", "none"));
        }
        Ok(())
    }
}
