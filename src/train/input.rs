//! The pretrained input of a bundle that is to be trained.

use super::Start;
use crate::bundle::Layout;
use crate::config::Config;
use crate::encoder::Pretrained;
use crate::encoder::pretrained::Sources;
use crate::error::Result;
use crate::treebank::Sentence;
use candle_core::Device;
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
    let (folder, resumed) = (layout.pretrained(), layout.is_interrupted());
    let installed = Pretrained::install(&folder, sources, config.bert.train, resumed, device, &|done, total| {
        progress("word vectors", done, total);
    })?;
    let own = layout.training();
    installed.with_cached_states(config, treebanks, cache.unwrap_or(&own), &|done, total| {
        progress("states of the encoder", done as u64, total as u64)
    })
}
