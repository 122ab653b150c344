//! Contrast records: examples of what the records are not, in a space of their own beside the first space.
//!
//! A contrast record refers to a source and has a payload like any record, but no class and no groups, and a row in the
//! first space only. Contrast records have their own numbers, files and graph. So they never appear among the records,
//! in sums of classes or in sums of groups: an index answers about its records as if it had no contrasts.

use std::{path::Path, sync::Arc};

use crate::{
    error::{Error, Result},
    meta::{ContrastFacts, SpaceFacts},
    records::{Record, RecordWriter, Records},
    segment_space::SegmentSpace,
    space::{Space, SpacePart},
    space_writer::{GraphSpec, SpaceSpec, SpaceWriter, Tell},
};

// File names are part of the format. For the parser that it was made for, a contrast record is a rejected edge.
const RECORDS: &str = "rejected-edges";
const SPACE: &str = "rejected";

/// Writes contrast records as they arrive.
#[derive(Debug)]
pub(crate) struct ContrastWriter {
    records: RecordWriter,
    space: SpaceWriter,
}

impl ContrastWriter {
    pub(crate) fn create(folder: &Path, count: u64, spec: SpaceSpec) -> Result<Self> {
        let records = RecordWriter::create(folder.join(RECORDS), &[count], &[], &[])?;
        let space = SpaceWriter::create(folder.join(SPACE), spec, records.starts())?;
        Ok(Self { records, space })
    }

    /// Adds a contrast record and returns its number.
    pub(crate) fn add(&mut self, source: u32, payload: [u32; 2], row: &[f32]) -> Result<u64> {
        self.space.fits(row)?;
        let number = self.records.add(Record { source, class: 0, payload }, &[])?;
        self.space.put(number, row)?;
        Ok(number)
    }

    pub(crate) fn finish(self, graph: GraphSpec, sources: u64, tell: Tell<'_>) -> Result<ContrastFacts> {
        let (records, _, groups) = self.records.finish(Some(sources))?;
        Ok(ContrastFacts { records, space: self.space.finish(graph, &groups, tell)? })
    }
}

/// The contrast records of a segment, mapped.
#[derive(Debug)]
pub(crate) struct SegmentContrasts {
    pub(crate) records: Arc<Records>,
    pub(crate) space: Arc<SegmentSpace>,
}

impl SegmentContrasts {
    /// Opens the contrast records of a segment whose first space has these facts.
    pub(crate) fn open(folder: &Path, facts: &ContrastFacts, first: &SpaceFacts) -> Result<Self> {
        let records = Arc::new(Records::open(folder.join(RECORDS))?);
        if (facts.space.dims, facts.space.metric) != (first.dims, first.metric) {
            let [expected, found] = [first, &facts.space].map(|of| format!("{} dimensions, {:?}", of.dims, of.metric));
            return Err(records.file.damaged("the rows of contrast records", expected, found));
        }
        if (records.count() as u64, records.classes()) != (facts.records, 1) {
            let found = format!("{} in {}", records.count(), records.classes());
            return Err(records.file.damaged(
                "the number of contrast records",
                format!("{} in 1", facts.records),
                found,
            ));
        }
        let space = Arc::new(SegmentSpace::open(folder.join(SPACE), records.clone(), &facts.space)?);
        Ok(Self { records, space })
    }
}

/// The contrast records of an index.
#[derive(Debug)]
pub struct Contrasts {
    space: Space,
}

impl Contrasts {
    pub(crate) fn new(space: Space) -> Self {
        Self { space }
    }

    /// The rows of the contrast records. Searches return the numbers of contrast records.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The source and the payload of a contrast record by its number.
    pub fn record(&self, number: u32) -> Option<(u32, [u32; 2])> {
        let (part, place) = self.locate(number)?;
        let record = part.space.records.get(place)?;
        Some((self.space.sources.number(part.segment, record.source)?, record.payload))
    }

    /// The part that a contrast record is in, and its place there.
    pub(crate) fn locate(&self, number: u32) -> Option<(&SpacePart, u32)> {
        let (part, place) = self.space.numbers.locate(number)?;
        Some((self.space.parts().get(part)?, place))
    }
}

/// Refuses a contrast record in an index that announced none.
pub(crate) fn unannounced() -> Error {
    Error::input("the number of contrast records", "0 as announced", "more")
}
