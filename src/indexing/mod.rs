//! The index of a bundle: every gold edge of a treebank as both models see it, with the sentences it comes from.
//!
//! The crate `citree_index` stores rows and opaque records. Here a record is an [`Edge`]: its source is a sentence, its class
//! a label, and its two spaces are those of the [`Task`]s.

mod build;
mod groups;
mod places;
mod record;

pub use build::{Built, Step, build};
pub use groups::{GroupNames, Grouping, prefix};
pub use record::{Edge, Source, TrainingSentence, TrainingWord};

use crate::error::{Error, Result};
use crate::model::Model;
use crate::support::Task;
use citree_index::{Index, Space, SpaceFacts};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The folder of the index in a bundle.
const INDEX: &str = "index";

/// The training edges of a bundle, mapped.
#[derive(Debug)]
pub struct TrainingEdges {
    index: Index,
    labels: Vec<String>,
    names: OnceLock<GroupNames>,
    sources: Vec<OnceLock<Arc<Source>>>,
    places: OnceLock<places::Places>,
}

impl TrainingEdges {
    /// Opens the index of a bundle, which must have been built with this model.
    pub fn open(bundle: &Path, model: &Model) -> Result<Self> {
        let index = Index::open(bundle.join(INDEX)).map_err(|error| match error {
            citree_index::Error::Missing { .. } => Error::Bundle {
                path: bundle.to_path_buf(),
                expected: "an index of training edges".to_string(),
                found: "none".to_string(),
                remedy: format!("build it with `citree index {} --treebank TRAIN.conllu`", bundle.display()),
            },
            other => other.into(),
        })?;
        index.require_model(&model.fingerprint()?)?;
        let sources = vec![OnceLock::new(); index.manifest().sources as usize];
        let labels = model.tables.vocabulary.labels().to_vec();
        Ok(Self { index, labels, names: OnceLock::new(), sources, places: OnceLock::new() })
    }

    /// The number of the generation of a bundle's index that is current now, which may be newer than one that is open.
    pub fn current_generation(bundle: &Path) -> Result<u64> {
        Ok(Index::current_generation(bundle.join(INDEX))?)
    }

    /// The numbers behind it.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The rows of one of the two models.
    pub fn space(&self, task: Task) -> &Space {
        let [heads, labels] = self.index.spaces();
        match task {
            Task::Heads => heads,
            Task::Labels => labels,
        }
    }

    /// What the index says about the rows of one of the two models.
    pub fn facts(&self, task: Task) -> &SpaceFacts {
        let [heads, labels] = &self.index.manifest().spaces;
        match task {
            Task::Heads => heads,
            Task::Labels => labels,
        }
    }

    /// An edge by its number.
    pub fn record(&self, edge: u32) -> Option<Edge> {
        self.index.record(edge).map(Edge::from)
    }

    /// The name of a label.
    pub fn label(&self, label: u32) -> &str {
        self.labels.get(label as usize).map_or("_", String::as_str)
    }

    /// An edge and the sentence it is in.
    pub fn edge(&self, edge: u32) -> Result<(Edge, TrainingSentence<'_>)> {
        let record = self.record(edge).ok_or_else(|| damaged(format!("no edge {edge}")))?;
        let sentence = self.sentence(record.sentence)?;
        let words = sentence.words.len() as u32;
        if record.dependent == 0 || record.dependent > words || record.head > words {
            return Err(damaged(format!("edge {edge} outside its sentence")));
        }
        Ok((record, sentence))
    }

    /// A sentence by its number.
    pub fn sentence(&self, number: u32) -> Result<TrainingSentence<'_>> {
        let bytes = self.index.source(number).and_then(TrainingSentence::decode);
        bytes.ok_or_else(|| damaged(format!("no sentence {number}")))
    }

    /// An edge and what a citation shows of its sentence.
    pub fn source(&self, edge: u32) -> Result<(Edge, Arc<Source>)> {
        let known = self.record(edge).and_then(|record| Some((record, self.sources.get(record.sentence as usize)?)));
        if let Some((record, Some(source))) = known.map(|(record, place)| (record, place.get())) {
            let words = source.words.len() as u32;
            if record.dependent > 0 && record.dependent <= words && record.head <= words {
                return Ok((record, source.clone()));
            }
        }
        let (record, sentence) = self.edge(edge)?;
        let source = Arc::new(Source::from(sentence));
        if let Some((_, place)) = known {
            let _ = place.set(source.clone());
        }
        Ok((record, source))
    }

    /// How many sentences there are.
    pub fn sentences(&self) -> u32 {
        self.index.manifest().sources as u32
    }

    /// The names of the groups of a grouping.
    pub fn group_names(&self, grouping: Grouping) -> &[String] {
        // Names that cannot be read are shown as none: `verify` finds such damage.
        let read = || serde_json::from_slice(self.index.attachment()).unwrap_or_default();
        self.names.get_or_init(read).of(grouping)
    }
}

fn damaged(found: String) -> Error {
    Error::Bundle {
        path: INDEX.into(),
        expected: "what was written there".to_string(),
        found,
        remedy: "check the bundle with `citree verify`, and build the index again".to_string(),
    }
}
