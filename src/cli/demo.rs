//! `citree demo`: train on the built-in treebank, parse a sentence, show it.

use super::arcs;
use super::machine::Machine;
use super::progress::Progress;
use super::train::report;
use citree::config::{Config, Preset};
use citree::parse::{Decode, Parser};
use citree::train::Start;
use citree::treebank::starter;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const SENTENCE: &str = "Anna didn't find the old letters in the kitchen.";

/// Train on a small built-in treebank and parse a sentence: under a minute, nothing to download.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree demo
  citree demo \"My neighbour bought three bottles of milk.\"
  citree demo --keep demo.citree && echo 'It rained.' | citree parse demo.citree --text")]
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
    let model = citree::train::train(&config, &train, &dev, bundle, Start::Fresh, &device, &mut progress);
    progress.finish();
    let Some(model) = model? else {
        writeln!(std::io::stderr(), "stopped; the demo keeps nothing of a run that did not finish")?;
        return Ok(ExitCode::from(130));
    };
    let parser = Parser::new(&model, Decode::Tree, config.aggregate, &device)?;
    let mut sentence = parser.split(&args.sentence);
    let parses = parser.parse(std::slice::from_ref(&sentence))?;
    if let Some(parse) = parses.first() {
        parse.annotate(&mut sentence, false);
        report(&model, &dev, &device)?;
        if args.keep.is_some() {
            writeln!(std::io::stderr(), "kept as {}", bundle.display())?;
        }
        writeln!(
            std::io::stderr(),
            "the two numbers: how probable the head and the label are; ? marks a doubtful edge\n"
        )?;
        write!(std::io::stdout(), "{}", arcs::draw(&sentence, parse))?;
    }
    Ok(ExitCode::SUCCESS)
}
