//! `citree lab`: runs the paper's experiments on any treebank.

use super::machine::Machine;
use super::progress::{bar, interrupt_flag};
use super::recipe::{Place, Recipe};
use super::shell::command_line;
use crate::bundle::Bundle;
use crate::config::Config;
use crate::encoder::Pretrained;
use crate::lab::{Experiment, Lab, Watcher};
use crate::rule::Rule;
use crate::train::Flow;
use crate::treebank::read_trees;
use indicatif::{HumanDuration, ProgressBar};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Run the paper's experiments on a treebank.
#[derive(clap::Args)]
#[command(after_help = "\
Experiments:
  systems       UAS and LAS of the six systems over several seeds (Table 3)
  domains       trained on one genre, tested on each of the others (Table 4)
  support-size  UAS by the number of support sentences (Table 5)
  subclass      whether the nearest training edge has the right label (Table 6)
  hubs          which training edges are cited most, and why (Table 9)
  neighbors     edges and the training edge nearest to each (Tables 7 and 8)
  rules         sum, kNN and NCA: accuracy, coverage, flip sets, calibration, speed
  all           all that the treebank allows

Examples:
  citree lab systems lab/ --train T.conllu --dev D.conllu --seeds 1,2,3
  citree lab systems lab/ --train T.conllu --dev D.conllu --test TEST.conllu
  citree lab domains lab/ --train T.conllu --dev D.conllu --source answers
  citree lab rules lab/ --train T.conllu --dev D.conllu --bundle near.citree
  citree lab subclass lab/ --train T.conllu --dev D.conllu --bundle near.citree
  citree lab all lab/ --train T.conllu --dev D.conllu --encoder minilm/ --seeds 1

An experiment writes LAB/EXPERIMENT/: report.md (the tables beside the paper's figures), report.json, a \
CSV for each table, drawings as SVG. Trained models are kept in LAB/trained/ and what was measured in \
LAB/measured/, so that experiments share them, and the same command again skips what is done: after \
Ctrl-C it goes on. Trainings run side by side, one thread each. Other settings train anew, in the same \
folder if you like, whose reports they replace; another treebank, encoder or word vectors get their own.

This takes hours on a large treebank: six systems are four trainings of heads and four of labels for \
every seed.")]
pub(super) struct Args {
    /// systems, domains, support-size, subclass, hubs, neighbors, rules or all
    #[arg(value_parser = experiments)]
    experiment: Experiments,
    /// The folder for models, measurements and reports
    folder: PathBuf,
    /// The treebank to learn from, in CoNLL-U
    #[arg(long, value_name = "FILE")]
    train: PathBuf,
    /// The treebank to judge by, in CoNLL-U
    #[arg(long, value_name = "FILE")]
    dev: PathBuf,
    /// For systems: a treebank to judge by instead of the dev set, which then only chooses the best epoch
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// The treebank's name in tables, such as en_ewt, by which the paper's figures are found [default: from the file's name]
    #[arg(long)]
    name: Option<String>,
    /// Seeds of the trainings; hubs, neighbors, rules and support-size take the first alone
    #[arg(long, value_delimiter = ',', default_value = "1,2,3")]
    seeds: Vec<u64>,
    /// The genre to learn from in domains and support-size [default: that with most sentences]
    #[arg(long, value_name = "GENRE")]
    source: Option<String>,
    /// For subclass, hubs and rules: a trained bundle to measure, instead of training models
    #[arg(long)]
    bundle: Option<PathBuf>,
    /// How often support sentences are drawn in support-size
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    draws: u32,
    #[command(flatten)]
    recipe: Recipe,
    #[command(flatten)]
    machine: Machine,
}

#[derive(Clone)]
struct Experiments(Vec<Experiment>);

fn experiments(name: &str) -> Result<Experiments, String> {
    match name {
        "all" => Ok(Experiments(Experiment::ALL.to_vec())),
        _ => Ok(Experiments(vec![name.parse()?])),
    }
}

/// Trains missing models, measures, and writes the reports.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    // The paper's systems learn by the paper's loss.
    let config = Config { rule: Rule::sum(), ..args.recipe.config()? };
    let device = args.machine.start()?;
    let (train, dev) = (read_trees(&args.train)?, read_trees(&args.dev)?);
    let test = args.test.as_deref().map(read_trees).transpose()?;
    let interrupted = interrupt_flag()?;
    let Experiments(mut chosen) = args.experiment;
    if args.bundle.is_some() && !chosen.iter().all(|experiment| experiment.takes_bundle()) {
        anyhow::bail!("--bundle is for subclass, hubs and rules; the other experiments train what they measure");
    }
    if test.is_some() && !chosen.contains(&Experiment::Systems) {
        anyhow::bail!("--test is for systems; the other experiments judge by the dev set");
    }
    let bundle = args.bundle.as_ref().map(|bundle| Bundle::open_on(bundle, &device)).transpose()?;
    let command = command_line(None);
    let named = args.name.clone().unwrap_or_else(|| treebank_name(&args.train));
    let lab = Lab {
        folder: &args.folder,
        name: &named,
        config: &config,
        pretrained: &Pretrained::default(),
        train: &train,
        dev: &dev,
        test: test.as_deref(),
        seeds: &args.seeds,
        source: args.source.as_deref(),
        bundle: bundle.as_ref(),
        draws: args.draws as usize,
        device: &device,
        command: &command,
    };
    if chosen.len() > 1 {
        for (experiment, why) in lab.impossible()? {
            writeln!(std::io::stderr(), "{} is left out: {why}", experiment.name())?;
            chosen.retain(|other| *other != experiment);
        }
    }
    lab.check_before(&chosen)?;
    std::fs::create_dir_all(&args.folder)?;
    let stopped = || interrupted.load(Ordering::SeqCst);
    let (folder, cache) = (lab.pretrained_folder(), lab.folder);
    let pretrained = match args.recipe.pretrained(
        Place { folder: &folder, resumed: lab.has_trainings(), cache },
        &config,
        [&train, &dev],
        &stopped,
        &device,
    ) {
        Err(_) if stopped() => return Ok(ExitCode::from(130)),
        pretrained => pretrained?,
    };
    let lab = Lab { pretrained: &pretrained, ..lab };
    let progress = LabProgress::new(interrupted.clone())?;
    let reports = crate::lab::run(&lab, &chosen, &progress);
    progress.bar.finish_and_clear();
    if reports?.is_none() {
        writeln!(std::io::stderr(), "stopped; everything is saved. Continue with:\n  {}", command_line(None))?;
        return Ok(ExitCode::from(130));
    }
    let mut out = std::io::stdout().lock();
    for experiment in &chosen {
        writeln!(out, "{}", args.folder.join(experiment.name()).join("report.md").display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `en_ewt` from `en_ewt-ud-train.conllu`.
fn treebank_name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    stem.split("-ud-").next().unwrap_or_default().to_string()
}

/// One bar for the whole plan.
struct LabProgress {
    bar: ProgressBar,
    interrupted: Arc<AtomicBool>,
    done: AtomicU64,
    started: Instant,
}

impl LabProgress {
    fn new(interrupted: Arc<AtomicBool>) -> anyhow::Result<Self> {
        let bar = bar("{percent:>3} % {bar:24} {msg}")?;
        Ok(Self { bar, interrupted, done: AtomicU64::new(0), started: Instant::now() })
    }
}

impl Watcher for LabProgress {
    fn plan(&self, words: u64) {
        self.bar.set_length(words);
    }

    fn done(&self, words: u64, what: &str) -> Flow {
        let done = self.done.fetch_add(words, Ordering::Relaxed) + words;
        self.bar.set_position(done);
        let total = self.bar.length().unwrap_or(done);
        let left = self.started.elapsed().mul_f64(total.saturating_sub(done) as f64 / done.max(1) as f64);
        self.bar.set_message(match done {
            0 => what.to_string(),
            _ => format!("{} left  {what}", HumanDuration(left)),
        });
        if self.interrupted.load(Ordering::SeqCst) { Flow::Stop } else { Flow::Continue }
    }

    fn milestone(&self, what: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(std::io::stderr(), "{what}");
        });
    }
}
