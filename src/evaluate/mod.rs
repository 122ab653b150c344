//! How close a parse is to the gold trees: UAS, LAS and CLAS, equal to the official evaluator (`udeval` of `udtools`).
//!
//! The official figures count punctuation and cut subtypes off labels (`nsubj:pass` counts as `nsubj`); every other
//! combination is there under its own name. Unlike the official evaluator, this one also scores parses that are not
//! trees, which greedy decoding may give.

mod align;
mod tables;

use crate::error::Result;
use crate::treebank::Sentence;
use align::{Alignment, Side, SideWord, common_spans};
use serde::Serialize;
pub use tables::{LabelScore, LengthScore};

/// The labels of content words (UD's list in the official evaluator); CLAS counts only these.
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

/// What is compared, and how much of it is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// How many there are in the gold file.
    pub gold: usize,
    /// How many there are in the system file.
    pub system: usize,
    /// How many of the system's are right.
    pub correct: usize,
    /// Right ones among the system's, 0 to 1.
    pub precision: f64,
    /// Right ones among the gold ones, 0 to 1.
    pub recall: f64,
    /// The harmonic mean of the two, 0 to 1; equal to both where the words are the same.
    pub f1: f64,
}

/// The attachment scores over one choice of words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Attachment {
    /// The head is right.
    pub uas: Score,
    /// Head and label are right, subtypes cut off.
    pub las: Score,
    /// Head and label are right, subtypes included.
    pub las_subtypes: Score,
    /// Head and label are right, of content words only, subtypes cut off.
    pub clas: Score,
    /// Head and label are right, of content words only, subtypes included.
    pub clas_subtypes: Score,
}

/// Everything an evaluation says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scores {
    /// Surface tokens that cover the same characters.
    pub tokens: Score,
    /// Sentences that cover the same characters.
    pub sentences: Score,
    /// Words that could be aligned.
    pub words: Score,
    /// All words: `uas`, `las` and `clas` are the official figures.
    pub with_punctuation: Attachment,
    /// Without the words whose gold label is `punct` (for words that have no gold counterpart, whose own label is).
    pub without_punctuation: Attachment,
    /// By label with its subtype: head and label are right.
    pub labels: Vec<LabelScore>,
    /// By the distance between a word and its head.
    pub dependency_lengths: Vec<LengthScore>,
    /// By the number of words in the sentence.
    pub sentence_lengths: Vec<LengthScore>,
}

/// Compares a parse with the gold trees of the same text; the two may be cut into words differently.
pub fn evaluate(gold: &[Sentence], system: &[Sentence]) -> Result<Scores> {
    let (gold, system) = (Side::new(gold, "gold")?, Side::new(system, "system")?);
    let alignment = Alignment::new(&gold, &system)?;
    let spans = |gold: &[_], system: &[_]| Score::new(gold.len(), system.len(), common_spans(gold, system));
    let pair = Pair { gold: &gold.words, system: &system.words, alignment: &alignment };
    Ok(Scores {
        tokens: spans(&gold.tokens, &system.tokens),
        sentences: spans(&gold.sentences, &system.sentences),
        words: Score::new(gold.words.len(), system.words.len(), alignment.pairs.len()),
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

/// Two files laid side by side.
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

    /// Counts the words chosen on each side, and as right those whose head is right and whose labels agree. As in the
    /// official evaluator, gold and system words are chosen each by their own label.
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

    /// Whether the system's head of an aligned word is aligned to the gold head.
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
