//! Treebanks: the named parts of the evidence. Segments with the same name are one treebank.

use super::TrainingEdges;
use super::checks::refused;
use crate::error::{Error, Result};
use citree_index::SegmentFacts;

/// The name of a treebank that nobody named: the one that the index was built from.
const UNNAMED: &str = "treebank";

/// The treebanks of an index.
#[derive(Debug)]
pub(super) struct Treebanks {
    names: Vec<String>,
    /// The treebank of each segment.
    of_segments: Vec<usize>,
    /// How many times the edges of each count.
    weights: Vec<f64>,
}

impl Treebanks {
    fn of(segments: &[SegmentFacts]) -> Self {
        let names = names(segments);
        let place = |segment: &SegmentFacts| names.iter().position(|name| *name == segment.name).unwrap_or_default();
        let weight =
            |name: &String| segments.iter().find(|segment| segment.name == *name).map_or(1.0, |own| own.weight);
        Self { of_segments: segments.iter().map(place).collect(), weights: names.iter().map(weight).collect(), names }
    }
}

impl TrainingEdges {
    /// The names of the treebanks that the edges come from.
    pub fn treebanks(&self) -> impl Iterator<Item = &str> {
        self.known_treebanks().names.iter().map(|name| shown(name))
    }

    /// How many times the edges of each treebank count, unless told otherwise.
    pub fn weights(&self) -> &[f64] {
        &self.known_treebanks().weights
    }

    /// The number of the treebank that a sentence comes from.
    pub(crate) fn treebank_of(&self, sentence: u32) -> Option<u32> {
        let segment = self.index().segment_of_source(sentence)?;
        self.known_treebanks().of_segments.get(segment).map(|treebank| *treebank as u32)
    }

    /// The name of the treebank that a sentence comes from.
    pub(crate) fn treebank_name(&self, sentence: u32) -> &str {
        let known = self.treebank_of(sentence).and_then(|treebank| self.known_treebanks().names.get(treebank as usize));
        shown(known.map_or("", String::as_str))
    }

    /// The number of a treebank.
    pub(crate) fn treebank(&self, name: &str) -> Result<u32> {
        let found = self.treebanks().position(|own| own == name);
        found.map(|at| at as u32).ok_or_else(|| unknown(name, &self.index().segments()))
    }

    /// The treebank of a segment.
    pub(super) fn treebank_of_segment(&self, segment: usize) -> Option<usize> {
        self.known_treebanks().of_segments.get(segment).copied()
    }

    fn known_treebanks(&self) -> &Treebanks {
        self.treebanks.get_or_init(|| Treebanks::of(&self.index().segments()))
    }
}

/// The names of treebanks as segments store them, in the order of their first segments.
pub(super) fn names(segments: &[SegmentFacts]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for segment in segments.iter().filter(|segment| !segment.name.is_empty() || segment.sources > 0) {
        if !names.contains(&segment.name) {
            names.push(segment.name.clone());
        }
    }
    names
}

/// The name of a treebank as it is shown.
pub(crate) fn shown(stored: &str) -> &str {
    if stored.is_empty() { UNNAMED } else { stored }
}

/// The name of a treebank as segments store it.
pub(super) fn stored(shown: &str) -> &str {
    if shown == UNNAMED { "" } else { shown }
}

/// The refusal of a name that no treebank has.
pub(super) fn unknown(name: &str, segments: &[SegmentFacts]) -> Error {
    let known: Vec<String> = names(segments).iter().map(|name| shown(name).to_string()).collect();
    refused(format!("no treebank is called `{name}`; there are {}", known.join(", ")))
}
