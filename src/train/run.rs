//! One training run of one model, or of two on one encoder: steps, epochs, checkpoints and the best parameters so far.

use super::adam::Adam;
use super::checkpoint;
use super::data::Data;
use super::last_edges::LastEdges;
use super::loss::TrainingSet;
use super::sample::{EdgeAt, edges_by_label, plan};
use super::{EpochReport, Flow, Observer, Stage, StepReport};
use crate::config::{Config, Schedule};
use crate::encoder::transformer::PREFIX;
use crate::encoder::{Numbered, Parameters, Pretrained};
use crate::error::{Error, Result};
use crate::model::{Blueprint, Tables, Trained};
use crate::random::Random;
use crate::score::{Scorer, accuracies};
use crate::task::Task;
use candle_core::Device;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The number of training sentences whose edges are the support for scoring the dev set between epochs.
const DEV_SUPPORT: usize = 2048;

/// A training run.
pub(crate) struct Run<'a> {
    stage: Stage,
    config: &'a Config,
    tables: &'a Tables,
    data: &'a Data,
    device: Device,
    by_label: Vec<Vec<EdgeAt>>,
    trained: Vec<Trained>,
    /// The variables of all models.
    parameters: Parameters,
    adam: Adam,
    state: State,
    plan: Vec<Vec<usize>>,
}

/// The state of a run. With the parameters and Adam's moments it determines the rest of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    epoch: usize,
    /// The next batch of this epoch's plan.
    batch: usize,
    /// The generator before this epoch's plan was drawn.
    at_epoch: Random,
    random: Random,
    loss: f64,
    tokens: usize,
    seconds: f64,
    /// The mean accuracy of the best epoch so far.
    best: Option<f64>,
    history: Vec<EpochReport>,
    memory: LastEdges,
}

impl<'a> Run<'a> {
    /// A run before its first step.
    pub(crate) fn new(
        stage: Stage,
        config: &'a Config,
        tables: &'a Tables,
        pretrained: &Pretrained,
        data: &'a Data,
        device: &Device,
    ) -> Result<Self> {
        let vocabulary = &tables.vocabulary;
        let by_label = match stage {
            Stage::Heads => Vec::new(),
            Stage::Labels | Stage::Both => edges_by_label(&data.train, vocabulary.labels().len()),
        };
        let random = Random::branch(config.seed, stage.name());
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
            memory: LastEdges::default(),
        };
        let blueprint = Blueprint { config, vocabulary, pretrained, device };
        let mut trained: Vec<Trained> = Vec::new();
        for &task in stage.tasks() {
            let model = Trained::new(task, &blueprint, trained.first().map(|first| first.edges.encoder()))?;
            trained.push(model);
        }
        let names = ["", "labels/"];
        let parameters = Parameters::union(names.into_iter().zip(trained.iter().map(|model| &model.parameters)));
        let device = device.clone();
        let mut run = Self {
            stage,
            config,
            tables,
            data,
            device,
            by_label,
            trained,
            parameters,
            adam: Adam::default(),
            state,
            plan: Vec::new(),
        };
        run.begin_epoch();
        Ok(run)
    }

    /// Writes a first checkpoint with the parameters of trained models, for a run to start from.
    pub(crate) fn starting_from(self, models: &[&Trained], folder: &Path) -> Result<()> {
        let refuse = |_| Error::Training {
            message: "the model to start from has other sizes than this configuration".to_string(),
        };
        for own in &self.trained {
            let model = models.iter().find(|model| model.task() == own.task());
            let values = model.map_or(Ok(Default::default()), |model| model.parameters.values())?;
            own.parameters.set_values(&values).map_err(refuse)?;
        }
        self.save(folder)
    }

    /// Restores the run from its checkpoint, if there is one.
    pub(crate) fn resume(mut self, folder: &Path) -> Result<Self> {
        let path = self.checkpoint_path(folder);
        if path.is_file() {
            (self.adam, self.state) = checkpoint::load(&path, &self.parameters)?;
            self.plan = plan(&self.data.train, self.config.query_sentences, &mut self.state.at_epoch.clone());
        }
        Ok(self)
    }

    /// The reports of completed epochs.
    pub(crate) fn history(&self) -> &[EpochReport] {
        &self.state.history
    }

    /// Trains to the end, or until the observer stops it, with checkpoints in `folder`. Returns the best models, or
    /// `None` if stopped.
    pub(crate) fn best(mut self, folder: &Path, observer: &mut dyn Observer) -> Result<Option<Vec<Trained>>> {
        while self.state.epoch < self.config.epochs {
            while self.state.batch < self.plan.len() {
                let report = self.step()?;
                if observer.step(&report) == Flow::Stop {
                    self.save(folder)?;
                    return Ok(None);
                }
            }
            for report in self.end_epoch(folder)? {
                observer.epoch(&report);
            }
        }
        let best = self.best_path(folder);
        checkpoint::load::<()>(&best, &self.parameters)?;
        Ok(Some(self.trained))
    }

    /// Like [`Run::best`], with the support of the best models summed.
    #[cfg(feature = "lab")]
    pub(crate) fn finish(self, folder: &Path, observer: &mut dyn Observer) -> Result<Option<Vec<Trained>>> {
        let (config, data, vocabulary) = (self.config, self.data, &self.tables.vocabulary);
        let Some(mut models) = self.best(folder, observer)? else { return Ok(None) };
        let train: Vec<&Numbered> = data.train.iter().collect();
        Trained::sum_support(&mut models, config, vocabulary, &train)?;
        Ok(Some(models))
    }

    /// Processes the next batch of the epoch: loss, gradients, update.
    pub(crate) fn step(&mut self) -> Result<StepReport> {
        let started = Instant::now();
        let training_set = TrainingSet {
            config: self.config,
            vocabulary: &self.tables.vocabulary,
            sentences: &self.data.train,
            by_label: &self.by_label,
        };
        let Some(query) = self.plan.get(self.state.batch) else {
            return Err(Error::Training { message: "the epoch has no batch left".to_string() });
        };
        let random = &mut self.state.random;
        let models: Vec<_> = self.trained.iter().map(|model| (model.task(), &model.edges)).collect();
        let loss = training_set.loss(&models, query, &mut self.state.memory, random)?;
        let grads = loss.backward()?;
        let (bert, others) = self.rates();
        let rate = |name: &str| if name.starts_with(PREFIX) { bert } else { others };
        self.adam.step(&self.parameters, &grads, rate, self.config.clip)?;
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
            stage: self.stage,
            epoch: self.state.epoch,
            epochs: self.config.epochs,
            batch: self.state.batch,
            batches: self.plan.len(),
            loss: self.state.loss / self.state.batch as f64,
            tokens: self.state.tokens,
            seconds: self.state.seconds,
        })
    }

    /// The current learning rates of BERT's own parameters and of all others.
    fn rates(&self) -> (f64, f64) {
        let (epoch, batches) = (self.state.epoch as f64, self.plan.len().max(1) as f64);
        let done = (epoch + self.state.batch as f64 / batches) / self.config.epochs.max(1) as f64;
        let factor = match self.config.schedule {
            Schedule::Inverse => 1.0 / (1.0 + self.config.decay * epoch),
            Schedule::Linear => 1.0 - done,
        };
        (self.config.bert.rate(done), self.config.learning_rate * factor)
    }

    /// The support for scoring the dev set between epochs: on a large treebank an evenly spaced sample that contains
    /// every label. The mean of thousands of edges hardly changes with more of them.
    fn sample(&self) -> Vec<&'a Numbered> {
        let train = &self.data.train;
        let stride = train.len().div_ceil(DEV_SUPPORT).max(1);
        let mut chosen: BTreeSet<usize> = (0..train.len()).step_by(stride).collect();
        let mut seen = BTreeSet::new();
        for (at, sentence) in train.iter().enumerate() {
            let fresh = sentence.labels.iter().skip(1).filter(|&&label| seen.insert(label)).count();
            if fresh > 0 {
                chosen.insert(at);
            }
        }
        chosen.into_iter().map(|at| &train[at]).collect()
    }

    /// The batches of an epoch.
    pub(super) fn batches(&self) -> usize {
        self.plan.len()
    }

    /// The accuracy of each model on the dev set, and the number of words that were encoded for it.
    pub(super) fn dev_accuracies(&mut self) -> Result<(Vec<f64>, usize)> {
        let sample = self.sample();
        Trained::sum_support(&mut self.trained, self.config, &self.tables.vocabulary, &sample)?;
        let scorer = |model: &Trained| Ok((model.task(), model.scorer(self.config.aggregate, &self.device)?));
        let scorers: Vec<(Task, Scorer)> = self.trained.iter().map(scorer).collect::<Result<_>>()?;
        let scorers: Vec<(Task, &Scorer)> = scorers.iter().map(|(task, scorer)| (*task, scorer)).collect();
        let accuracies = accuracies(&scorers, &self.data.dev)?;
        self.trained.iter_mut().for_each(|model| model.sums = None);
        let words = sample.into_iter().chain(&self.data.dev).map(|sentence| sentence.len() - 1).sum();
        Ok((accuracies, words))
    }

    fn end_epoch(&mut self, folder: &Path) -> Result<Vec<EpochReport>> {
        let started = Instant::now();
        let (accuracies, _) = self.dev_accuracies()?;
        let mean = accuracies.iter().sum::<f64>() / accuracies.len().max(1) as f64;
        let best = self.state.best.is_none_or(|best| mean > best);
        let report = |(model, &dev_accuracy): (&Trained, &f64)| EpochReport {
            task: model.task().name().to_string(),
            epoch: self.state.epoch + 1,
            loss: self.state.loss / self.plan.len().max(1) as f64,
            dev_accuracy,
            best,
            train_seconds: self.state.seconds,
            dev_seconds: started.elapsed().as_secs_f64(),
            tokens_per_second: self.state.tokens as f64 / self.state.seconds.max(1e-9),
        };
        let reports: Vec<EpochReport> = self.trained.iter().zip(&accuracies).map(report).collect();
        if best {
            self.state.best = Some(mean);
            checkpoint::save(&self.best_path(folder), &self.parameters, &Adam::default(), &())?;
        }
        self.state.history.extend_from_slice(&reports);
        self.state.epoch += 1;
        self.begin_epoch();
        self.save(folder)?;
        Ok(reports)
    }

    fn begin_epoch(&mut self) {
        self.state.at_epoch = self.state.random.clone();
        self.plan = plan(&self.data.train, self.config.query_sentences, &mut self.state.random);
        (self.state.batch, self.state.loss, self.state.tokens, self.state.seconds) = (0, 0.0, 0, 0.0);
    }

    fn save(&self, folder: &Path) -> Result<()> {
        checkpoint::save(&self.checkpoint_path(folder), &self.parameters, &self.adam, &self.state)
    }

    fn checkpoint_path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.checkpoint", self.stage.name()))
    }

    fn best_path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.best", self.stage.name()))
    }
}
