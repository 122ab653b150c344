//! The bundle that is served: loaded once, and again whenever a new generation of its index is published.

use crate::error::Result;
use crate::explain::{Explainer, Settings};
use crate::indexing::TrainingEdges;
use crate::model::Model;
use candle_core::Device;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

/// A bundle as it was loaded; requests that began with it finish with it.
#[derive(Debug)]
pub(super) struct Current {
    /// Decides by the sum rule.
    pub(super) explainer: Explainer,
    /// The generation of the index.
    pub(super) generation: u64,
    /// Of the model, in hexadecimal.
    pub(super) fingerprint: String,
    /// The paper's name of the system, such as IIc.
    pub(super) system: String,
    /// The labels it can give.
    pub(super) labels: usize,
}

/// What is served now, and where newer ones come from.
#[derive(Debug)]
pub(super) struct Live {
    bundle: PathBuf,
    device: Device,
    current: RwLock<Arc<Current>>,
}

/// What became of a look for a newer generation.
#[derive(Debug)]
pub(super) enum Looked {
    /// There is none.
    Unchanged,
    /// There is one, and it is served now.
    Switched(u64),
    /// There is one, but it cannot be opened; the old one is served on.
    Failed { generation: u64, reason: String },
}

impl Live {
    pub(super) fn open(bundle: &Path, device: &Device) -> Result<Self> {
        let current = RwLock::new(Arc::new(Current::load(bundle, device)?));
        Ok(Self { bundle: bundle.to_path_buf(), device: device.clone(), current })
    }

    pub(super) fn current(&self) -> Arc<Current> {
        self.current.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// The name of the bundle, without the folders it is in.
    pub(super) fn name(&self) -> String {
        let whole = self.bundle.canonicalize().unwrap_or_else(|_| self.bundle.clone());
        whole.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Looks whether a newer generation than `known` was published, and changes over to it.
    pub(super) fn look(&self, known: u64) -> Looked {
        // A pointer that cannot be read at this moment is looked at again at the next.
        let Ok(generation) = TrainingEdges::current_generation(&self.bundle) else { return Looked::Unchanged };
        if generation == known {
            return Looked::Unchanged;
        }
        match Current::load(&self.bundle, &self.device) {
            Ok(current) => {
                let generation = current.generation;
                *self.current.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Arc::new(current);
                Looked::Switched(generation)
            }
            Err(error) => Looked::Failed { generation, reason: error.to_string() },
        }
    }
}

impl Current {
    /// Loads model and index: an index built after training again belongs to another model.
    fn load(bundle: &Path, device: &Device) -> Result<Self> {
        let model = Model::load(bundle, device)?;
        let explainer = Explainer::new(&model, bundle, Settings::default(), device)?;
        let index = explainer.edges().index();
        let fingerprint = index.manifest().model.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self {
            generation: index.generation(),
            fingerprint,
            system: model.config.system.to_string(),
            labels: model.tables.vocabulary.labels().len(),
            explainer,
        })
    }
}
