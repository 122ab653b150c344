//! `citree demo`: train on the built-in treebank, parse a sentence, show it and the sources of one edge.

use super::explain::most_doubtful;
use super::index::build_index;
use super::machine::Machine;
use super::progress::Progress;
use super::train::report;
use citree::config::{Config, Preset};
use citree::encoder::Pretrained;
use citree::explain::{Explainer, Settings};
use citree::train::{Plan, Start};
use citree::treebank::starter;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Training edges that are cited for each decision.
const CITED: usize = 5;
const SENTENCE: &str = "Anna didn't find the old letters in the kitchen.";

/// Train on a small built-in treebank, parse a sentence and explain it: under a minute, nothing to download.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree demo
  citree demo \"My neighbour bought three bottles of milk.\"
  citree demo --keep demo.citree && echo 'It rained.' | citree explain demo.citree --text
  citree serve demo.citree                        and look at it in a browser")]
pub struct Args {
    /// The sentence to parse
    #[arg(default_value = SENTENCE)]
    sentence: String,
    /// Keep the trained bundle under this name
    #[arg(long, value_name = "BUNDLE")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    machine: Machine,
}

/// Trains, parses, shows.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let temporary = std::env::temp_dir().join(format!("citree-demo-{}", std::process::id()));
    let bundle = args.keep.clone().unwrap_or_else(|| temporary.clone());
    if args.keep.is_some() && bundle.exists() {
        anyhow::bail!("{} exists already; choose another name", bundle.display());
    }
    let outcome = train_and_show(&args, &bundle);
    if args.keep.is_none() && temporary.exists() {
        std::fs::remove_dir_all(&temporary)?;
    }
    outcome
}

fn train_and_show(args: &Args, bundle: &std::path::Path) -> anyhow::Result<ExitCode> {
    let device = args.machine.start()?;
    let (train, dev) = (starter::train(), starter::dev());
    let config = Config::preset(Preset::Demo);
    let mut progress = Progress::start()?;
    writeln!(std::io::stderr(), "training on the {} sentences of the starter treebank", train.len())?;
    let none = Pretrained::default();
    let plan = Plan { config: &config, pretrained: &none, train: &train, dev: &dev, device: &device };
    let model = citree::train::train(&plan, bundle, Start::Fresh, &mut progress);
    progress.finish();
    let Some(model) = model? else {
        writeln!(std::io::stderr(), "stopped; the demo keeps nothing of a run that did not finish")?;
        return Ok(ExitCode::from(130));
    };
    report(&model, &dev, &device)?;
    build_index(&model, &train, bundle, &|| {})?;
    let explainer = Explainer::new(&model, bundle, Settings::default(), &device)?;
    let sentence = explainer.parser().split(&args.sentence);
    if args.keep.is_some() {
        writeln!(std::io::stderr(), "kept as {}", bundle.display())?;
    }
    writeln!(
        std::io::stderr(),
        "the two numbers: how probable the head and the label are; ? marks a doubtful edge\n\
         below: the most doubtful edge, and the training edges most like it\n"
    )?;
    std::io::stdout().write_all(&most_doubtful(&explainer, &sentence, CITED)?)?;
    Ok(ExitCode::SUCCESS)
}
