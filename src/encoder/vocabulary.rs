//! Maps words, characters and labels to numbers. The tables are fixed when training starts.

use super::transformer::{Features, Pieces};
use super::word_vectors::Place;
use crate::treebank::Sentence;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The id of a label that is not in the training treebank.
pub(super) const UNKNOWN_LABEL: u32 = u32::MAX;
const UNKNOWN: u32 = 0;
const ROOT: u32 = 1;
const RESERVED: usize = 2;

/// The most characters of a word that are used: the first ones, or, where ends are marked, the last ones.
const LONGEST_SPELLING: usize = 20;
const LONGEST_MARKED_SPELLING: usize = 30;

/// The tables of one training treebank. Ids follow the sorted order of their entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Lists", into = "Lists")]
pub(crate) struct Vocabulary {
    words: BTreeMap<String, u32>,
    characters: BTreeMap<char, u32>,
    labels: Vec<String>,
    /// Whether spellings begin and end with a mark, so that the convolution can tell a suffix from a middle.
    ends: bool,
}

/// A sentence as numbers; position 0 is ROOT.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbered {
    /// Word ids.
    pub words: Vec<u32>,
    /// Character ids of every position.
    pub spellings: Vec<Vec<u32>>,
    /// Gold heads; 0 at ROOT. Empty if the sentence has none.
    pub heads: Vec<usize>,
    /// Gold labels; 0 at ROOT, [`UNKNOWN_LABEL`] for a label that is not in the training treebank.
    pub labels: Vec<u32>,
    /// Places in the frozen word vectors; empty without word vectors.
    pub vectors: Vec<Place>,
    /// The input pieces of the transformer, unless its states are stored.
    pub pieces: Option<Pieces>,
    /// Stored states, and the row of ROOT in them.
    pub(crate) stored: Option<(Arc<Features>, u64)>,
}

impl Numbered {
    /// Number of positions, ROOT included.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are no words besides ROOT.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.len() <= 1
    }
}

impl AsRef<Numbered> for Numbered {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Vocabulary {
    /// Builds the tables of a treebank. Lower-cased words with fewer than `min_count` occurrences are left out.
    pub(crate) fn new(sentences: &[Sentence], min_count: usize) -> Self {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut characters: BTreeSet<char> = BTreeSet::new();
        let mut labels: Vec<String> = Vec::new();
        for word in sentences.iter().flat_map(Sentence::words) {
            *counts.entry(word.form.to_lowercase()).or_default() += 1;
            characters.extend(word.form.chars());
            if let Err(at) = labels.binary_search(&word.label) {
                labels.insert(at, word.label.clone());
            }
        }
        let words = counts.into_iter().filter(|&(_, count)| count >= min_count).map(|(word, _)| word).collect();
        Lists { words, characters: characters.into_iter().collect(), labels, ends: false }.into()
    }

    /// The same tables, with or without marks where words begin and end.
    pub(crate) fn with_ends(self, ends: bool) -> Self {
        Self { ends, ..self }
    }

    /// Number of rows of the word embedding.
    pub(crate) fn word_count(&self) -> usize {
        self.words.len() + RESERVED
    }

    /// Number of rows of the character embedding.
    pub(crate) fn character_count(&self) -> usize {
        self.characters.len() + RESERVED
    }

    /// All labels, sorted. A label's id is its index.
    pub(crate) fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The id of a label, if it is in the training treebank.
    pub(crate) fn label(&self, name: &str) -> Option<u32> {
        self.labels.binary_search_by(|label| label.as_str().cmp(name)).ok().map(|id| id as u32)
    }

    /// The shared id of unknown words.
    pub(crate) fn unknown(&self) -> u32 {
        UNKNOWN
    }

    /// Whether a word id is a word of the table (not ROOT, not unknown).
    pub(crate) fn is_known(&self, word: u32) -> bool {
        word as usize >= RESERVED
    }

    /// Converts a sentence to numbers, without pretrained input.
    pub(crate) fn number(&self, sentence: &Sentence) -> Numbered {
        let words = sentence.words();
        let word_ids = words.iter().map(|w| self.words.get(&w.form.to_lowercase()).copied().unwrap_or(UNKNOWN));
        let id = |c: char| self.characters.get(&c).copied().unwrap_or(UNKNOWN);
        let spelling = |form: &str| -> Vec<u32> {
            if self.ends {
                // From the end, so that nothing is read of a word of any length but what is used.
                let ids = form.chars().rev().take(LONGEST_MARKED_SPELLING).map(id);
                let mut ids: Vec<u32> = std::iter::once(ROOT).chain(ids).chain([ROOT]).collect();
                ids.reverse();
                return ids;
            }
            let ids: Vec<u32> = form.chars().take(LONGEST_SPELLING).map(id).collect();
            if ids.is_empty() { vec![UNKNOWN] } else { ids }
        };
        let labels = words.iter().map(|w| self.label(&w.label).unwrap_or(UNKNOWN_LABEL));
        Numbered {
            words: std::iter::once(ROOT).chain(word_ids).collect(),
            spellings: std::iter::once(vec![ROOT]).chain(words.iter().map(|w| spelling(&w.form))).collect(),
            heads: sentence.gold_heads().map(|heads| [vec![0], heads].concat()).unwrap_or_default(),
            labels: std::iter::once(0).chain(labels).collect(),
            ..Numbered::default()
        }
    }
}

/// The serialised form: sorted lists.
#[derive(Clone, Serialize, Deserialize)]
struct Lists {
    words: Vec<String>,
    characters: Vec<char>,
    labels: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ends: bool,
}

impl From<Lists> for Vocabulary {
    fn from(lists: Lists) -> Self {
        let ids = |n: usize| (RESERVED as u32..).take(n);
        let (words, characters) = (lists.words.len(), lists.characters.len());
        Self {
            words: lists.words.into_iter().zip(ids(words)).collect(),
            characters: lists.characters.into_iter().zip(ids(characters)).collect(),
            labels: lists.labels,
            ends: lists.ends,
        }
    }
}

impl From<Vocabulary> for Lists {
    fn from(vocabulary: Vocabulary) -> Self {
        Self {
            words: vocabulary.words.into_keys().collect(),
            characters: vocabulary.characters.into_keys().collect(),
            labels: vocabulary.labels,
            ends: vocabulary.ends,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn vocabulary() -> Vocabulary {
        Vocabulary::new(&[Sentence::from_forms(["The", "cat", "saw", "the", "dog"])], 2)
    }

    #[test]
    fn words_are_counted_without_case_and_rare_ones_are_unknown() {
        let numbered = vocabulary().number(&Sentence::from_forms(["THE", "cat"]));
        assert!(vocabulary().is_known(numbered.words[1]));
        assert_eq!(numbered.words[2], vocabulary().unknown());
        assert_eq!(numbered.len(), 3);
    }

    #[test]
    fn spellings_keep_case_and_are_cut_at_twenty_characters() {
        let numbered = vocabulary().number(&Sentence::from_forms(["T", "t", &"a".repeat(300), "日"]));
        assert_ne!(numbered.spellings[1], numbered.spellings[2]);
        assert_eq!(numbered.spellings[3].len(), 20);
        assert_eq!(numbered.spellings[4], [UNKNOWN]);
    }

    #[test]
    fn marked_spellings_have_the_end_of_long_words_and_a_mark_on_both_sides() {
        let marked = vocabulary().with_ends(true);
        let long = format!("{}cat", "t".repeat(300));
        let [plain, marked] =
            [vocabulary(), marked].map(|table| table.number(&Sentence::from_forms(["cat", &long])).spellings);
        assert_eq!(marked[0], [ROOT]);
        assert_eq!(marked[1], [&[ROOT][..], &plain[1], &[ROOT]].concat());
        assert_eq!((marked[2].len(), &marked[2][28..]), (32, &[&plain[1][..], &[ROOT]].concat()[..]));
    }

    #[test]
    fn the_tables_round_trip_through_json() {
        for table in [vocabulary(), vocabulary().with_ends(true)] {
            let text = serde_json::to_string(&table).unwrap();
            assert_eq!(serde_json::from_str::<Vocabulary>(&text).unwrap(), table);
        }
        let text = serde_json::to_string(&vocabulary()).unwrap();
        assert!(!text.contains("ends"), "the text, and so the fingerprint, of older tables stays: {text}");
    }
}
