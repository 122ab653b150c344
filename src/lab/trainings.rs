//! The training runs of experiments, identified by corpus, kind of learning, stage and seed.

use super::corpus::Corpus;
use super::{Bench, Lab, Watcher};
use crate::config::{Basis, Config, System};
use crate::error::{Error, Result};
use crate::files::{to_json, write_atomically};
use crate::train::{EpochReport, Finished, Flow, Observer, Plan, Stage, StepReport, train_stage};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The version of the training procedure. Change it whenever the procedure changes, so that older models are not
/// reused.
const REVISION: &str = "1";

/// A training run. Systems that learn in the same way share it, whatever they decide by.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Training {
    pub(super) corpus: Corpus,
    pub(super) stage: Stage,
    /// The system, with inference set to the basis of its learning.
    system: System,
    pub(super) seed: u64,
}

/// The record of a finished training run, stored next to the model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// A name such as `heads IIc, seed 1, whole`.
    pub(super) name: String,
    pub(super) epochs: usize,
    pub(super) best_epoch: usize,
    /// The accuracy of the best epoch, against a sample of the support: heads (greedy), or labels of gold edges.
    pub(super) dev_accuracy: f64,
    /// Seconds of training and of scoring the dev set.
    pub(super) seconds: f64,
    /// The number of threads it had.
    pub(super) threads: usize,
}

impl Training {
    pub(super) fn new(corpus: &Corpus, stage: Stage, system: System, seed: u64) -> Self {
        let system = System { inference: system.learning, ..system };
        Self { corpus: corpus.clone(), stage, system, seed }
    }

    /// One training run for each of these systems, stages and seeds.
    pub(super) fn all(corpus: &Corpus, stages: &[Stage], systems: &[&str], seeds: &[u64]) -> Vec<Self> {
        let mut all = Vec::new();
        for &seed in seeds {
            for system in systems.iter().filter_map(|name| name.parse().ok()) {
                all.extend(stages.iter().map(|&stage| Self::new(corpus, stage, system, seed)));
            }
        }
        all
    }

    /// Refuses invalid settings.
    pub(super) fn check(&self, lab: &Lab) -> Result<()> {
        let config = Config { system: self.system, seed: self.seed, ..lab.config.clone() };
        config.check().map_err(|message| Error::Training { message })
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}, seed {}, {}", self.stage.name(), self.system, self.seed, self.corpus.name())
    }

    fn folder(&self, bench: &Bench) -> Result<PathBuf> {
        // One folder per stage, because heads and labels of a system can be trained at the same time.
        let own = format!("{}-{}-{}", self.stage.name(), self.system, self.seed);
        Ok(bench.lab.folder.join("trained").join(REVISION).join(bench.key(&self.corpus)?).join(own))
    }

    fn record(&self, bench: &Bench) -> Result<PathBuf> {
        Ok(self.folder(bench)?.join(format!("{}.done", self.stage.name())))
    }

    /// The record, if the run is finished.
    fn trained(&self, bench: &Bench) -> Result<Option<Record>> {
        let text = std::fs::read_to_string(self.record(bench)?);
        Ok(text.ok().and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Trains, resumes, or loads the finished run; `None` if stopped.
    fn run(&self, bench: &Bench, observer: &mut dyn Observer) -> Result<Option<Finished>> {
        let lab = bench.lab;
        let config = Config { system: self.system, seed: self.seed, ..lab.config.clone() };
        let (train, dev) = (self.corpus.train(lab), self.corpus.dev(lab));
        let plan = Plan { config: &config, pretrained: lab.pretrained, train: &train, dev: &dev, device: lab.device };
        let folder = self.folder(bench)?;
        let Some(finished) = train_stage(&plan, self.stage, &folder, observer)? else { return Ok(None) };
        if self.trained(bench)?.is_none() {
            let best = finished.reports.iter().rfind(|report| report.best);
            let record = Record {
                name: self.name(),
                epochs: finished.reports.len(),
                best_epoch: best.map_or(0, |report| report.epoch),
                dev_accuracy: best.map_or(0.0, |report| report.dev_accuracy),
                seconds: finished.reports.iter().map(|report| report.train_seconds + report.dev_seconds).sum(),
                threads: rayon::current_num_threads(),
            };
            let text = to_json("the record of a training run", &record)?;
            write_atomically(&self.record(bench)?, text.as_bytes())?;
        }
        Ok(Some(finished))
    }

    /// The words of training still to be done.
    fn words_left(&self, bench: &Bench) -> Result<u64> {
        let lab = bench.lab;
        if self.trained(bench)?.is_some() {
            return Ok(0);
        }
        let epochs = std::fs::read_to_string(self.folder(bench)?.join(format!("{}.jsonl", self.stage.name())));
        let done = epochs.map_or(0, |text| text.lines().count());
        Ok(lab.words(&self.corpus.train(lab)) * lab.config.epochs.saturating_sub(done) as u64)
    }
}

impl Bench<'_> {
    /// The words of training still to be done.
    pub(super) fn words_left(&self, trainings: &[Training]) -> Result<u64> {
        trainings.iter().map(|training| training.words_left(self)).sum()
    }

    /// Trains all unfinished runs, several in parallel. With enough runs, one thread each is the best use of the
    /// threads.
    pub(super) fn train(&self, trainings: &[Training]) -> Result<Flow> {
        let mut left = Vec::new();
        for training in trainings {
            if training.trained(self)?.is_none() {
                left.push(training);
            }
        }
        let threads = rayon::current_num_threads();
        let workers = if self.lab.device.of_tensors().is_cpu() { threads.min(left.len()).max(1) } else { 1 };
        let next = AtomicUsize::new(0);
        let outcome = Mutex::new(Ok(Flow::Continue));
        let over = |new: Result<Flow>| {
            let mut outcome = outcome.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if matches!(*outcome, Ok(Flow::Continue)) {
                *outcome = new;
            }
            !matches!(*outcome, Ok(Flow::Continue))
        };
        let work = || {
            let pool = match rayon::ThreadPoolBuilder::new().num_threads((threads / workers).max(1)).build() {
                Ok(pool) => pool,
                Err(error) => {
                    over(Err(Error::Tensor { message: error.to_string() }));
                    return;
                }
            };
            while let Some(training) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut observer = Passing {
                    watcher: self.watcher,
                    name: training.name(),
                    last: None,
                    stop: &|| over(Ok(Flow::Continue)),
                };
                let trained = pool.install(|| training.run(self, &mut observer));
                if over(trained.map(|trained| if trained.is_some() { Flow::Continue } else { Flow::Stop })) {
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
        });
        outcome.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The records of these training runs.
    pub(super) fn times(&self, trainings: &[Training]) -> Result<Vec<Record>> {
        let records: Result<Vec<Option<Record>>> = trainings.iter().map(|training| training.trained(self)).collect();
        Ok(records?.into_iter().flatten().collect())
    }

    /// A finished model. If the system learns by weights and decides by instances, its support is summed here.
    pub(super) fn finished(&self, corpus: &Corpus, stage: Stage, system: System, seed: u64) -> Result<Finished> {
        let training = Training::new(corpus, stage, system, seed);
        let never = || false;
        let mut observer = Passing { watcher: self.watcher, name: training.name(), last: None, stop: &never };
        let finished = training.run(self, &mut observer)?;
        let Some(mut finished) = finished else { return Err(Error::Stopped) };
        if system.learning == Basis::Weights && system.inference == Basis::Instances {
            let vocabulary = &finished.tables.vocabulary;
            let train = self.lab.pretrained.number(vocabulary, &corpus.train(self.lab))?;
            let train: Vec<_> = train.iter().collect();
            let config = Config { system, ..self.lab.config.clone() };
            crate::model::Trained::sum_support(&mut finished.models, &config, vocabulary, &train)?;
        }
        Ok(finished)
    }
}

/// Forwards the steps of one training run to the watcher of the whole plan.
struct Passing<'a> {
    watcher: &'a dyn Watcher,
    name: String,
    /// The epoch and the words of the last step.
    last: Option<(usize, usize)>,
    /// Whether another run has ended everything.
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl Observer for Passing<'_> {
    fn step(&mut self, report: &StepReport) -> Flow {
        let fresh = match self.last {
            Some((epoch, words)) if epoch == report.epoch => report.tokens.saturating_sub(words),
            // The plan counts a partly finished epoch as a whole one.
            _ => report.tokens,
        };
        self.last = Some((report.epoch, report.tokens));
        let what = format!("{}: epoch {}/{}", self.name, report.epoch + 1, report.epochs);
        let flow = self.watcher.done(fresh as u64, &what);
        if (self.stop)() { Flow::Stop } else { flow }
    }

    fn epoch(&mut self, report: &EpochReport) {
        let what = format!("{}: epoch {} done, dev {:.2} %", self.name, report.epoch, report.dev_accuracy * 100.0);
        self.watcher.milestone(&what);
    }
}
