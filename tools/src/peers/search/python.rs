//! The libraries from PyPI, each in a Python process of its own that answers JSON lines.

use super::library::{BUILD_EFFORT, Built, DEGREE, Found, How, Library};
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const PYTHON: &str = "python3";
const SCRIPT: &str = include_str!("../search.py");
/// What tells OpenBLAS which processor it runs on.
pub const CORE: &str = "OPENBLAS_CORETYPE";
const PACKAGES: [&str; 4] = ["numpy", "hnswlib", "faiss-cpu", "usearch"];
const VERSIONS: &str = "\
import importlib.metadata as known, numpy, hnswlib, faiss, usearch.index
print(', '.join(f'{name} {known.version(name)}' for name in ['hnswlib', 'faiss-cpu', 'usearch']))";

/// Says which versions there are; what is missing is installed first.
pub fn versions() -> anyhow::Result<String> {
    let ask = || Command::new(PYTHON).args(["-c", VERSIONS]).output();
    let mut answer = ask().with_context(|| format!("{PYTHON} does not start; the peers need it"))?;
    if !answer.status.success() {
        let mut install = Command::new(PYTHON);
        let _ = install.args(["-m", "pip", "install", "--quiet"]).args(PACKAGES).status()?;
        answer = ask()?;
    }
    let remedy = format!("install what the peers need: pip install {}", PACKAGES.join(" "));
    ensure!(answer.status.success(), "{}\n{remedy}", String::from_utf8_lossy(&answer.stderr).trim());
    Ok(String::from_utf8_lossy(&answer.stdout).trim().to_string())
}

/// The name by which OpenBLAS knows a processor like this one. The copy of it that comes with FAISS is older than many
/// processors, and takes one that it does not know for a very old one: without this FAISS is slower by far.
pub fn core() -> Option<&'static str> {
    let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags: Vec<&str> = known.lines().find(|line| line.starts_with("flags"))?.split_whitespace().collect();
    [("avx512bw", "SkylakeX"), ("avx2", "Haswell")]
        .into_iter()
        .find(|(flag, _)| flags.contains(flag))
        .map(|(_, core)| core)
}

/// Where the rows, the queries and the saved indexes are.
pub struct Places {
    pub rows: PathBuf,
    pub queries: PathBuf,
    pub folder: PathBuf,
    pub dims: usize,
}

impl Places {
    /// All of them in one folder.
    pub fn new(folder: &Path, dims: usize) -> Self {
        let (rows, queries) = (folder.join("rows.f32"), folder.join("queries.f32"));
        Self { rows, queries, folder: folder.to_path_buf(), dims }
    }

    /// The file of a library's saved index.
    pub fn saved(&self, library: &str) -> PathBuf {
        self.folder.join(library)
    }
}

/// A library in a process of its own.
pub struct Python {
    name: String,
    process: Child,
    ask: ChildStdin,
    answer: BufReader<ChildStdout>,
    built: Built,
}

impl Python {
    /// Starts the process and builds; `library` is the script's name for it.
    pub fn build(name: &str, library: &str, places: &Places, threads: usize) -> anyhow::Result<Self> {
        Self::start(python(threads), name, library, places, threads)
    }

    /// Exact search of FAISS, with the products as installed or with those for a `core` by OpenBLAS's name.
    pub fn flat(name: &str, core: Option<&str>, places: &Places, threads: usize) -> anyhow::Result<Self> {
        let mut start = python(threads);
        start.envs(core.map(|core| (CORE, core)));
        Self::start(start, name, "faiss-flat", places, threads)
    }

    fn start(mut start: Command, name: &str, library: &str, places: &Places, threads: usize) -> anyhow::Result<Self> {
        start.args(["serve", library, &places.dims.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = start.spawn().with_context(|| format!("{PYTHON} does not start"))?;
        let ask = process.stdin.take().context("no way to ask")?;
        let answer = BufReader::new(process.stdout.take().context("no way to answer")?);
        let mut python = Self { name: name.to_string(), process, ask, answer, built: Built::default() };
        // Nobody loads an exact one.
        let save = if library == "faiss-flat" { PathBuf::new() } else { places.saved(library) };
        let built = python.ask(&json!({
            "do": "build", "rows": places.rows, "queries": places.queries, "save": save,
            "degree": DEGREE, "effort": BUILD_EFFORT, "threads": threads,
        }))?;
        python.built = Built { ready: number(&built, "seconds")?, saving: number(&built, "saving")? };
        Ok(python)
    }

    fn ask(&mut self, question: &Value) -> anyhow::Result<Value> {
        writeln!(self.ask, "{question}").with_context(|| format!("{} has ended", self.name))?;
        let mut line = String::new();
        self.answer.read_line(&mut line)?;
        ensure!(!line.is_empty(), "{} has ended; its last words are above", self.name);
        Ok(serde_json::from_str(&line)?)
    }
}

impl Library for Python {
    fn name(&self) -> &str {
        &self.name
    }

    fn built(&self) -> Built {
        self.built
    }

    fn search(&mut self, from: usize, to: usize, how: How) -> anyhow::Result<Found> {
        // Their batch call with one thread is a loop over the queries without Python in it.
        let (effort, threads) = match how {
            How::OneByOne { effort } => (effort, 1),
            How::Bulk { effort, threads } => (effort, threads),
            How::Exact { threads } => (0, threads),
        };
        let question = json!({ "do": "search", "from": from, "to": to, "effort": effort, "threads": threads });
        let answer = self.ask(&question)?;
        let ids = answer["ids"].as_array().context("no ids in an answer")?;
        let ids = ids.iter().map(|id| id.as_u64().and_then(|id| u32::try_from(id).ok()).context("an id is no u32"));
        Ok(Found { seconds: number(&answer, "seconds")?, ids: ids.collect::<anyhow::Result<_>>()? })
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // Never idle when this is dropped after an error; after a success there is nothing left that it could lose.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Seconds from before loading a saved index to the first answer, in a fresh process; `how` is a flag of FAISS or nothing.
pub fn first_answer(library: &str, how: &str, places: &Places) -> anyhow::Result<f64> {
    let mut run = python(1);
    run.args(["first", library, &places.dims.to_string()]).args([&places.saved(library), &places.queries]).arg(how);
    let output = run.output()?;
    ensure!(output.status.success(), "{library}: {}", String::from_utf8_lossy(&output.stderr).trim());
    number(&serde_json::from_slice(&output.stdout)?, "seconds")
}

/// The script in a process that takes no more threads than it should, whichever library it asks for them.
fn python(threads: usize) -> Command {
    let mut command = Command::new(PYTHON);
    command.args(["-c", SCRIPT]);
    for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
        command.env(variable, threads.to_string());
    }
    command
}

fn number(answer: &Value, name: &str) -> anyhow::Result<f64> {
    answer[name].as_f64().with_context(|| format!("no {name} in {answer}"))
}
