//! The sentences of a treebank that is judged: those of the bundle's own evidence, or those of a file.

use crate::error::Result;
use crate::evidence::{TrainingEdges, TrainingSentence};
use crate::treebank::{LocatedSentence, Sentence};
use std::collections::HashMap;

/// A sentence whose edges are judged.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub sent_id: String,
    /// The forms of its words.
    pub words: Vec<String>,
    /// The head of each word.
    pub heads: Vec<usize>,
    /// The label of each word.
    pub labels: Vec<String>,
    /// The line of each word; empty if it comes from the evidence.
    pub lines: Vec<u64>,
    /// What is no evidence about it.
    pub own: Own,
    /// Its number in the index, if the index has exactly this tree, and so the vectors of its edges.
    pub stored: Option<u32>,
}

/// The training sentences that are no evidence about a sentence.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    /// The sentence itself.
    sentences: Vec<u32>,
    /// Its document.
    document: Option<u32>,
}

/// The documents of the training sentences.
pub(super) struct Documents {
    /// The document of each sentence; `None` if it is unnamed, or too large to be left out.
    of_sentences: Vec<Option<u32>>,
    numbers: HashMap<String, u32>,
}

impl Documents {
    /// A document with more than half of all sentences is not left out, because too little would be left.
    pub(super) fn of(edges: &TrainingEdges) -> Result<Self> {
        let (mut numbers, mut sizes, mut of_sentences) = (HashMap::new(), Vec::new(), Vec::new());
        for sentence in 0..edges.sentences() {
            let document = edges.sentence(sentence)?.document;
            of_sentences.push((!document.is_empty()).then(|| {
                let number = *numbers.entry(document.to_string()).or_insert(sizes.len() as u32);
                sizes.resize(sizes.len().max(number as usize + 1), 0_usize);
                sizes[number as usize] += 1;
                number
            }));
        }
        let small = |number: &u32| sizes[*number as usize] * 2 <= of_sentences.len();
        let of_sentences = of_sentences.iter().map(|document| document.filter(small)).collect();
        Ok(Self { of_sentences, numbers })
    }

    /// Whether a training sentence is no evidence.
    pub(super) fn is_own(&self, own: &Own, sentence: u32) -> bool {
        let document = self.of_sentences.get(sentence as usize).copied().flatten();
        own.sentences.contains(&sentence) || (document.is_some() && document == own.document)
    }
}

/// The sentences of the evidence.
pub(super) fn of_evidence(edges: &TrainingEdges, documents: &Documents) -> Result<Vec<Subject>> {
    let subject = |number: u32| {
        let sentence = edges.sentence(number)?;
        let document = documents.of_sentences.get(number as usize).copied().flatten();
        Ok(Subject {
            sent_id: sentence.sent_id.to_string(),
            words: sentence.words.iter().map(|word| word.form.to_string()).collect(),
            heads: sentence.words.iter().map(|word| word.head).collect(),
            labels: sentence.words.iter().map(|word| word.label.to_string()).collect(),
            lines: Vec::new(),
            own: Own { sentences: vec![number], document },
            stored: Some(number),
        })
    };
    (0..edges.sentences()).map(subject).collect()
}

/// The sentences of a file. One that the evidence has too, by its `sent_id` or, if it has none, by its words, is not
/// judged by itself.
pub(super) fn of_file(
    edges: &TrainingEdges,
    documents: &Documents,
    treebank: &[LocatedSentence],
) -> Result<Vec<Subject>> {
    let unnamed = treebank.iter().any(|located| located.sentence.sent_id().is_none());
    let by_words = if unnamed { numbers_by_words(edges)? } else { HashMap::new() };
    let mut document = None;
    let mut subjects = Vec::with_capacity(treebank.len());
    for LocatedSentence { sentence, word_lines } in treebank {
        if let Some(name) = sentence.document() {
            document = documents.numbers.get(name).copied();
        }
        let sentences = match sentence.sent_id() {
            Some(sent_id) => edges.sentence_named(sent_id)?.into_iter().collect(),
            None => by_words.get(&joined(sentence.forms())).cloned().unwrap_or_default(),
        };
        let mut stored = None;
        for &number in &sentences {
            if is_same(sentence, &edges.sentence(number)?) {
                stored = Some(number);
            }
        }
        subjects.push(Subject {
            sent_id: sentence.sent_id().unwrap_or_default().to_string(),
            words: sentence.forms().map(str::to_string).collect(),
            heads: sentence.gold_heads().unwrap_or_default(),
            labels: sentence.words().iter().map(|word| word.label.clone()).collect(),
            lines: word_lines.clone(),
            own: Own { sentences, document },
            stored,
        });
    }
    Ok(subjects)
}

fn numbers_by_words(edges: &TrainingEdges) -> Result<HashMap<String, Vec<u32>>> {
    let mut numbers: HashMap<String, Vec<u32>> = HashMap::new();
    for number in 0..edges.sentences() {
        let words = joined(edges.sentence(number)?.words.iter().map(|word| word.form));
        numbers.entry(words).or_default().push(number);
    }
    Ok(numbers)
}

fn joined<'a>(forms: impl Iterator<Item = &'a str>) -> String {
    forms.collect::<Vec<_>>().join("\t")
}

/// Whether a sentence has the words and the tree of a training sentence.
fn is_same(sentence: &Sentence, stored: &TrainingSentence<'_>) -> bool {
    let words = sentence.words().iter().zip(&stored.words);
    sentence.words().len() == stored.words.len()
        && words.into_iter().all(|(word, stored)| {
            (word.form.as_str(), word.head, word.label.as_str()) == (stored.form, Some(stored.head), stored.label)
        })
}

impl Subject {
    /// The words as a sentence without annotation, to be encoded.
    pub(super) fn bare(&self) -> Sentence {
        Sentence::from_forms(self.words.iter().cloned())
    }
}
