//! Training, and telling Python how far it is.

use crate::pool::{Stop, run};
use citree::config::{Config, Preset};
use citree::evidence::Step;
use citree::rule::{Rule, RuleSettings};
use citree::train::{EpochReport, Observer, Plan, Start, StepReport, install_pretrained};
use citree::treebank::{self, read_trees, write_sentence};
use citree::{Bundle, Flow, Sources};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The least time between two calls about the same step, because each takes the interpreter lock.
const PAUSE: Duration = Duration::from_millis(100);

/// Trains a bundle. `progress` is called with what is done, how much of it and of how much; `epoch` with the results of
/// every epoch, as JSON.
#[pyfunction]
#[pyo3(signature = (train, dev, out, *, preset = "small", config = None, epochs = None, seed = None, system = None,
    rule = None, init = None, resume = false, word_vectors = None, encoder = None, encoder_train = false, cache = None, device = "auto", threads = 0, progress = None, epoch = None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn train(
    py: Python<'_>,
    train: PathBuf,
    dev: PathBuf,
    out: PathBuf,
    preset: &str,
    config: Option<PathBuf>,
    epochs: Option<usize>,
    seed: Option<u64>,
    system: Option<&str>,
    rule: Option<&str>,
    init: Option<PathBuf>,
    resume: bool,
    word_vectors: Option<PathBuf>,
    encoder: Option<PathBuf>,
    encoder_train: bool,
    cache: Option<PathBuf>,
    device: &str,
    threads: usize,
    progress: Option<Py<PyAny>>,
    epoch: Option<Py<PyAny>>,
) -> PyResult<()> {
    let preset = match preset {
        "paper" => Preset::Paper,
        "small" => Preset::Small,
        "joint" => Preset::Joint,
        "demo" => Preset::Demo,
        _ => {
            return Err(PyValueError::new_err(format!("no preset {preset:?}; there are paper, small, joint and demo")));
        }
    };
    let system = system.map(|name| name.parse().map_err(PyValueError::new_err)).transpose()?;
    let (listener, epochs_to) = (Listener::new(progress), Listener::new(epoch));
    let trained = run(py, threads, |stop| {
        let mut config = match &config {
            Some(path) => Config::load(preset, path)?,
            None => Config::preset(preset),
        };
        config.epochs = epochs.unwrap_or(config.epochs);
        config.seed = seed.unwrap_or(config.seed);
        config.system = system.unwrap_or(config.system);
        config.bert.train |= encoder_train;
        if let Some(rule) = rule {
            config.rule = Rule::named(rule, RuleSettings::default())?;
        }
        let device = citree::device::pick(device)?;
        let initial = init.map(|bundle| Bundle::open_on(bundle, &device)).transpose()?;
        let start = match &initial {
            _ if resume => Start::Resume,
            Some(bundle) => Start::From(bundle),
            None => Start::Fresh,
        };
        let (train, dev) = (read_trees(&train)?, read_trees(&dev)?);
        let encoder = encoder.as_deref().map(citree::find_encoder).transpose()?;
        let sources =
            Sources { word_vectors: word_vectors.as_deref(), encoder: encoder.as_deref(), encoder_by_reference: false };
        let tell = |what: &'static str, done: u64, total: u64| {
            listener.tell(what, done, total) && stop.flow() == Flow::Continue
        };
        let treebanks = [train.as_slice(), dev.as_slice()];
        let pretrained =
            install_pretrained(&out, start, sources, &config, treebanks, cache.as_deref(), &device, &tell)?;
        let plan = Plan { config: &config, pretrained: &pretrained, train: &train, dev: &dev, device: &device };
        let mut watch = Watch { listener: &listener, epochs: &epochs_to, stop };
        citree::train::train(&plan, &out, start, &mut watch)?.map(drop).ok_or(citree::Error::Stopped)
    });
    listener.failure()?;
    epochs_to.failure()?;
    trained
}

/// The starter treebank as CoNLL-U: the training set and the dev set.
#[pyfunction]
pub(crate) fn starter() -> PyResult<(String, String)> {
    let text = |sentences: Vec<treebank::Sentence>| -> PyResult<String> {
        let mut out = Vec::new();
        sentences.iter().try_for_each(|sentence| write_sentence(&mut out, sentence))?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    };
    Ok((text(treebank::starter::train())?, text(treebank::starter::dev())?))
}

/// Tells a training run's progress, and stops it.
struct Watch<'a> {
    listener: &'a Listener,
    epochs: &'a Listener,
    stop: &'a Stop,
}

impl Observer for Watch<'_> {
    fn step(&mut self, report: &StepReport) -> Flow {
        let what = format!("{:?} epoch {}/{}", report.stage, report.epoch + 1, report.epochs).to_lowercase();
        let goes_on = self.listener.tell(&what, report.batch as u64, report.batches as u64);
        if goes_on { self.stop.flow() } else { Flow::Stop }
    }

    fn epoch(&mut self, report: &EpochReport) {
        // A report has only numbers and a name, so it can be written.
        if let Ok(report) = serde_json::to_string(report) {
            self.epochs.call((report,));
        }
    }

    fn indexing(&self, step: Step) -> Flow {
        let (what, done, total) = match step {
            Step::Encoding { done, total } => ("encoding", done as u64, total as u64),
            Step::Measuring { done, total } => ("measuring", done as u64, total as u64),
            Step::Indexing(progress) => ("indexing", progress.done, progress.total),
            // A step that this package does not know yet.
            _ => return self.stop.flow(),
        };
        if self.listener.tell(what, done, total) { self.stop.flow() } else { Flow::Stop }
    }
}

/// A Python function that is told of progress, from any thread. Its first error ends what it is told of.
pub(crate) struct Listener {
    function: Option<Py<PyAny>>,
    state: Mutex<(Option<Instant>, Option<PyErr>)>,
}

impl Listener {
    pub(crate) fn new(function: Option<Py<PyAny>>) -> Self {
        Self { function, state: Mutex::new((None, None)) }
    }

    /// Tells how far a step is, if the last time was long enough ago. Returns whether to go on.
    pub(crate) fn tell(&self, what: &str, done: u64, total: u64) -> bool {
        if self.function.is_none() {
            return true;
        }
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.1.is_some() {
                return false;
            }
            if done < total && state.0.is_some_and(|last| last.elapsed() < PAUSE) {
                return true;
            }
            state.0 = Some(Instant::now());
        }
        self.call((what, done, total))
    }

    fn call(&self, arguments: impl for<'py> pyo3::call::PyCallArgs<'py>) -> bool {
        let Some(function) = &self.function else { return true };
        // Not locked meanwhile, because another thread may wait for the lock and hold the interpreter's.
        let result = Python::attach(|py| function.call1(py, arguments).map(drop));
        let failed = result.is_err();
        if let Err(error) = result {
            self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(error);
        }
        !failed
    }

    /// The error that the function raised.
    pub(crate) fn failure(&self) -> PyResult<()> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.take().map_or(Ok(()), Err)
    }
}
