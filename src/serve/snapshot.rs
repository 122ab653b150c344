//! Snapshots of the served bundle, one per generation of its index. A request pins one for all of its work.

use crate::bundle::Bundle;
use crate::error::Result;
use crate::explain::Explainer;
use candle_core::Device;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

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
}

/// The current snapshot, and the path that newer ones are opened from.
#[derive(Debug)]
pub(super) struct Snapshots {
    path: PathBuf,
    device: Device,
    current: RwLock<Arc<Snapshot>>,
}

/// The result of a check for a newer generation.
#[derive(Debug)]
pub(super) enum Refreshed {
    /// There is no newer generation.
    Unchanged,
    /// A newer generation is now served.
    Switched(u64),
    /// A newer generation cannot be opened. The old one stays.
    Failed { generation: u64, reason: String },
}

impl Snapshots {
    pub(super) fn open(path: &Path, device: &Device) -> Result<Self> {
        let current = RwLock::new(Arc::new(Snapshot::open(path, device)?));
        Ok(Self { path: path.to_path_buf(), device: device.clone(), current })
    }

    /// The snapshot for a new request.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.current.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Switches to a generation other than `known`, if one was published.
    pub(super) fn refresh(&self, known: u64) -> Refreshed {
        // A failed read is repeated at the next check.
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
    /// Opens both model and index, because an index built after retraining belongs to another model.
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
