//! The files and folders of a bundle: the only place that knows their names.

use crate::model::ModelFiles;
use std::path::{Path, PathBuf};

/// A bundle's folder, and where everything in it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    folder: PathBuf,
}

impl Layout {
    /// The layout of a folder, which need not exist yet.
    pub fn of(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf() }
    }

    /// The bundle itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What `citree parse` needs.
    pub fn model(&self) -> PathBuf {
        self.folder.join("model")
    }

    /// The files of the model.
    pub fn model_files(&self) -> ModelFiles {
        let model = self.model();
        ModelFiles {
            config: model.join("config.toml"),
            tables: model.join("tables.json"),
            heads: model.join("heads.safetensors"),
            labels: model.join("labels.safetensors"),
        }
    }

    /// The index of training edges.
    pub fn index(&self) -> PathBuf {
        self.folder.join("index")
    }

    /// Word vectors and BERT.
    pub fn pretrained(&self) -> PathBuf {
        self.folder.join("pretrained")
    }

    /// The checkpoints of a training that is not finished.
    pub fn training(&self) -> PathBuf {
        self.folder.join("training")
    }

    /// A line for every epoch.
    pub fn metrics(&self) -> PathBuf {
        self.folder.join("metrics.jsonl")
    }

    /// The learning curve.
    pub fn curve(&self) -> PathBuf {
        self.folder.join("curve.svg")
    }

    /// When and how well it was trained.
    pub fn about(&self) -> PathBuf {
        self.folder.join("about.json")
    }

    /// Whether there is a trained model.
    pub fn is_trained(&self) -> bool {
        self.model().exists()
    }

    /// Whether there is a training to resume.
    pub fn is_interrupted(&self) -> bool {
        self.training().exists()
    }
}
