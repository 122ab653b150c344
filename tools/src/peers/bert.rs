//! Compares the speed of BERT features between Hugging Face transformers and citree, in alternating rounds.

use super::ours::peak_memory;
use super::torch::{PYTHON, ask, run as run_peer, speed};
use super::train::{Round, Task, processor, table};
use citree::internals::encoder_speeds;
use citree::treebank::{Sentence, read_trees};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

/// The help text.
pub const USAGE: &str = "\
usage: cargo xtask peers bert --bert DIR [OPTIONS]

Compares the speed of frozen features of BERT, or of another transformer, with PyTorch and Hugging Face transformers.

  --bert DIR      a folder with config.json, model.safetensors and tokenizer.json
  --threads N     threads per side [default: 1]
  --sentences N   only the first N sentences [default: 1000]
  --rounds N      rounds; both sides alternate [default: 3]
  --treebank FILE the sentences [default: ../shared/treebanks/en_ewt-2.7/en_ewt-ud-train.conllu next to the repository]
";

/// Sentences per batch, on both sides.
const BATCH: usize = 32;
const VERSIONS: &str = "\
import torch, tokenizers, transformers
print(f'PyTorch {torch.__version__}, transformers {transformers.__version__}, tokenizers {tokenizers.__version__}')";
const TASKS: [Task<Speeds>; 2] =
    [("features", |speeds| speeds.features), ("tokenisation", |speeds| speeds.tokenisation)];

/// What to measure, and how.
#[derive(Debug, PartialEq)]
pub struct Options {
    bert: PathBuf,
    threads: usize,
    sentences: usize,
    rounds: usize,
    treebank: PathBuf,
    script: PathBuf,
}

impl Options {
    /// Parses pairs of name and value.
    pub fn new(repository: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        let beside = repository.parent().context("the repository has no folder around it")?;
        let mut options = Self {
            bert: PathBuf::new(),
            threads: 1,
            sentences: 1000,
            rounds: 3,
            treebank: beside.join("shared/treebanks/en_ewt-2.7/en_ewt-ud-train.conllu"),
            script: repository.join("tools/reference/bert_speed.py"),
        };
        for pair in arguments.chunks(2) {
            let &[name, value] = pair else { bail!("{} needs a value\n\n{USAGE}", pair[0]) };
            let number = || {
                let number: usize = value.parse().with_context(|| format!("{name} {value}: not a number"))?;
                ensure!(number > 0, "{name} must be 1 or more");
                anyhow::Ok(number)
            };
            match name {
                "--bert" => options.bert = PathBuf::from(value),
                "--threads" => options.threads = number()?,
                "--sentences" => options.sentences = number()?,
                "--rounds" => options.rounds = number()?,
                "--treebank" => options.treebank = PathBuf::from(value),
                _ => bail!("no option {name}\n\n{USAGE}"),
            }
        }
        ensure!(!options.bert.as_os_str().is_empty(), "--bert is needed\n\n{USAGE}");
        Ok(options)
    }
}

/// Words per second of one side in one round, without ROOT.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Speeds {
    features: f64,
    tokenisation: f64,
}

/// Measures both sides in turns and prints a table for `docs/internals/benchmarks.md`.
pub fn run(options: &Options) -> anyhow::Result<()> {
    ensure!(!cfg!(debug_assertions), "this is a debug build; `cargo xtask peers bert` builds for release");
    let mut progress = std::io::stderr().lock();
    let versions = ask(VERSIONS, "torch numpy transformers tokenizers")?;
    rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global()?;
    let mut sentences = read_trees(&options.treebank)?;
    sentences.truncate(options.sentences);
    ensure!(!sentences.is_empty(), "{} has no sentences", options.treebank.display());
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        writeln!(progress, "round {number} of {}: PyTorch", options.rounds)?;
        let torch = theirs(options)?;
        writeln!(progress, "{torch:?}\nround {number} of {}: citree", options.rounds)?;
        let ours = ours(options, &sentences)?;
        writeln!(progress, "{ours:?}")?;
        rounds.push(Round { torch, ours });
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", heading(options, sentences.len(), &versions, peak_memory()?))?;
    out.write_all(table(&TASKS, &rounds).as_bytes())?;
    Ok(())
}

fn heading(options: &Options, sentences: usize, versions: &str, peak: u64) -> String {
    let Options { bert, threads, rounds, treebank, .. } = options;
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    format!(
        "`cargo xtask peers bert --bert {} --threads {threads} --sentences {sentences} --rounds {rounds}`\n\n\
         {sentences} sentences of {}, {BATCH} at a time, sorted by length; {versions}; {}; medians of {rounds} in \
         tokens/s; peak memory of citree {:.2} GiB\n",
        name(bert),
        name(treebank),
        processor(),
        peak as f64 / f64::from(1 << 30),
    )
}

/// One round of the peer, in its own process.
fn theirs(options: &Options) -> anyhow::Result<Speeds> {
    let mut peer = Command::new(PYTHON);
    peer.arg(&options.script).arg("--bert").arg(&options.bert).arg("--treebank").arg(&options.treebank);
    for (name, value) in [("--threads", options.threads), ("--sentences", options.sentences), ("--batch", BATCH)] {
        peer.args([name, &value.to_string()]);
    }
    let text = run_peer(&mut peer)?;
    read(&text).with_context(|| format!("the output of the peer lacks one of its two speeds:\n{text}"))
}

fn read(text: &str) -> Option<Speeds> {
    Some(Speeds { features: speed(text, "bert features")?, tokenisation: speed(text, "tokenisation")? })
}

/// One round of our side, in this process.
fn ours(options: &Options, sentences: &[Sentence]) -> anyhow::Result<Speeds> {
    let [tokenisation, features] = encoder_speeds(&options.bert, sentences, BATCH)?;
    Ok(Speeds { features, tokenisation })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_required_and_the_rest_has_defaults() {
        let repository = Path::new("/a/citree");
        let options = Options::new(repository, &["--bert", "b", "--threads", "2"]).expect("options");
        assert_eq!((options.threads, options.rounds), (2, 3));
        assert_eq!(options.treebank, Path::new("/a/shared/treebanks/en_ewt-2.7/en_ewt-ud-train.conllu"));
        for (arguments, named) in [(&["--threads", "2"][..], "--bert"), (&["--bert"], "--bert"), (&["--x", "1"], "--x")]
        {
            let refused = Options::new(repository, arguments).expect_err("refused").to_string();
            assert!(refused.contains(named), "{refused}");
        }
    }

    #[test]
    fn both_speeds_are_parsed_and_a_missing_one_is_an_error() {
        let text = "tokenisation: 150000 tokens/s\nbert features: 1500 tokens/s\n";
        assert_eq!(read(text), Some(Speeds { features: 1500.0, tokenisation: 150_000.0 }));
        assert_eq!(read("bert features: 1500 tokens/s\n"), None);
    }
}
