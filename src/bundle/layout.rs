//! The files and folders of a bundle: the only place that knows their names.

use crate::model::ModelFiles;
use std::path::{Path, PathBuf};

/// A bundle's folder, and where everything in it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    folder: PathBuf,
}

impl Layout {
    /// The layout of a folder, which need not exist yet.
    pub(crate) fn of(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf() }
    }

    /// The bundle itself.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What `citree parse` needs.
    pub(crate) fn model(&self) -> PathBuf {
        self.folder.join("model")
    }

    /// The files of the model.
    pub(crate) fn model_files(&self) -> ModelFiles {
        let model = self.model();
        ModelFiles {
            config: model.join("config.toml"),
            tables: model.join("tables.json"),
            heads: model.join("heads.safetensors"),
            labels: model.join("labels.safetensors"),
        }
    }

    /// The index of training edges.
    pub(crate) fn index(&self) -> PathBuf {
        self.folder.join("index")
    }

    /// Word vectors and BERT.
    pub(crate) fn pretrained(&self) -> PathBuf {
        self.folder.join("pretrained")
    }

    /// The checkpoints of a training that is not finished.
    pub(crate) fn training(&self) -> PathBuf {
        self.folder.join("training")
    }

    /// A line for every epoch.
    pub(crate) fn metrics(&self) -> PathBuf {
        self.folder.join("metrics.jsonl")
    }

    /// The learning curve.
    pub(crate) fn curve(&self) -> PathBuf {
        self.folder.join("curve.svg")
    }

    /// When and how well it was trained.
    pub(crate) fn about(&self) -> PathBuf {
        self.folder.join("about.json")
    }

    /// Whether there is a trained model.
    pub(crate) fn is_trained(&self) -> bool {
        self.model().exists()
    }

    /// Whether there is a training to resume.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.training().exists()
    }
}
