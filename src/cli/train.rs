//! `citree train`: a treebank in, a bundle out.

use super::index::build_index;
use super::machine::Machine;
use super::progress::{Progress, step_bar};
use citree::config::{Aggregate, BertLayers, Config, Preset, Rule, System};
use citree::encoder::Pretrained;
use citree::encoder::bert::Features;
use citree::encoder::pretrained::Sources;
use citree::evaluate::evaluate;
use citree::model::Model;
use citree::parse::{Decode, Parser};
use citree::train::{Plan, Start};
use citree::treebank::{Sentence, read_trees};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Train a parser on a treebank.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree train --train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu en.citree
  citree train --train T.conllu --dev D.conllu --system WWd --epochs 30 weights.citree
  citree train --train T.conllu --dev D.conllu en.citree --resume     after Ctrl-C or a crash
  citree train --train T.conllu --dev D.conllu --init en.citree --rule nca --epochs 4 near.citree
  citree train --train T.conllu --dev D.conllu --word-vectors glove.txt.gz en.citree
  citree train --train T.conllu --dev D.conllu --preset joint --bert minilm/ --bert-train en.citree

Two models are trained one after the other: heads, then labels; with --share-encoder (and --preset
joint) both at once. The best epoch on the dev set is kept. A checkpoint is written after every epoch
and on Ctrl-C; --resume goes on from it to the result that an undisturbed run would have had.

In the bundle: model/ (what `citree parse` needs), index/ (the training edges that `citree explain`
cites), pretrained/ (word vectors and BERT, where it has them), metrics.jsonl (a line an epoch) and
curve.svg (the learning curve).

What a frozen BERT says of the treebanks is computed once and kept in a cache (two bytes a number: some
1.2 GB for all layers of a small BERT on 230,000 words), so that the next training starts at once.

A configuration file holds any of the keys that BUNDLE/model/config.toml shows, for example:
  dropout = 0.2
  lstm_units = 200")]
pub struct Args {
    /// The bundle to make, a folder such as en.citree
    bundle: PathBuf,
    /// The treebank to learn from, in CoNLL-U
    #[arg(long, value_name = "FILE")]
    train: PathBuf,
    /// The treebank to choose the best epoch by, in CoNLL-U
    #[arg(long, value_name = "FILE")]
    dev: PathBuf,
    /// Where to start from: paper (100 epochs as in the paper), small (15 epochs), joint (heads and labels on one
    /// encoder, 8 epochs; made for BERT), demo (tiny)
    #[arg(long, default_value = "small", value_parser = preset)]
    preset: Preset,
    /// A TOML file whose values replace the preset's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One of the paper's systems: WWd WWc WId WIc IId IIc
    #[arg(long, value_parser = |name: &str| name.parse::<System>())]
    system: Option<System>,
    /// How similarities become a score, in training and parsing: mean or sum
    #[arg(long, value_parser = aggregate)]
    aggregate: Option<Aggregate>,
    /// What to learn to decide by: sum, as the paper; nca, so that the nearest training edges carry decisions
    #[arg(long, value_parser = rule)]
    rule: Option<Rule>,
    /// Start from the parameters of this bundle, trained on the same treebank with the same sizes
    #[arg(long, value_name = "BUNDLE")]
    init: Option<PathBuf>,
    /// Frozen word vectors to start from: fastText .vec or GloVe .txt, gzipped or not
    #[arg(long, value_name = "FILE", help_heading = "Pretrained input")]
    word_vectors: Option<PathBuf>,
    /// A BERT folder to start from: config.json, tokenizer.json, model.safetensors
    #[arg(long, value_name = "DIR", help_heading = "Pretrained input")]
    bert: Option<PathBuf>,
    /// Which layers of BERT to read: last, as the paper; mix, a learnt mix of all
    #[arg(long, value_parser = bert_layers, requires = "bert", help_heading = "Pretrained input")]
    bert_layers: Option<BertLayers>,
    /// Train BERT along, at its own learning rate; it is frozen otherwise
    #[arg(long, requires = "bert", help_heading = "Pretrained input")]
    bert_train: bool,
    /// Note where the BERT folder is, and its hash, instead of copying it into the bundle
    #[arg(long, requires = "bert", help_heading = "Pretrained input")]
    bert_by_reference: bool,
    /// Where to keep the states of a frozen BERT [default: citree in the user's cache folder]
    #[arg(long, value_name = "DIR", env = "CITREE_CACHE", help_heading = "Pretrained input")]
    cache: Option<PathBuf>,
    /// Train heads and labels together on one encoder, which then runs once, in training and in parsing
    #[arg(long)]
    share_encoder: bool,
    /// Passes over the training treebank
    #[arg(long)]
    epochs: Option<usize>,
    /// The seed of everything random; the same seed gives the same bundle
    #[arg(long)]
    seed: Option<u64>,
    /// Go on with an interrupted training of this bundle
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    machine: Machine,
}

/// A preset by its name on the command line.
pub fn preset(name: &str) -> Result<Preset, String> {
    match name {
        "paper" => Ok(Preset::Paper),
        "small" => Ok(Preset::Small),
        "joint" => Ok(Preset::Joint),
        "demo" => Ok(Preset::Demo),
        _ => Err("there are paper, small, joint and demo".to_string()),
    }
}

fn bert_layers(name: &str) -> Result<BertLayers, String> {
    match name {
        "last" => Ok(BertLayers::Last),
        "mix" => Ok(BertLayers::Mix),
        _ => Err("there are last and mix".to_string()),
    }
}

fn rule(name: &str) -> Result<Rule, String> {
    match name {
        "sum" => Ok(Rule::Sum),
        "nca" => Ok(Rule::Nca),
        _ => Err("there are sum and nca".to_string()),
    }
}

/// An aggregate by its name on the command line.
pub fn aggregate(name: &str) -> Result<Aggregate, String> {
    match name {
        "mean" => Ok(Aggregate::Mean),
        "sum" => Ok(Aggregate::Sum),
        _ => Err("there are mean and sum".to_string()),
    }
}

/// Trains, or goes on training.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let config = configuration(&args)?;
    let bundle = args.bundle.display();
    let unfinished = args.bundle.join("training").exists();
    // A run that was killed while it wrote the model has both folders, and resumes like any other.
    if args.bundle.join("model").exists() && !(args.resume && unfinished) {
        anyhow::bail!("{bundle} holds a trained model already; choose another name, or remove it first");
    }
    if unfinished && !args.resume {
        anyhow::bail!("{bundle} holds an interrupted training; go on with --resume, or remove it first");
    }
    let device = args.machine.start()?;
    let (train, dev) = (read_trees(&args.train)?, read_trees(&args.dev)?);
    let mut progress = Progress::start()?;
    let count = |sentences: &[Sentence]| sentences.iter().map(|s| s.words().len()).sum::<usize>();
    let (sentences, words, dev_sentences, dev_words) = (train.len(), count(&train), dev.len(), count(&dev));
    writeln!(
        std::io::stderr(),
        "{}: {sentences} sentences, {words} words to learn from; {dev_sentences} sentences, {dev_words} words to judge by",
        config.system
    )?;
    let initial = args.init.as_ref().map(|bundle| Model::load(bundle, &device)).transpose()?;
    let start = match &initial {
        _ if args.resume => Start::Resume,
        Some(model) => Start::From(model),
        None => Start::Fresh,
    };
    let pretrained = match pretrained(&args, &config, [&train, &dev], &progress, &device) {
        Err(_) if progress.interrupted() => return Ok(ExitCode::from(130)),
        pretrained => pretrained?,
    };
    let plan = Plan { config: &config, pretrained: &pretrained, train: &train, dev: &dev, device: &device };
    let model = citree::train::train(&plan, &args.bundle, start, &mut progress);
    progress.finish();
    let Some(model) = model? else {
        writeln!(std::io::stderr(), "stopped; everything is saved. Go on with:\n  {}", resume_command())?;
        return Ok(ExitCode::from(130));
    };
    report(&model, &dev, &device)?;
    // A build that is cut short leaves nothing behind, so there is no need to wait for it.
    build_index(&model, &train, &args.bundle, &|| {
        if progress.interrupted() {
            let treebank = args.train.display();
            let _ = writeln!(
                std::io::stderr(),
                "\nthe model is saved, its index is not; build it with: citree index {bundle} --treebank {treebank}"
            );
            std::process::exit(130);
        }
    })?;
    writeln!(std::io::stderr(), "wrote {bundle}; try: echo 'She reads old letters.' | citree explain {bundle} --text")?;
    Ok(ExitCode::SUCCESS)
}

/// Puts the pretrained input into the bundle, and computes what a frozen BERT says of the treebanks.
fn pretrained(
    args: &Args,
    config: &Config,
    treebanks: [&[Sentence]; 2],
    progress: &Progress,
    device: &candle_core::Device,
) -> anyhow::Result<Pretrained> {
    let sources = Sources {
        word_vectors: args.word_vectors.as_deref(),
        bert: args.bert.as_deref(),
        bert_by_reference: args.bert_by_reference,
    };
    let bar = step_bar()?;
    let show = |name: &'static str, done: u64, total: u64| {
        bar.set_prefix(name);
        bar.set_length(total);
        bar.set_position(done);
    };
    let pretrained = Pretrained::install(&args.bundle, sources, config.bert.train, device, &|done, total| {
        show("word vectors", done, total);
    })?;
    let pretrained = match &pretrained.bert {
        Some(bert) if !config.bert.train => {
            bar.reset();
            let cache = args.cache.clone().or_else(user_cache).unwrap_or_else(|| args.bundle.join("training"));
            let sentences: Vec<&Sentence> = treebanks.into_iter().flatten().collect();
            let all = config.bert.layers == BertLayers::Mix;
            let tell = |done: usize, total: usize| {
                show("states of BERT", done as u64, total as u64);
                !progress.interrupted()
            };
            pretrained.with_features(Features::cached(bert, all, &sentences, &cache, &tell)?)
        }
        _ => pretrained,
    };
    bar.finish_and_clear();
    let mut stderr = std::io::stderr();
    if let Some(vectors) = &pretrained.vectors {
        writeln!(stderr, "word vectors: {} words, {} dimensions", vectors.len(), vectors.dims())?;
    }
    if let Some(bert) = &pretrained.bert {
        let (layers, dims) = (bert.shape().num_hidden_layers, bert.shape().hidden_size);
        let how = if config.bert.train { "trained along" } else { "frozen" };
        writeln!(stderr, "BERT: {layers} layers, {dims} dimensions, {how}")?;
    }
    Ok(pretrained)
}

/// Where a user's caches are.
fn user_cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    folder.or_else(|| set("LOCALAPPDATA")).map(|folder| folder.join(Path::new("citree")))
}

/// This process's command with `--resume`, fit to be pasted into a shell.
fn resume_command() -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+%@".contains(c);
    let quoted = |word: String| match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).filter(|word| word != "--resume");
    words.chain(["--resume".to_string()]).map(quoted).collect::<Vec<_>>().join(" ")
}

fn configuration(args: &Args) -> anyhow::Result<Config> {
    let mut config = match &args.config {
        Some(path) => Config::load(args.preset, path)?,
        None => Config::preset(args.preset),
    };
    config.system = args.system.unwrap_or(config.system);
    config.aggregate = args.aggregate.unwrap_or(config.aggregate);
    config.rule = args.rule.unwrap_or(config.rule);
    config.epochs = args.epochs.unwrap_or(config.epochs);
    config.seed = args.seed.unwrap_or(config.seed);
    config.share_encoder |= args.share_encoder;
    config.bert.layers = args.bert_layers.unwrap_or(config.bert.layers);
    config.bert.train |= args.bert_train;
    config.check().map_err(anyhow::Error::msg)?;
    Ok(config)
}

/// The finished model on the dev set, both ways of decoding.
pub fn report(model: &Model, dev: &[Sentence], device: &candle_core::Device) -> anyhow::Result<()> {
    let mut stderr = std::io::stderr().lock();
    for (decode, name) in [(Decode::Greedy, "greedy"), (Decode::Tree, "mst")] {
        let parser = Parser::new(model, decode, model.config.aggregate, device)?;
        let mut parsed = dev.to_vec();
        let parses = parser.parse(&parsed)?;
        parsed.iter_mut().zip(&parses).for_each(|(sentence, parse)| parse.annotate(sentence, false));
        let scores = evaluate(dev, &parsed)?.with_punctuation;
        writeln!(
            stderr,
            "dev, --decode {name}: UAS {:.2}, LAS {:.2} (punctuation and subtypes included)",
            scores.uas.f1 * 100.0,
            scores.las_subtypes.f1 * 100.0
        )?;
    }
    Ok(())
}
