//! The same model in PyTorch, run from `../shared/reference` in its own process.

use super::{Options, Speeds};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

/// The interpreter that has the peers' packages.
pub const PYTHON: &str = "python3";

/// The peer, checked to exist and to start.
pub struct Torch {
    script: PathBuf,
    /// The version of PyTorch.
    pub version: String,
}

impl Torch {
    /// Checks for the script and for PyTorch before anything is measured.
    pub fn find(options: &Options) -> anyhow::Result<Self> {
        let script = options.shared.join("reference/torch_parser.py");
        ensure!(script.is_file(), "no peer at {}: it is not part of this repository", script.display());
        let version = ask("import numpy, torch; print(torch.__version__)", "torch numpy")?;
        Ok(Self { script, version })
    }

    /// One round of the peer.
    pub fn speeds(&self, options: &Options, seed: usize) -> anyhow::Result<Speeds> {
        let mut bench = Command::new(PYTHON);
        bench.arg(&self.script).arg("bench").arg("--train").arg(&options.train);
        for (name, value) in [("--threads", options.threads), ("--steps", options.steps), ("--seed", seed)] {
            bench.args([name, &value.to_string()]);
        }
        let text = run(&mut bench)?;
        read(&text).with_context(|| format!("the output of the peer lacks one of its three speeds:\n{text}"))
    }
}

/// The output of a Python snippet. Finds a missing package before anything is measured.
pub fn ask(python: &str, packages: &str) -> anyhow::Result<String> {
    let mut ask = Command::new(PYTHON);
    let answer = ask.args(["-c", python]).output();
    let answer = answer.with_context(|| format!("{PYTHON} does not start; the peer needs it"))?;
    let remedy = format!("install the packages of the peer: pip install {packages}");
    ensure!(answer.status.success(), "{}\n{remedy}", String::from_utf8_lossy(&answer.stderr).trim());
    Ok(String::from_utf8_lossy(&answer.stdout).trim().to_string())
}

/// The output of a peer in one round.
pub fn run(peer: &mut Command) -> anyhow::Result<String> {
    let output = peer.output().context("the peer does not start")?;
    ensure!(output.status.success(), "the peer failed:\n{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The speed in a line such as `train head: 1234 query tokens/s`.
pub fn speed(text: &str, task: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(task)?.strip_prefix(": "))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn read(text: &str) -> Option<Speeds> {
    Some(Speeds {
        train_heads: speed(text, "train head")?,
        train_labels: speed(text, "train label")?,
        parse_heads: speed(text, "parse heads")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_speeds_are_read_by_name_in_any_order() {
        let text = "parse heads: 30 tokens/s\ntrain head: 10 query tokens/s\ntrain label: 20 query tokens/s\n";
        assert_eq!(read(text), Some(Speeds { train_heads: 10.0, train_labels: 20.0, parse_heads: 30.0 }));
    }

    #[test]
    fn a_missing_speed_is_an_error() {
        assert_eq!(read("train head: 10 query tokens/s\nparse heads: 30 tokens/s\n"), None);
        assert_eq!(read("train head: fast\ntrain label: 1\nparse heads: 2\n"), None);
    }
}
