//! The JSON responses of the API, except explanations, which have the format of `citree explain --format json`.

use super::problem::Problem;
use super::snapshot::Snapshot;
use crate::explain::{Answer, Explanation, NamedEdge};
use crate::treebank::Sentence;
use serde::Serialize;
use utoipa::ToSchema;

/// Parsed sentences.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Parsed {
    /// The generation of the index that was used.
    pub(super) generation: u64,
    /// One entry per sentence that has words.
    pub(super) sentences: Vec<ParsedSentence>,
}

/// A parsed sentence.
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
    /// That it looks as if it were of another language than the training treebank; left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    warning: Option<String>,
}

impl From<Explanation> for ParsedSentence {
    fn from(explanation: Explanation) -> Self {
        let Explanation { sent_id, words, heads, labels, probabilities, warning, .. } = explanation;
        Self { sent_id, words, heads, labels, probabilities, warning }
    }
}

/// Explained sentences.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Explained {
    /// The generation of the index that was used. Edge numbers refer to it.
    pub(super) generation: u64,
    /// One entry per sentence that has words, as printed by `citree explain --format json`.
    #[schema(value_type = Vec<Object>)]
    pub(super) sentences: Vec<Answer>,
}

/// Edges with their neighbours.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Neighbors {
    /// The generation of the index that was used. Edge numbers refer to it.
    pub(super) generation: u64,
    /// One entry per edge, as printed by `citree neighbors`.
    pub(super) edges: Vec<NamedEdge>,
}

/// A training edge in its sentence.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TrainingEdge {
    /// The generation of the index that the numbers refer to.
    generation: u64,
    /// Its number.
    edge: u32,
    /// The number of its sentence.
    sentence: u32,
    /// The `sent_id` of its sentence; empty if the treebank has none.
    sent_id: String,
    /// The document of its sentence; empty if the treebank has none.
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
    /// The generation of the index that the numbers refer to.
    generation: u64,
    /// Its number.
    pub(super) sentence: u32,
    /// Its `sent_id`; empty if the treebank has none.
    pub(super) sent_id: String,
    /// Its document; empty if the treebank has none.
    pub(super) document: String,
    /// The text as written; empty if the treebank has none.
    pub(super) text: String,
    /// Its words; the first has id 1.
    pub(super) words: Vec<TrainingWord>,
}

/// A word of a training sentence with its gold edge.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TrainingWord {
    /// The word as written.
    pub(super) form: String,
    /// The id of its gold head, 0 for ROOT.
    pub(super) head: usize,
    /// Its gold label.
    pub(super) label: String,
    /// The number of its edge; null if the model does not know its label.
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

    /// The sentence for CoNLL-U, with forms, heads and labels only.
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

/// The result of a search for training sentences.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FoundSentences {
    /// The generation of the index that the numbers refer to.
    pub(super) generation: u64,
    /// The total number of matching sentences.
    pub(super) total: usize,
    /// The requested part of them.
    pub(super) sentences: Vec<FoundSentence>,
}

/// A training sentence in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FoundSentence {
    /// Its number.
    pub(super) sentence: u32,
    /// Its `sent_id`; empty if the treebank has none.
    pub(super) sent_id: String,
    /// The text as written, or its words if the treebank has no text.
    pub(super) text: String,
}

/// The status of the server and the facts of its bundle.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Ready {
    /// `ready`, or `stopping` while open requests finish.
    pub(super) status: &'static str,
    /// The name of the bundle.
    pub(super) bundle: String,
    /// The generation of its index.
    pub(super) generation: u64,
    /// The fingerprint of its model, in hexadecimal.
    pub(super) fingerprint: String,
    /// The name of its system in the paper, such as `IIc`.
    pub(super) system: String,
    /// Training edges that can be cited.
    pub(super) edges: u64,
    /// Training sentences in the index.
    pub(super) sentences: u32,
    /// Labels that it can predict.
    pub(super) labels: usize,
    /// Whether clients that have the token can change the evidence.
    pub(super) changes: bool,
    /// The version of citree.
    pub(super) version: &'static str,
}

impl Ready {
    pub(super) fn new(snapshot: &Snapshot, bundle: String, changes: bool, stopping: bool) -> Self {
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
            changes,
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}
