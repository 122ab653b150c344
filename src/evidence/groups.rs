//! The groups of training edges by which a score can be broken down, and their names.

use super::record::TrainingSentence;
use crate::treebank::Sentence;
use citree_index::Index;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A criterion that assigns every training edge to one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Grouping {
    /// By the document of its sentence.
    Document,
    /// By the first part of the `sent_id` of its sentence, which names the genre in many treebanks.
    Genre,
    /// By its sentence.
    Sentence,
    /// By the form of the dependent.
    Dependent,
    /// By the form of the head.
    Head,
}

impl Grouping {
    /// All groupings, in the order of the index.
    pub(crate) const ALL: [Self; 5] = [Self::Document, Self::Genre, Self::Sentence, Self::Dependent, Self::Head];

    /// Its position in the index.
    pub(crate) fn place(self) -> usize {
        self as usize
    }

    /// The name of the group of an edge for which the index stores no group.
    pub(crate) fn name_of(self, sentence: &TrainingSentence<'_>, dependent: u32, head: u32) -> String {
        let named = |name: &str| if name.is_empty() { UNNAMED } else { name }.to_string();
        match self {
            Self::Document => named(sentence.document),
            Self::Genre => named(prefix(sentence.sent_id, 1)),
            Self::Sentence => sentence.sent_id.to_string(),
            Self::Dependent => sentence.form(dependent as usize).to_string(),
            Self::Head => sentence.form(head as usize).to_string(),
        }
    }
}

/// The name of an unnamed document or genre.
const UNNAMED: &str = "(none)";

/// The first `parts` parts of a `sent_id`, separated by `-`, `_`, `/`, `.` or `:`. The whole `sent_id` if it has no
/// more parts.
pub(crate) fn prefix(sent_id: &str, parts: usize) -> &str {
    let cut = sent_id.match_indices(['-', '_', '/', '.', ':']).map(|(at, _)| at).nth(parts.saturating_sub(1));
    &sent_id[..cut.unwrap_or(sent_id.len())]
}

/// The names that the numbers of a segment stand for: the groups of each grouping, and labels that the model was not
/// trained with. A group's number is its index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct GroupNames {
    names: Vec<Vec<String>>,
    /// All such labels that the index had when the segment was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) labels: Vec<String>,
}

impl GroupNames {
    /// The names of a grouping's groups.
    pub(super) fn of(&self, grouping: Grouping) -> &[String] {
        self.names.get(grouping.place()).map_or(&[], Vec::as_slice)
    }
}

/// The groups of all segments of an index under one numbering: groups of the same name are one.
#[derive(Debug)]
pub(super) struct MergedGroups {
    names: Vec<String>,
    /// The number of each group of the index. `None` in an index of one segment, which needs no others.
    numbers: Option<Vec<Option<u32>>>,
}

impl MergedGroups {
    pub(super) fn of(index: &Index, of_segments: &[GroupNames], grouping: Grouping) -> Self {
        let whole = matches!(&index.segments()[..], [segment] if segment.removed == 0);
        if let ([names], true) = (of_segments, whole) {
            return Self { names: names.of(grouping).to_vec(), numbers: None };
        }
        if grouping == Grouping::Sentence {
            // The number of a sentence, wherever its segment is.
            let mut numbers = vec![None; index.groupings().get(grouping.place()).map_or(0, |count| *count as usize)];
            for edge in 0..index.manifest().records as u32 {
                let group = index.group(grouping.place(), edge).and_then(|group| numbers.get_mut(group as usize));
                group.into_iter().for_each(|group| *group = index.record(edge).map(|record| record.source));
            }
            return Self { names: Vec::new(), numbers: Some(numbers) };
        }
        let mut known: HashMap<&str, u32> = HashMap::new();
        let (mut names, mut numbers) = (Vec::new(), Vec::new());
        for name in of_segments.iter().flat_map(|of_segment| of_segment.of(grouping)) {
            let next = names.len() as u32;
            numbers.push(Some(*known.entry(name).or_insert(next)));
            if known.len() > names.len() {
                names.push(name.clone());
            }
        }
        Self { names, numbers: Some(numbers) }
    }

    /// The names of all groups. Sentences have none here.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn name(&self, group: u32) -> &str {
        self.names.get(group as usize).map_or("", String::as_str)
    }

    /// The number of a group of the index.
    pub(super) fn number(&self, group: u32) -> Option<u32> {
        self.numbers.as_ref().map_or(Some(group), |numbers| numbers.get(group as usize).copied().flatten())
    }

    /// The names of groups that have an edge.
    pub(super) fn names_in_use(&self, index: &Index, grouping: Grouping) -> Vec<&str> {
        let mut used = vec![self.numbers.is_none(); self.names.len()];
        if self.numbers.is_some() {
            for edge in 0..index.manifest().records as u32 {
                let group = index.group(grouping.place(), edge).and_then(|group| self.number(group));
                group.and_then(|group| used.get_mut(group as usize)).into_iter().for_each(|used| *used = true);
            }
        }
        self.names.iter().zip(used).filter(|(_, used)| *used).map(|(name, _)| name.as_str()).collect()
    }
}

/// Assigns group numbers, sentence by sentence.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    numbers: [HashMap<String, u32>; Grouping::ALL.len()],
    names: GroupNames,
    sentences: u32,
}

impl Numbering {
    /// The groups of every edge of the next sentence, in word order.
    pub(super) fn groups(&mut self, sentence: &Sentence, document: &str) -> Vec<[u32; Grouping::ALL.len()]> {
        let named = |name: &str| if name.is_empty() { UNNAMED } else { name }.to_string();
        let sent_id = sentence.sent_id().unwrap_or_default();
        let document = self.number(Grouping::Document, named(document));
        let genre = self.number(Grouping::Genre, named(prefix(sent_id, 1)));
        // Sentences are identified by number, because a `sent_id` can be missing or repeated.
        let own = self.sentences;
        self.sentences += 1;
        let words = sentence.words();
        let form = |position: usize| position.checked_sub(1).map_or("ROOT", |at| words[at].form.as_str()).to_string();
        let edges = words.iter().enumerate().map(|(at, word)| {
            let dependent = self.number(Grouping::Dependent, form(at + 1));
            let head = self.number(Grouping::Head, form(word.head.unwrap_or_default()));
            [document, genre, own, dependent, head]
        });
        edges.collect()
    }

    /// The number of groups in each grouping.
    pub(super) fn counts(&self) -> Vec<u32> {
        let count = |grouping| match grouping {
            Grouping::Sentence => self.sentences,
            named => self.names.of(named).len() as u32,
        };
        Grouping::ALL.map(count).to_vec()
    }

    /// The names, after all sentences are added. Sentences have none here: their own records hold their `sent_id`.
    pub(super) fn into_names(self, labels: &[String]) -> GroupNames {
        GroupNames { labels: labels.to_vec(), ..self.names }
    }

    /// Numbers as if so many sentences came before.
    pub(super) fn after(sentences: u32) -> Self {
        Self { sentences, ..Self::default() }
    }

    /// The number of a group by its name.
    pub(super) fn number(&mut self, grouping: Grouping, name: String) -> u32 {
        let names = &mut self.names.names;
        names.resize(Grouping::ALL.len(), Vec::new());
        let names = &mut names[grouping.place()];
        *self.numbers[grouping.place()].entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_prefix_is_the_first_parts_of_a_sent_id() {
        assert_eq!(prefix("weblog-blogspot.com_x", 1), "weblog");
        assert_eq!(prefix("weblog-blogspot.com_x", 2), "weblog-blogspot");
        assert_eq!(prefix("weblog-blogspot.com_x", 9), "weblog-blogspot.com_x");
        assert_eq!(prefix("", 1), "");
    }

    #[test]
    fn equal_words_share_a_group_and_sentences_do_not() {
        let mut numbering = Numbering::default();
        let mut sentence = Sentence::from_forms(["a", "b", "a"]);
        sentence.words_mut().iter_mut().for_each(|word| word.head = Some(0));
        let first = numbering.groups(&sentence, "");
        let second = numbering.groups(&sentence, "");
        let dependent = Grouping::Dependent.place();
        assert_eq!(first[0][dependent], first[2][dependent]);
        assert_ne!(first[0][dependent], first[1][dependent]);
        assert_eq!(first[1][dependent], second[1][dependent]);
        assert_ne!(first[0][Grouping::Sentence.place()], second[0][Grouping::Sentence.place()]);
        assert_eq!(numbering.counts(), [1, 1, 2, 2, 1]);
        assert_eq!(numbering.into_names(&[]).of(Grouping::Head), ["ROOT"]);
    }
}
