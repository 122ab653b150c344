//! One model's training: steps, epochs, the best model so far, and where the run stands.

use super::adam::Adam;
use super::checkpoint;
use super::loss::Material;
use super::sample::{EdgeAt, edges_by_label, plan};
use super::{EpochReport, Flow, Observer, StepReport};
use crate::config::Config;
use crate::encoder::Numbered;
use crate::error::{Error, Result};
use crate::model::{Tables, Trained};
use crate::random::Random;
use crate::support::Task;
use candle_core::Device;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The numbered treebanks of a run.
#[derive(Clone, Debug)]
pub struct Data {
    /// To learn from; also the support set.
    pub train: Vec<Numbered>,
    /// To choose the best epoch by.
    pub dev: Vec<Numbered>,
}

impl Data {
    /// A number that changes with any word, head or label (FNV-1a).
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut mix = |value: u64| hash = (hash ^ value).wrapping_mul(0x0100_0000_01b3);
        for (index, sentence) in self.train.iter().chain(&self.dev).enumerate() {
            mix(index as u64);
            sentence.spellings.iter().flatten().for_each(|&c| mix(u64::from(c)));
            sentence.heads.iter().for_each(|&head| mix(head as u64));
            sentence.labels.iter().for_each(|&label| mix(u64::from(label)));
        }
        hash
    }
}

/// A model in training.
pub struct Run<'a> {
    task: Task,
    config: &'a Config,
    tables: &'a Tables,
    data: &'a Data,
    device: Device,
    by_label: Vec<Vec<EdgeAt>>,
    trained: Trained,
    adam: Adam,
    state: State,
    plan: Vec<Vec<usize>>,
}

/// Where a run stands; with the parameters and Adam's moments it is all that the future depends on.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    epoch: usize,
    /// The next batch of this epoch's plan.
    batch: usize,
    /// The generator as it was when this epoch's plan was drawn.
    at_epoch: Random,
    random: Random,
    loss: f64,
    tokens: usize,
    seconds: f64,
    /// The accuracy of the best epoch, once there is one.
    best: Option<f64>,
    history: Vec<EpochReport>,
}

impl<'a> Run<'a> {
    /// A run at its beginning.
    pub fn new(task: Task, config: &'a Config, tables: &'a Tables, data: &'a Data, device: &Device) -> Result<Self> {
        let vocabulary = &tables.vocabulary;
        let by_label = match task {
            Task::Heads => Vec::new(),
            Task::Labels => edges_by_label(&data.train, vocabulary.labels().len()),
        };
        let random = Random::branch(config.seed, task.name());
        let state = State {
            epoch: 0,
            batch: 0,
            at_epoch: random.clone(),
            random,
            loss: 0.0,
            tokens: 0,
            seconds: 0.0,
            best: None,
            history: Vec::new(),
        };
        let trained = Trained::new(task, config, vocabulary, device)?;
        let device = device.clone();
        let mut run = Self {
            task,
            config,
            tables,
            data,
            device,
            by_label,
            trained,
            adam: Adam::default(),
            state,
            plan: Vec::new(),
        };
        run.begin_epoch();
        Ok(run)
    }

    /// Writes the checkpoint that a run from the parameters of a trained model begins with.
    pub fn starting_from(self, model: &Trained, folder: &Path) -> Result<()> {
        let refuse = |_| Error::Training {
            message: "the model to start from has other sizes than this configuration".to_string(),
        };
        self.trained.parameters.set_values(&model.parameters.values()?).map_err(refuse)?;
        self.save(folder)
    }

    /// A run as its checkpoint left it.
    pub fn resume(mut self, folder: &Path) -> Result<Self> {
        let path = self.checkpoint_path(folder);
        if path.is_file() {
            (self.adam, self.state) = checkpoint::load(&path, &self.trained.parameters)?;
            self.plan = plan(&self.data.train, self.config.query_sentences, &mut self.state.at_epoch.clone());
        }
        Ok(self)
    }

    /// The epochs done.
    pub fn history(&self) -> &[EpochReport] {
        &self.state.history
    }

    /// Trains to the end or until the observer says stop, with checkpoints in `folder`. Returns the best model with
    /// its support summed, or nothing if stopped.
    pub fn finish(mut self, folder: &Path, observer: &mut dyn Observer) -> Result<Option<Trained>> {
        while self.state.epoch < self.config.epochs {
            while self.state.batch < self.plan.len() {
                let report = self.step()?;
                if observer.step(&report) == Flow::Stop {
                    self.save(folder)?;
                    return Ok(None);
                }
            }
            let report = self.end_epoch(folder)?;
            observer.epoch(&report);
        }
        let best = self.best_path(folder);
        checkpoint::load::<()>(&best, &self.trained.parameters)?;
        self.trained.sum_support(self.config, &self.tables.vocabulary, &self.data.train)?;
        Ok(Some(self.trained))
    }

    /// The next batch of the epoch: loss, gradients, update.
    pub fn step(&mut self) -> Result<StepReport> {
        let started = Instant::now();
        let material = Material {
            config: self.config,
            vocabulary: &self.tables.vocabulary,
            sentences: &self.data.train,
            by_label: &self.by_label,
        };
        let Some(query) = self.plan.get(self.state.batch) else {
            return Err(Error::Training { message: "the epoch has no batch left".to_string() });
        };
        let random = &mut self.state.random;
        let loss = match self.task {
            Task::Heads => material.head_loss(&self.trained.edges, query, random)?,
            Task::Labels => material.label_loss(&self.trained.edges, query, random)?,
        };
        let grads = loss.backward()?;
        let rate = self.config.learning_rate / (1.0 + self.config.decay * self.state.epoch as f64);
        self.adam.step(&self.trained.parameters, &grads, rate, self.config.clip)?;
        let loss = f64::from(loss.to_scalar::<f32>()?);
        if !loss.is_finite() {
            let message = format!("the loss became {loss}; try a lower learning_rate or clip");
            return Err(Error::Training { message });
        }
        self.state.loss += loss;
        self.state.tokens += query.iter().map(|&s| self.data.train[s].len() - 1).sum::<usize>();
        self.state.seconds += started.elapsed().as_secs_f64();
        self.state.batch += 1;
        Ok(StepReport {
            task: self.task,
            epoch: self.state.epoch,
            epochs: self.config.epochs,
            batch: self.state.batch,
            batches: self.plan.len(),
            loss: self.state.loss / self.state.batch as f64,
            tokens: self.state.tokens,
            seconds: self.state.seconds,
        })
    }

    fn end_epoch(&mut self, folder: &Path) -> Result<EpochReport> {
        let started = Instant::now();
        self.trained.sum_support(self.config, &self.tables.vocabulary, &self.data.train)?;
        let scorer = self.trained.scorer(self.config.aggregate, &self.device)?;
        let accuracy = match self.task {
            Task::Heads => scorer.head_accuracy(&self.data.dev)?,
            Task::Labels => scorer.label_accuracy(&self.data.dev)?,
        };
        self.trained.sums = None;
        let report = EpochReport {
            task: self.task.name().to_string(),
            epoch: self.state.epoch + 1,
            loss: self.state.loss / self.plan.len().max(1) as f64,
            dev_accuracy: accuracy,
            best: self.state.best.is_none_or(|best| accuracy > best),
            train_seconds: self.state.seconds,
            dev_seconds: started.elapsed().as_secs_f64(),
            tokens_per_second: self.state.tokens as f64 / self.state.seconds.max(1e-9),
        };
        if report.best {
            self.state.best = Some(accuracy);
            checkpoint::save(&self.best_path(folder), &self.trained.parameters, &Adam::default(), &())?;
        }
        self.state.history.push(report.clone());
        self.state.epoch += 1;
        self.begin_epoch();
        self.save(folder)?;
        Ok(report)
    }

    fn begin_epoch(&mut self) {
        self.state.at_epoch = self.state.random.clone();
        self.plan = plan(&self.data.train, self.config.query_sentences, &mut self.state.random);
        (self.state.batch, self.state.loss, self.state.tokens, self.state.seconds) = (0, 0.0, 0, 0.0);
    }

    fn save(&self, folder: &Path) -> Result<()> {
        checkpoint::save(&self.checkpoint_path(folder), &self.trained.parameters, &self.adam, &self.state)
    }

    fn checkpoint_path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.checkpoint", self.task.name()))
    }

    fn best_path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.best", self.task.name()))
    }
}
