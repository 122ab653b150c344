//! The state of an index: its segments, what was removed from each, and the log of changes. Format version 3.
//!
//! A state is a small manifest beside the segments, which are never copied for it. A folder of version 1 or 2 is a state
//! of one segment: itself.

use std::path::Path;

use crate::{
    container::{FACTS, Sections, VERSION, Writer},
    error::{Error, REMEDIES, Result},
    generation::{MANIFEST, name},
    meta::{self, LogEntry, StoredSegment, StoredState},
    segment_builder::{MANIFEST_KIND, MANIFEST_SECTION},
};

const STATE: u32 = 3;
const REMOVED: u32 = 4;
const LOG: u32 = 5;
/// Only where a segment has another weight than 1.
const WEIGHTS: u32 = 6;

/// Changes that the log keeps.
const LOGGED: usize = 4096;

/// The segments of an index, and what was removed from each.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Hash of the data that the records come from.
    pub(crate) content: Vec<u8>,
    pub(crate) segments: Vec<Entry>,
    /// The generation whose state an undo returns to.
    pub(crate) before: Option<u64>,
    pub(crate) log: Vec<LogEntry>,
}

/// A segment of a state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// The name of its folder beside the generations.
    pub(crate) folder: String,
    /// The upper half of the ids of records that were first written to it.
    pub(crate) serial: u32,
    /// What the caller calls it.
    pub(crate) name: String,
    /// How many times its records count.
    pub(crate) weight: f64,
    /// The places of removed sources, records and contrast records, ascending.
    pub(crate) removed: [Vec<u32>; 3],
}

impl State {
    /// Reads the state of a generation.
    pub(crate) fn read(folder: &Path, generation: u64) -> Result<Self> {
        let path = folder.join(name(generation));
        let file = Sections::open_with(path.join(MANIFEST), MANIFEST_KIND, REMEDIES)?;
        // The manifest is small and everything else depends on it, so its checksum is compared now.
        file.check()?;
        let unreadable = || file.damaged("the manifest", "readable", "bytes of another form");
        if file.version() < VERSION {
            let content = meta::content(&file.bytes(MANIFEST_SECTION)?).ok_or_else(unreadable)?;
            let (serial, name) = (u32::try_from(generation).ok().ok_or_else(unreadable)?, String::new());
            let (folder, removed) = (self::name(generation), Default::default());
            let whole = Entry { folder, serial, name, weight: 1.0, removed };
            return Ok(Self { content, segments: vec![whole], ..Self::default() });
        }
        let stored: StoredState = meta::decode_large(&file.bytes(STATE)?).ok_or_else(unreadable)?;
        let log = meta::decode_large(&file.bytes(LOG)?).ok_or_else(unreadable)?;
        let counts = || stored.segments.iter().flat_map(|segment| segment.removed).map(u64::from);
        let removed = file.view::<u32>(REMOVED, &[counts().sum()])?;
        let mut rest = &removed[..];
        let mut segments = Vec::with_capacity(stored.segments.len());
        let weights = match file.has(WEIGHTS) {
            true => file.view::<f64>(WEIGHTS, &[stored.segments.len() as u64])?.to_vec(),
            false => vec![1.0; stored.segments.len()],
        };
        if let Some(unfit) = weights.iter().find(|weight| !is_weight(**weight)) {
            return Err(file.damaged("the weight of a segment", "a positive number", unfit));
        }
        for (StoredSegment { folder, serial, name, removed }, weight) in stored.segments.into_iter().zip(weights) {
            let inside = folder.strip_prefix("gen-").or(folder.strip_prefix("seg-"));
            if !inside.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
                return Err(file.damaged("the folder of a segment", "gen- or seg- and a number", folder));
            }
            let removed = removed.map(|count| {
                let (own, others) = rest.split_at(rest.len().min(count as usize));
                rest = others;
                own.to_vec()
            });
            segments.push(Entry { folder, serial, name, weight, removed });
        }
        if segments.is_empty() {
            return Err(file.damaged("the number of segments", "1 or more", 0));
        }
        Ok(Self { content: stored.content, segments, before: stored.before, log })
    }

    /// Writes the state as the manifest of a new generation.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let stored = |entry: &Entry| StoredSegment {
            folder: entry.folder.clone(),
            serial: entry.serial,
            name: entry.name.clone(),
            removed: entry.removed.each_ref().map(|removed| removed.len() as u32),
        };
        let segments = self.segments.iter().map(stored).collect();
        let state = StoredState { content: self.content.clone(), before: self.before, segments };
        let many = || Error::input("the number of segments and changes", "less than 16 MiB of them", "more");
        let log = self.log[self.log.len().saturating_sub(LOGGED)..].to_vec();
        let mut file = Writer::create(folder.join(MANIFEST), MANIFEST_KIND)?;
        file.version(VERSION);
        file.section(STATE, &meta::encode_large(&state).ok_or_else(many)?)?;
        let removed: Vec<u32> =
            self.segments.iter().flat_map(|entry| entry.removed.iter().flatten().copied()).collect();
        file.section(REMOVED, &removed)?;
        file.section(LOG, &meta::encode_large(&log).ok_or_else(many)?)?;
        let weights: Vec<f64> = self.segments.iter().map(|entry| entry.weight).collect();
        if weights.iter().any(|weight| *weight != 1.0) {
            file.section(WEIGHTS, &weights)?;
        }
        file.finish([0; FACTS])
    }
}

/// Whether a number can be a weight.
pub(crate) fn is_weight(weight: f64) -> bool {
    weight.is_finite() && weight > 0.0
}
