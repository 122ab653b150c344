//! Building an index: edges in the order of the treebank, then everything else at once.

use std::path::{Path, PathBuf};

use crate::{
    container::Writer,
    edges::{Edge, EdgeWriter},
    error::{Error, Result},
    format::FACTS,
    generation::{Draft, MANIFEST},
    meta::{self, Manifest},
    writer::{GraphSpec, Phase, SpaceSpec, SpaceWriter},
};

pub(crate) const MANIFEST_KIND: u32 = 3;
pub(crate) const MANIFEST_SECTION: u32 = 1;
pub(crate) const EDGES: &str = "edges";
pub(crate) const HEADS: &str = "heads";
pub(crate) const LABELS: &str = "labels";

/// What an index will hold.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The space of edge identification.
    pub heads: SpaceSpec,
    /// The space of label classification.
    pub labels: SpaceSpec,
    /// How many edges of each label will come.
    pub label_counts: Vec<u64>,
    /// Fingerprint of the model that makes the rows.
    pub model: Vec<u8>,
    /// Hash of the treebank that the edges come from.
    pub treebank: Vec<u8>,
    /// How many groups each grouping has, at most 256 groupings and fewer than 2³¹ groups in all. Every edge is put into
    /// one group of each, and the index keeps the sum of the rows of every group.
    pub groupings: Vec<u32>,
    /// Bytes that mean something to the caller alone, such as the names of the groups; any number of them.
    pub attachment: Vec<u8>,
    /// How the graphs are grown.
    pub graph: GraphSpec,
}

/// How far a build is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The space that is being built.
    pub space: Which,
    /// What is being done.
    pub phase: Phase,
    /// How much of it is done.
    pub done: u64,
    /// How much there is to do.
    pub total: u64,
}

/// One of the two spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Edge identification.
    Heads,
    /// Label classification.
    Labels,
}

/// An index being built. Dropping it unfinished leaves the folder as it was.
#[derive(Debug)]
pub struct Builder {
    spec: Spec,
    edges: EdgeWriter,
    heads: SpaceWriter,
    labels: SpaceWriter,
    // Last, so that files are closed before the folder goes.
    draft: Draft,
}

impl Builder {
    /// Begins a new generation in this folder, which is made if need be.
    ///
    /// # Errors
    /// [`Error::Busy`] if another build is going on there; [`Error::Input`] if the spec does not make sense.
    pub fn create(folder: impl Into<PathBuf>, mut spec: Spec) -> Result<Self> {
        if !(2..=512).contains(&spec.graph.degree) || spec.graph.effort == 0 {
            return Err(Error::input("the degree of the graph", "2 to 512", spec.graph.degree));
        }
        let draft = Draft::begin(&folder.into())?;
        let edges =
            EdgeWriter::create(draft.path().join(EDGES), &spec.label_counts, &spec.groupings, &spec.attachment)?;
        // Written already, and maybe large.
        spec.attachment = Vec::new();
        let heads = SpaceWriter::create(draft.path().join(HEADS), spec.heads, edges.starts())?;
        let labels = SpaceWriter::create(draft.path().join(LABELS), spec.labels, edges.starts())?;
        Ok(Self { spec, edges, heads, labels, draft })
    }

    /// Adds a sentence, as bytes that mean something to the caller, and returns its number: 0, 1, 2 and so on.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add_sentence(&mut self, bytes: &[u8]) -> Result<u32> {
        self.edges.add_sentence(bytes)
    }

    /// Adds an edge with its group in each grouping and its rows in both spaces. Its number in the index is known only by
    /// its label and order.
    ///
    /// # Errors
    /// [`Error::Input`] if the label, the groups or the rows do not fit the spec; else if it cannot be written.
    pub fn add_edge(&mut self, edge: Edge, groups: &[u32], head_row: &[f32], label_row: &[f32]) -> Result<()> {
        self.heads.fits(head_row)?;
        self.labels.fits(label_row)?;
        let place = self.edges.add(edge, groups)?;
        self.heads.put(place, head_row)?;
        self.labels.put(place, label_row)
    }

    /// Computes the rest, writes it to the disk and makes this the current generation, whose number it returns.
    ///
    /// # Errors
    /// [`Error::Input`] if fewer edges came than were announced; else if it cannot be written. The generation that was
    /// current before stays so.
    pub fn finish(self, progress: &(dyn Fn(Progress) + Sync)) -> Result<u64> {
        let Self { spec, edges, heads, labels, draft } = self;
        let (edges, sentences, groups) = edges.finish()?;
        let tell = |space| move |phase, done, total| progress(Progress { space, phase, done, total });
        let heads = heads.finish(spec.graph, &groups, &tell(Which::Heads))?;
        let label_space = labels.finish(spec.graph, &groups, &tell(Which::Labels))?;
        // Nothing may be mapped when the folder gets its name: some systems refuse to rename it then.
        drop(groups);
        let labels = spec.label_counts.len() as u64;
        let manifest =
            Manifest { model: spec.model, treebank: spec.treebank, edges, sentences, labels, heads, label_space };
        write(&manifest, &draft.path())?;
        draft.publish()
    }
}

fn write(manifest: &Manifest, folder: &Path) -> Result<()> {
    let bytes = meta::encode(manifest);
    let bytes = bytes.ok_or_else(|| Error::input("the manifest", "less than 64 KiB", "more"))?;
    let mut file = Writer::create(folder.join(MANIFEST), MANIFEST_KIND)?;
    file.section(MANIFEST_SECTION, &bytes)?;
    file.finish([0; FACTS])
}
