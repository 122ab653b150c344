//! The table of edges and the sentences they come from: integers and bytes that mean something to the caller alone.

use std::{ops::Range, path::PathBuf};

use crate::{
    container::{Sections, Writer},
    error::{Error, Result},
    format::FACTS,
    groups::{self, Groups, MOST_GROUPINGS},
    map::View,
};

/// An edge of the treebank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Number of its sentence, in the order in which sentences were added.
    pub sentence: u32,
    /// Position of the dependent in the sentence.
    pub dependent: u32,
    /// Position of the head in the sentence.
    pub head: u32,
    /// Number of the label.
    pub label: u32,
}

const KIND: u32 = 1;
const RECORDS: u32 = 1;
const LABELS: u32 = 2;
const ENDS: u32 = 3;
const TEXT: u32 = 4;
const GROUPS: u32 = 5;
const GROUP_COUNTS: u32 = 6;
const ATTACHMENT: u32 = 7;

/// Places records as they come into the order of labels, and collects sentences.
#[derive(Debug)]
pub(crate) struct EdgeWriter {
    file: Writer,
    records: u64,
    groups: u64,
    group_counts: Vec<u32>,
    starts: Vec<u64>,
    filled: Vec<u64>,
    ends: Vec<u64>,
}

impl EdgeWriter {
    /// `counts`: how many edges of each label will come, which is what gives each edge its final place on arrival.
    pub(crate) fn create(path: PathBuf, counts: &[u64], groupings: &[u32], attachment: &[u8]) -> Result<Self> {
        let mut starts = vec![0u64];
        for count in counts {
            let end =
                starts.last().and_then(|start| start.checked_add(*count)).filter(|end| *end < u64::from(u32::MAX >> 1));
            starts.push(end.ok_or_else(|| Error::input("the number of edges", "fewer than 2^31", "more"))?);
        }
        if groups::total(groupings).is_none() {
            let expected = format!("at most {MOST_GROUPINGS} groupings of fewer than 2^31 groups");
            return Err(Error::input("the number of groups", expected, "more"));
        }
        let mut file = Writer::create(path, KIND)?;
        let total = starts.last().copied().unwrap_or_default();
        let records = file.reserve::<u32>(RECORDS, total * 4)?;
        let groups = file.reserve::<u32>(GROUPS, total * groupings.len() as u64)?;
        file.section(LABELS, &starts)?;
        file.section(GROUP_COUNTS, groupings)?;
        file.section(ATTACHMENT, attachment)?;
        file.start::<u8>(TEXT)?;
        let (filled, group_counts) = (vec![0; counts.len()], groupings.to_vec());
        Ok(Self { file, records, groups, group_counts, filled, starts, ends: Vec::new() })
    }

    pub(crate) fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// Adds an edge and returns its place.
    pub(crate) fn add(&mut self, edge: Edge, groups: &[u32]) -> Result<u64> {
        groups::fits(groups, &self.group_counts)?;
        let label = edge.label as usize;
        let labels = self.filled.len();
        let filled = self
            .filled
            .get_mut(label)
            .ok_or_else(|| Error::input("the label of an edge", format!("below {labels}"), label))?;
        let place = self.starts[label] + *filled;
        if place == self.starts[label + 1] {
            return Err(Error::input("the number of edges of a label", format!("{filled} as announced"), "more"));
        }
        *filled += 1;
        self.file.write_at(self.records + place * 16, &[edge.sentence, edge.dependent, edge.head, edge.label])?;
        self.file.write_at(self.groups + place * 4 * groups.len() as u64, groups)?;
        Ok(place)
    }

    pub(crate) fn add_sentence(&mut self, bytes: &[u8]) -> Result<u32> {
        let number = u32::try_from(self.ends.len()).ok().filter(|number| *number < u32::MAX);
        let number = number.ok_or_else(|| Error::input("the number of sentences", "fewer than 2^32", "more"))?;
        self.file.push(bytes)?;
        self.ends.push(self.ends.last().copied().unwrap_or_default() + bytes.len() as u64);
        Ok(number)
    }

    /// Completes the file; returns the number of edges and of sentences, and the groups of the edges.
    pub(crate) fn finish(mut self) -> Result<(u64, u64, Groups)> {
        let missing: u64 =
            self.starts.windows(2).zip(&self.filled).map(|(ends, filled)| ends[1] - ends[0] - filled).sum();
        if missing > 0 {
            return Err(Error::input("the number of edges", "as announced", format!("{missing} fewer")));
        }
        let (edges, sentences) = (self.starts.last().copied().unwrap_or_default(), self.ends.len() as u64);
        let records = self.file.view::<u32>(RECORDS)?;
        if let Some(record) = records.chunks_exact(4).find(|record| u64::from(record[0]) >= sentences) {
            return Err(Error::input("the sentence of an edge", format!("below {sentences}"), record[0]));
        }
        self.file.section(ENDS, &self.ends)?;
        let mut facts = [0; FACTS];
        let groupings = self.group_counts.len() as u64;
        facts[..4].copy_from_slice(&[edges, self.filled.len() as u64, sentences, groupings]);
        let groups = Groups::new(self.group_counts, self.file.view(GROUPS)?);
        self.file.finish(facts)?;
        Ok((edges, sentences, groups))
    }
}

/// The table of edges, mapped.
#[derive(Debug)]
pub(crate) struct Edges {
    pub(crate) file: Sections,
    records: View<u32>,
    labels: View<u64>,
    ends: View<u64>,
    text: View<u8>,
    pub(crate) groups: Groups,
    attachment: View<u8>,
}

impl Edges {
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        let file = Sections::open(path, KIND)?;
        let [edges, labels, sentences, groupings, ..] = file.facts();
        if edges > u64::from(u32::MAX >> 1) || labels > u64::from(u32::MAX) {
            return Err(file.damaged("the number of edges and labels", "less than 2^31", edges.max(labels)));
        }
        if groupings > MOST_GROUPINGS {
            return Err(file.damaged("the number of groupings", format!("at most {MOST_GROUPINGS}"), groupings));
        }
        // Read at once: they are few, and say where in the spaces the sums of a grouping lie.
        let counts = file.view::<u32>(GROUP_COUNTS, &[groupings])?.to_vec();
        if groups::total(&counts).is_none() {
            return Err(file.damaged("the number of groups", "less than 2^31", "more"));
        }
        Ok(Self {
            groups: Groups::new(counts, file.view(GROUPS, &[edges, groupings])?),
            attachment: file.bytes(ATTACHMENT)?,
            records: file.view(RECORDS, &[edges, 4])?,
            labels: file.view(LABELS, &[labels + 1])?,
            ends: file.view(ENDS, &[sentences])?,
            text: file.bytes(TEXT)?,
            file,
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.records.len() / 4
    }

    pub(crate) fn labels(&self) -> usize {
        self.labels.len() - 1
    }

    pub(crate) fn sentences(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<Edge> {
        let record = self.records.get(place as usize * 4..place as usize * 4 + 4)?;
        Some(Edge { sentence: record[0], dependent: record[1], head: record[2], label: record[3] })
    }

    /// The places of a label's edges; empty for a label that is not there.
    pub(crate) fn range(&self, label: u32) -> Range<usize> {
        let Some([start, end]) = self.labels.get(label as usize..).and_then(|ends| ends.first_chunk()) else {
            return 0..0;
        };
        let inside = |end: u64| usize::try_from(end).unwrap_or(usize::MAX).min(self.count());
        inside(*start)..inside(*end).max(inside(*start))
    }

    pub(crate) fn sentence(&self, number: u32) -> Option<&[u8]> {
        let end = *self.ends.get(number as usize)?;
        let start = if number == 0 { 0 } else { *self.ends.get(number as usize - 1)? };
        self.text.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    pub(crate) fn attachment(&self) -> &[u8] {
        &self.attachment
    }

    /// Reads everything: checksums, and that places, labels, sentences and groups agree with each other.
    pub(crate) fn check(&self) -> Result<()> {
        self.file.check()?;
        let ordered = self.labels.is_sorted() && self.labels.first() == Some(&0);
        if !ordered || self.labels.last() != Some(&(self.count() as u64)) {
            return Err(self.file.damaged("the table of labels", "an ascending cover of all edges", "something else"));
        }
        if !self.ends.is_sorted() || self.ends.last().copied().unwrap_or_default() != self.text.len() as u64 {
            return Err(self.file.damaged(
                "the table of sentences",
                "an ascending cover of the text",
                "something else",
            ));
        }
        for label in 0..self.labels() as u32 {
            for edge in self.range(label).filter_map(|place| self.get(place as u32)) {
                if edge.label != label || edge.sentence as usize >= self.sentences() {
                    return Err(self.file.damaged("an edge", format!("of label {label}"), format!("{edge:?}")));
                }
            }
        }
        if let Some(edge) = self.groups.without_group() {
            return Err(self.file.damaged(format!("a group of edge {edge}"), "one of its grouping", "none"));
        }
        Ok(())
    }
}
