//! Building an index: sources and records one by one, then everything that is computed from them.

use std::path::{Path, PathBuf};

use crate::{
    container::{FACTS, VERSION, Writer},
    contrasts::{ContrastWriter, unannounced},
    error::{Error, Result},
    generation::{Draft, MANIFEST},
    meta::{self, Manifest},
    records::{Record, RecordWriter},
    space_writer::{GraphSpec, Phase, SpaceSpec, SpaceWriter},
};

pub(crate) const MANIFEST_KIND: u32 = 3;
pub(crate) const MANIFEST_SECTION: u32 = 1;
pub(crate) const CONTRASTS_SECTION: u32 = 2;
// File names are part of the format. They come from the program for which the format was made, a dependency parser.
pub(crate) const RECORDS: &str = "edges";
pub(crate) const SPACES: [&str; 2] = ["heads", "labels"];

/// What an index will hold.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The two spaces: every record has a row in each.
    pub spaces: [SpaceSpec; 2],
    /// How many records of each class will be added.
    pub class_counts: Vec<u64>,
    /// Fingerprint of the model that computes the rows. [`Index::require_model`](crate::Index::require_model) compares it.
    pub model: Vec<u8>,
    /// Hash of the data that the records come from.
    pub content: Vec<u8>,
    /// How many groups each grouping has: at most 256 groupings, and fewer than 2³¹ groups in total. Every record is in
    /// one group of each grouping, and the index stores the sum of the rows of every group.
    pub groupings: Vec<u32>,
    /// How many contrast records will be added: examples of what the records are not. With any, the index has format
    /// version 2.
    pub contrasts: u64,
    /// Bytes that only the caller interprets, such as the names of the groups. Any number of them.
    pub attachment: Vec<u8>,
    /// How the graphs are built.
    pub graph: GraphSpec,
}

/// Progress of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The space that is being built: 0 or 1, or 2 for that of the contrast records.
    pub space: usize,
    /// The current phase.
    pub phase: Phase,
    /// How much of it is done.
    pub done: u64,
    /// How much there is to do.
    pub total: u64,
}

/// An index being built. Dropping it before [`Builder::finish`] leaves the folder as it was.
///
/// ```
/// use citree_index::{Builder, GraphSpec, Index, Metric, Record, SpaceSpec, Spec};
///
/// # let folder = tempfile::tempdir().expect("a temporary folder");
/// # let folder = folder.path();
/// let space = SpaceSpec { dims: 2, metric: Metric::Cosine };
/// let mut builder = Builder::create(folder, Spec {
///     spaces: [space; 2],
///     class_counts: vec![1, 1],
///     model: b"model".to_vec(),
///     content: b"content".to_vec(),
///     groupings: vec![2],
///     contrasts: 1,
///     attachment: b"names of the two groups".to_vec(),
///     graph: GraphSpec::default(),
/// })?;
/// let source = builder.add_source(b"any bytes")?;
/// builder.add(Record { source, class: 1, payload: [2, 0] }, &[1], [&[0.6, 0.8], &[1.0, 0.0]])?;
/// builder.add(Record { source, class: 0, payload: [1, 2] }, &[0], [&[1.0, 0.0], &[0.0, 1.0]])?;
/// builder.add_contrast(source, [1, 0], &[0.8, 0.6])?;
/// let generation = builder.finish(&|progress| println!("{progress:?}"))?;
///
/// let index = Index::open(folder)?;
/// assert_eq!(index.generation(), generation);
/// assert_eq!(index.group(0, 1), Some(1), "records are ordered by class");
/// assert_eq!(index.spaces()[0].group_sums(0), [1.0, 0.0, 0.6, 0.8]);
/// let contrasts = index.contrasts().expect("one was added");
/// assert_eq!(contrasts.record(0), Some((source, [1, 0])));
/// assert_eq!(contrasts.space().nearest(&[1.0, 0.0]).run()?.hits[0].similarity, 0.8);
/// # Ok::<(), citree_index::Error>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    spec: Spec,
    records: RecordWriter,
    spaces: [SpaceWriter; 2],
    contrasts: Option<ContrastWriter>,
    // Last, so that the files are closed before the folder is removed.
    draft: Draft,
}

impl Builder {
    /// Begins a new generation of the index in this folder, which is created if necessary.
    ///
    /// # Errors
    /// [`Error::Busy`] if another build is running there. [`Error::Input`] if the spec is invalid.
    pub fn create(folder: impl Into<PathBuf>, mut spec: Spec) -> Result<Self> {
        if !(2..=512).contains(&spec.graph.degree) || spec.graph.effort == 0 {
            return Err(Error::input("the degree of the graph", "2 to 512", spec.graph.degree));
        }
        let draft = Draft::begin(&folder.into())?;
        let path = draft.path();
        let records = RecordWriter::create(path.join(RECORDS), &spec.class_counts, &spec.groupings, &spec.attachment)?;
        // Already written, and possibly large.
        spec.attachment = Vec::new();
        let space = |at: usize| SpaceWriter::create(path.join(SPACES[at]), spec.spaces[at], records.starts());
        let spaces = [space(0)?, space(1)?];
        let contrasts = match spec.contrasts {
            0 => None,
            count => Some(ContrastWriter::create(&path, count, spec.spaces[0])?),
        };
        Ok(Self { spec, records, spaces, contrasts, draft })
    }

    /// Adds a source, as bytes that only the caller interprets. Returns its number: 0, 1, 2 and so on.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add_source(&mut self, bytes: &[u8]) -> Result<u32> {
        self.records.add_source(bytes)
    }

    /// Adds a record with its group in each grouping and its row in each space.
    ///
    /// The index numbers records by class, and within a class in the order in which they were added.
    ///
    /// # Errors
    /// [`Error::Input`] if the class, the groups or the rows do not fit the spec, or an I/O error.
    pub fn add(&mut self, record: Record, groups: &[u32], rows: [&[f32]; 2]) -> Result<()> {
        let pairs = || rows.into_iter().enumerate();
        pairs().try_for_each(|(at, row)| self.spaces[at].fits(row))?;
        let number = self.records.add(record, groups)?;
        pairs().try_for_each(|(at, row)| self.spaces[at].put(number, row))
    }

    /// Adds a contrast record with its row in the first space. Contrast records are numbered in the order in which they are
    /// added.
    ///
    /// # Errors
    /// [`Error::Input`] if more are added than [announced](Spec::contrasts), or the row does not fit the space, or an I/O
    /// error.
    pub fn add_contrast(&mut self, source: u32, payload: [u32; 2], row: &[f32]) -> Result<()> {
        self.contrasts.as_mut().ok_or_else(unannounced)?.add(source, payload, row)
    }

    /// Computes the rest, syncs it to the disk and makes this the current generation. Returns its number.
    ///
    /// # Errors
    /// [`Error::Input`] if fewer records were added than announced, or an I/O error. The previous generation then stays
    /// current.
    pub fn finish(self, progress: &(dyn Fn(Progress) + Sync)) -> Result<u64> {
        let Self { spec, records, spaces: [first, second], contrasts, draft } = self;
        let (records, sources, groups) = records.finish(None)?;
        let tell = |space| move |phase, done, total| progress(Progress { space, phase, done, total });
        let first = first.finish(spec.graph, &groups, &tell(0))?;
        let second = second.finish(spec.graph, &groups, &tell(1))?;
        let contrasts = contrasts.map(|contrasts| contrasts.finish(spec.graph, sources, &tell(2))).transpose()?;
        // No file may be mapped when the folder is renamed: some systems refuse that.
        drop(groups);
        let classes = spec.class_counts.len() as u64;
        let (model, content, spaces) = (spec.model, spec.content, [first, second]);
        write(&Manifest { model, content, records, sources, classes, spaces, contrasts }, &draft.path())?;
        draft.publish()
    }
}

fn write(manifest: &Manifest, folder: &Path) -> Result<()> {
    let bytes = meta::encode(manifest);
    let (bytes, contrasts) = bytes.ok_or_else(|| Error::input("the manifest", "less than 64 KiB", "more"))?;
    let mut file = Writer::create(folder.join(MANIFEST), MANIFEST_KIND)?;
    file.section(MANIFEST_SECTION, &bytes)?;
    if let Some(contrasts) = contrasts {
        file.version(VERSION);
        file.section(CONTRASTS_SECTION, &contrasts)?;
    }
    file.finish([0; FACTS])
}
