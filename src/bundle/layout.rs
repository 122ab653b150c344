//! The files and folders of a bundle. Only this file knows their names.

use crate::error::{Error, Result};
use crate::model::ModelFiles;
use std::path::{Path, PathBuf};

/// The folder of a bundle, and the paths inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    folder: PathBuf,
}

impl Layout {
    /// The layout of a folder, which need not exist yet.
    pub(crate) fn of(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf() }
    }

    /// The folder of the bundle.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the model.
    pub(crate) fn model(&self) -> PathBuf {
        self.folder.join("model")
    }

    /// The files of the model.
    pub(crate) fn model_files(&self) -> ModelFiles {
        let model = self.model();
        ModelFiles {
            config: model.join("config.toml"),
            tables: model.join("tables.json"),
            text: model.join("text.json"),
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

    /// The checkpoints of an unfinished training run.
    pub(crate) fn training(&self) -> PathBuf {
        self.folder.join("training")
    }

    /// Locked by the process that trains the bundle, and there only while it does.
    pub(crate) fn training_lock(&self) -> PathBuf {
        self.folder.join("training.lock")
    }

    /// One JSON line per epoch.
    pub(crate) fn metrics(&self) -> PathBuf {
        self.folder.join("metrics.jsonl")
    }

    /// The learning curve.
    pub(crate) fn curve(&self) -> PathBuf {
        self.folder.join("curve.svg")
    }

    /// When it was trained, and its scores.
    pub(crate) fn about(&self) -> PathBuf {
        self.folder.join("about.json")
    }

    /// What was measured of rules, and the rule that decides.
    pub(crate) fn rules(&self) -> PathBuf {
        self.folder.join("rules.json")
    }

    /// Refuses a folder without a model, and one whose training is not finished: until its end, what the bundle decides by
    /// can be missing.
    pub(crate) fn require_model(&self) -> Result<()> {
        if self.is_interrupted() {
            let remedy = "wait for it, or finish an interrupted training with `citree train … --resume`";
            return Err(Error::unfit(&self.folder, "a trained bundle", "a training that is not finished", remedy));
        }
        if self.model_files().config.is_file() {
            return Ok(());
        }
        let found = if self.folder.exists() { "none" } else { "nothing there" };
        let remedy = "train one with `citree train`, or finish an interrupted training with `--resume`";
        Err(Error::unfit(&self.folder, "a bundle with a model/ folder", found, remedy))
    }

    /// Whether there is a trained model.
    pub(crate) fn is_trained(&self) -> bool {
        self.model().exists()
    }

    /// Whether there is a training run to resume.
    pub(crate) fn is_interrupted(&self) -> bool {
        // A training writes its configuration as soon as it can be resumed.
        self.training().join("config.toml").exists()
    }

    /// Whether an index was published.
    pub(crate) fn has_index(&self) -> bool {
        self.current().exists()
    }

    /// The file that names the current generation of the index.
    pub(super) fn current(&self) -> PathBuf {
        self.index().join("CURRENT")
    }
}
