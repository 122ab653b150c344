//! Snapshots of the served bundle, one for each content that its folder had. A request pins one for all of its work.

use crate::bundle::{Bundle, Layout, Stamp};
use crate::device::Device;
use crate::error::Result;
use crate::explain::Explainer;
use citree_index::container::check_mapped;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

/// How long to wait before a content that cannot be opened is tried again: twice as long each time, up to a limit.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// An opened bundle. Requests that started with it finish with it.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// Its explainer, under the bundle's own rule.
    pub(super) explainer: Explainer,
    /// The generation of the index.
    pub(super) generation: u64,
    /// The fingerprint of the model, in hexadecimal.
    pub(super) fingerprint: String,
    /// The name of the system in the paper, such as IIc.
    pub(super) system: String,
    /// What the folder held just before it was opened.
    pub(super) stamp: Stamp,
}

/// The current snapshot, and the path that newer ones are opened from.
#[derive(Debug)]
pub(super) struct Snapshots {
    path: PathBuf,
    device: Device,
    current: RwLock<Arc<Snapshot>>,
    failure: Mutex<Option<Failure>>,
}

/// A content that could not be opened.
#[derive(Debug)]
struct Failure {
    stamp: Stamp,
    reason: String,
    waited: Duration,
    again: Instant,
}

/// The result of a check for another content.
#[derive(Debug)]
pub(super) enum Refreshed {
    /// There is nothing new to serve, or to say.
    Unchanged,
    /// Another content is now served: the generation of its index.
    Switched(u64),
    /// Another content cannot be opened. The old one stays, and the new one is tried again.
    Failed { generation: u64, reason: String },
}

impl Snapshots {
    pub(super) fn open(path: &Path, device: &Device) -> Result<Self> {
        let current = RwLock::new(Arc::new(Snapshot::open(path, device)?));
        Ok(Self { path: path.to_path_buf(), device: device.clone(), current, failure: Mutex::default() })
    }

    /// The snapshot for a new request.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.current.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Switches to what the folder holds, if that is not what is served: a new generation of the index, or another
    /// bundle in its place.
    pub(super) fn refresh(&self, now: Instant) -> Refreshed {
        // First, so that of two checks at a time the second sees what the first one switched to.
        let mut failure = self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let stamp = Layout::of(&self.path).stamp();
        let current = self.snapshot();
        // Once a mapped file was truncated, only opening it again shows whether it was restored.
        let damaged = check_mapped().is_err();
        if stamp == current.stamp && !damaged {
            *failure = None;
            return Refreshed::Unchanged;
        }
        if failure.as_ref().is_some_and(|failure| failure.stamp == stamp && now < failure.again) {
            return Refreshed::Unchanged;
        }
        // A failed read is repeated at the next check.
        let Ok(generation) = current.explainer.bundle().current_generation() else {
            return Refreshed::Unchanged;
        };
        // If the index is of another model than it seems, the whole bundle is opened again.
        let known = !damaged && stamp.has_model_of(&current.stamp);
        let fast = known.then(|| current.refreshed(stamp.clone()).ok()).flatten();
        match fast.map_or_else(|| Snapshot::open(&self.path, &self.device), Ok) {
            Ok(snapshot) => {
                let generation = snapshot.generation;
                *failure = None;
                *self.current.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Arc::new(snapshot);
                Refreshed::Switched(generation)
            }
            Err(error) => {
                let reason = error.to_string();
                let before = failure.take().filter(|failure| failure.stamp == stamp);
                let is_known = before.as_ref().is_some_and(|failure| failure.reason == reason);
                let wait = before.map_or(FIRST_WAIT, |failure| (2 * failure.waited).min(LONGEST_WAIT));
                *failure = Some(Failure { stamp, reason: reason.clone(), waited: wait, again: now + wait });
                if is_known { Refreshed::Unchanged } else { Refreshed::Failed { generation, reason } }
            }
        }
    }
}

impl Snapshot {
    /// Opens both model and index, because an index built after retraining belongs to another model.
    fn open(path: &Path, device: &Device) -> Result<Self> {
        // Taken first: what changes while the bundle is opened is noticed at the next check.
        let stamp = Layout::of(path).stamp();
        Self::of(&Bundle::open_on(path, device)?, stamp)
    }

    /// The same model with the index and the rules that are there now. `stamp` was taken just before.
    fn refreshed(&self, stamp: Stamp) -> Result<Self> {
        Self::of(&self.explainer.bundle().refreshed()?, stamp)
    }

    fn of(bundle: &Bundle, stamp: Stamp) -> Result<Self> {
        Ok(Self {
            generation: bundle.index()?.index().generation(),
            fingerprint: bundle.fingerprint()?,
            system: bundle.config().system.to_string(),
            explainer: bundle.explainer()?,
            stamp,
        })
    }
}

#[cfg(test)]
mod tests;
