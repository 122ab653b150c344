//! Measures what one encoder for heads and labels saves over one each, in training and in parsing, in alternating
//! rounds.

use super::train::{median, processor};
use super::{Options, print};
use citree::config::{Config, LabelSupport, Preset};
use citree::internals::Prepared;
use citree::train::{Stage, StepReport};
use citree::treebank::{Sentence, read_trees};
use std::fmt::Write;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::ensure;

/// Warm-up steps, not measured.
const WARM_UP_STEPS: usize = 2;
/// Sentences whose edges are the support when parsing is measured.
const SUPPORT_SENTENCES: usize = 200;
const PARSED_SENTENCES: usize = 1000;

/// The variants to measure: name and configuration.
fn ways() -> [(&'static str, Config); 4] {
    let (small, joint) = (Config::preset(Preset::Small), Config::preset(Preset::Joint));
    [
        ("an encoder each (`small`)", small.clone()),
        ("one encoder (`small --share-encoder`)", Config { share_encoder: true, ..small }),
        ("one encoder, support of heads from the batch (`joint`)", joint.clone()),
        ("`joint`, support of rare labels from memory", Config { label_support: LabelSupport::Memory, ..joint }),
    ]
}

/// Words per second for heads and labels together.
#[derive(Clone, Copy)]
struct Speeds {
    train: f64,
    parse: f64,
}

/// Measures every variant in every round and prints a table for `docs/internals/benchmarks.md`.
pub fn run(options: &Options) -> anyhow::Result<ExitCode> {
    ensure!(!cfg!(debug_assertions), "this is a debug build; `cargo xtask peers joint` builds for release");
    rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global()?;
    let sentences = read_trees(&options.train)?;
    let mut rounds = Vec::new();
    for round in 1..=options.rounds {
        writeln!(std::io::stderr(), "round {round} of {}", options.rounds)?;
        let speeds =
            ways().map(|(_, config)| measure(Config { seed: round as u64, ..config }, &sentences, options.steps));
        rounds.push(speeds.into_iter().collect::<anyhow::Result<Vec<Speeds>>>()?);
    }
    let Options { threads, steps, rounds: count, .. } = options;
    let mut out = format!(
        "`cargo xtask peers joint --threads {threads} --steps {steps} --rounds {count}`\n\n{}, medians of {count} in \
         words/s, heads and labels together\n\n| | train | ratio | parse | ratio |\n|---|---:|---:|---:|---:|\n",
        processor()
    );
    let middle = |way: usize, speed: fn(&Speeds) -> f64| median(rounds.iter().map(|r| speed(&r[way])).collect());
    for (way, (name, _)) in ways().iter().enumerate() {
        let (train, parse) = (middle(way, |s| s.train), middle(way, |s| s.parse));
        let (base_train, base_parse) = (middle(0, |s| s.train), middle(0, |s| s.parse));
        writeln!(out, "| {name} | {train:.0} | {:.2} | {parse:.0} | {:.2} |", train / base_train, parse / base_parse)?;
    }
    print(&out)
}

fn measure(config: Config, sentences: &[Sentence], steps: usize) -> anyhow::Result<Speeds> {
    let (stages, seed) = (Stage::all(&config), config.seed);
    let prepared = Prepared::new(config, sentences)?;
    let mut seconds_a_word = 0.0;
    for &stage in stages {
        seconds_a_word += training(&prepared.steps(stage, seed, WARM_UP_STEPS + steps)?);
    }
    // Untrained parameters are enough: the parsing speed does not depend on their values.
    let parser = prepared.parser(SUPPORT_SENTENCES)?;
    let parsed = &sentences[..PARSED_SENTENCES.min(sentences.len())];
    parser.parse(&parsed[..parsed.len() / 10])?;
    let started = Instant::now();
    parser.parse(parsed)?;
    let words: usize = parsed.iter().map(|sentence| sentence.words().len()).sum();
    Ok(Speeds { train: 1.0 / seconds_a_word, parse: words as f64 / started.elapsed().as_secs_f64() })
}

/// The seconds per query word in the training of a stage, without those to warm up.
fn training(reports: &[StepReport]) -> f64 {
    let (warm, last) = (&reports[WARM_UP_STEPS - 1], &reports[reports.len() - 1]);
    (last.seconds - warm.seconds) / (last.tokens - warm.tokens).max(1) as f64
}
