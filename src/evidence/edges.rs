//! An opened index: training edges by number, with their sentences and the names of labels and groups.
//!
//! The crate `citree_index` stores rows and numbers. This module maps the numbers back to sentences and names.

use super::groups::{GroupNames, Grouping};
use super::lookup::SentenceLookup;
use super::record::{Edge, Source, TrainingSentence};
use crate::error::{Error, Result};
use crate::task::Task;
use citree_index::{Index, Space, SpaceFacts};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The training edges of a bundle, memory-mapped.
#[derive(Debug)]
pub struct TrainingEdges {
    folder: PathBuf,
    index: Index,
    labels: Vec<String>,
    names: OnceLock<GroupNames>,
    sources: Vec<OnceLock<Arc<Source>>>,
    pub(super) lookup: OnceLock<SentenceLookup>,
}

impl TrainingEdges {
    /// Opens an index folder. It must have been built with the model that has this fingerprint and these labels.
    pub(crate) fn open(folder: &Path, fingerprint: &[u8; 32], labels: &[String]) -> Result<Self> {
        let index = Index::open(folder)?;
        index.require_model(fingerprint)?;
        let sources = vec![OnceLock::new(); index.manifest().sources as usize];
        Ok(Self {
            folder: folder.to_path_buf(),
            index,
            labels: labels.to_vec(),
            names: OnceLock::new(),
            sources,
            lookup: OnceLock::new(),
        })
    }

    /// The current generation of an index folder, which can be newer than an open one.
    pub(crate) fn current_generation(folder: &Path) -> Result<u64> {
        Ok(Index::current_generation(folder)?)
    }

    /// The underlying index.
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

    /// The index's facts about the rows of one of the two models.
    pub(crate) fn facts(&self, task: Task) -> &SpaceFacts {
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

    /// An edge and its sentence.
    pub fn edge(&self, edge: u32) -> Result<(Edge, TrainingSentence<'_>)> {
        let record = self.record(edge).ok_or_else(|| self.damaged(format!("no edge {edge}")))?;
        let sentence = self.sentence(record.sentence)?;
        let words = sentence.words.len() as u32;
        if record.dependent == 0 || record.dependent > words || record.head > words {
            return Err(self.damaged(format!("edge {edge} outside its sentence")));
        }
        Ok((record, sentence))
    }

    /// A sentence by its number.
    pub fn sentence(&self, number: u32) -> Result<TrainingSentence<'_>> {
        let bytes = self.index.source(number).and_then(TrainingSentence::decode);
        bytes.ok_or_else(|| self.damaged(format!("no sentence {number}")))
    }

    /// An edge, and the part of its sentence that a citation shows. Sources are cached.
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

    /// The number of sentences.
    pub fn sentences(&self) -> u32 {
        self.index.manifest().sources as u32
    }

    /// The names of the groups of a grouping.
    pub(crate) fn group_names(&self, grouping: Grouping) -> &[String] {
        // Unreadable names are treated as missing; `verify` reports such damage.
        let read = || serde_json::from_slice(self.index.attachment()).unwrap_or_default();
        self.names.get_or_init(read).of(grouping)
    }

    fn damaged(&self, found: String) -> Error {
        Error::Bundle {
            path: self.folder.clone(),
            expected: "what was written there".to_string(),
            found,
            remedy: "check the bundle with `citree verify`, and build the index again".to_string(),
        }
    }
}
