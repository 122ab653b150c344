//! Compares the Python package with the library: one sentence at a time, opening a bundle, and threads.

use crate::arguments::given;
use crate::search::say;
use crate::train::{median, processor};
use anyhow::{Context, ensure};
use citree::treebank::{Sentence, read_all};
use citree::{Bundle, Parser};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

const SCRIPT: &str = include_str!("python.py");

/// The help text.
pub const USAGE: &str = "\
usage: cargo xtask peers python --bundle BUNDLE --dev FILE [OPTIONS]

Compares the Python package, which must be installed, with the library in this process. Both sides parse the same sentences
one by one, in turns. The heads must be the same.

  --bundle BUNDLE a bundle with an index
  --dev FILE      a treebank whose texts are parsed
  --python FILE   the Python that has the package [default: python3]
  --threads N     threads of both sides [default: 2]
  --sentences N   only the first N sentences [default: 100]
  --rounds N      rounds; the sides alternate [default: 7]
";

/// What to measure, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    bundle: PathBuf,
    dev: PathBuf,
    python: PathBuf,
    threads: usize,
    sentences: usize,
    rounds: usize,
    given: String,
}

impl Options {
    /// Parses pairs of name and value.
    pub fn new(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self {
            bundle: PathBuf::new(),
            dev: PathBuf::new(),
            python: PathBuf::from("python3"),
            threads: 2,
            sentences: 100,
            rounds: 7,
            given: arguments.join(" "),
        };
        for given in given(arguments, USAGE) {
            let given = given?;
            match given.name {
                "--bundle" => options.bundle = PathBuf::from(given.value),
                "--dev" => options.dev = PathBuf::from(given.value),
                "--python" => options.python = PathBuf::from(given.value),
                "--threads" => options.threads = given.number()?,
                "--sentences" => options.sentences = given.number()?,
                "--rounds" => options.rounds = given.number()?,
                _ => return Err(given.unknown()),
            }
        }
        let named = |path: &Path| !path.as_os_str().is_empty();
        ensure!(named(&options.bundle) && named(&options.dev), "--bundle and --dev are needed\n\n{USAGE}");
        Ok(options)
    }
}

/// Measures all of it and prints a table.
pub fn run(options: &Options) -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global()?;
    let parser = Bundle::open(&options.bundle)?.explainer()?.parser().clone();
    let texts = |sentence: &Sentence| sentence.text().map(str::to_string);
    let texts: Vec<String> = read_all(&options.dev)?.iter().filter_map(texts).take(options.sentences).collect();
    ensure!(!texts.is_empty(), "{}: no sentence has a text", options.dev.display());
    let (mut ratios, mut ours, mut theirs, mut scaling) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut openings: [Vec<f64>; 3] = Default::default();
    let mut python = Python::start(options)?;
    for round in 0..=options.rounds {
        say(&format!("round {round} of {}", options.rounds))?;
        let (library, heads) = by_library(&parser, &texts)?;
        let (one, same) = python.parse(&texts, 1)?;
        ensure!(heads == same, "the library and Python give other heads");
        let (two, _) = python.parse(&texts, 2)?;
        let (own, new) = (first_opening(options)?, Python::start(options)?);
        let opened = [own, new.opened, new.imported];
        // The first round is to warm up.
        if round > 0 {
            ratios.push(one / library);
            scaling.push(one / two);
            ours.push(library);
            theirs.push(one);
            openings.iter_mut().zip(opened).for_each(|(all, one)| all.push(one));
        }
    }
    let each = |all: &[f64]| 1000.0 * median(all.to_vec()) / texts.len() as f64;
    let range = |all: &[f64]| {
        let (low, high) = all.iter().fold((f64::MAX, 0.0_f64), |(low, high), one| (low.min(*one), high.max(*one)));
        format!("{:.3} ({low:.3} to {high:.3})", median(all.to_vec()))
    };
    let ratio: Vec<f64> = openings[1].iter().zip(&openings[0]).map(|(python, library)| python / library).collect();
    let build = if cfg!(debug_assertions) { "dev build, opt-level 2" } else { "release build" };
    writeln!(
        std::io::stdout().lock(),
        "`cargo xtask peers python {}`\n\n{} sentences, {} threads, {} rounds in turns, medians; {build}, {}.\n\n\
         - one sentence: library {:.2} ms, Python {:.2} ms, ratio {}\n\
         - opening in a new process: library {:.1} ms, citree.load {:.1} ms, ratio {}; import citree {:.1} ms\n\
         - two Python threads instead of one: {} times as fast",
        options.given,
        texts.len(),
        options.threads,
        options.rounds,
        processor(),
        each(&ours),
        each(&theirs),
        range(&ratios),
        1000.0 * median(openings[0].clone()),
        1000.0 * median(openings[1].clone()),
        range(&ratio),
        1000.0 * median(openings[2].clone()),
        range(&scaling),
    )?;
    Ok(())
}

/// Seconds to parse the texts one by one, keeping what explanations need, and the sum of all heads.
fn by_library(parser: &Parser, texts: &[String]) -> anyhow::Result<(f64, u64)> {
    let (start, mut heads) = (Instant::now(), 0);
    for text in texts {
        for analysis in parser.analyse(&[parser.split(text)])?.into_iter().flatten() {
            heads += analysis.parse.heads.iter().map(|head| *head as u64).sum::<u64>();
        }
    }
    Ok((start.elapsed().as_secs_f64(), heads))
}

/// Seconds to open a bundle for explaining, as the binary does, in a new process.
fn first_opening(options: &Options) -> anyhow::Result<f64> {
    let mut own = Command::new(std::env::current_exe()?);
    let output = own.arg("first-opening").arg(&options.bundle).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}

/// What that process does.
pub fn opening(bundle: &Path) -> anyhow::Result<f64> {
    let start = Instant::now();
    let explainer = Bundle::open(bundle)?.explainer()?;
    let seconds = start.elapsed().as_secs_f64();
    drop(explainer);
    Ok(seconds)
}

/// The package in a process of its own.
struct Python {
    process: Child,
    ask: ChildStdin,
    answer: BufReader<ChildStdout>,
    imported: f64,
    opened: f64,
}

impl Python {
    fn start(options: &Options) -> anyhow::Result<Self> {
        let mut command = Command::new(&options.python);
        command.args(["-c", SCRIPT]).arg(&options.bundle).arg(options.threads.to_string());
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let ask = process.stdin.take().context("the process has no standard input")?;
        let answer = BufReader::new(process.stdout.take().context("the process has no standard output")?);
        let mut python = Self { process, ask, answer, imported: 0.0, opened: 0.0 };
        let started = python.answer()?;
        (python.imported, python.opened) = (number(&started, "import")?, number(&started, "open")?);
        Ok(python)
    }

    fn parse(&mut self, texts: &[String], workers: usize) -> anyhow::Result<(f64, u64)> {
        writeln!(self.ask, "{}", json!({ "texts": texts, "workers": workers }))?;
        let answer = self.answer()?;
        Ok((number(&answer, "seconds")?, answer["heads"].as_u64().context("no heads")?))
    }

    fn answer(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        self.answer.read_line(&mut line)?;
        ensure!(!line.is_empty(), "Python has ended; its output is above. Is the package installed?");
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // It has nothing to save.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn number(answer: &Value, name: &str) -> anyhow::Result<f64> {
    answer[name].as_f64().with_context(|| format!("no {name} in {answer}"))
}
