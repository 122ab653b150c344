//! Our side of the comparison, in this process: the steps of a real training run and the parser's own scoring.

use super::{Options, Speeds};
use candle_core::Device;
use citree::config::{Config, Preset};
use citree::internals::{Blueprint, Data, Numbered, Run, Tables, Trained, Vocabulary, accuracies};
use citree::train::Stage;
use citree::treebank::{Splits, read_trees};
use citree::{Pretrained, Task};
use std::time::Instant;

use anyhow::{Context, ensure};

/// Warm-up steps, as many as the peer takes.
const WARM_UP_STEPS: usize = 3;
/// Sentences whose edges are the support when parsing is measured. The same number of sentences is parsed once to warm
/// up.
const SUPPORT_SENTENCES: usize = 200;
const PARSED_SENTENCES: usize = 2000;

/// A treebank prepared for training with the paper's sizes and sampling.
pub struct Ours {
    config: Config,
    tables: Tables,
    data: Data,
}

impl Ours {
    /// Reads the treebank and sets the number of threads of this process, which is possible only once.
    pub fn new(options: &Options) -> anyhow::Result<Self> {
        rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global()?;
        let config = Config::preset(Preset::Paper);
        let sentences = read_trees(&options.train)?;
        let vocabulary = Vocabulary::new(&sentences, config.min_count);
        let train: Vec<_> = sentences.iter().map(|sentence| vocabulary.number(sentence)).collect();
        let batches = train.iter().filter(|sentence| !sentence.is_empty()).count().div_ceil(config.query_sentences);
        ensure!(
            batches >= options.steps + WARM_UP_STEPS,
            "an epoch of {} has {batches} batches, too few for {} steps and {WARM_UP_STEPS} to warm up",
            options.train.display(),
            options.steps
        );
        let tables = Tables { vocabulary, splits: Splits::learn(&sentences) };
        Ok(Self { config, tables, data: Data { train, dev: Vec::new() } })
    }

    /// One round: training of both models, then parsing.
    pub fn speeds(&self, steps: usize, seed: usize) -> anyhow::Result<Speeds> {
        let config = Config { seed: seed as u64, ..self.config.clone() };
        Ok(Speeds {
            train_heads: self.train_speed(Stage::Heads, &config, steps)?,
            train_labels: self.train_speed(Stage::Labels, &config, steps)?,
            parse_heads: self.parse_speed(&config)?,
        })
    }

    fn train_speed(&self, stage: Stage, config: &Config, steps: usize) -> anyhow::Result<f64> {
        let mut run = Run::new(stage, config, &self.tables, &Pretrained::default(), &self.data, &Device::Cpu)?;
        let mut words_before = 0;
        for _ in 0..WARM_UP_STEPS {
            words_before = run.step()?.tokens;
        }
        let started = Instant::now();
        let mut words = words_before;
        for _ in 0..steps {
            words = run.step()?.tokens;
        }
        // We count words, and the peer also counts the ROOT of each sentence. A batch has `query_sentences` sentences,
        // except the last of an epoch.
        let tokens = words - words_before + steps * config.query_sentences;
        Ok(tokens as f64 / started.elapsed().as_secs_f64())
    }

    /// Measures parsing with untrained parameters, because the speed does not depend on their values.
    fn parse_speed(&self, config: &Config) -> anyhow::Result<f64> {
        let vocabulary = &self.tables.vocabulary;
        let first = |count: usize| &self.data.train[..count.min(self.data.train.len())];
        let blueprint = Blueprint { config, vocabulary, pretrained: &Pretrained::default(), device: &Device::Cpu };
        let mut trained = Trained::new(Task::Heads, &blueprint, None)?;
        let support: Vec<&Numbered> = first(SUPPORT_SENTENCES).iter().collect();
        Trained::sum_support(std::slice::from_mut(&mut trained), config, vocabulary, &support)?;
        let scorer = trained.scorer(config.aggregate, &Device::Cpu)?;
        let scorers = [(Task::Heads, &scorer)];
        accuracies(&scorers, first(SUPPORT_SENTENCES))?;
        let parsed = first(PARSED_SENTENCES);
        let started = Instant::now();
        accuracies(&scorers, parsed)?;
        let words: usize = parsed.iter().map(|sentence| sentence.len() - 1).sum();
        Ok(words as f64 / started.elapsed().as_secs_f64())
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
