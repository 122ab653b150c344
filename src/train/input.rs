//! The pretrained input of a bundle that is to be trained.

use super::Start;
use crate::bundle::Layout;
use crate::config::Config;
use crate::device::Device;
use crate::encoder::Pretrained;
use crate::encoder::pretrained::Sources;
use crate::error::Result;
use crate::treebank::Sentence;
use std::path::Path;

/// Installs word vectors and a transformer into the folder of a bundle that is to be trained from `start`, for
/// [`Plan::pretrained`](super::Plan::pretrained). The states of a frozen transformer for both treebanks are read from the folder
/// `cache`, or computed and stored there; without one they are stored in the bundle until it is trained. `progress` gets what
/// is done, how much of it and of how much, and returns whether to continue.
///
/// # Errors
/// If the bundle is trained already, another process trains it, or a source cannot be read.
#[expect(clippy::too_many_arguments, reason = "each is needed, and they come from different places")]
pub fn install_pretrained(
    bundle: &Path,
    start: Start<'_>,
    sources: Sources<'_>,
    config: &Config,
    treebanks: [&[Sentence]; 2],
    cache: Option<&Path>,
    device: &Device,
    progress: &(dyn Fn(&'static str, u64, u64) -> bool + Sync),
) -> Result<Pretrained> {
    let layout = Layout::of(bundle);
    let _lock = start.begin(&layout)?;
    let (folder, own) = (layout.pretrained(), layout.training());
    let cache = cache.unwrap_or(&own);
    let install = Install { folder: &folder, resumed: layout.is_interrupted(), sources, cache, device };
    install.run(config, treebanks, progress)
}

/// Where pretrained input comes from and goes to. For callers that hold the lock of a bundle, or have no bundle.
pub(crate) struct Install<'a> {
    /// Its folder.
    pub(crate) folder: &'a Path,
    /// Whether a training is resumed, so that the folder has it already.
    pub(crate) resumed: bool,
    /// Where it is copied from.
    pub(crate) sources: Sources<'a>,
    /// The folder for the states of a frozen transformer.
    pub(crate) cache: &'a Path,
    /// The device to compute them on.
    pub(crate) device: &'a Device,
}

impl Install<'_> {
    /// Installs it, and computes the states of a frozen transformer for the treebanks unless they are stored.
    pub(crate) fn run(
        self,
        config: &Config,
        treebanks: [&[Sentence]; 2],
        progress: &(dyn Fn(&'static str, u64, u64) -> bool + Sync),
    ) -> Result<Pretrained> {
        let Self { folder, resumed, sources, cache, device } = self;
        let installed =
            Pretrained::install(folder, sources, config.bert.train, resumed, device.of_tensors(), &|done, total| {
                progress("word vectors", done, total);
            })?;
        installed.with_cached_states(config, treebanks, cache, &|done, total| {
            progress("states of the encoder", done as u64, total as u64)
        })
    }
}
