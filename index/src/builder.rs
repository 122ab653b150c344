//! Building an index as a whole: one segment, which is the new generation.

use std::{ops::ControlFlow, path::PathBuf};

use crate::{
    error::Result,
    generation::Draft,
    lookup::KeyOf,
    records::Record,
    segment_builder::{Progress, SegmentBuilder, Spec},
};

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
/// let generation = builder.finish(&|progress| {
///     println!("{progress:?}");
///     std::ops::ControlFlow::Continue(())
/// })?;
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
    segment: SegmentBuilder,
    // Last, so that the files are closed before the folder is removed.
    draft: Draft,
}

impl Builder {
    /// Begins a new generation of the index in this folder, which is created if necessary.
    ///
    /// # Errors
    /// [`Error::Busy`](crate::Error::Busy) if another build is running there. [`Error::Input`](crate::Error::Input) if
    /// the spec is invalid.
    pub fn create(folder: impl Into<PathBuf>, spec: Spec) -> Result<Self> {
        spec.check()?;
        let draft = Draft::begin(&folder.into())?;
        Ok(Self { segment: SegmentBuilder::create(draft.path(), spec)?, draft })
    }

    /// Also writes a table by which sources are found by their keys, so that
    /// [`Index::sources_of`](crate::Index::sources_of) need not read all sources.
    pub fn find_sources_by(mut self, key: KeyOf) -> Self {
        self.segment.find_sources_by(key);
        self
    }

    /// The segment that is being built, for code that builds segments for several purposes.
    pub fn segment(&mut self) -> &mut SegmentBuilder {
        &mut self.segment
    }

    /// As [`SegmentBuilder::add_source`].
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add_source(&mut self, bytes: &[u8]) -> Result<u32> {
        self.segment.add_source(bytes)
    }

    /// As [`SegmentBuilder::add`].
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) if the class, the groups or the rows do not fit the spec, or an I/O error.
    pub fn add(&mut self, record: Record, groups: &[u32], rows: [&[f32]; 2]) -> Result<()> {
        self.segment.add(record, groups, rows)
    }

    /// As [`SegmentBuilder::add_contrast`].
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) if more are added than [announced](Spec::contrasts), or the row does not
    /// fit the space, or an I/O error.
    pub fn add_contrast(&mut self, source: u32, payload: [u32; 2], row: &[f32]) -> Result<()> {
        self.segment.add_contrast(source, payload, row)
    }

    /// Computes the rest, syncs it to the disk and makes this the current generation. Returns its number. `progress` is
    /// asked many times whether to go on.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) if fewer records were added than announced,
    /// [`Error::Stopped`](crate::Error::Stopped) if `progress` said so, or an I/O error. The previous generation then
    /// stays current.
    pub fn finish(self, progress: &(dyn Fn(Progress) -> ControlFlow<()> + Sync)) -> Result<u64> {
        self.segment.finish(progress)?;
        self.draft.publish()
    }
}
