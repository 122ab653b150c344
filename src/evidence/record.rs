//! A training sentence as stored in the index: its gold tree and enough to show a citation without the treebank.
//!
//! The format is text: a line each for `sent_id`, document and text, then one line per word with form, head and label
//! separated by tabs. In CoNLL-U none of these can contain a line break or a tab.

use crate::treebank::Sentence;
use citree_index::Record;
use serde::Serialize;

/// A training edge, as the index stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edge {
    /// Number of its sentence.
    pub sentence: u32,
    /// Position of the dependent in the sentence.
    pub dependent: u32,
    /// Position of the head in the sentence; 0 is ROOT.
    pub head: u32,
    /// Number of the label.
    pub label: u32,
}

/// A training edge by its kind and its number. Accepted edges are the gold edges; rejected edges are wrong heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeId {
    /// A gold edge.
    Accepted(u32),
    /// A word with a head that it does not have.
    Rejected(u32),
}

impl From<Record> for Edge {
    fn from(Record { source, class, payload: [dependent, head] }: Record) -> Self {
        Self { sentence: source, dependent, head, label: class }
    }
}

impl From<Edge> for Record {
    fn from(Edge { sentence, dependent, head, label }: Edge) -> Self {
        Self { source: sentence, class: label, payload: [dependent, head] }
    }
}

/// A training sentence, borrowed from the index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrainingSentence<'a> {
    /// Its `sent_id`; for a sentence without one, a name made of its words.
    pub sent_id: &'a str,
    /// Its document; empty if the treebank has none.
    pub document: &'a str,
    /// The text as written; empty if the treebank has none.
    pub text: &'a str,
    /// Its words; the word with id `i` is `words[i - 1]`.
    pub words: Vec<TrainingWord<'a>>,
}

impl TrainingSentence<'_> {
    /// The sentence with its forms, heads and labels, which is all that is stored of its words.
    #[cfg(feature = "cli")]
    pub(crate) fn tree(&self) -> Sentence {
        let mut sentence = Sentence::from_forms(self.words.iter().map(|word| word.form));
        for (word, stored) in sentence.words_mut().iter_mut().zip(&self.words) {
            word.head = Some(stored.head);
            word.label = stored.label.to_string();
        }
        sentence
    }
}

/// A word of a training sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrainingWord<'a> {
    /// The word as written.
    pub form: &'a str,
    /// The id of its gold head.
    pub head: usize,
    /// The gold label.
    pub label: &'a str,
}

/// The part of a training sentence that a citation shows, shared by all citations of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Source {
    /// Its `sent_id`.
    pub sent_id: String,
    /// The document it is in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub document: String,
    /// Its words; the word with id `i` is `words[i - 1]`.
    pub words: Vec<String>,
}

impl From<TrainingSentence<'_>> for Source {
    fn from(sentence: TrainingSentence<'_>) -> Self {
        Self {
            sent_id: sentence.sent_id.to_string(),
            document: sentence.document.to_string(),
            words: sentence.words.iter().map(|word| word.form.to_string()).collect(),
        }
    }
}

impl<'a> TrainingSentence<'a> {
    /// Encodes a sentence for the index.
    pub(crate) fn encode(sentence: &Sentence, document: &str) -> Vec<u8> {
        let one_line = |text: &str| text.replace(['\n', '\r', '\t'], " ");
        let (sent_id, text) = (sentence.name(), sentence.text().unwrap_or_default());
        let mut record = [&*sent_id, document, text].map(one_line).join("\n");
        for word in sentence.words() {
            let head = word.head.unwrap_or_default();
            record.push_str(&format!("\n{}\t{head}\t{}", one_line(&word.form), one_line(&word.label)));
        }
        record.into_bytes()
    }

    /// The `sent_id` in the output of [`encode`](Self::encode), by which the index finds a sentence.
    pub(crate) fn key(bytes: &[u8]) -> &[u8] {
        bytes.split(|byte| *byte == b'\n').next().unwrap_or_default()
    }

    /// Decodes the output of [`encode`](Self::encode); `None` for other bytes.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(bytes).ok()?.split('\n');
        let (sent_id, document, text) = (lines.next()?, lines.next()?, lines.next()?);
        let word = |line: &'a str| {
            let mut columns = line.split('\t');
            let word =
                TrainingWord { form: columns.next()?, head: columns.next()?.parse().ok()?, label: columns.next()? };
            columns.next().is_none().then_some(word)
        };
        let words: Vec<TrainingWord<'a>> = lines.map(word).collect::<Option<_>>()?;
        let in_range = words.iter().all(|word| word.head <= words.len());
        in_range.then_some(Self { sent_id, document, text, words })
    }

    /// The form at a position, `ROOT` at 0.
    pub fn form(&self, position: usize) -> &'a str {
        position.checked_sub(1).and_then(|at| self.words.get(at)).map_or("ROOT", |word| word.form)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::treebank::starter;

    #[test]
    fn sentences_round_trip_through_the_index_format() {
        for sentence in starter::train() {
            let bytes = TrainingSentence::encode(&sentence, "letters");
            let record = TrainingSentence::decode(&bytes).unwrap();
            assert_eq!(Some(record.sent_id), sentence.sent_id());
            assert_eq!(Some(record.text), sentence.text());
            assert_eq!(record.document, "letters");
            assert_eq!(record.words.len(), sentence.words().len());
            for (kept, word) in record.words.iter().zip(sentence.words()) {
                assert_eq!(
                    (kept.form, Some(kept.head), kept.label),
                    (word.form.as_str(), word.head, word.label.as_str())
                );
            }
        }
    }

    #[test]
    fn invalid_bytes_are_refused() {
        for bytes in [
            &b""[..],
            b"id\n",
            b"id\n\n\nform",
            b"id\n\n\nform\t7\tobj",
            b"id\n\n\n\xff\t0\troot",
            b"a\nb\nc\nd\t0\tx\ty",
        ] {
            assert_eq!(TrainingSentence::decode(bytes), None);
        }
    }
}
