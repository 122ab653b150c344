//! Evaluates a parse against gold trees: UAS, LAS, CLAS, MLAS, BLEX and tags, equal to the official evaluator (`udeval` of
//! `udtools`).
//!
//! The official scores include punctuation and ignore label subtypes (`nsubj:pass` counts as `nsubj`). The other
//! combinations have their own names. Unlike the official evaluator, this one also scores parses that are not trees,
//! which greedy decoding can produce.

mod align;
mod bootstrap;
mod compare;
mod reliability;
mod tables;
mod tags;

use crate::error::Result;
use crate::treebank::Sentence;
use align::{Alignment, Side, SideWord, common_spans};
pub use bootstrap::{PairedDifference, Significance};
pub use compare::{
    Comparing, Comparison, Confusion, Difference, ErrorFilter, ErrorKind, LabelledEdge, ParseSummary,
    SentenceDifferences, SentenceScores, compare,
};
pub use reliability::{Reliability, ReliabilityBin};
pub(crate) use reliability::{Scored, fit, reliability};
use serde::Serialize;
pub use tables::{LabelScore, LengthScore};
pub use tags::TagScores;

/// The labels of content words, as listed in the official evaluator. CLAS counts only these.
const CONTENT_LABELS: [&str; 29] = [
    "nsubj",
    "obj",
    "iobj",
    "csubj",
    "ccomp",
    "xcomp",
    "obl",
    "vocative",
    "expl",
    "dislocated",
    "advcl",
    "advmod",
    "discourse",
    "nmod",
    "appos",
    "nummod",
    "acl",
    "amod",
    "conj",
    "fixed",
    "flat",
    "compound",
    "list",
    "parataxis",
    "orphan",
    "goeswith",
    "reparandum",
    "root",
    "dep",
];

/// Counts of items and the scores computed from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// Items in the gold file.
    pub gold: usize,
    /// Items in the system file.
    pub system: usize,
    /// Correct items of the system file.
    pub correct: usize,
    /// Correct items divided by system items, 0 to 1.
    pub precision: f64,
    /// Correct items divided by gold items, 0 to 1.
    pub recall: f64,
    /// The harmonic mean of precision and recall, 0 to 1; equal to both if both files have the same words.
    pub f1: f64,
}

/// The attachment scores over one selection of words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Attachment {
    /// The head is correct.
    pub uas: Score,
    /// Head and label are correct, ignoring subtypes.
    pub las: Score,
    /// Head and label are correct, including subtypes.
    pub las_subtypes: Score,
    /// Head and label are correct, for content words only, ignoring subtypes.
    pub clas: Score,
    /// Head and label are correct, for content words only, including subtypes.
    pub clas_subtypes: Score,
}

/// All scores of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Scores {
    /// Surface tokens that cover the same characters.
    pub tokens: Score,
    /// Sentences that cover the same characters.
    pub sentences: Score,
    /// Aligned words.
    pub words: Score,
    /// The columns besides heads and labels, and the scores that count them too.
    pub tags: TagScores,
    /// All words: `uas`, `las` and `clas` are the official scores.
    pub with_punctuation: Attachment,
    /// Without the words whose gold label is `punct`. For words without a gold counterpart their own label decides.
    pub without_punctuation: Attachment,
    /// By label with its subtype: head and label are correct.
    pub labels: Vec<LabelScore>,
    /// By the distance between a word and its head.
    pub dependency_lengths: Vec<LengthScore>,
    /// By the number of words in the sentence.
    pub sentence_lengths: Vec<LengthScore>,
}

/// Compares a parse with the gold trees of the same text. The two can have different words.
pub fn evaluate(gold: &[Sentence], system: &[Sentence]) -> Result<Scores> {
    let (gold, system) = (Side::new(gold, "gold")?, Side::new(system, "system")?);
    let alignment = Alignment::new(&gold, &system)?;
    let spans = |gold: &[_], system: &[_]| Score::new(gold.len(), system.len(), common_spans(gold, system));
    let pair = Pair { gold: &gold.words, system: &system.words, alignment: &alignment };
    Ok(Scores {
        tokens: spans(&gold.tokens, &system.tokens),
        sentences: spans(&gold.sentences, &system.sentences),
        words: Score::new(gold.words.len(), system.words.len(), alignment.pairs.len()),
        tags: tags::scores(&pair),
        with_punctuation: pair.attachment(true),
        without_punctuation: pair.attachment(false),
        labels: tables::by_label(&pair),
        dependency_lengths: tables::by_dependency_length(&pair),
        sentence_lengths: tables::by_sentence_length(&pair),
    })
}

impl Score {
    fn new(gold: usize, system: usize, correct: usize) -> Self {
        let ratio = |part: usize, whole: usize| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let (precision, recall) = (ratio(correct, system), ratio(correct, gold));
        Self { gold, system, correct, precision, recall, f1: ratio(2 * correct, system + gold) }
    }
}

/// Two aligned files.
struct Pair<'a> {
    gold: &'a [SideWord<'a>],
    system: &'a [SideWord<'a>],
    alignment: &'a Alignment,
}

impl Pair<'_> {
    fn attachment(&self, punctuation: bool) -> Attachment {
        let every = |_: &SideWord<'_>| true;
        let content = |word: &SideWord<'_>| CONTENT_LABELS.contains(&universal(word.label));
        Attachment {
            uas: self.score(punctuation, every, |_, _| true),
            las: self.score(punctuation, every, same_universal_label),
            las_subtypes: self.score(punctuation, every, same_label),
            clas: self.score(punctuation, content, same_universal_label),
            clas_subtypes: self.score(punctuation, content, same_label),
        }
    }

    /// Counts the selected words on each side, and as correct those with the right head and matching labels. As in the
    /// official evaluator, gold words and system words are each selected by their own label.
    fn score(
        &self,
        punctuation: bool,
        chosen: impl Fn(&SideWord<'_>) -> bool,
        labels_agree: impl Fn(&SideWord<'_>, &SideWord<'_>) -> bool,
    ) -> Score {
        let gold_counts = |word: &SideWord<'_>| (punctuation || universal(word.label) != "punct") && chosen(word);
        let system_counts = |place: usize, word: &SideWord<'_>| {
            let judged = self.alignment.gold_of[place].map_or(word, |gold| &self.gold[gold]);
            (punctuation || universal(judged.label) != "punct") && chosen(word)
        };
        let right = |&&(gold, system): &&(usize, usize)| {
            let (gold_word, system_word) = (&self.gold[gold], &self.system[system]);
            gold_counts(gold_word) && self.head_is_right(gold, system) && labels_agree(gold_word, system_word)
        };
        Score::new(
            self.gold.iter().filter(|word| gold_counts(word)).count(),
            self.system.iter().enumerate().filter(|(place, word)| system_counts(*place, word)).count(),
            self.alignment.pairs.iter().filter(right).count(),
        )
    }

    /// Whether the system's head of an aligned word is aligned with the gold head.
    fn head_is_right(&self, gold: usize, system: usize) -> bool {
        match (self.gold[gold].head, self.system[system].head) {
            (Some(gold_head), Some(system_head)) => self.alignment.gold_of[system_head] == Some(gold_head),
            (gold_head, system_head) => gold_head.is_none() && system_head.is_none(),
        }
    }
}

fn same_label(gold: &SideWord<'_>, system: &SideWord<'_>) -> bool {
    gold.label == system.label
}

fn same_universal_label(gold: &SideWord<'_>, system: &SideWord<'_>) -> bool {
    universal(gold.label) == universal(system.label)
}

/// The label without its subtype.
fn universal(label: &str) -> &str {
    label.split_once(':').map_or(label, |(universal, _)| universal)
}
