//! Words, characters and labels as numbers, fixed when training begins.

use super::bert::{Features, Pieces};
use crate::treebank::Sentence;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A label that training did not show: no label's number.
pub(super) const UNKNOWN_LABEL: u32 = u32::MAX;
const UNKNOWN: u32 = 0;
const ROOT: u32 = 1;
const RESERVED: usize = 2;

/// Characters of a word beyond this many are not looked at.
const LONGEST_SPELLING: usize = 20;

/// The tables of one training treebank. Ids follow the sorted order of their entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Lists", into = "Lists")]
pub struct Vocabulary {
    words: BTreeMap<String, u32>,
    characters: BTreeMap<char, u32>,
    labels: Vec<String>,
}

/// A sentence as numbers; position 0 is ROOT.
#[derive(Clone, Debug, Default)]
pub struct Numbered {
    /// Word ids.
    pub words: Vec<u32>,
    /// Character ids of every position.
    pub spellings: Vec<Vec<u32>>,
    /// Gold heads; 0 at ROOT. Empty where the sentence has none.
    pub heads: Vec<usize>,
    /// Gold labels; 0 at ROOT, [`UNKNOWN_LABEL`] for one that training did not show.
    pub labels: Vec<u32>,
    /// Rows of the frozen word vectors; empty where there are none.
    pub vectors: Vec<u32>,
    /// The sentence as BERT reads it, where its states are not stored.
    pub pieces: Option<Pieces>,
    /// Stored states of BERT, and the row of ROOT in them.
    pub(crate) stored: Option<(Arc<Features>, u64)>,
}

impl Numbered {
    /// Positions, ROOT included.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there is no word but ROOT.
    pub fn is_empty(&self) -> bool {
        self.words.len() <= 1
    }
}

impl AsRef<Numbered> for Numbered {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Vocabulary {
    /// Counts a treebank; words rarer than `min_count` (lower-cased) are left out.
    pub fn new(sentences: &[Sentence], min_count: usize) -> Self {
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
        Lists { words, characters: characters.into_iter().collect(), labels }.into()
    }

    /// Rows of the word embedding.
    pub(crate) fn word_count(&self) -> usize {
        self.words.len() + RESERVED
    }

    /// Rows of the character embedding.
    pub(crate) fn character_count(&self) -> usize {
        self.characters.len() + RESERVED
    }

    /// All labels, sorted; a label's id is its place here.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The id of a label, if training showed it.
    pub(crate) fn label(&self, name: &str) -> Option<u32> {
        self.labels.binary_search_by(|label| label.as_str().cmp(name)).ok().map(|id| id as u32)
    }

    /// The id that unknown words share.
    pub(crate) fn unknown(&self) -> u32 {
        UNKNOWN
    }

    /// Whether a word id stands for one word of the table (not ROOT, not unknown).
    pub(crate) fn is_known(&self, word: u32) -> bool {
        word as usize >= RESERVED
    }

    /// Turns a sentence into numbers, without what is pretrained.
    pub fn number(&self, sentence: &Sentence) -> Numbered {
        let words = sentence.words();
        let word_ids = words.iter().map(|w| self.words.get(&w.form.to_lowercase()).copied().unwrap_or(UNKNOWN));
        let spelling = |form: &str| -> Vec<u32> {
            let ids = form.chars().take(LONGEST_SPELLING);
            let ids: Vec<u32> = ids.map(|c| self.characters.get(&c).copied().unwrap_or(UNKNOWN)).collect();
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

/// The form on disk: sorted lists.
#[derive(Clone, Serialize, Deserialize)]
struct Lists {
    words: Vec<String>,
    characters: Vec<char>,
    labels: Vec<String>,
}

impl From<Lists> for Vocabulary {
    fn from(lists: Lists) -> Self {
        let ids = |n: usize| (RESERVED as u32..).take(n);
        let (words, characters) = (lists.words.len(), lists.characters.len());
        Self {
            words: lists.words.into_iter().zip(ids(words)).collect(),
            characters: lists.characters.into_iter().zip(ids(characters)).collect(),
            labels: lists.labels,
        }
    }
}

impl From<Vocabulary> for Lists {
    fn from(vocabulary: Vocabulary) -> Self {
        Self {
            words: vocabulary.words.into_keys().collect(),
            characters: vocabulary.characters.into_keys().collect(),
            labels: vocabulary.labels,
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
    fn the_tables_survive_being_written_and_read() {
        let text = serde_json::to_string(&vocabulary()).unwrap();
        assert_eq!(serde_json::from_str::<Vocabulary>(&text).unwrap(), vocabulary());
    }
}
