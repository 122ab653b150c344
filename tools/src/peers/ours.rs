//! Our side of the comparison, in this process: the steps of a real training run and the parser's own scoring.

use super::{Options, Speeds};
use citree::config::{Config, Preset};
use citree::internals::Prepared;
use citree::train::Stage;
use citree::treebank::read_trees;

use anyhow::{Context, ensure};

/// Warm-up steps, as many as the peer takes.
const WARM_UP_STEPS: usize = 3;
/// Sentences whose edges are the support when parsing is measured. The same number of sentences is parsed once to warm
/// up.
const SUPPORT_SENTENCES: usize = 200;
const PARSED_SENTENCES: usize = 2000;

/// A treebank prepared for training with the paper's sizes and sampling.
pub struct Ours {
    prepared: Prepared,
    /// Sentences in a batch.
    batch: usize,
}

impl Ours {
    /// Reads the treebank and sets the number of threads of this process, which is possible only once.
    pub fn new(options: &Options) -> anyhow::Result<Self> {
        rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global()?;
        let config = Config::preset(Preset::Paper);
        let batch = config.query_sentences;
        let prepared = Prepared::new(config, &read_trees(&options.train)?)?;
        let batches = prepared.batches();
        ensure!(
            batches >= options.steps + WARM_UP_STEPS,
            "an epoch of {} has {batches} batches, too few for {} steps and {WARM_UP_STEPS} to warm up",
            options.train.display(),
            options.steps
        );
        Ok(Self { prepared, batch })
    }

    /// One round: training of both models, then parsing.
    pub fn speeds(&self, steps: usize, seed: usize) -> anyhow::Result<Speeds> {
        Ok(Speeds {
            train_heads: self.train_speed(Stage::Heads, seed, steps)?,
            train_labels: self.train_speed(Stage::Labels, seed, steps)?,
            // Parameters are untrained, because the speed does not depend on their values.
            parse_heads: self.prepared.head_speed(SUPPORT_SENTENCES, PARSED_SENTENCES)?,
        })
    }

    fn train_speed(&self, stage: Stage, seed: usize, steps: usize) -> anyhow::Result<f64> {
        let reports = self.prepared.steps(stage, seed as u64, WARM_UP_STEPS + steps)?;
        let (warm, last) = (&reports[WARM_UP_STEPS - 1], &reports[reports.len() - 1]);
        // We count words, and the peer also counts the ROOT of each sentence. A batch has `query_sentences` sentences,
        // except the last of an epoch.
        let tokens = last.tokens - warm.tokens + steps * self.batch;
        Ok(tokens as f64 / (last.seconds - warm.seconds))
    }
}

/// The peak memory of this process so far, in bytes.
pub fn peak_memory() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("peak memory is read from Linux's /proc")?;
    peak_of(&status).context("no VmHWM in /proc/self/status")
}

fn peak_of(status: &str) -> Option<u64> {
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"))?;
    Some(kibibytes.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_is_the_high_water_mark() {
        assert_eq!(peak_of("VmPeak:\t  900 kB\nVmHWM:\t  384684 kB\nVmRSS:\t 5 kB\n"), Some(393_916_416));
        assert_eq!(peak_of("VmPeak:\t  900 kB\n"), None);
    }
}
