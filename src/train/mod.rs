//! Training: two independent models, heads then labels, or both on one encoder. A resumed run gives the same bytes as
//! an uninterrupted one.

mod adam;
mod checkpoint;
mod curve;
pub(crate) mod data;
mod folder;
mod input;
mod last_edges;
mod loss;
mod observer;
mod pace;
mod rule_loss;
pub(crate) mod run;
mod sample;

use data::Data;
use folder::TrainingLock;
use run::Run;

pub use crate::flow::Flow;
#[cfg(feature = "cli")]
pub(crate) use input::Install;
pub use input::install_pretrained;
pub use observer::{EpochReport, Observer, Stage, StepReport};
pub use pace::Pace;

use crate::bundle::{About, Bundle, DevScores, Layout};
use crate::config::{Basis, Config};
use crate::device::Device;
use crate::encoder::{Pretrained, Vocabulary};
use crate::error::{Error, Result};
use crate::evaluate::evaluate;
use crate::evidence::{self, Step};
use crate::files::write_atomically;
use crate::model::{Model, Tables, Trained};
use crate::parse::{Decode, Parser, Settings};
use crate::treebank::{Sentence, Splits, TextTables};
use citree_index::container::create_folder;
use std::path::{Path, PathBuf};

/// Where training starts.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a> {
    /// From randomly drawn parameters.
    Fresh,
    /// From the checkpoint of an interrupted run.
    Resume,
    /// From the parameters of a trained bundle with the same vocabulary.
    From(&'a Bundle),
}

impl Start<'_> {
    /// Refuses to train over what is there: a trained model, a training that can be resumed, or one that is running.
    /// Returns a lock to hold until the end.
    pub(crate) fn begin(&self, layout: &Layout) -> Result<TrainingLock> {
        let lock = TrainingLock::take(layout)?;
        let resumed = matches!(self, Self::Resume);
        let refuse = |found: &str, remedy: &str| Err(Error::unfit(layout.folder(), "a new bundle", found, remedy));
        // A run that was killed after it wrote the model has both folders, and resumes like any other.
        if layout.is_trained() && !layout.is_interrupted() {
            return refuse("a trained model", "choose another name, or remove it first");
        }
        if layout.is_interrupted() && !resumed {
            return refuse("an interrupted training", "go on with --resume, or remove it first");
        }
        Ok(lock)
    }
}

/// The number of epochs that an interrupted training of this bundle began with; `None` if there is none.
#[cfg(feature = "cli")]
pub(crate) fn epochs_begun(layout: &Layout) -> Result<Option<usize>> {
    Ok(if layout.is_interrupted() { Some(folder::config(&layout.training())?.epochs) } else { None })
}

/// What to learn, and from what.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The pretrained input; [`Pretrained::default`] for none.
    pub pretrained: &'a Pretrained,
    /// The training set, which is also the support set.
    pub train: &'a [Sentence],
    /// The dev set, which selects the best epoch.
    pub dev: &'a [Sentence],
    /// The device to train on.
    pub device: &'a Device,
}

/// Models that were trained together, with their reports.
#[cfg(feature = "lab")]
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    /// The vocabulary and the word splits.
    pub tables: Tables,
    /// The models of the stage, with summed support.
    pub models: Vec<Trained>,
    /// The reports of every epoch of every model.
    pub reports: Vec<EpochReport>,
}

/// Trains the models of one stage in a folder. If the folder has a checkpoint, training continues from it. If training
/// is finished, this only sums the support. Returns `None` if the observer stops it.
#[cfg(feature = "lab")]
pub(crate) fn train_stage(
    plan: &Plan,
    stage: Stage,
    folder: &Path,
    observer: &mut dyn Observer,
) -> Result<Option<Finished>> {
    let Plan { config, pretrained, device, .. } = *plan;
    let device = device.of_tensors();
    let (tables, data) = plan.begin()?;
    match folder::is_resumable(folder) {
        true => folder::check(folder, config, &data)?,
        false => folder::begin(folder, config, &data, || Ok(()))?,
    }
    let path = folder.join(format!("{}.jsonl", stage.name()));
    let mut recorder = Recorder { reports: Vec::new(), path, observer, problem: None };
    let run = Run::new(stage, config, &tables, pretrained, &data, device)?.resume(folder)?;
    recorder.reports.extend_from_slice(run.history());
    let models = run.finish(folder, &mut recorder)?;
    recorder.problem.take().map_or(Ok(()), Err)?;
    let reports = recorder.reports;
    Ok(models.map(|models| Finished { tables, models, reports }))
}

impl Plan<'_> {
    /// The tables of the training set, and both treebanks as numbers.
    fn begin(&self) -> Result<(Tables, Data)> {
        self.config.check().map_err(|message| Error::Training { message })?;
        let vocabulary = Vocabulary::new(self.train, self.config.min_count).with_ends(self.config.char_ends);
        let data = Data::new(&vocabulary, self.pretrained, self.train, self.dev)?;
        Ok((Tables { vocabulary, splits: Splits::learn(self.train) }, data))
    }
}

impl Bundle {
    /// Trains a bundle from scratch without progress reports, and indexes its training edges. Use [`train`] to resume,
    /// to start from another model, or to observe and stop training.
    ///
    /// ```no_run
    /// use citree::{Bundle, config::{Config, Preset}, treebank::read_trees};
    /// let (train, dev) = (read_trees("train.conllu".as_ref())?, read_trees("dev.conllu".as_ref())?);
    /// let bundle = Bundle::train("en.citree", &Config::preset(Preset::Small), &train, &dev)?;
    /// # Ok::<(), citree::Error>(())
    /// ```
    pub fn train(path: impl AsRef<Path>, config: &Config, treebank: &[Sentence], dev: &[Sentence]) -> Result<Self> {
        let none = Pretrained::default();
        let plan = Plan { config, pretrained: &none, train: treebank, dev, device: &Device::CPU };
        train(&plan, path.as_ref(), Start::Fresh, &mut ())?.ok_or(Error::Stopped)
    }
}

/// Trains both models into a bundle and indexes its training edges. Returns `None` if the observer stops it;
/// [`Start::Resume`] then continues to the same result.
pub fn train(plan: &Plan, bundle: &Path, start: Start<'_>, observer: &mut dyn Observer) -> Result<Option<Bundle>> {
    let layout = Layout::of(bundle);
    let _lock = start.begin(&layout)?;
    train_alone(plan, &layout, start, observer)
}

/// As [`train`], for a caller that holds the lock.
pub(crate) fn train_alone(
    plan: &Plan,
    layout: &Layout,
    start: Start<'_>,
    observer: &mut dyn Observer,
) -> Result<Option<Bundle>> {
    let Plan { config, pretrained, device, .. } = *plan;
    let device = device.of_tensors();
    let (tables, data) = plan.begin()?;
    let folder = layout.training();
    if let Start::From(bundle) = start
        && bundle.model().tables.vocabulary != tables.vocabulary
    {
        let message = "the model to start from was trained on another treebank: train afresh".to_string();
        return Err(Error::Training { message });
    }
    match start {
        Start::Resume => folder::check(&folder, config, &data)?,
        Start::Fresh => folder::begin(&folder, config, &data, || Ok(()))?,
        Start::From(bundle) => folder::begin(&folder, config, &data, || {
            let models = [&bundle.model().heads, &bundle.model().labels];
            Stage::all(config).iter().try_for_each(|&stage| {
                let run = Run::new(stage, config, &tables, pretrained, &data, device)?;
                run.starting_from(&models, &folder)
            })
        })?,
    }
    let mut recorder = Recorder { reports: Vec::new(), path: layout.metrics(), observer, problem: None };
    let mut models: Vec<Trained> = Vec::new();
    for &stage in Stage::all(config) {
        let run = Run::new(stage, config, &tables, pretrained, &data, device)?.resume(&folder)?;
        recorder.reports.extend_from_slice(run.history());
        let trained = run.best(&folder, &mut recorder)?;
        recorder.problem.take().map_or(Ok(()), Err)?;
        match trained {
            Some(trained) => models.extend(trained),
            None => return Ok(None),
        }
    }
    let (Some(labels), Some(heads)) = (models.pop(), models.pop()) else {
        return Ok(None);
    };
    let model = Model::new(config.clone(), tables, pretrained.clone(), heads, labels);
    let model = model.with_text(TextTables::learn(plan.train));
    let model = match plan.save(model, layout, &*recorder.observer) {
        Err(Error::Stopped) => return Ok(None),
        model => model?,
    };
    recorder.write()?;
    write_atomically(&layout.curve(), curve::svg(&recorder.reports).as_bytes())?;
    let bundle = Bundle::of(layout.clone(), model.clone(), device)?;
    match bundle.calibrate(plan.dev, &|done, total| recorder.observer.indexing(Step::Measuring { done, total })) {
        Err(Error::Stopped) => return Ok(None),
        measured => drop(measured?),
    }
    folder::end(&folder)?;
    Bundle::of(layout.clone(), model, device).map(Some)
}

impl Plan<'_> {
    /// Encodes the treebank once, for the sums of the model and for the index. The model is saved as soon as its sums
    /// are complete.
    fn save(&self, model: Model, layout: &Layout, observer: &dyn Observer) -> Result<Model> {
        let mut complete = None;
        let folder = layout.model();
        create_folder(&folder)?;
        let tell = |step| observer.indexing(step);
        evidence::build(&model, self.train, &layout.index(), evidence::REJECTED, &tell, |sums| {
            let model = match model.config.system.inference {
                Basis::Instances => model.with_sums(sums),
                Basis::Weights => model.clone(),
            };
            self.about(&model)?.write(layout)?;
            model.save(&layout.model_files())?;
            complete = Some(model);
            Ok(())
        })?;
        complete.ok_or(Error::Stopped)
    }

    /// The record of a finished model: when it was trained, on how much data, and its scores on the dev set.
    fn about(&self, model: &Model) -> Result<About> {
        let mut dev = Vec::new();
        for (decode, name) in [(Decode::Greedy, "greedy"), (Decode::Tree, "mst")] {
            let parser = Parser::new(
                model,
                None,
                Default::default(),
                &Settings { decode, ..Settings::default() },
                self.device.of_tensors(),
            )?;
            let mut parsed = self.dev.to_vec();
            let parses = parser.parse(&parsed)?;
            parsed.iter_mut().zip(&parses).for_each(|(sentence, parse)| parse.annotate(sentence, false));
            let scores = evaluate(self.dev, &parsed)?.with_punctuation;
            let (uas, las) = (scores.uas.f1 * 100.0, scores.las_subtypes.f1 * 100.0);
            dev.push(DevScores { decode: name.to_string(), uas, las });
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Ok(About {
            citree: env!("CARGO_PKG_VERSION").to_string(),
            trained_at: now.map_or(0, |now| now.as_secs()),
            sentences: self.train.len(),
            words: self.train.iter().map(|sentence| sentence.words().len()).sum(),
            dev,
            command: None,
        })
    }
}

/// Writes the reports of all epochs to a JSON Lines file and forwards everything to the observer.
struct Recorder<'a> {
    reports: Vec<EpochReport>,
    path: PathBuf,
    observer: &'a mut dyn Observer,
    problem: Option<Error>,
}

impl Observer for Recorder<'_> {
    fn step(&mut self, report: &StepReport) -> Flow {
        if self.problem.is_some() { Flow::Stop } else { self.observer.step(report) }
    }

    fn epoch(&mut self, report: &EpochReport) {
        self.reports.push(report.clone());
        self.problem = self.write().err();
        self.observer.epoch(report);
    }

    fn indexing(&self, step: Step) -> Flow {
        self.observer.indexing(step)
    }
}

impl Recorder<'_> {
    fn write(&self) -> Result<()> {
        let lines = self.reports.iter().filter_map(|report| serde_json::to_string(report).ok());
        let text: String = lines.map(|line| line + "\n").collect();
        write_atomically(&self.path, text.as_bytes())
    }
}
