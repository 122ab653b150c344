//! Groups of segments that a new segment takes in: each gets the number of its name there.

use super::groups::{GroupNames, Grouping, Numbering};
use citree_index::Index;
use std::collections::{BTreeSet, HashMap};

/// The numbers that groups have in a new segment that takes in others.
pub(super) struct Regrouped(HashMap<(usize, u32), u32>);

impl Regrouped {
    pub(super) fn number(&self, grouping: usize, group: u32, sentence: u32) -> u32 {
        if grouping == Grouping::Sentence.place() {
            return sentence;
        }
        // A group without a name, in a damaged index, becomes one that the builder refuses.
        self.0.get(&(grouping, group)).copied().unwrap_or(u32::MAX)
    }
}

/// Numbers the groups of the segments at some places, by name. `sentences` is the number of sentences taken in.
pub(super) fn regrouped(index: &Index, places: &[usize], sentences: u32) -> (Numbering, Regrouped) {
    let mut numbering = Numbering::after(sentences);
    let mut numbers = HashMap::new();
    if places.is_empty() {
        return (numbering, Regrouped(numbers));
    }
    // Only groups that still have an edge get a number.
    let mut used: [BTreeSet<u32>; Grouping::ALL.len()] = Default::default();
    for edge in places.iter().flat_map(|place| index.records_in(*place)) {
        for (place, used) in used.iter_mut().enumerate().filter(|(place, _)| *place != Grouping::Sentence.place()) {
            used.extend(index.group(place, edge));
        }
    }
    let names: Vec<GroupNames> =
        index.attachments().map(|bytes| serde_json::from_slice(bytes).unwrap_or_default()).collect();
    for grouping in Grouping::ALL.into_iter().filter(|grouping| *grouping != Grouping::Sentence) {
        let all: Vec<&String> = names.iter().flat_map(|names| names.of(grouping)).collect();
        for group in &used[grouping.place()] {
            if let Some(name) = all.get(*group as usize) {
                numbers.insert((grouping.place(), *group), numbering.number(grouping, name.to_string()));
            }
        }
    }
    (numbering, Regrouped(numbers))
}
