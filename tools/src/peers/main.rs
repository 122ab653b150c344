//! Benchmarks against peers: other tools that do the same job on the same machine in the same run.
//!
//! This is a separate binary, which `cargo xtask peers` builds in release mode and runs, because only it needs the
//! whole parser.

mod arguments;
mod audit;
mod bert;
mod evidence;
mod explain;
mod joint;
mod ours;
mod python;
mod search;
mod serve;
mod torch;
mod train;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};

const USAGE: &str = "\
usage: cargo xtask peers train|joint [OPTIONS]

train compares training and parsing with PyTorch. joint compares one encoder for heads and labels with one each.

  --threads N    threads per side [default: 1]
  --steps N      training steps of each task, after 3 more to warm up [default: 60]
  --rounds N     rounds; the sides alternate [default: 3]
  --train FILE   treebank [default: ../shared/treebanks/en_ewt-2.7/en_ewt-ud-train.conllu next to the repository]
";

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["train", "--help" | "-h"] => print(USAGE),
        ["search" | "growth", "--help" | "-h"] => print(search::USAGE),
        ["audit", "--help" | "-h"] => print(audit::USAGE),
        ["explain", "--help" | "-h"] => print(explain::USAGE),
        ["bert", "--help" | "-h"] => print(bert::USAGE),
        ["evidence", "--help" | "-h"] => print(evidence::USAGE),
        ["python", "--help" | "-h"] => print(python::USAGE),
        ["serve", "--help" | "-h"] => print(serve::USAGE),
        ["hostile", "--help" | "-h"] => print(serve::hostile::USAGE),
        ["--help" | "-h"] => print(&usage()),
        ["bert", ref options @ ..] => {
            bert::run(&bert::Options::new(repository()?, options)?)?;
            Ok(ExitCode::SUCCESS)
        }
        ["evidence", ref options @ ..] => {
            evidence::run(&evidence::Options::new(options)?)?;
            Ok(ExitCode::SUCCESS)
        }
        ["audit", ref options @ ..] => {
            audit::run(&audit::Options::new(options)?)?;
            Ok(ExitCode::SUCCESS)
        }
        ["explain", ref options @ ..] => {
            explain::run(&explain::Options::new(options)?)?;
            Ok(ExitCode::SUCCESS)
        }
        ["python", ref options @ ..] => {
            python::run(&python::Options::new(options)?)?;
            Ok(ExitCode::SUCCESS)
        }
        ["serve", ref options @ ..] => serve::run(&serve::Options::new(options)?),
        ["hostile", ref options @ ..] => serve::hostile::run(&serve::hostile::Options::new(options)?),
        ["search", ref options @ ..] => {
            search::run(&search::Options::new(options)?)?;
            Ok(ExitCode::SUCCESS)
        }
        ["growth", ref options @ ..] => {
            search::run_growth(&search::Options::new(options)?)?;
            Ok(ExitCode::SUCCESS)
        }
        // Internal: processes that `search` and `python` start to measure their time.
        ["first-answer", index, queries, dims] => {
            let seconds = search::first_answer(Path::new(index), Path::new(queries), dims.parse()?)?;
            print(&format!("{seconds}\n"))
        }
        ["first-opening", bundle] => print(&format!("{}\n", python::opening(Path::new(bundle))?)),
        ["joint", "--help" | "-h"] => print(USAGE),
        ["joint", ref options @ ..] => joint::run(&Options::new(repository()?, options)?),
        ["train", ref options @ ..] => {
            train::run(&Options::new(repository()?, options)?)?;
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            std::io::stderr().write_all(usage().as_bytes())?;
            Ok(ExitCode::from(2))
        }
    }
}

fn usage() -> String {
    [USAGE, audit::USAGE, bert::USAGE, search::USAGE, explain::USAGE, evidence::USAGE, python::USAGE, serve::USAGE]
        .join("\n")
}

fn repository() -> anyhow::Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the xtask crate must lie inside the repository")
}

fn print(text: &str) -> anyhow::Result<ExitCode> {
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The options of `train` and `joint`.
#[derive(Debug, PartialEq)]
struct Options {
    threads: usize,
    steps: usize,
    rounds: usize,
    train: PathBuf,
    /// The folder next to the repository that holds the peer and the treebanks.
    shared: PathBuf,
}

impl Options {
    fn new(repository: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        let shared = repository.parent().context("the repository has no folder around it")?.join("shared");
        let train = shared.join("treebanks/en_ewt-2.7/en_ewt-ud-train.conllu");
        let mut options = Self { threads: 1, steps: 60, rounds: 3, train, shared };
        for pair in arguments.chunks(2) {
            let &[name, value] = pair else { bail!("{} needs a value\n\n{USAGE}", pair[0]) };
            let number = || {
                let number: usize = value.parse().with_context(|| format!("{name} {value}: not a number"))?;
                ensure!(number > 0, "{name} must be 1 or more");
                Ok(number)
            };
            match name {
                "--threads" => options.threads = number()?,
                "--steps" => options.steps = number()?,
                "--rounds" => options.rounds = number()?,
                "--train" => options.train = PathBuf::from(value),
                _ => bail!("no option {name}\n\n{USAGE}"),
            }
        }
        Ok(options)
    }
}

/// Tokens per second of one side in one round. As in the peer, training counts ROOT as a token and parsing does not.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Speeds {
    train_heads: f64,
    train_labels: f64,
    parse_heads: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_and_the_default_treebank_is_next_to_the_repository() {
        let options = Options::new(Path::new("/a/citree"), &["--threads", "2", "--steps", "7"]).expect("options");
        let shared = PathBuf::from("/a/shared");
        let train = shared.join("treebanks/en_ewt-2.7/en_ewt-ud-train.conllu");
        assert_eq!(options, Options { threads: 2, steps: 7, rounds: 3, train, shared });
    }

    #[test]
    fn missing_or_invalid_values_and_unknown_options_are_refused_by_name() {
        for arguments in [&["--threads"][..], &["--threads", "0"], &["--threads", "x"], &["--thread", "1"]] {
            let message = Options::new(Path::new("/a/citree"), arguments).expect_err("refused").to_string();
            assert!(message.contains(arguments[0]), "{message}");
        }
    }
}
