//! Bundles: folders on disk with a model and an index. This module is the only one that knows their files.
//!
//! A [`Bundle`] owns the model, the index of training edges, the pretrained input and the device. It is a snapshot: the
//! model does not change once it is read, nor does the index once it is first asked for, even while a new one is built
//! next to it. Other modules add methods that create
//! parsers and explainers and run training.

mod about;
mod info;
mod layout;
mod rules;
#[cfg(feature = "serve")]
mod stamp;
mod verify;

pub use crate::softmax::Softmax;
pub(crate) use about::{About, DevScores};
pub use info::Info;
pub(crate) use layout::Layout;
pub use rules::{Calibration, MeasuredRule, MeasuredRules};
#[cfg(feature = "serve")]
pub(crate) use stamp::Stamp;
pub use verify::Verified;

use crate::config::Config;
use crate::device::Device;
use crate::encoder::Pretrained;
use crate::error::{Error, Result};
use crate::evidence::{self, Built, EvidenceEditor, Step, TrainingEdges};
use crate::flow::Flow;
use crate::model::Model;
use crate::treebank::{Sentence, TextTables};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// An opened bundle. Cheap to clone, safe to share.
///
/// ```no_run
/// let bundle = citree::Bundle::open("en.citree")?;
/// let parser = bundle.parser()?;
/// let explainer = bundle.explainer()?;
/// println!("{}", bundle.info()?);
/// # Ok::<(), citree::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bundle(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    layout: Layout,
    device: candle_core::Device,
    model: Arc<Model>,
    index: OnceLock<Arc<TrainingEdges>>,
    rules: Arc<MeasuredRules>,
}

/// Checks that every file of a bundle that this process has mapped still has its length. Reading past the end of a file that
/// was truncated would end the process.
///
/// # Errors
/// If one was truncated since it was opened.
pub fn check_mapped() -> Result<()> {
    Ok(citree_index::container::check_mapped()?)
}

impl Bundle {
    /// Opens a bundle for the CPU.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_on(path, &Device::CPU)
    }

    /// Opens a bundle for a device.
    pub fn open_on(path: impl AsRef<Path>, device: &Device) -> Result<Self> {
        let (layout, device) = (Layout::of(path.as_ref()), device.of_tensors());
        layout.require_model()?;
        let files = layout.model_files();
        let pretrained = layout.pretrained();
        let model = Model::load(&files, |config| Pretrained::load(&pretrained, config.bert.train, device), device)?;
        Self::of(layout, model, device)
    }

    /// A bundle whose model is already in memory.
    pub(crate) fn of(layout: Layout, model: impl Into<Arc<Model>>, device: &candle_core::Device) -> Result<Self> {
        let rules = Arc::new(MeasuredRules::read(&layout)?);
        let (device, model) = (device.clone(), model.into());
        Ok(Self(Arc::new(Opened { layout, device, model, index: OnceLock::new(), rules })))
    }

    /// The same bundle with what its folder holds now: the current generation of the index, and what was measured of
    /// rules. The model is shared, so this is fast. This snapshot stays as it is.
    ///
    /// ```no_run
    /// let bundle = citree::Bundle::open("en.citree")?;
    /// bundle.evidence().remove(&["reviews-000123"]).commit("a wrong tree")?;
    /// let explainer = bundle.refreshed()?.explainer()?; // does not cite it
    /// # Ok::<(), citree::Error>(())
    /// ```
    ///
    /// # Errors
    /// If another model was trained into the folder and its index is there now. Then open the bundle again. If there is no
    /// index any more.
    pub fn refreshed(&self) -> Result<Self> {
        let Opened { layout, model, device, .. } = &*self.0;
        let fresh = Self::of(layout.clone(), model.clone(), device)?;
        if fresh.has_index() || self.0.index.get().is_some() {
            fresh.index()?;
        }
        Ok(fresh)
    }

    /// The rule that it decides by, and what was measured of it and of others.
    pub fn rules(&self) -> &Arc<MeasuredRules> {
        &self.0.rules
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        self.0.layout.folder()
    }

    /// The last component of the path.
    #[cfg(feature = "serve")]
    pub(crate) fn name(&self) -> String {
        let whole = self.path().canonicalize().unwrap_or_else(|_| self.path().to_path_buf());
        whole.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.0.layout
    }

    /// The model.
    pub(crate) fn model(&self) -> &Model {
        &self.0.model
    }

    /// The configuration that the model was trained with.
    pub fn config(&self) -> &Config {
        &self.model().config
    }

    /// The device that it computes on.
    pub(crate) fn device(&self) -> &candle_core::Device {
        &self.0.device
    }

    /// The fingerprint of the model, in hexadecimal: a hash of all that decides what an edge vector is.
    pub(crate) fn fingerprint(&self) -> Result<String> {
        Ok(info::hex(&self.model().fingerprint()?))
    }

    /// Whether it has an index, so that its decisions can be explained.
    pub(crate) fn has_index(&self) -> bool {
        self.0.index.get().is_some() || self.layout().has_index()
    }

    /// The training edges, opened on first use. Fails if there is no index or if another model built it.
    pub fn index(&self) -> Result<&Arc<TrainingEdges>> {
        if let Some(index) = self.0.index.get() {
            return Ok(index);
        }
        let model = self.model();
        let labels = model.tables.vocabulary.labels();
        let opened = TrainingEdges::open(&self.layout().index(), &model.fingerprint()?, labels);
        let opened = opened.map_err(|error| match error {
            Error::Index(citree_index::Error::Missing { .. }) => Error::Bundle {
                path: self.path().to_path_buf(),
                expected: "an index of training edges".to_string(),
                found: "none".to_string(),
                remedy: format!("build it with `citree index {} --treebank TRAIN.conllu`", self.path().display()),
            },
            other => other,
        })?;
        Ok(self.0.index.get_or_init(|| Arc::new(opened)))
    }

    /// The current generation of the index on disk. It is newer than the open one if another was published since.
    #[cfg(feature = "serve")]
    pub(crate) fn current_generation(&self) -> Result<u64> {
        TrainingEdges::current_generation(&self.layout().index())
    }

    /// An editor of the evidence: sentences can be added, removed and replaced without building the index again. This
    /// snapshot keeps the generation it has; [`refreshed`](Self::refreshed) gives one with the new.
    pub fn evidence(&self) -> EvidenceEditor<'_> {
        EvidenceEditor::new(Some(self.model()), self.layout().index())
    }

    /// An editor of the evidence in a bundle that is not opened. Without a model it can remove, undo, rename and list, and
    /// is there at once.
    #[cfg(feature = "cli")]
    pub(crate) fn evidence_in(path: &Path) -> Result<EvidenceEditor<'static>> {
        let layout = Layout::of(path);
        layout.require_model()?;
        Ok(EvidenceEditor::new(None, layout.index()))
    }

    /// Builds a new generation of the index from the gold edges of a treebank, with the usual number of rejected edges
    /// beside them. This snapshot keeps the generation it has; [`refreshed`](Self::refreshed) gives one with the new. If
    /// `progress` stops the build, the error is [`Stopped`](crate::Error::Stopped) and the index is as it was.
    pub fn build_index(&self, treebank: &[Sentence], progress: &(dyn Fn(Step) -> Flow + Sync)) -> Result<Built> {
        self.build_index_with(treebank, evidence::REJECTED, progress)
    }

    /// As [`build_index`](Self::build_index), with `rejected` wrong heads of every word, the hardest ones.
    pub fn build_index_with(
        &self,
        treebank: &[Sentence],
        rejected: usize,
        progress: &(dyn Fn(Step) -> Flow + Sync),
    ) -> Result<Built> {
        let built = evidence::build(self.model(), treebank, &self.layout().index(), rejected, progress, |_| Ok(()))?;
        // A bundle of an earlier version does not know where sentences end. The laboratory's models are not on disk.
        if self.model().text.is_none() && self.layout().is_trained() {
            self.layout().model_files().write_text(&TextTables::learn(treebank))?;
        }
        Ok(built)
    }
}
