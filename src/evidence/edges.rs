//! An opened index: training edges by number, with their sentences and the names of labels and groups.
//!
//! The crate `citree_index` stores rows and numbers. This module maps the numbers back to sentences and names.

use super::groups::{GroupNames, Grouping, MergedGroups};
use super::labels::Labels;
use super::lookup::SentenceLookup;
use super::record::{Edge, EdgeId, Source, TrainingSentence};
use super::treebanks::Treebanks;
use crate::error::{Error, Result};
use crate::task::Task;
use citree_index::{Contrasts, Index, Space, SpaceFacts};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The training edges of a bundle, memory-mapped.
#[derive(Debug)]
pub struct TrainingEdges {
    folder: PathBuf,
    index: Index,
    labels: Labels,
    /// The names of the groups of each segment.
    names: OnceLock<Vec<GroupNames>>,
    groups: [OnceLock<MergedGroups>; Grouping::ALL.len()],
    sources: OnceLock<Vec<OnceLock<Arc<Source>>>>,
    pub(super) lookup: OnceLock<SentenceLookup>,
    pub(super) treebanks: OnceLock<Treebanks>,
}

impl TrainingEdges {
    /// Opens an index folder. It must have been built with the model that has this fingerprint and was trained with these
    /// labels.
    pub(crate) fn open(folder: &Path, fingerprint: &[u8; 32], labels: &[String]) -> Result<Self> {
        let index = Index::open(folder)?;
        index.require_model(fingerprint)?;
        Ok(Self {
            folder: folder.to_path_buf(),
            labels: Labels::of(&index, labels),
            index,
            names: OnceLock::new(),
            groups: Default::default(),
            sources: OnceLock::new(),
            lookup: OnceLock::new(),
            treebanks: OnceLock::new(),
        })
    }

    /// Refuses an index of which something that was read so far differs from its checksum. Ask this before you use what was
    /// computed from training edges.
    pub(crate) fn intact(&self) -> Result<()> {
        Ok(self.index.intact()?)
    }

    /// The current generation of an index folder, which can be newer than an open one.
    #[cfg(feature = "serve")]
    pub(crate) fn current_generation(folder: &Path) -> Result<u64> {
        Ok(Index::current_generation(folder)?)
    }

    /// The underlying index.
    pub(crate) fn index(&self) -> &Index {
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

    /// The share of nearest accepted edges that a search finds, measured when the index was built; `None` if all are
    /// compared.
    pub(crate) fn recall(&self, task: Task) -> Option<f32> {
        self.facts(task).graph.map(|graph| graph.recall)
    }

    /// An edge by its number.
    pub(crate) fn record(&self, edge: u32) -> Option<Edge> {
        self.index.record(edge).map(Edge::from)
    }

    /// The id of an accepted edge. It stays while other sentences are added and removed, which can change the number.
    pub fn id(&self, edge: u32) -> Option<u64> {
        self.index.id(edge)
    }

    /// The id of any edge. An accepted and a rejected edge can have the same one.
    #[cfg(feature = "cli")]
    pub(crate) fn id_of(&self, edge: EdgeId) -> Result<u64> {
        let id = match edge {
            EdgeId::Accepted(number) => self.index.id(number),
            EdgeId::Rejected(number) => self.index.contrast_id(number),
        };
        self.intact()?;
        id.ok_or_else(|| self.damaged(format!("no edge {edge:?}")))
    }

    /// The number of the accepted edge with an id; `None` if its sentence was removed.
    pub fn edge_with_id(&self, id: u64) -> Option<u32> {
        self.index.number_of(id)
    }

    /// The number of accepted edges.
    pub fn accepted(&self) -> u32 {
        self.index.manifest().records as u32
    }

    /// The number of rejected edges; 0 in an index without any.
    pub fn rejected(&self) -> u32 {
        self.index.manifest().contrasts.as_ref().map_or(0, |facts| facts.records as u32)
    }

    /// The rows of the rejected edges, by the head model.
    pub(crate) fn rejected_space(&self) -> Option<&Space> {
        self.index.contrasts().map(Contrasts::space)
    }

    /// The sentence of an edge.
    pub(crate) fn sentence_of(&self, edge: EdgeId) -> Option<u32> {
        match edge {
            EdgeId::Accepted(edge) => self.record(edge).map(|record| record.sentence),
            EdgeId::Rejected(edge) => self.index.contrasts()?.record(edge).map(|(sentence, _)| sentence),
        }
    }

    /// The sentence, the dependent and the head of an edge. For a rejected edge that is the wrong head.
    pub(crate) fn place(&self, edge: EdgeId) -> Result<(u32, u32, u32)> {
        let found = match edge {
            EdgeId::Accepted(edge) => self.record(edge).map(|edge| (edge.sentence, edge.dependent, edge.head)),
            EdgeId::Rejected(edge) => {
                let record = self.index.contrasts().and_then(|contrasts| contrasts.record(edge));
                record.map(|(sentence, [dependent, head])| (sentence, dependent, head))
            }
        };
        self.intact()?;
        found.ok_or_else(|| self.damaged(format!("no edge {edge:?}")))
    }

    /// Checks that a rejected edge is inside its sentence, and none of its gold edges.
    pub(crate) fn check_rejected(&self, edge: u32) -> Result<()> {
        let id = EdgeId::Rejected(edge);
        let (sentence, dependent, head) = self.place(id)?;
        self.source(id)?;
        let gold = self.sentence(sentence)?.words.get(dependent as usize - 1).map(|word| word.head);
        match gold != Some(head as usize) && dependent != head {
            true => Ok(()),
            false => Err(self.damaged(format!("rejected edge {edge}, which is a gold edge"))),
        }
    }

    /// The name of a label.
    pub fn label(&self, label: u32) -> &str {
        self.labels().get(label as usize).map_or("_", String::as_str)
    }

    /// The names of all labels: those of the model, then those that added sentences brought.
    pub(crate) fn labels(&self) -> &[String] {
        self.labels.names()
    }

    /// An edge and its sentence.
    pub fn edge(&self, edge: u32) -> Result<(Edge, TrainingSentence<'_>)> {
        let record = self.record(edge);
        self.intact()?;
        let record = record.ok_or_else(|| self.damaged(format!("no edge {edge}")))?;
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
        self.intact()?;
        bytes.ok_or_else(|| self.damaged(format!("no sentence {number}")))
    }

    /// The dependent and the head of an edge, and the part of its sentence that a citation shows. Sources are cached.
    pub(crate) fn source(&self, edge: EdgeId) -> Result<(u32, u32, Arc<Source>)> {
        let (number, dependent, head) = self.place(edge)?;
        let cached = self.sources.get_or_init(|| vec![OnceLock::new(); self.sentences() as usize]).get(number as usize);
        let source = match cached.and_then(OnceLock::get) {
            Some(source) => source.clone(),
            None => {
                let source = Arc::new(Source::from(self.sentence(number)?));
                cached.map_or_else(|| source.clone(), |cached| cached.get_or_init(|| source.clone()).clone())
            }
        };
        let words = source.words.len() as u32;
        if dependent == 0 || dependent > words || head > words {
            return Err(self.damaged(format!("edge {edge:?} outside its sentence")));
        }
        Ok((dependent, head, source))
    }

    /// The number of sentences.
    pub fn sentences(&self) -> u32 {
        self.index.manifest().sources as u32
    }

    /// The names of the groups of a grouping, without those that lost all edges. Sentences have none here.
    pub(crate) fn group_names(&self, grouping: Grouping) -> Vec<&str> {
        self.merged(grouping).names_in_use(&self.index, grouping)
    }

    /// The name of a group. Sentences have none here.
    pub(crate) fn group_name(&self, grouping: Grouping, group: u32) -> &str {
        self.merged(grouping).name(group)
    }

    /// The groups of a grouping with their names.
    pub(crate) fn named_groups(&self, grouping: Grouping) -> impl Iterator<Item = (u32, &String)> {
        (0..).zip(self.merged(grouping).names())
    }

    /// How many groups a grouping has. Some may have no edge.
    pub(crate) fn group_count(&self, grouping: Grouping) -> usize {
        match grouping {
            Grouping::Sentence => self.sentences() as usize,
            named => self.merged(named).names().len(),
        }
    }

    /// The group of an edge.
    pub(crate) fn group(&self, grouping: Grouping, edge: u32) -> Option<u32> {
        match grouping {
            Grouping::Sentence => self.record(edge).map(|edge| edge.sentence),
            named => self.merged(named).number(self.index.group(named.place(), edge)?),
        }
    }

    /// The sums of the rows of groups. A group that several segments have has several sums.
    pub(crate) fn group_sums(&self, task: Task, grouping: Grouping) -> impl Iterator<Item = (u32, &[f32])> {
        let space = self.space(task);
        let sums = (0..).zip(space.group_sums(grouping.place()).chunks(space.dims()));
        sums.filter_map(move |(group, sum)| Some((self.merged(grouping).number(group)?, sum)))
    }

    fn merged(&self, grouping: Grouping) -> &MergedGroups {
        // Unreadable names are treated as missing. Their checksum was compared, so they were written like that.
        let read = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or_default();
        let names = || self.names.get_or_init(|| self.index.attachments().map(read).collect());
        self.groups[grouping.place()].get_or_init(|| MergedGroups::of(&self.index, names(), grouping))
    }

    /// The error of an index that lacks what it should have.
    pub(crate) fn damaged(&self, found: String) -> Error {
        Error::Bundle {
            path: self.folder.clone(),
            expected: "what was written there".to_string(),
            found,
            remedy: "check the bundle with `citree verify`, and build the index again".to_string(),
        }
    }
}
