//! The JSON that the API answers with, but for explanations, which look as `citree explain --format json` prints them.

use super::problem::Problem;
use super::snapshot::Snapshot;
use crate::explain::{Answer, Explanation, NamedEdge};
use crate::treebank::Sentence;
use serde::Serialize;
use utoipa::ToSchema;

/// Sentences, parsed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Parsed {
    /// The generation of the index that was asked.
    pub(super) generation: u64,
    /// One for each sentence that has words.
    pub(super) sentences: Vec<ParsedSentence>,
}

/// A sentence, parsed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ParsedSentence {
    /// Its `sent_id`, if it has one.
    sent_id: Option<String>,
    /// Its words; the word with id `i` is `words[i - 1]`.
    words: Vec<String>,
    /// The id of the head of every word, 0 for ROOT.
    heads: Vec<usize>,
    /// The label of every word's edge.
    labels: Vec<String>,
    /// For each word, the probability of its head and of its label.
    probabilities: Vec<[f32; 2]>,
}

impl From<Explanation> for ParsedSentence {
    fn from(explanation: Explanation) -> Self {
        let Explanation { sent_id, words, heads, labels, probabilities, .. } = explanation;
        Self { sent_id, words, heads, labels, probabilities }
    }
}

/// Sentences, explained.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Explained {
    /// The generation of the index that was asked; edge numbers are of this one.
    pub(super) generation: u64,
    /// One for each sentence that has words, as `citree explain --format json` prints it.
    #[schema(value_type = Vec<Object>)]
    pub(super) sentences: Vec<Answer>,
}

/// Edges with their neighbours.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Neighbors {
    /// The generation of the index that was asked; edge numbers are of this one.
    pub(super) generation: u64,
    /// One for each edge, as `citree neighbors` prints it.
    pub(super) edges: Vec<NamedEdge>,
}

/// A training edge in its sentence.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TrainingEdge {
    /// The generation of the index that the numbers are of.
    generation: u64,
    /// Its number.
    edge: u32,
    /// The number of its sentence.
    sentence: u32,
    /// The `sent_id` of its sentence; empty where the treebank gives none.
    sent_id: String,
    /// The document of its sentence; empty where the treebank names none.
    document: String,
    /// The words of its sentence; the word with id `i` is `words[i - 1]`.
    words: Vec<String>,
    /// The id of the dependent.
    dependent: u32,
    /// The id of the head, 0 for ROOT.
    head: u32,
    /// Its gold label.
    label: String,
}

impl TrainingEdge {
    pub(super) fn new(snapshot: &Snapshot, edge: u32) -> Result<Self, Problem> {
        let edges = snapshot.explainer.edges();
        let (record, sentence) = edges.edge(edge)?;
        Ok(Self {
            generation: snapshot.generation,
            edge,
            sentence: record.sentence,
            sent_id: sentence.sent_id.to_string(),
            document: sentence.document.to_string(),
            words: sentence.words.iter().map(|word| word.form.to_string()).collect(),
            dependent: record.dependent,
            head: record.head,
            label: edges.label(record.label).to_string(),
        })
    }
}

/// A training sentence with its gold tree.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TrainingSentence {
    /// The generation of the index that the numbers are of.
    generation: u64,
    /// Its number.
    pub(super) sentence: u32,
    /// Its `sent_id`; empty where the treebank gives none.
    pub(super) sent_id: String,
    /// The document it is in; empty where the treebank names none.
    pub(super) document: String,
    /// The text as written; empty where the treebank does not have it.
    pub(super) text: String,
    /// Its words, the first has id 1.
    pub(super) words: Vec<TrainingWord>,
}

/// A word of a training sentence with its gold edge.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TrainingWord {
    /// As written.
    pub(super) form: String,
    /// The id of its gold head, 0 for ROOT.
    pub(super) head: usize,
    /// Its gold label.
    pub(super) label: String,
    /// The number of its edge; none where its label was not trained with.
    pub(super) edge: Option<u32>,
}

impl TrainingSentence {
    pub(super) fn new(snapshot: &Snapshot, number: u32) -> Result<Self, Problem> {
        let edges = snapshot.explainer.edges();
        let sentence = edges.sentence(number)?;
        let word = |(word, id): (&crate::evidence::TrainingWord<'_>, usize)| {
            let (form, label) = (word.form.to_string(), word.label.to_string());
            Ok(TrainingWord { form, head: word.head, label, edge: edges.edge_at(number, id)? })
        };
        Ok(Self {
            generation: snapshot.generation,
            sentence: number,
            sent_id: sentence.sent_id.to_string(),
            document: sentence.document.to_string(),
            text: sentence.text.to_string(),
            words: sentence.words.iter().zip(1..).map(word).collect::<Result<_, Problem>>()?,
        })
    }

    /// The same for CoNLL-U, which then has forms, heads and labels.
    pub(super) fn conllu(&self) -> Sentence {
        let mut sentence = Sentence::from_forms(self.words.iter().map(|word| word.form.as_str()));
        for (word, own) in sentence.words_mut().iter_mut().zip(&self.words) {
            (word.head, word.label) = (Some(own.head), own.label.clone());
        }
        for (key, value) in [("sent_id", &self.sent_id), ("text", &self.text)] {
            if !value.is_empty() {
                sentence.set_comment(key, value);
            }
        }
        sentence
    }
}

/// Training sentences that were looked for.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FoundSentences {
    /// The generation of the index that the numbers are of.
    pub(super) generation: u64,
    /// How many there are in all.
    pub(super) total: usize,
    /// Some of them.
    pub(super) sentences: Vec<FoundSentence>,
}

/// A training sentence in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FoundSentence {
    /// Its number.
    pub(super) sentence: u32,
    /// Its `sent_id`; empty where the treebank gives none.
    pub(super) sent_id: String,
    /// The text as written, or its words where the treebank does not have it.
    pub(super) text: String,
}

/// What is served.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Ready {
    /// `ready`, or `stopping` while open requests are finished.
    pub(super) status: &'static str,
    /// The name of the bundle.
    pub(super) bundle: String,
    /// The generation of its index.
    pub(super) generation: u64,
    /// The fingerprint of its model, in hexadecimal.
    pub(super) fingerprint: String,
    /// Which of the paper's systems it is.
    pub(super) system: String,
    /// Training edges that can be cited.
    pub(super) edges: u64,
    /// Training sentences that they are from.
    pub(super) sentences: u32,
    /// Labels it can give.
    pub(super) labels: usize,
    /// The version of citree.
    pub(super) version: &'static str,
}

impl Ready {
    pub(super) fn new(snapshot: &Snapshot, bundle: String, stopping: bool) -> Self {
        let edges = snapshot.explainer.edges();
        Self {
            status: if stopping { "stopping" } else { "ready" },
            bundle,
            generation: snapshot.generation,
            fingerprint: snapshot.fingerprint.clone(),
            system: snapshot.system.clone(),
            edges: edges.index().manifest().records,
            sentences: edges.sentences(),
            labels: snapshot.explainer.parser().labels().len(),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}
