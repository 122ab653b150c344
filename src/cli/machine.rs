//! The options for device and threads, which several verbs share.

use crate::device::Device;

/// Device and threads.
#[derive(clap::Args)]
pub(super) struct Machine {
    /// Where to compute: auto, cpu, cuda, cuda:N or metal
    #[arg(long, value_name = "DEVICE", default_value = "auto", help_heading = "Machine")]
    device: String,
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Machine")]
    threads: Option<std::num::NonZeroUsize>,
}

impl Machine {
    /// The number of threads to use.
    pub(super) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        self.threads.map_or_else(cores, std::num::NonZeroUsize::get)
    }

    /// Sets up the threads and selects the device. Call it once per process.
    pub(super) fn start(&self) -> anyhow::Result<Device> {
        let threads = self.threads.map_or(0, std::num::NonZeroUsize::get);
        let refused = |error| anyhow::anyhow!("a thread does not start: {error}; use fewer with --threads");
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(refused)?;
        Ok(crate::device::pick(&self.device)?)
    }
}
