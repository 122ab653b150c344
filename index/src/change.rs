//! Changing an index: adding a segment, removing sources, merging segments, and undoing.
//!
//! A change writes what is new and a small state that names the segments of the index. Nothing of the segments that stay
//! is copied. An addition does not read them either. A removal looks through their tables of records for those of the
//! sources that go, which is the only part that grows with the index.

use std::{
    ops::ControlFlow,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{
    copy::Copied,
    error::{Error, Result},
    generation::{self, Draft},
    index::Index,
    lookup::KeyOf,
    meta::LogEntry,
    segment_builder::{Progress, SegmentBuilder, Spec},
    state::{Entry, State, is_weight},
};

const UNKEPT: &str = "only the latest changes can be undone, and none from before the last merge";

/// A change of an index. It holds the lock of the one writer; dropping it before it is published changes nothing.
///
/// ```
#[doc = include_str!("../doc/small_index.md")]
/// use citree_index::{Change, Note};
///
/// let note = |what: &str| Note { who: "me".into(), what: what.into(), message: "why".into(), content: vec![2] };
/// let mut change = Change::begin(folder)?;
/// change.remove_source(0);
/// change.publish(note("removed a source"))?;
///
/// let index = Index::open(folder)?;
/// assert_eq!((index.manifest().records, index.manifest().sources), (1, 1));
/// assert_eq!(index.source(0), Some(&b"more bytes"[..]), "numbers have no gaps");
/// assert_eq!(index.log()[0].what, "removed a source");
///
/// Change::begin(folder)?.undo(note("undone"))?;
/// assert_eq!(Index::open(folder)?.manifest().records, 3);
/// # Ok::<(), citree_index::Error>(())
/// ```
#[derive(Debug)]
pub struct Change {
    index: Index,
    state: State,
    /// The places of sources of each segment that are to be removed.
    removed: Vec<Vec<u32>>,
    // Last, so that the lock is released when all else is closed.
    draft: Draft,
}

/// What the log says about a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// Who makes it.
    pub who: String,
    /// What is done.
    pub what: String,
    /// Why.
    pub message: String,
    /// Hash of the data that the records come from after the change.
    pub content: Vec<u8>,
}

/// A change with a new segment, to which records can be added.
#[derive(Debug)]
pub struct Addition {
    segment: SegmentBuilder,
    change: Change,
}

impl Change {
    /// Begins to change the current generation of an index.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is no index. [`Error::Busy`] if another change or build is running there.
    pub fn begin(folder: impl AsRef<Path>) -> Result<Self> {
        // A folder without an index is left as it is.
        generation::pointer(folder.as_ref())?;
        let draft = Draft::begin(folder.as_ref())?;
        let index = Index::open(folder)?;
        let state = State { before: Some(index.generation()), ..index.state.clone() };
        Ok(Self { removed: vec![Vec::new(); state.segments.len()], index, state, draft })
    }

    /// The index as it is before the change.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Removes a source by its number in [`Change::index`], with all its records and contrast records.
    pub fn remove_source(&mut self, number: u32) {
        let place = self.index.segments.sources.locate(number);
        place.into_iter().for_each(|(segment, place)| self.removed[segment].push(place));
    }

    /// Gives all segments of a name another one. Returns whether there were any. If others have that name, all count as
    /// much as these.
    pub fn rename(&mut self, from: &str, to: &str) -> bool {
        let weight = self.weight_of(to);
        let mut found = false;
        for segment in self.state.segments.iter_mut().filter(|segment| segment.name == from) {
            to.clone_into(&mut segment.name);
            segment.weight = weight.unwrap_or(segment.weight);
            found = true;
        }
        found
    }

    /// Says how many times the records of all segments of a name count, a positive number. Returns whether there were any.
    ///
    /// # Errors
    /// [`Error::Input`] if the weight is not a positive number.
    pub fn weigh(&mut self, name: &str, weight: f64) -> Result<bool> {
        if !is_weight(weight) {
            return Err(Error::input("the weight of segments", "a positive number", weight));
        }
        let named = self.state.segments.iter_mut().filter(|segment| segment.name == name);
        Ok(named.map(|segment| segment.weight = weight).count() > 0)
    }

    /// The weight of the segments of a name.
    fn weight_of(&self, name: &str) -> Option<f64> {
        self.state.segments.iter().find(|segment| segment.name == name).map(|segment| segment.weight)
    }

    /// The number of sources that [`Change::add`] copies from the segments at these places.
    pub fn copied_sources(&self, places: &[usize]) -> u32 {
        let left = |at: usize| {
            let mut removed = self.removed[at].clone();
            removed.sort_unstable();
            removed.dedup();
            self.index.segments()[at].sources as u32 - removed.len() as u32
        };
        places.iter().copied().map(left).sum()
    }

    /// Gives up that changes before this one, and this one, can be undone. Segments that only they need are removed.
    pub fn forget_before(&mut self) {
        self.state.before = None;
    }

    /// Begins a segment for new records. The segments at `places` of [`Index::segments`], ascending, are replaced by it:
    /// what still counts of them is copied, with their ids. The new segment takes the place of the first of them.
    ///
    /// `spec` announces new records only, but the groupings and the attachment of the whole segment. `regroup` gives the
    /// group of a copied record in the new segment: for a grouping, a group as [`Index::group`] returns it, and the number
    /// of the record's source in the new segment. There the copied sources come first, in their order.
    ///
    /// # Errors
    /// [`Error::Input`] if the spec is invalid or does not fit the index, or an I/O error.
    pub fn add(
        mut self,
        name: &str,
        mut spec: Spec,
        places: &[usize],
        key: Option<KeyOf>,
        regroup: &dyn Fn(usize, u32, u32) -> u32,
    ) -> Result<Addition> {
        spec.check()?;
        let manifest = self.index.manifest();
        let spaces = manifest.spaces.each_ref().map(|space| (space.dims as usize, space.metric));
        if spec.spaces.map(|space| (space.dims, space.metric)) != spaces || spec.model != manifest.model {
            return Err(Error::input("the model and the spaces of new records", "those of the index", "others"));
        }
        let groupings = self.index.groupings().len();
        if spec.groupings.len() != groupings {
            return Err(Error::input("the number of groupings of new records", groupings, spec.groupings.len()));
        }
        let (path, folder) = self.draft.segment()?;
        let serial = u32::try_from(self.draft.number())
            .map_err(|_| Error::input("the number of generations", "fewer than 2^32", self.draft.number()))?;
        self.apply();
        let copied = Copied { segments: &self.index.segments, entries: &self.state.segments, places };
        copied.announce(&mut spec);
        let mut segment = SegmentBuilder::create(path, spec)?;
        key.into_iter().for_each(|key| segment.find_sources_by(key));
        if !places.is_empty() {
            segment.with_ids(serial);
        }
        let written = copied.write(&mut segment, regroup);
        // Nothing damaged is copied under a new checksum.
        self.index.intact()?;
        written?;
        let weight = self.weight_of(name).unwrap_or(1.0);
        let new = Entry { folder, serial, name: name.to_owned(), weight, removed: Default::default() };
        let first = places.first().copied().unwrap_or(self.state.segments.len()).min(self.state.segments.len());
        for place in places.iter().rev().filter(|place| **place < self.removed.len()) {
            self.state.segments.remove(*place);
        }
        self.state.segments.insert(first, new);
        // What was to be removed is removed from the state.
        self.removed.clear();
        Ok(Addition { segment, change: self })
    }

    /// Makes the change the current generation. Returns its number.
    ///
    /// # Errors
    /// If it cannot be written. The generation before then stays current.
    pub fn publish(mut self, note: Note) -> Result<u64> {
        self.apply();
        // A segment without anything that counts is dropped, but an index has at least one.
        let counts = |entry: &&Entry| {
            let at = self.index.state.segments.iter().position(|before| before.folder == entry.folder);
            let stored = at.and_then(|at| self.index.segments.all.get(at)).map(|segment| segment.records.sources());
            stored.is_none_or(|stored| stored == 0 || stored > entry.removed[0].len())
        };
        let mut left: Vec<Entry> = self.state.segments.iter().filter(counts).cloned().collect();
        if left.is_empty() {
            left.extend(self.state.segments.first().cloned());
        }
        self.state.segments = left;
        self.finish(note)
    }

    /// Returns to the state before the last change, as a new generation. Returns its number.
    ///
    /// # Errors
    /// [`Error::NothingToUndo`] if there was no change, or its state before is not kept any more.
    pub fn undo(mut self, note: Note) -> Result<u64> {
        let folder = self.draft.folder();
        let unkept = || Error::NothingToUndo { path: folder.to_owned(), remedy: UNKEPT };
        let before = self.index.state.before.ok_or_else(unkept)?;
        if !folder.join(generation::name(before)).is_dir() {
            return Err(unkept());
        }
        let state = State::read(folder, before)?;
        let content = state.content.clone();
        self.state = State { log: self.index.state.log.clone(), ..state };
        self.finish(Note { content, ..note })
    }

    /// Removes the records of the sources that are to be removed.
    fn apply(&mut self) {
        for (at, new) in self.removed.iter_mut().enumerate().filter(|(_, new)| !new.is_empty()) {
            let (segment, entry) = (&self.index.segments.all[at], &mut self.state.segments[at]);
            new.sort_unstable();
            new.dedup();
            for kind in [0, 1] {
                let records = segment.table(kind).map_or_else(Vec::new, |table| table.of_sources(new));
                union(&mut entry.removed[kind + 1], records);
            }
            union(&mut entry.removed[0], std::mem::take(new));
        }
    }

    /// Writes the state and publishes it.
    fn finish(self, note: Note) -> Result<u64> {
        let Self { index, mut state, draft, .. } = self;
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let Note { who, what, message, content } = note;
        state.content = content;
        state.log.push(LogEntry { generation: draft.number(), time, who, what, message });
        // What was removed follows from the tables of records.
        index.intact()?;
        state.write(&draft.path())?;
        // The lock of a reader would keep the generation before from being removed.
        drop(index);
        draft.publish()
    }
}

impl Addition {
    /// The new segment. Add to it as many sources and records as announced.
    pub fn segment(&mut self) -> &mut SegmentBuilder {
        &mut self.segment
    }

    /// As [`Change::weigh`]. The new segment has the weight of others of its name, and 1 if there are none.
    ///
    /// # Errors
    /// As for [`Change::weigh`].
    pub fn weigh(&mut self, name: &str, weight: f64) -> Result<bool> {
        self.change.weigh(name, weight)
    }

    /// Computes the rest, and makes the change the current generation. Returns its number. `progress` is asked many times
    /// whether to go on.
    ///
    /// # Errors
    /// [`Error::Input`] if fewer records were added than announced, [`Error::Stopped`] if `progress` said so, or an I/O
    /// error. The generation before then stays current.
    pub fn publish(self, note: Note, progress: &(dyn Fn(Progress) -> ControlFlow<()> + Sync)) -> Result<u64> {
        self.segment.finish(progress)?;
        self.change.publish(note)
    }
}

/// Adds numbers to a sorted list of others.
fn union(sorted: &mut Vec<u32>, numbers: Vec<u32>) {
    sorted.extend(numbers);
    sorted.sort_unstable();
    sorted.dedup();
}
