//! Steps of training, parsing with untrained models, and transformers, for tools that measure how fast they are.

use crate::config::Config;
use crate::encoder::transformer::{Pieces, Transformer};
use crate::encoder::{Numbered, Pretrained, Vocabulary};
use crate::error::Result;
use crate::model::{Blueprint, Model, Tables, Trained};
use crate::parse::{Parser, Settings};
use crate::score::accuracies;
use crate::task::Task;
use crate::train::data::Data;
use crate::train::run::Run;
use crate::train::{Stage, StepReport};
use crate::treebank::{Sentence, Splits};
use candle_core::Device;
use rayon::prelude::*;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// A treebank prepared for training on the CPU.
pub struct Prepared {
    config: Config,
    tables: Tables,
    data: Data,
}

impl Prepared {
    /// Numbers the sentences.
    pub fn new(config: Config, sentences: &[Sentence]) -> Result<Self> {
        let vocabulary = Vocabulary::new(sentences, config.min_count).with_ends(config.char_ends);
        let train = Pretrained::default().number(&vocabulary, sentences)?;
        let tables = Tables { vocabulary, splits: Splits::learn(sentences) };
        Ok(Self { config, tables, data: Data { train, dev: Vec::new() } })
    }

    /// The batches of an epoch.
    pub fn batches(&self) -> usize {
        let sentences = self.data.train.iter().filter(|sentence| !sentence.is_empty());
        sentences.count().div_ceil(self.config.query_sentences)
    }

    /// The reports of the first steps of a training.
    pub fn steps(&self, stage: Stage, seed: u64, count: usize) -> Result<Vec<StepReport>> {
        let config = Config { seed, ..self.config.clone() };
        let mut run = Run::new(stage, &config, &self.tables, &Pretrained::default(), &self.data, &Device::Cpu)?;
        (0..count).map(|_| run.step()).collect()
    }

    /// An untrained parser by the support of the first sentences. Its speed is that of a trained one.
    pub fn parser(&self, support: usize) -> Result<Parser> {
        let heads = self.summed(Task::Heads, None, support)?;
        let labels = self.summed(Task::Labels, Some(&heads), support)?;
        let model = Model::new(self.config.clone(), self.tables.clone(), Pretrained::default(), heads, labels);
        Parser::new(&model, None, Default::default(), &Settings::default(), &Device::Cpu)
    }

    /// Words per second of fast mode alone for heads, over the first sentences, untrained.
    pub fn head_speed(&self, support: usize, sentences: usize) -> Result<f64> {
        let scorer = self.summed(Task::Heads, None, support)?.scorer(self.config.aggregate, &Device::Cpu)?;
        let scorers = [(Task::Heads, &scorer)];
        accuracies(&scorers, self.first(support))?;
        let parsed = self.first(sentences);
        let started = Instant::now();
        accuracies(&scorers, parsed)?;
        let words: usize = parsed.iter().map(|sentence| sentence.len() - 1).sum();
        Ok(words as f64 / started.elapsed().as_secs_f64())
    }

    fn first(&self, count: usize) -> &[Numbered] {
        &self.data.train[..count.min(self.data.train.len())]
    }

    /// An untrained model with the support of the first sentences, over the encoder of another if they share one.
    fn summed(&self, task: Task, other: Option<&Trained>, support: usize) -> Result<Trained> {
        let (config, vocabulary) = (&self.config, &self.tables.vocabulary);
        let pretrained = Pretrained::default();
        let blueprint = Blueprint { config, vocabulary, pretrained: &pretrained, device: &Device::Cpu };
        let mut trained = Trained::new(task, &blueprint, other.and_then(|other| other.shared(config)))?;
        let support: Vec<&Numbered> = self.first(support).iter().collect();
        Trained::sum_support(std::slice::from_mut(&mut trained), config, vocabulary, &support)?;
        Ok(trained)
    }
}

/// Words per second that the transformer of a folder tokenises, in parallel, and computes the features of, in batches sorted by
/// length.
pub fn encoder_speeds(folder: &Path, sentences: &[Sentence], batch: usize) -> Result<[f64; 2]> {
    let transformer = Transformer::open(folder, &Device::Cpu)?;
    let words: Vec<Vec<&str>> = sentences.iter().map(|sentence| sentence.forms().collect()).collect();
    let count = words.iter().map(Vec::len).sum::<usize>() as f64;
    let tokenise = |sentences: &[Vec<&str>]| -> Result<Vec<Pieces>> {
        sentences.par_iter().map(|words| transformer.pieces(words)).collect()
    };
    tokenise(&words[..batch.min(words.len())])?;
    let started = Instant::now();
    let pieces = tokenise(&words)?;
    let tokenised = count / started.elapsed().as_secs_f64();

    let mut sorted: Vec<&Pieces> = pieces.iter().collect();
    sorted.sort_by_key(|pieces| pieces.ids.len());
    let batches: Vec<&[&Pieces]> = sorted.chunks(batch).collect();
    if let Some(middle) = batches.get(batches.len() / 2) {
        transformer.features(middle, false)?;
    }
    let started = Instant::now();
    for batch in &batches {
        black_box(transformer.features(batch, false)?);
    }
    Ok([tokenised, count / started.elapsed().as_secs_f64()])
}
