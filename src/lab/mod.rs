//! The laboratory: the paper's experiments on any treebank, one file each, over shared models.
//!
//! An experiment lists the training runs it needs and turns trained models into a [`Report`]. Everything is in one
//! folder: `trained/` holds the models, `measured/` the cached measurements, and each experiment has its own folder
//! with its report. Existing results for the same treebanks and settings are reused.

#[cfg(feature = "cli")]
mod before;
mod bench;
mod bundled;
pub(crate) mod chart;
mod corpus;
mod domains;
mod geometry;
mod hubs;
mod nearest;
mod neighbors;
mod pairs;
mod published;
mod report;
mod rules;
mod statistics;
mod subclass;
mod support_size;
mod systems;
mod trainings;

pub use report::{Cell, Report, Table};

use crate::bundle::Bundle;
use crate::config::Config;
use crate::device::Device;
use crate::encoder::Pretrained;
use crate::error::{Error, Result};
use crate::train::Flow;
use crate::treebank::Sentence;
use bench::Bench;
use std::path::Path;
use std::str::FromStr;
use trainings::Training;

/// One of the paper's experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// The accuracy of the six systems (Table 3).
    Systems,
    /// Trained on one genre, tested on the others (Table 4).
    Domains,
    /// Accuracy by the number of support sentences (Table 5).
    SupportSize,
    /// Whether the nearest training edge has the label of the edge it explains (Table 6).
    Subclass,
    /// Which training edges are cited how often, and why (Table 9 and its figure).
    Hubs,
    /// Edges and the training edges nearest to them (Tables 7 and 8).
    Neighbors,
    /// Other rules over the same similarities.
    Rules,
}

impl Experiment {
    /// All experiments, in the order of the paper.
    pub(crate) const ALL: [Self; 7] =
        [Self::Systems, Self::Domains, Self::SupportSize, Self::Subclass, Self::Hubs, Self::Neighbors, Self::Rules];

    /// The name on the command line and in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Systems => "systems",
            Self::Domains => "domains",
            Self::SupportSize => "support-size",
            Self::Subclass => "subclass",
            Self::Hubs => "hubs",
            Self::Neighbors => "neighbors",
            Self::Rules => "rules",
        }
    }

    /// Whether it can measure a trained bundle instead of models that it trains.
    pub fn takes_bundle(self) -> bool {
        matches!(self, Self::Subclass | Self::Hubs | Self::Rules)
    }

    /// The models that it needs.
    fn trainings(self, lab: &Lab) -> Result<Vec<Training>> {
        match self {
            Self::Systems => Ok(systems::trainings(lab)),
            Self::Domains => domains::trainings(lab),
            Self::SupportSize => support_size::trainings(lab),
            Self::Subclass => Ok(subclass::trainings(lab)),
            Self::Hubs => Ok(hubs::trainings(lab)),
            Self::Neighbors => Ok(neighbors::trainings(lab)),
            Self::Rules => Ok(rules::trainings(lab)),
        }
    }

    /// The cost of its measurements, as the number of words that could be trained on in the same time.
    fn cost(self, lab: &Lab) -> u64 {
        match self {
            Self::Systems => systems::cost(lab),
            Self::Domains => domains::cost(lab),
            Self::SupportSize => support_size::cost(lab),
            Self::Subclass => subclass::cost(lab),
            Self::Hubs => hubs::cost(lab),
            Self::Neighbors => neighbors::cost(lab),
            Self::Rules => rules::cost(lab),
        }
    }

    fn report(self, bench: &Bench) -> Result<Report> {
        match self {
            Self::Systems => systems::report(bench),
            Self::Domains => domains::report(bench),
            Self::SupportSize => support_size::report(bench),
            Self::Subclass => subclass::report(bench),
            Self::Hubs => hubs::report(bench),
            Self::Neighbors => neighbors::report(bench),
            Self::Rules => rules::report(bench),
        }
    }
}

impl FromStr for Experiment {
    type Err = String;
    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let known = Self::ALL.map(Self::name).join(", ");
        let named = Self::ALL.into_iter().find(|experiment| experiment.name() == name);
        named.ok_or_else(|| format!("no experiment {name}; there are {known}"))
    }
}

/// The inputs and settings of the experiments.
#[derive(Clone, Debug)]
pub struct Lab<'a> {
    /// The output folder.
    pub folder: &'a Path,
    /// The name of the treebank in tables, such as `en_ewt`. It also selects the paper's figures.
    pub name: &'a str,
    /// The training configuration. Its system and seed are ignored.
    pub config: &'a Config,
    /// The pretrained input.
    pub pretrained: &'a Pretrained,
    /// The training set.
    pub train: &'a [Sentence],
    /// The dev set. It chooses the best epoch, and models are judged by it.
    pub dev: &'a [Sentence],
    /// A test set to judge the six systems by, instead of the dev set.
    pub test: Option<&'a [Sentence]>,
    /// One training run per seed; at least one.
    pub seeds: &'a [u64],
    /// The genre to train on in experiments across genres; by default the one with the most sentences.
    pub source: Option<&'a str>,
    /// A trained bundle to measure, instead of models trained here. Only experiments that
    /// [take one](Experiment::takes_bundle) use it.
    pub bundle: Option<&'a Bundle>,
    /// The number of draws of support sentences.
    pub draws: usize,
    /// The device to compute on.
    pub device: &'a Device,
    /// The command line, for the reports.
    pub command: &'a str,
}

/// Receives the progress of a run. Work is counted in words of training.
pub trait Watcher: Sync {
    /// Called once with the total work.
    fn plan(&self, _words: u64) {}
    /// Called with the additional work done and its description. Returns whether to continue.
    fn done(&self, _words: u64, _what: &str) -> Flow {
        Flow::Continue
    }
    /// Called for events that deserve their own line, such as the end of an epoch.
    fn milestone(&self, _what: &str) {}
}

/// Ignores all progress.
impl Watcher for () {}

/// Trains missing models, measures, and writes a folder for each experiment. Returns `None` if the watcher stops it;
/// the same call then continues.
pub fn run(lab: &Lab, experiments: &[Experiment], watcher: &dyn Watcher) -> Result<Option<Vec<Report>>> {
    let trainings = lab.check(experiments)?;
    let _alone = lab.lock()?;
    let bench = Bench::new(lab, watcher);
    let measuring: u64 = experiments.iter().map(|experiment| experiment.cost(lab)).sum();
    watcher.plan(bench.words_left(&trainings)? + measuring);
    if bench.train(&trainings)? == Flow::Stop {
        return Ok(None);
    }
    let mut reports = Vec::new();
    for experiment in experiments {
        match experiment.report(&bench) {
            Err(Error::Stopped) => return Ok(None),
            report => {
                let report = report?;
                let trainings = experiment.trainings(lab)?;
                let seeds = trainings.iter().map(|training| training.seed).collect();
                report.write(lab, *experiment, &seeds, &bench.times(&trainings)?)?;
                reports.push(report);
            }
        }
    }
    Ok(Some(reports))
}

impl Lab<'_> {
    /// Refuses invalid settings before any work is done. Returns the training runs that the experiments need.
    fn check(&self, experiments: &[Experiment]) -> Result<Vec<Training>> {
        let refuse = |message: &str| Err(Error::Training { message: message.to_string() });
        let mut seeds = self.seeds.to_vec();
        seeds.sort_unstable();
        seeds.dedup();
        if seeds.is_empty() || seeds.len() < self.seeds.len() {
            return refuse("an experiment needs at least one seed, and each only once");
        }
        if self.config.epochs == 0 {
            return refuse("an experiment needs at least one epoch");
        }
        if self.config.share_encoder && self.bundle.is_none() {
            return refuse(
                "the paper's systems are two models, each with an encoder of its own; leave out share_encoder (the preset \
                 joint has it)",
            );
        }
        let mut trainings: Vec<Training> = Vec::new();
        for experiment in experiments {
            for training in experiment.trainings(self)? {
                if !trainings.contains(&training) {
                    training.check(self)?;
                    trainings.push(training);
                }
            }
        }
        Ok(trainings)
    }

    /// Locks the folder, because two processes would overwrite each other's checkpoints.
    fn lock(&self) -> Result<std::fs::File> {
        std::fs::create_dir_all(self.folder).map_err(Error::io(self.folder))?;
        let path = self.folder.join("lock");
        let file = std::fs::File::create(&path).map_err(Error::io(&path))?;
        file.try_lock().map_err(|_| Error::Bundle {
            path,
            expected: "a folder that no other run uses".to_string(),
            found: "another `citree lab` that uses it".to_string(),
            remedy: "wait until it ends, or choose another folder".to_string(),
        })?;
        Ok(file)
    }

    fn words(&self, sentences: &[Sentence]) -> u64 {
        sentences.iter().map(|sentence| sentence.words().len() as u64).sum()
    }
}
