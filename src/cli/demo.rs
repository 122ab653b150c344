//! `citree demo`: trains on the built-in treebank, parses a sentence and explains one edge.

use super::explain::most_doubtful;
use super::machine::Machine;
use super::progress::Progress;
use super::shell::{program, quoted};
use super::train::report;
use crate::bundle::{Bundle, Layout};
use crate::config::{Config, Preset};
use crate::device::Device;
use crate::encoder::Pretrained;
use crate::train::{Plan, Start};
use crate::treebank::starter;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Training edges to cite for each decision.
const CITED: usize = 10;
const SENTENCE: &str = "Anna didn't find the old letters in the kitchen.";

/// Train on a small built-in treebank, parse a sentence and explain it: under a minute, nothing to download.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree demo
  citree demo \"My neighbour bought three bottles of milk.\"
  citree demo --keep /tmp/demo.citree

The trained bundle is kept, and used again by the next demo. At the end, the demo prints commands that \
work on it.")]
pub(super) struct Args {
    /// The sentence to parse
    #[arg(default_value = SENTENCE)]
    sentence: String,
    /// The bundle to train; one that is there already is used as it is
    #[arg(long, value_name = "BUNDLE", default_value = "demo.citree")]
    keep: PathBuf,
    #[command(flatten)]
    machine: Machine,
}

/// Trains a bundle if there is none, then parses and explains the sentence.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let device = args.machine.start()?;
    let (layout, name) = (Layout::of(&args.keep), args.keep.display());
    let mut stderr = std::io::stderr();
    let bundle = if layout.is_trained() && !layout.is_interrupted() {
        writeln!(stderr, "using {name}, which exists already")?;
        Bundle::open_on(&args.keep, &device)?
    } else if args.keep.exists() {
        anyhow::bail!("{name} exists and is not a trained bundle; choose another name with --keep");
    } else {
        // Trains under a temporary name and renames at the end. If a demo is interrupted, the next one starts over.
        let mut unfinished = args.keep.clone().into_os_string();
        unfinished.push(".unfinished");
        let unfinished = PathBuf::from(unfinished);
        std::fs::remove_dir_all(&unfinished).ok();
        let trained = train(&unfinished, &device);
        if !matches!(trained, Ok(Some(_))) {
            std::fs::remove_dir_all(&unfinished).ok();
            trained?;
            writeln!(stderr, "stopped; nothing is kept of an unfinished demo")?;
            return Ok(ExitCode::from(130));
        }
        std::fs::rename(&unfinished, &args.keep)?;
        Bundle::open_on(&args.keep, &device)?
    };
    let explainer = bundle.explainer()?;
    let sentence = explainer.parser().split(&args.sentence);
    writeln!(
        stderr,
        "the two numbers are the probabilities of the head and of the label; ? marks a doubtful edge\n\
         below the tree: the most doubtful edge, and the training edges most similar to it\n"
    )?;
    std::io::stdout().write_all(&most_doubtful(&explainer, &sentence, CITED)?)?;
    let (citree, bundle) = (program(), quoted(name.to_string()));
    writeln!(
        stderr,
        "The bundle is kept as {name}. Now try:\n  \
           echo 'She reads the old letters.' | {citree} explain {bundle} --text\n  \
           echo 'She reads the old letters.' | {citree} explain {bundle} --text --edge 5 --why-not 5:1\n  \
           {citree} serve {bundle}"
    )?;
    Ok(ExitCode::SUCCESS)
}

fn train(path: &Path, device: &Device) -> anyhow::Result<Option<Bundle>> {
    let (train, dev) = (starter::train(), starter::dev());
    let config = Config::preset(Preset::Demo);
    let mut progress = Progress::start()?;
    writeln!(std::io::stderr(), "training on the {} sentences of the starter treebank", train.len())?;
    let none = Pretrained::default();
    let plan = Plan { config: &config, pretrained: &none, train: &train, dev: &dev, device };
    let bundle = crate::train::train(&plan, path, Start::Fresh, &mut progress);
    progress.finish();
    let bundle = bundle?;
    if bundle.is_some() {
        report(&Layout::of(path))?;
    }
    Ok(bundle)
}
