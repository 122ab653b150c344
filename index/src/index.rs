//! An index, open for reading.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use crate::{
    container::Sections,
    contrasts::Contrasts,
    error::{Error, Result},
    generation::{self, Lock},
    lookup::KeyOf,
    meta::{LogEntry, Manifest},
    numbers::Ranges,
    records::Record,
    segment_builder::id,
    segments::Segments,
    space::Space,
    state::State,
    verify,
};

/// One generation of an index, mapped. It stays as it is while newer generations are built and published.
///
/// An index consists of [segments](Index::segments), which never change. Its numbers of records and of sources run through
/// all segments, without those that were [removed](crate::Change::remove_source): every number below
/// [`Manifest::records`] is a record. Another generation can give a record another number; its [id](Index::id) stays.
#[derive(Debug)]
pub struct Index {
    folder: PathBuf,
    generation: u64,
    pub(crate) state: State,
    pub(crate) segments: Segments,
    _lock: Lock,
}

/// A segment of an index.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SegmentFacts {
    /// What the caller called it. Empty for an index that was built as a whole.
    pub name: String,
    /// The name of its folder.
    pub folder: String,
    /// Records that count.
    pub records: u64,
    /// Contrast records that count.
    pub contrasts: u64,
    /// Sources that count.
    pub sources: u64,
    /// Sources that were removed.
    pub removed: u64,
    /// Whether its first space has a graph. Otherwise it is scanned.
    pub graph: bool,
    /// How many times its records count, as the caller says: 1 unless [`Change::weigh`](crate::Change::weigh) changed it.
    /// Searches and sums do not depend on it.
    pub weight: f64,
}

impl Index {
    /// Opens the current generation. Reads only headers and a few numbers, so it takes the same time for any number of
    /// records.
    ///
    /// ```
    #[doc = include_str!("../doc/small_index.md")]
    /// let index = Index::open(folder)?;
    /// assert_eq!(index.manifest().records, 3);
    /// assert_eq!(index.records_of(1).ranges(), [1..3], "records are ordered by class");
    /// let record = index.record(2).expect("there are three records");
    /// assert_eq!(record.payload, [7, 0]);
    /// assert_eq!(index.source(record.source), Some(&b"any bytes"[..]));
    /// # Ok::<(), citree_index::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Missing`] if there is no index. Other errors say how a file is unfit.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref().to_owned();
        let (generation, lock) = generation::current(&folder)?;
        let state = State::read(&folder, generation)?;
        let segments = Segments::open(&folder, &state)?;
        let index = Self { folder, generation, state, segments, _lock: lock };
        index.intact()?;
        Ok(index)
    }

    /// Whether everything that was read so far is as its checksums say. What is read is compared at the first time: a section
    /// as a whole, or the pages of a large one. Searches and all that returns a `Result` ask this themselves. Ask it after
    /// other calls, such as [`Index::record`] or [`Space::row`], which return damaged values as they are. It costs next to
    /// nothing.
    ///
    /// ```
    #[doc = include_str!("../doc/small_index.md")]
    /// let file = folder.join("gen-000001/heads");
    /// let mut bytes = std::fs::read(&file).expect("the rows of the first space");
    /// bytes[1024 + 3] ^= 0x80; // the sign of the first number
    /// std::fs::write(&file, bytes).expect("a damaged copy");
    ///
    /// let index = Index::open(folder)?;
    /// assert!(index.intact().is_ok(), "no row was read");
    /// assert!(index.spaces()[0].nearest(&[1.0, 0.0]).run().is_err());
    /// assert!(index.intact().is_err());
    /// # Ok::<(), citree_index::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Damaged`] for the first difference.
    pub fn intact(&self) -> Result<()> {
        self.segments.all.iter().try_for_each(|segment| segment.files().try_for_each(Sections::intact))
    }

    /// The number of the generation that is current now. It can be newer than an open one. Opens no index file, so it is
    /// cheap enough to poll.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is no index.
    pub fn current_generation(folder: impl AsRef<Path>) -> Result<u64> {
        Ok(generation::pointer(folder.as_ref())?.1)
    }

    /// Refuses an index whose rows come from another model.
    ///
    /// # Errors
    /// [`Error::Model`] if the fingerprint differs from the one in the manifest.
    pub fn require_model(&self, fingerprint: &[u8]) -> Result<()> {
        if self.manifest().model == fingerprint {
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
            found: hex(&self.manifest().model),
            remedy: "build the index again with this model, or use the model that it was built with",
        })
    }

    /// The two spaces, in the order of [`Spec::spaces`](crate::Spec::spaces).
    pub fn spaces(&self) -> &[Space; 2] {
        &self.segments.spaces
    }

    /// The contrast records. `None` if the index has none.
    pub fn contrasts(&self) -> Option<&Contrasts> {
        self.segments.contrasts.as_ref()
    }

    /// Metadata of the whole: what was removed is not counted.
    pub fn manifest(&self) -> &Manifest {
        &self.segments.manifest
    }

    /// The number of this generation.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// A record by its number.
    pub fn record(&self, number: u32) -> Option<Record> {
        let (segment, place) = self.segments.records.locate(number)?;
        let record = self.segments.all[segment].records.get(place)?;
        Some(Record { source: self.segments.sources.number(segment, record.source)?, ..record })
    }

    /// The numbers of the records of a class: consecutive ones in each segment. None for a class that does not exist.
    pub fn records_of(&self, class: u32) -> Ranges {
        let range = |(at, segment): (usize, &crate::segment::Segment)| {
            self.segments.records.range(at, segment.records.range(class))
        };
        Ranges::new(self.segments.all.iter().enumerate().map(range))
    }

    /// The bytes of a source.
    pub fn source(&self, number: u32) -> Option<&[u8]> {
        let (segment, place) = self.segments.sources.locate(number)?;
        self.segments.all[segment].records.source(place)
    }

    /// The sources with this key, in their order. `key_of` gives the key of a source, and is the same in all calls.
    /// Segments that were built [with keys](crate::Builder::find_sources_by) have a table of them; of others all sources
    /// are read at the first call.
    pub fn sources_of(&self, key: &[u8], key_of: KeyOf) -> Vec<u32> {
        let mut found = Vec::new();
        for (at, segment) in self.segments.all.iter().enumerate() {
            let places = segment.sources_of(key, key_of).into_iter();
            found.extend(places.filter_map(|place| self.segments.sources.number(at, place)));
        }
        found
    }

    /// The id of a record, which it keeps while other records are added and removed and segments are merged. The upper
    /// half is the number of the generation that added it.
    pub fn id(&self, number: u32) -> Option<u64> {
        let (segment, place) = self.segments.records.locate(number)?;
        Some(self.id_at(0, segment, place))
    }

    /// The id of a contrast record, which it keeps as a record does. A record can have the same id.
    pub fn contrast_id(&self, number: u32) -> Option<u64> {
        let (part, place) = self.contrasts()?.locate(number)?;
        Some(self.id_at(1, part.segment, place))
    }

    /// The number of the record with this id. `None` if it was removed.
    pub fn number_of(&self, id: u64) -> Option<u32> {
        self.segments.all.iter().enumerate().find_map(|(at, segment)| {
            let place = match segment.ids(0) {
                [] => Some(id as u32).filter(|_| id >> 32 == u64::from(self.state.segments[at].serial)),
                ids => ids.iter().position(|own| *own == id).map(|place| place as u32),
            };
            self.segments.records.number(at, place?)
        })
    }

    fn id_at(&self, kind: usize, segment: usize, place: u32) -> u64 {
        let stored = self.segments.all[segment].ids(kind).get(place as usize).copied();
        stored.unwrap_or_else(|| id(self.state.segments[segment].serial, u64::from(place)))
    }

    /// The segments, in the order of their records.
    pub fn segments(&self) -> Vec<SegmentFacts> {
        let facts = |(entry, segment): (&crate::state::Entry, &crate::segment::Segment)| {
            let [sources, records, contrasts] = entry.removed.each_ref().map(|removed| removed.len() as u64);
            SegmentFacts {
                name: entry.name.clone(),
                folder: entry.folder.clone(),
                records: segment.manifest.records.saturating_sub(records),
                contrasts: (segment.contrast_count() as u64).saturating_sub(contrasts),
                sources: segment.manifest.sources.saturating_sub(sources),
                removed: sources,
                graph: segment.manifest.spaces[0].graph.is_some(),
                weight: entry.weight,
            }
        };
        self.state.segments.iter().zip(&self.segments.all).map(facts).collect()
    }

    /// The place of a source's segment in [`Index::segments`]. Its records are there too.
    pub fn segment_of_source(&self, number: u32) -> Option<usize> {
        self.segments.sources.locate(number).map(|(segment, _)| segment)
    }

    /// The numbers of the records of a segment, by its place in [`Index::segments`].
    pub fn records_in(&self, segment: usize) -> std::ops::Range<u32> {
        self.segments.records.range(segment, 0..usize::MAX)
    }

    /// The changes since the index was built as a whole, oldest first.
    pub fn log(&self) -> &[LogEntry] {
        &self.state.log
    }

    /// The number of groups of each grouping: those of the first segment, then those of the second, and so on. Groups of
    /// two segments that mean the same have different numbers.
    pub fn groupings(&self) -> &[u32] {
        &self.segments.groupings
    }

    /// The group of a record in a grouping. `None` if there is no such grouping or record.
    pub fn group(&self, grouping: usize, record: u32) -> Option<u32> {
        let (segment, place) = self.segments.records.locate(record)?;
        let group = self.segments.all[segment].records.groups.get(grouping, place)?;
        Some(self.segments.groups_before(segment, grouping) + group)
    }

    /// The bytes of [`Spec::attachment`](crate::Spec::attachment) of each segment.
    pub fn attachments(&self) -> impl Iterator<Item = &[u8]> {
        self.segments.all.iter().map(|segment| segment.records.attachment())
    }

    /// Reads the whole index and checks it: checksums, links and reachability of the graphs, groups, and everything that
    /// is computed from the rows.
    ///
    /// ```
    #[doc = include_str!("../doc/small_index.md")]
    /// Index::open(folder)?.verify()?;
    ///
    /// let file = folder.join("gen-000001/heads");
    /// let mut bytes = std::fs::read(&file).expect("the rows of the first space");
    /// bytes[1024] ^= 1;
    /// std::fs::write(&file, bytes).expect("a damaged copy");
    /// let error = Index::open(folder)?.verify().unwrap_err();
    /// assert!(error.to_string().ends_with("build the index again, or restore it from a copy"));
    /// # Ok::<(), citree_index::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first problem found.
    pub fn verify(&self) -> Result<()> {
        verify::verify(self)
    }
}
