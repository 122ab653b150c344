//! Gold trees beside one or two parses of the same words: what differs, which labels are confused, and whether the difference
//! of two parsers is more than chance.

use super::bootstrap::{Counts, Significance};
use super::{Score, universal};
use crate::error::{Error, Result};
use crate::treebank::{Sentence, Word};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The most parses that are compared at once.
const MOST_PARSES: usize = 2;

/// How to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparing {
    /// Whether `nsubj:pass` for `nsubj` is a wrong label. LAS ignores subtypes.
    pub subtypes: bool,
    /// How many resamples judge the difference of two parsers.
    pub samples: usize,
    /// The seed of the resamples.
    pub seed: u64,
}

impl Default for Comparing {
    fn default() -> Self {
        Self { subtypes: false, samples: 10_000, seed: 1 }
    }
}

/// Gold trees and parses compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// Whether labels were compared with their subtypes.
    pub subtypes: bool,
    /// The number of words.
    pub words: usize,
    /// A summary of each parse.
    pub parses: Vec<ParseSummary>,
    /// How far the second parse is ahead of the first, if there are two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub significance: Option<Significance>,
    /// Every sentence, in the order of the files.
    pub sentences: Vec<SentenceDifferences>,
}

/// How good a parse is, and what it gets wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ParseSummary {
    /// The head is correct.
    pub uas: Score,
    /// Head and label are correct.
    pub las: Score,
    /// Words with each kind of error.
    pub errors: BTreeMap<ErrorKind, usize>,
    /// Labels taken for others, the most frequent first.
    pub confusions: Vec<Confusion>,
}

/// What is wrong about an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    /// The head, and the label is correct.
    Head,
    /// The label, and the head is correct.
    Label,
    /// Head and label.
    Both,
}

/// A label taken for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Confusion {
    /// The gold label.
    pub gold: String,
    /// The label in the parse.
    pub predicted: String,
    /// How many words.
    pub words: usize,
    /// How many of these have the correct head.
    pub head_correct: usize,
}

/// A sentence and the words that a parse has otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SentenceDifferences {
    /// Its number in the files, from 1.
    pub number: usize,
    /// Its `sent_id` in the gold file, if it has one.
    pub sent_id: Option<String>,
    /// The number of its words.
    pub words: usize,
    /// The scores of each parse.
    pub parses: Vec<SentenceScores>,
    /// The words that are wrong in a parse.
    pub differences: Vec<Difference>,
}

/// The scores of one parse of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SentenceScores {
    /// Words with the correct head.
    pub heads_correct: usize,
    /// Words with the correct head and label.
    pub labelled_correct: usize,
    /// The least probable head, by `HeadProb` in MISC; `None` if no word has it.
    pub lowest_head_probability: Option<f64>,
}

/// A word that is wrong in a parse.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// The id of the word.
    pub word: usize,
    /// Its form.
    pub form: String,
    /// The edge of the gold tree.
    pub gold: LabelledEdge,
    /// The edge of each parse.
    pub predicted: Vec<LabelledEdge>,
}

/// The edge of a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LabelledEdge {
    /// The id of the head, 0 for ROOT.
    pub head: usize,
    /// The label.
    pub label: String,
    /// What is wrong about it; left out if it is correct.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
}

/// Which sentences to look at: those with a difference that fits.
#[derive(Clone, Debug, Default)]
pub struct ErrorFilter {
    /// The kinds of errors; any if empty.
    pub kinds: Vec<ErrorKind>,
    /// Labels of which one is the gold label or that of the parse; any if empty.
    pub labels: Vec<String>,
}

/// Compares one or two parses with the gold trees. All must have the same sentences of the same words; to compare files that
/// are cut otherwise, use [`evaluate`](super::evaluate).
pub fn compare(gold: &[Sentence], parses: &[&[Sentence]], how: Comparing) -> Result<Comparison> {
    if parses.is_empty() || parses.len() > MOST_PARSES {
        let found = format!("{} parses", parses.len());
        return Err(unfit(found, "one or two can be compared".to_string(), "give one or two"));
    }
    for (number, parse) in parses.iter().enumerate() {
        same_words(gold, parse, if number == 0 { "first" } else { "second" })?;
    }
    let mut sentences = Vec::with_capacity(gold.len());
    for (at, own) in gold.iter().enumerate() {
        let of_parses: Vec<&Sentence> = parses.iter().map(|parse| &parse[at]).collect();
        sentences.push(SentenceDifferences::new(at + 1, own, &of_parses, how.subtypes)?);
    }
    let words = sentences.iter().map(|sentence| sentence.words).sum();
    let summaries = (0..parses.len()).map(|parse| ParseSummary::new(&sentences, words, parse)).collect();
    let significance = (parses.len() == MOST_PARSES).then(|| {
        let counts = |sentence: &SentenceDifferences| Counts {
            words: sentence.words,
            heads: [0, 1].map(|parse: usize| sentence.parses[parse].heads_correct),
            labelled: [0, 1].map(|parse: usize| sentence.parses[parse].labelled_correct),
        };
        Significance::of(&sentences.iter().map(counts).collect::<Vec<_>>(), how.samples, how.seed)
    });
    Ok(Comparison { subtypes: how.subtypes, words, parses: summaries, significance, sentences })
}

impl SentenceDifferences {
    fn new(number: usize, gold: &Sentence, parses: &[&Sentence], subtypes: bool) -> Result<Self> {
        let mut differences = Vec::new();
        let mut scores: Vec<SentenceScores> = parses.iter().map(|parse| SentenceScores::doubt_of(parse)).collect();
        for (at, gold_word) in gold.words().iter().enumerate() {
            let gold = edge_of(gold_word, None, number, "gold")?;
            let mut predicted = Vec::with_capacity(parses.len());
            for (parse, score) in parses.iter().zip(&mut scores) {
                let edge = edge_of(&parse.words()[at], Some((&gold, subtypes)), number, "parsed")?;
                score.heads_correct += usize::from(matches!(edge.error, None | Some(ErrorKind::Label)));
                score.labelled_correct += usize::from(edge.error.is_none());
                predicted.push(edge);
            }
            if predicted.iter().any(|edge| edge.error.is_some()) {
                differences.push(Difference { word: at + 1, form: gold_word.form.clone(), gold, predicted });
            }
        }
        let sent_id = gold.sent_id().map(str::to_string);
        Ok(Self { number, sent_id, words: gold.words().len(), parses: scores, differences })
    }

    /// Whether it has a difference that fits.
    pub fn fits(&self, filter: &ErrorFilter) -> bool {
        self.differences.iter().any(|difference| {
            difference.predicted.iter().any(|edge| {
                let labels = [&difference.gold.label, &edge.label];
                let named = |label: &&String| filter.labels.iter().any(|wanted| covers(wanted, label));
                edge.error.is_some_and(|kind| filter.kinds.is_empty() || filter.kinds.contains(&kind))
                    && (filter.labels.is_empty() || labels.iter().any(named))
            })
        })
    }

    /// The least probable head of all parses.
    pub fn doubt(&self) -> Option<f64> {
        self.parses.iter().filter_map(|scores| scores.lowest_head_probability).reduce(f64::min)
    }
}

impl SentenceScores {
    fn doubt_of(parse: &Sentence) -> Self {
        let probabilities = parse.words().iter().filter_map(|word| word.misc("HeadProb")?.parse().ok());
        let lowest_head_probability = probabilities.filter(|number: &f64| number.is_finite()).reduce(f64::min);
        Self { heads_correct: 0, labelled_correct: 0, lowest_head_probability }
    }
}

impl ParseSummary {
    fn new(sentences: &[SentenceDifferences], words: usize, parse: usize) -> Self {
        let total = |number: &dyn Fn(&SentenceScores) -> usize| {
            let correct = sentences.iter().map(|sentence| number(&sentence.parses[parse])).sum();
            Score::new(words, words, correct)
        };
        let mut errors: BTreeMap<ErrorKind, usize> =
            [ErrorKind::Head, ErrorKind::Label, ErrorKind::Both].map(|kind| (kind, 0)).into();
        let mut confused: BTreeMap<(&str, &str), [usize; 2]> = BTreeMap::new();
        for difference in sentences.iter().flat_map(|sentence| &sentence.differences) {
            let edge = &difference.predicted[parse];
            let Some(kind) = edge.error else { continue };
            *errors.entry(kind).or_default() += 1;
            if kind != ErrorKind::Head {
                let counts = confused.entry((&difference.gold.label, &edge.label)).or_default();
                counts[0] += 1;
                counts[1] += usize::from(kind == ErrorKind::Label);
            }
        }
        let confusion = |((gold, predicted), [words, head_correct]): ((&str, &str), [usize; 2])| Confusion {
            gold: gold.to_string(),
            predicted: predicted.to_string(),
            words,
            head_correct,
        };
        let mut confusions: Vec<Confusion> = confused.into_iter().map(confusion).collect();
        // Equal counts stay in the order of the labels.
        confusions.sort_by_key(|confusion| std::cmp::Reverse(confusion.words));
        let (uas, las) = (total(&|scores| scores.heads_correct), total(&|scores| scores.labelled_correct));
        Self { uas, las, errors, confusions }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Head => "head",
            Self::Label => "label",
            Self::Both => "both",
        })
    }
}

/// Whether a label is the one that was named. A name without a subtype stands for all its subtypes.
fn covers(named: &str, label: &str) -> bool {
    label == named || universal(label) == named
}

/// The edge of a word, judged by that of the gold tree.
fn edge_of(word: &Word, gold: Option<(&LabelledEdge, bool)>, number: usize, file: &str) -> Result<LabelledEdge> {
    let head = word.head.ok_or_else(|| {
        let found = format!("sentence {number} of the {file} file has a word without HEAD");
        unfit(found, "every word needs one".to_string(), "parse the file first")
    })?;
    let label = word.label.clone();
    let error = gold.and_then(|(gold, subtypes)| {
        let same = if subtypes { gold.label == label } else { universal(&gold.label) == universal(&label) };
        match (gold.head == head, same) {
            (true, true) => None,
            (false, true) => Some(ErrorKind::Head),
            (true, false) => Some(ErrorKind::Label),
            (false, false) => Some(ErrorKind::Both),
        }
    });
    Ok(LabelledEdge { head, label, error })
}

fn same_words(gold: &[Sentence], parse: &[Sentence], which: &str) -> Result<()> {
    const REMEDY: &str = "parse the sentences of the gold file, or use `citree eval`, which aligns other words";
    for (number, (gold, parse)) in (1..).zip(gold.iter().zip(parse)) {
        if !gold.forms().eq(parse.forms()) {
            let place = gold.forms().zip(parse.forms()).take_while(|(gold, own)| gold == own).count();
            let form = |sentence: &Sentence| sentence.forms().nth(place).unwrap_or("no more words").to_string();
            let found = format!("sentence {number} of the {which} parse has {} as word {}", form(parse), place + 1);
            return Err(unfit(found, format!("the gold file has {}", form(gold)), REMEDY));
        }
    }
    if gold.len() == parse.len() {
        return Ok(());
    }
    let found = format!("the {which} parse has {} sentences", parse.len());
    Err(unfit(found, format!("the gold file has {}", gold.len()), REMEDY))
}

fn unfit(found: String, expected: String, remedy: &'static str) -> Error {
    Error::Evaluation { found, expected, remedy }
}
