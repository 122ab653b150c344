//! Snapshots of the bundle that is served: one for each generation of its index. A request pins one for all of its work.

use crate::bundle::Bundle;
use crate::error::Result;
use crate::explain::Explainer;
use candle_core::Device;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

/// A bundle as it was opened. Requests that began with it finish with it.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// Decides by the sum rule.
    pub(super) explainer: Explainer,
    /// The generation of the index.
    pub(super) generation: u64,
    /// Of the model, in hexadecimal.
    pub(super) fingerprint: String,
    /// The paper's name of the system, such as IIc.
    pub(super) system: String,
}

/// The current snapshot, and where newer ones come from.
#[derive(Debug)]
pub(super) struct Snapshots {
    path: PathBuf,
    device: Device,
    current: RwLock<Arc<Snapshot>>,
}

/// What a look for a newer generation found.
#[derive(Debug)]
pub(super) enum Refreshed {
    /// There is none.
    Unchanged,
    /// There is one, and it is served now.
    Switched(u64),
    /// There is one, but it cannot be opened; the old one stays.
    Failed { generation: u64, reason: String },
}

impl Snapshots {
    pub(super) fn open(path: &Path, device: &Device) -> Result<Self> {
        let current = RwLock::new(Arc::new(Snapshot::open(path, device)?));
        Ok(Self { path: path.to_path_buf(), device: device.clone(), current })
    }

    /// The snapshot to serve a new request from.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.current.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Switches to a generation newer than `known`, if one was published.
    pub(super) fn refresh(&self, known: u64) -> Refreshed {
        // A pointer that cannot be read at this moment is read again at the next look.
        let Ok(generation) = self.snapshot().explainer.bundle().current_generation() else {
            return Refreshed::Unchanged;
        };
        if generation == known {
            return Refreshed::Unchanged;
        }
        match Snapshot::open(&self.path, &self.device) {
            Ok(snapshot) => {
                let generation = snapshot.generation;
                *self.current.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Arc::new(snapshot);
                Refreshed::Switched(generation)
            }
            Err(error) => Refreshed::Failed { generation, reason: error.to_string() },
        }
    }
}

impl Snapshot {
    /// Opens model and index: an index built after training again belongs to another model.
    fn open(path: &Path, device: &Device) -> Result<Self> {
        let bundle = Bundle::open_on(path, device)?;
        Ok(Self {
            generation: bundle.index()?.index().generation(),
            fingerprint: bundle.fingerprint()?,
            system: bundle.model().config.system.to_string(),
            explainer: bundle.explainer()?,
        })
    }
}
