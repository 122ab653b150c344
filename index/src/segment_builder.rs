//! Writing a segment: sources and records one by one, then everything that is computed from them.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use crate::{
    container::{FACTS, Writer},
    contrasts::{ContrastWriter, unannounced},
    error::{Error, Result},
    generation::MANIFEST,
    hash,
    lookup::{KeyOf, LOOKUP, LookupWriter},
    meta::{self, Manifest},
    records::{Record, RecordWriter},
    space_writer::{GraphSpec, Phase, SpaceSpec, SpaceWriter},
};

pub(crate) const MANIFEST_KIND: u32 = 3;
pub(crate) const MANIFEST_SECTION: u32 = 1;
pub(crate) const CONTRASTS_SECTION: u32 = 2;
/// The version of a manifest with contrast records.
pub(crate) const CONTRASTS_VERSION: u32 = 2;
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
#[non_exhaustive]
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

/// A segment being written.
#[derive(Debug)]
pub struct SegmentBuilder {
    folder: PathBuf,
    spec: Spec,
    records: RecordWriter,
    spaces: [SpaceWriter; 2],
    contrasts: Option<ContrastWriter>,
    key: Option<KeyOf>,
    lookup: LookupWriter,
}

impl Spec {
    pub(crate) fn check(&self) -> Result<()> {
        if !(2..=512).contains(&self.graph.degree) || self.graph.effort == 0 {
            return Err(Error::input("the degree of the graph", "2 to 512", self.graph.degree));
        }
        Ok(())
    }
}

impl SegmentBuilder {
    /// Begins a segment in an existing folder.
    pub(crate) fn create(folder: PathBuf, mut spec: Spec) -> Result<Self> {
        let records =
            RecordWriter::create(folder.join(RECORDS), &spec.class_counts, &spec.groupings, &spec.attachment)?;
        // Already written, and possibly large.
        spec.attachment = Vec::new();
        let space = |at: usize| SpaceWriter::create(folder.join(SPACES[at]), spec.spaces[at], records.starts());
        let spaces = [space(0)?, space(1)?];
        let contrasts = match spec.contrasts {
            0 => None,
            count => Some(ContrastWriter::create(&folder, count, spec.spaces[0])?),
        };
        Ok(Self { folder, spec, records, spaces, contrasts, key: None, lookup: LookupWriter::default() })
    }

    pub(crate) fn find_sources_by(&mut self, key: KeyOf) {
        self.key = Some(key);
    }

    /// Stores ids of all records and contrast records, which [`SegmentBuilder::put`] and
    /// [`SegmentBuilder::put_contrast`] receive. `serial` gives the ids of those that are new.
    pub(crate) fn with_ids(&mut self, serial: u32) {
        let records: u64 = self.spec.class_counts.iter().sum();
        self.lookup.ids = [records, self.spec.contrasts].map(|count| (0..count).map(|at| id(serial, at)).collect());
    }

    /// Adds a source, as bytes that only the caller interprets. Returns its number: 0, 1, 2 and so on.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add_source(&mut self, bytes: &[u8]) -> Result<u32> {
        let number = self.records.add_source(bytes)?;
        self.lookup.hashes.extend(self.key.map(|key| hash::bytes(key(bytes))));
        Ok(number)
    }

    /// Adds a record with its group in each grouping and its row in each space.
    ///
    /// The segment numbers records by class, and within a class in the order in which they were added.
    ///
    /// # Errors
    /// [`Error::Input`] if the class, the groups or the rows do not fit the spec, or an I/O error.
    pub fn add(&mut self, record: Record, groups: &[u32], rows: [&[f32]; 2]) -> Result<()> {
        self.put(record, groups, rows, None)
    }

    /// As [`SegmentBuilder::add`], with the id that the record has already.
    pub(crate) fn put(&mut self, record: Record, groups: &[u32], rows: [&[f32]; 2], id: Option<u64>) -> Result<()> {
        let pairs = || rows.into_iter().enumerate();
        pairs().try_for_each(|(at, row)| self.spaces[at].fits(row))?;
        let number = self.records.add(record, groups)?;
        self.keep_id(0, number, id);
        pairs().try_for_each(|(at, row)| self.spaces[at].put(number, row))
    }

    /// Adds a contrast record with its row in the first space. Contrast records are numbered in the order in which they are
    /// added.
    ///
    /// # Errors
    /// [`Error::Input`] if more are added than [announced](Spec::contrasts), or the row does not fit the space, or an I/O
    /// error.
    pub fn add_contrast(&mut self, source: u32, payload: [u32; 2], row: &[f32]) -> Result<()> {
        self.put_contrast(source, payload, row, None)
    }

    /// As [`SegmentBuilder::add_contrast`], with the id that the record has already.
    pub(crate) fn put_contrast(&mut self, source: u32, payload: [u32; 2], row: &[f32], id: Option<u64>) -> Result<()> {
        let number = self.contrasts.as_mut().ok_or_else(unannounced)?.add(source, payload, row)?;
        self.keep_id(1, number, id);
        Ok(())
    }

    fn keep_id(&mut self, kind: usize, number: u64, id: Option<u64>) {
        let kept = self.lookup.ids[kind].get_mut(number as usize).zip(id);
        kept.into_iter().for_each(|(kept, id)| *kept = id);
    }

    /// Computes the rest and syncs the files to the disk.
    pub(crate) fn finish(self, progress: &(dyn Fn(Progress) -> ControlFlow<()> + Sync)) -> Result<()> {
        let Self { folder, spec, records, spaces: [first, second], contrasts, lookup, .. } = self;
        let (records, sources, groups) = records.finish(None)?;
        let tell = |space| {
            move |phase, done, total| match progress(Progress { space, phase, done, total }) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(Error::Stopped),
            }
        };
        let first = first.finish(spec.graph, &groups, &tell(0))?;
        let second = second.finish(spec.graph, &groups, &tell(1))?;
        let contrasts = contrasts.map(|contrasts| contrasts.finish(spec.graph, sources, &tell(2))).transpose()?;
        // No file may be mapped when the folder is renamed: some systems refuse that.
        drop(groups);
        if !lookup.hashes.is_empty() || lookup.ids.iter().any(|ids| !ids.is_empty()) {
            lookup.finish(folder.join(LOOKUP))?;
        }
        let classes = spec.class_counts.len() as u64;
        let (model, content, spaces) = (spec.model, spec.content, [first, second]);
        write(&Manifest { model, content, records, sources, classes, spaces, contrasts }, &folder)
    }
}

/// The id of a record that was first written at this place of the segment with this serial number.
pub(crate) fn id(serial: u32, place: u64) -> u64 {
    u64::from(serial) << 32 | place
}

fn write(manifest: &Manifest, folder: &Path) -> Result<()> {
    let bytes = meta::encode(manifest);
    let (bytes, contrasts) = bytes.ok_or_else(|| Error::input("the manifest", "less than 64 KiB", "more"))?;
    let mut file = Writer::create(folder.join(MANIFEST), MANIFEST_KIND)?;
    file.section(MANIFEST_SECTION, &bytes)?;
    if let Some(contrasts) = contrasts {
        file.version(CONTRASTS_VERSION);
        file.section(CONTRASTS_SECTION, &contrasts)?;
    }
    file.finish([0; FACTS])
}
