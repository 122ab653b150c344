//! The groups of training edges that a score can be split over, and their names.

use crate::treebank::Sentence;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A way to put every training edge into one group.
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
    /// All of them, in the order in which the index keeps them.
    pub(crate) const ALL: [Self; 5] = [Self::Document, Self::Genre, Self::Sentence, Self::Dependent, Self::Head];

    /// Its place in the index.
    pub(crate) fn place(self) -> usize {
        self as usize
    }
}

/// What stands for an unnamed document or genre.
const UNNAMED: &str = "(none)";

/// The first `parts` parts of a `sent_id`, which `-`, `_`, `/`, `.` and `:` divide; all of it where it has no more.
pub(crate) fn prefix(sent_id: &str, parts: usize) -> &str {
    let cut = sent_id.match_indices(['-', '_', '/', '.', ':']).map(|(at, _)| at).nth(parts.saturating_sub(1));
    &sent_id[..cut.unwrap_or(sent_id.len())]
}

/// The names of the groups of each grouping; a group's number is its place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct GroupNames {
    names: Vec<Vec<String>>,
}

impl GroupNames {
    /// The names of a grouping's groups.
    pub(super) fn of(&self, grouping: Grouping) -> &[String] {
        self.names.get(grouping.place()).map_or(&[], Vec::as_slice)
    }
}

/// Numbers the groups of a treebank as its sentences come.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    numbers: [HashMap<String, u32>; Grouping::ALL.len()],
    names: GroupNames,
    sentences: u32,
}

impl Numbering {
    /// The groups of every edge of the next sentence, in the order of its words.
    pub(super) fn groups(&mut self, sentence: &Sentence, document: &str) -> Vec<[u32; Grouping::ALL.len()]> {
        let named = |name: &str| if name.is_empty() { UNNAMED } else { name }.to_string();
        let sent_id = sentence.sent_id().unwrap_or_default();
        let document = self.number(Grouping::Document, named(document));
        let genre = self.number(Grouping::Genre, named(prefix(sent_id, 1)));
        // Sentences are distinguished by their number: a sent_id may be missing or come twice.
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

    /// How many groups each grouping has.
    pub(super) fn counts(&self) -> Vec<u32> {
        let count = |grouping| match grouping {
            Grouping::Sentence => self.sentences,
            named => self.names.of(named).len() as u32,
        };
        Grouping::ALL.map(count).to_vec()
    }

    /// The names, once all sentences have come; sentences have theirs in their own records.
    pub(super) fn into_names(self) -> GroupNames {
        self.names
    }

    fn number(&mut self, grouping: Grouping, name: String) -> u32 {
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
    fn edges_of_equal_words_share_a_group_and_sentences_never_do() {
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
        assert_eq!(numbering.into_names().of(Grouping::Head), ["ROOT"]);
    }
}
