//! An index, open for reading.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    builder::{EDGES, HEADS, LABELS, MANIFEST_KIND, MANIFEST_SECTION},
    container::Sections,
    edges::{Edge, Edges},
    error::{Error, Result},
    generation::{self, Lock, MANIFEST},
    meta::{self, Manifest},
    space::Space,
    verify,
};

/// One generation of an index, mapped. It stays as it is while newer ones are built and published.
#[derive(Debug)]
pub struct Index {
    folder: PathBuf,
    generation: u64,
    manifest: Manifest,
    pub(crate) manifest_file: Sections,
    pub(crate) edges: Arc<Edges>,
    heads: Space,
    labels: Space,
    _lock: Lock,
}

impl Index {
    /// Opens the current generation. Nothing is read but headers and a few numbers, so that this takes as long for any number of edges.
    ///
    /// # Errors
    /// [`Error::Missing`] where there is none, and one for each way in which a file may be unfit.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref().to_owned();
        let (path, generation, lock) = generation::current(&folder)?;
        let manifest_file = Sections::open(path.join(MANIFEST), MANIFEST_KIND)?;
        // The one section that is checked at once: it is small, and everything else relies on it.
        manifest_file.check()?;
        let manifest = meta::decode(&manifest_file.bytes(MANIFEST_SECTION)?);
        let manifest =
            manifest.ok_or_else(|| manifest_file.damaged("the manifest", "readable", "bytes of another form"))?;
        let edges = Arc::new(Edges::open(path.join(EDGES))?);
        let found = (edges.count() as u64, edges.sentences() as u64, edges.labels() as u64);
        let expected = (manifest.edges, manifest.sentences, manifest.labels);
        if found != expected {
            let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
            return Err(edges.file.damaged("the number of edges, sentences and labels", expected, found));
        }
        let heads = Space::open(path.join(HEADS), edges.clone(), &manifest.heads)?;
        let labels = Space::open(path.join(LABELS), edges.clone(), &manifest.label_space)?;
        Ok(Self { folder, generation, manifest, manifest_file, edges, heads, labels, _lock: lock })
    }

    /// The number of the generation that is current now, which may be newer than one that is open. Opens nothing, so that it
    /// can be asked every second.
    ///
    /// # Errors
    /// [`Error::Missing`] where there is none.
    pub fn current_generation(folder: impl AsRef<Path>) -> Result<u64> {
        Ok(generation::pointer(folder.as_ref())?.1)
    }

    /// Refuses an index that another model made.
    ///
    /// # Errors
    /// [`Error::Model`] if the fingerprint is not that of the model in use.
    pub fn require_model(&self, fingerprint: &[u8]) -> Result<()> {
        if self.manifest.model == fingerprint {
            return Ok(());
        }
        let hex = |bytes: &[u8]| {
            bytes.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        };
        Err(Error::Model {
            path: self.folder.clone(),
            expected: hex(fingerprint),
            found: hex(&self.manifest.model),
            remedy: "build the index again with this model (citree index), or use the model that it was built with",
        })
    }

    /// The space of edge identification.
    pub fn heads(&self) -> &Space {
        &self.heads
    }

    /// The space of label classification.
    pub fn labels(&self) -> &Space {
        &self.labels
    }

    /// What the index says about itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The number of this generation.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The record of an edge.
    pub fn edge(&self, edge: u32) -> Option<Edge> {
        self.edges.get(edge)
    }

    /// The numbers of the edges with a label, which follow each other; empty for a label that is not there.
    pub fn edges_of(&self, label: u32) -> std::ops::Range<u32> {
        let range = self.edges.range(label);
        range.start as u32..range.end as u32
    }

    /// The bytes of a sentence.
    pub fn sentence(&self, number: u32) -> Option<&[u8]> {
        self.edges.sentence(number)
    }

    /// The number of groups of each grouping.
    pub fn groupings(&self) -> &[u32] {
        self.edges.groups.counts()
    }

    /// The group of an edge in a grouping; `None` where there is no such grouping or edge.
    pub fn group(&self, grouping: usize, edge: u32) -> Option<u32> {
        self.edges.groups.get(grouping, edge)
    }

    /// The bytes that the caller attached when it built the index.
    pub fn attachment(&self) -> &[u8] {
        self.edges.attachment()
    }

    /// Reads everything and checks it: checksums, links, reachability, twins, groups, and sums and compact rows against the
    /// rows.
    ///
    /// # Errors
    /// The first thing that is not as it was written.
    pub fn verify(&self) -> Result<()> {
        verify::verify(self)
    }
}
