//! `citree train`: a treebank in, a bundle out.

use super::calibrate;
use super::machine::Machine;
use super::progress::Progress;
use super::recipe::{Place, Recipe};
use super::shell::command_line;
use crate::bundle::{About, Bundle, Layout, MeasuredRules};
use crate::config::{Basis, Config, System};
use crate::rule::{Rule, RuleSettings, Spelling};
use crate::train::{Flow, Plan, Start, epochs_begun};
use crate::treebank::{Sentence, read_trees};
use indicatif::HumanDuration;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Train a parser on a treebank.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree train --train T.conllu --dev D.conllu en.citree
  citree train --train T.conllu --dev D.conllu en.citree --resume
  citree train --train T.conllu --dev D.conllu --time 45m en.citree
  citree train --train T.conllu --dev D.conllu --system WWd weights.citree
  citree train --train T.conllu --dev D.conllu --word-vectors v.txt.gz en.citree
  citree train --train T.conllu --dev D.conllu --init en.citree --rule nca \\
    --epochs 4 near.citree
  citree train --train T.conllu --dev D.conllu --preset joint --encoder minilm/ \\
    --encoder-train en.citree

Two models are trained one after the other: heads, then labels; with --share-encoder (and --preset \
joint) both at once. The best epoch on the dev set is kept. A checkpoint is written after every epoch \
and on Ctrl-C; --resume goes on from it to the result that an undisturbed run would have had.

In the bundle: model/ (what `citree parse` needs), index/ (the training edges that `citree explain` \
cites), pretrained/ (word vectors and the transformer, where it has them), metrics.jsonl (a line an epoch) and \
curve.svg (the learning curve).

The output of a frozen transformer on the treebanks is computed once and cached (two bytes a number: \
some 1.2 GB for all layers of a small one on 230,000 words), so that the next training starts at once.

A configuration file holds any of the keys that BUNDLE/model/config.toml shows, for example:
  dropout = 0.2
  lstm_units = 200")]
pub(super) struct Args {
    /// The bundle to make, a folder such as en.citree
    bundle: PathBuf,
    /// The treebank to learn from, in CoNLL-U
    #[arg(long, value_name = "FILE")]
    train: PathBuf,
    /// The treebank to choose the best epoch by, in CoNLL-U
    #[arg(long, value_name = "FILE")]
    dev: PathBuf,
    /// One of the paper's systems: WWd WWc WId WIc IId IIc
    #[arg(long, value_parser = |name: &str| name.parse::<System>())]
    system: Option<System>,
    /// What to learn to decide by: sum, as the paper; nca or knn, so that the nearest training edges carry decisions
    /// [default: the preset's, knn but for paper]
    #[arg(long)]
    rule: Option<Spelling>,
    /// Start from the parameters of this bundle, trained on the same treebank with the same sizes
    #[arg(long, value_name = "BUNDLE")]
    init: Option<PathBuf>,
    /// Train heads and labels together on one encoder, which then runs once, in training and in parsing
    #[arg(long)]
    share_encoder: bool,
    /// The seed of everything random; the same seed gives the same bundle
    #[arg(long)]
    seed: Option<u64>,
    /// Go on with an interrupted training of this bundle
    #[arg(long)]
    resume: bool,
    /// Train for as many epochs as fit into this time, such as 45m or 2h, all in all: a few steps are timed first
    #[arg(long, value_name = "TIME", conflicts_with = "epochs", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    #[command(flatten)]
    recipe: Recipe,
    #[command(flatten)]
    machine: Machine,
}

/// Trains, or goes on training.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let mut config = configuration(&args)?;
    let (bundle, layout) = (args.bundle.display(), Layout::of(&args.bundle));
    let start = if args.resume { Start::Resume } else { Start::Fresh };
    let _lock = start.begin(&layout)?;
    let device = args.machine.start()?;
    let (train, dev) = (read_trees(&args.train)?, read_trees(&args.dev)?);
    let mut progress = Progress::start()?;
    let count = |sentences: &[Sentence]| sentences.iter().map(|s| s.words().len()).sum::<usize>();
    let (sentences, words, dev_sentences, dev_words) = (train.len(), count(&train), dev.len(), count(&dev));
    writeln!(
        std::io::stderr(),
        "{}: training set {sentences} sentences, {words} words; dev set {dev_sentences} sentences, {dev_words} words",
        config.system
    )?;
    let initial = args.init.as_ref().map(|bundle| Bundle::open_on(bundle, &device)).transpose()?;
    let start = match &initial {
        _ if args.resume => Start::Resume,
        Some(bundle) => Start::From(bundle),
        None => Start::Fresh,
    };
    let pretrained = match args.recipe.pretrained(
        Place { folder: &layout.pretrained(), resumed: layout.is_interrupted(), cache: &layout.training() },
        &config,
        [&train, &dev],
        &|| progress.interrupted(),
        &device,
    ) {
        Err(_) if progress.interrupted() => return Ok(ExitCode::from(130)),
        pretrained => pretrained?,
    };
    if let Some(time) = args.time {
        let plan = Plan { config: &config, pretrained: &pretrained, train: &train, dev: &dev, device: &device };
        match epochs_within(&plan, &layout, time.saturating_sub(began.elapsed()), &progress)? {
            Some(epochs) => config.epochs = epochs,
            None => return Ok(ExitCode::from(130)),
        }
    }
    let plan = Plan { config: &config, pretrained: &pretrained, train: &train, dev: &dev, device: &device };
    let trained = crate::train::train_alone(&plan, &layout, start, &mut progress);
    progress.finish();
    if trained?.is_none() {
        tell_how_to_resume();
        return Ok(ExitCode::from(130));
    }
    report(&layout)?;
    let next = match config.system.inference {
        Basis::Instances => format!("echo 'She reads old letters.' | citree explain {bundle} --text"),
        Basis::Weights => format!("echo 'She reads old letters.' | citree parse {bundle} --text --format arcs"),
    };
    writeln!(std::io::stderr(), "wrote {bundle}; try: {next}")?;
    Ok(ExitCode::SUCCESS)
}

/// The number of epochs for a time: that of the training that is resumed, or what fits. `None` after Ctrl-C.
fn epochs_within(plan: &Plan, layout: &Layout, time: Duration, progress: &Progress) -> anyhow::Result<Option<usize>> {
    if let Some(epochs) = epochs_begun(layout)? {
        return Ok(Some(epochs));
    }
    let ask = || if progress.interrupted() { Flow::Stop } else { Flow::Continue };
    let Some(pace) = plan.epochs_within(time, &ask)? else { return Ok(None) };
    let [epoch, end] = [pace.epoch, pace.end].map(|time| HumanDuration(Duration::from_secs(time.as_secs())));
    writeln!(
        std::io::stderr(),
        "{} epochs: each takes about {epoch} here, what follows {end}; --epochs {} trains the same",
        pace.epochs,
        pace.epochs
    )?;
    Ok(Some(pace.epochs))
}

/// An index that is cut short leaves nothing behind, so that resuming builds it from the beginning.
fn tell_how_to_resume() {
    let command = command_line(Some("--resume"));
    let _ = writeln!(std::io::stderr(), "stopped; everything is saved. Go on with:\n  {command}");
}

fn configuration(args: &Args) -> anyhow::Result<Config> {
    let mut config = args.recipe.config()?;
    config.system = args.system.unwrap_or(config.system);
    match &args.rule {
        Some(rule) => config.rule = Rule::spelled(rule, RuleSettings::default())?,
        // There is no other loss for a system that learns weights.
        None if config.system.learning == Basis::Weights => config.rule = Rule::sum(),
        None => {}
    }
    config.seed = args.seed.unwrap_or(config.seed);
    config.share_encoder |= args.share_encoder;
    config.check().map_err(anyhow::Error::msg)?;
    Ok(config)
}

/// The scores of the finished model on the dev set, both ways of decoding, and how much was indexed.
pub(super) fn report(layout: &Layout) -> anyhow::Result<()> {
    let mut stderr = std::io::stderr().lock();
    let Some(about) = About::read(layout)? else { return Ok(()) };
    for scores in &about.dev {
        writeln!(
            stderr,
            "dev, sum rule, --decode {}: UAS {:.2}, LAS {:.2} (punctuation and subtypes included)",
            scores.decode, scores.uas, scores.las
        )?;
    }
    writeln!(stderr, "indexed {} edges of {} sentences", about.words, about.sentences)?;
    calibrate::write(&mut stderr, &MeasuredRules::read(layout)?)
}
