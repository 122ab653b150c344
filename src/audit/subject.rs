//! The sentences of a treebank that is judged: those of the bundle's own evidence, or those of a file.

use crate::error::Result;
use crate::evidence::{TrainingEdges, TrainingSentence};
use crate::treebank::{LocatedSentence, Sentence};
use std::borrow::Cow;
use std::collections::HashMap;

/// A sentence whose edges are judged. Words are ids, from 1.
#[derive(Clone, Debug)]
pub(super) struct Subject<'a> {
    pub sentence: Cow<'a, Sentence>,
    /// The head of each word.
    pub heads: Vec<usize>,
    /// The line of each word; empty if it comes from the evidence.
    pub lines: Cow<'a, [u64]>,
    /// The number of its document in the treebank that is judged.
    pub document: Option<u32>,
    /// What is no evidence about it.
    pub own: Own,
    /// Its number in the index, if the index has exactly this tree, and so the vectors of its edges.
    pub stored: Option<u32>,
}

/// The training sentences that are no evidence about a sentence.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    /// The sentence itself. There are several if sentences without a `sent_id` have the same words.
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

/// The sentences of the evidence. It has no parts of speech.
pub(super) fn of_evidence(edges: &TrainingEdges, documents: &Documents) -> Result<Vec<Subject<'static>>> {
    let subject = |number: u32| {
        let stored = edges.sentence(number)?;
        let document = documents.of_sentences.get(number as usize).copied().flatten();
        let mut sentence = Sentence::from_forms(stored.words.iter().map(|word| word.form));
        sentence.set_comment("sent_id", stored.sent_id);
        for (word, own) in sentence.words_mut().iter_mut().zip(&stored.words) {
            (word.head, word.label) = (Some(own.head), own.label.to_string());
        }
        Ok(Subject {
            heads: stored.words.iter().map(|word| word.head).collect(),
            sentence: Cow::Owned(sentence),
            lines: Cow::Borrowed(&[]),
            document,
            own: Own { sentences: vec![number], document },
            stored: Some(number),
        })
    };
    (0..edges.sentences()).map(subject).collect()
}

/// The sentences of a file. One that the evidence has too, by its `sent_id` or, if it has none, by its words, is not
/// judged by itself.
pub(super) fn of_file<'a>(
    edges: &TrainingEdges,
    documents: &Documents,
    treebank: &'a [LocatedSentence],
) -> Result<Vec<Subject<'a>>> {
    let mut document = None;
    let mut subjects = without_evidence(treebank);
    for Subject { sentence, own, stored, .. } in &mut subjects {
        if let Some(name) = sentence.document() {
            document = documents.numbers.get(name).copied();
        }
        *own = Own { sentences: edges.sentences_named(&sentence.name()), document };
        for &number in &own.sentences {
            if is_same(sentence, &edges.sentence(number)?) {
                *stored = Some(number);
            }
        }
    }
    Ok(subjects)
}

/// The sentences of a file, of which no evidence is known.
pub(super) fn without_evidence(treebank: &[LocatedSentence]) -> Vec<Subject<'_>> {
    let (mut numbers, mut document) = (HashMap::new(), None);
    let mut document_of = |(at, located): (usize, &'_ LocatedSentence)| {
        if let Some(name) = located.sentence.document() {
            // A document without a name is another one than all before it.
            let key = if name.is_empty() { Err(at) } else { Ok(name.to_string()) };
            let next = numbers.len() as u32;
            document = Some(*numbers.entry(key).or_insert(next));
        }
        document
    };
    let with_document = treebank.iter().enumerate().map(|own| (document_of(own), own.1));
    let subjects = with_document.map(|(document, LocatedSentence { sentence, word_lines })| Subject {
        sentence: Cow::Borrowed(sentence),
        heads: sentence.gold_heads().unwrap_or_default(),
        lines: Cow::Borrowed(word_lines.as_slice()),
        document,
        own: Own::default(),
        stored: None,
    });
    subjects.collect()
}

/// Whether a sentence has the words and the tree of a training sentence.
fn is_same(sentence: &Sentence, stored: &TrainingSentence<'_>) -> bool {
    let words = sentence.words().iter().zip(&stored.words);
    sentence.words().len() == stored.words.len()
        && words.into_iter().all(|(word, stored)| {
            (word.form.as_str(), word.head, word.label.as_str()) == (stored.form, Some(stored.head), stored.label)
        })
}

impl Subject<'_> {
    /// How many words it has.
    pub(super) fn len(&self) -> usize {
        self.heads.len()
    }

    /// The `sent_id`, empty if there is none.
    pub(super) fn sent_id(&self) -> &str {
        self.sentence.sent_id().unwrap_or_default()
    }

    /// The form of a word.
    pub(super) fn form(&self, word: usize) -> &str {
        &self.sentence.words()[word - 1].form
    }

    /// The label of a word.
    pub(super) fn label(&self, word: usize) -> &str {
        &self.sentence.words()[word - 1].label
    }

    /// The words as a sentence without annotation, to be encoded.
    pub(super) fn bare(&self) -> Sentence {
        Sentence::from_forms(self.sentence.forms())
    }
}
