//! The libraries from PyPI, each in its own Python process that answers in JSON lines.

use super::library::{BUILD_EFFORT, Built, DEGREE, Found, How, Library};
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const PYTHON: &str = "python3";
const SCRIPT: &str = include_str!("../search.py");
/// The environment variable that sets the processor type for OpenBLAS.
pub const CORE: &str = "OPENBLAS_CORETYPE";
const PACKAGES: [&str; 4] = ["numpy", "hnswlib", "faiss-cpu", "usearch"];
const VERSIONS: &str = "\
import importlib.metadata as known, numpy, hnswlib, faiss, usearch.index
print(', '.join(f'{name} {known.version(name)}' for name in ['hnswlib', 'faiss-cpu', 'usearch']))";

/// The versions of the libraries. Installs missing packages first.
pub fn versions() -> anyhow::Result<String> {
    let ask = || Command::new(PYTHON).args(["-c", VERSIONS]).output();
    let mut answer = ask().with_context(|| format!("{PYTHON} does not start; the peers need it"))?;
    if !answer.status.success() {
        let mut install = Command::new(PYTHON);
        let _ = install.args(["-m", "pip", "install", "--quiet"]).args(PACKAGES).status()?;
        answer = ask()?;
    }
    let remedy = format!("install the packages of the peers: pip install {}", PACKAGES.join(" "));
    ensure!(answer.status.success(), "{}\n{remedy}", String::from_utf8_lossy(&answer.stderr).trim());
    Ok(String::from_utf8_lossy(&answer.stdout).trim().to_string())
}

/// The OpenBLAS name of a processor like this one. FAISS bundles an old OpenBLAS, which treats an unknown processor as
/// a very old one. Without this setting FAISS is far slower.
pub fn core() -> Option<&'static str> {
    let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags: Vec<&str> = known.lines().find(|line| line.starts_with("flags"))?.split_whitespace().collect();
    [("avx512bw", "SkylakeX"), ("avx2", "Haswell")]
        .into_iter()
        .find(|(flag, _)| flags.contains(flag))
        .map(|(_, core)| core)
}

/// The paths of the rows, the queries and the saved indexes.
pub struct Places {
    pub rows: PathBuf,
    pub queries: PathBuf,
    pub folder: PathBuf,
    pub dims: usize,
}

impl Places {
    /// All paths in one folder.
    pub fn new(folder: &Path, dims: usize) -> Self {
        let (rows, queries) = (folder.join("rows.f32"), folder.join("queries.f32"));
        Self { rows, queries, folder: folder.to_path_buf(), dims }
    }

    /// The path of a library's saved index.
    pub fn saved(&self, library: &str) -> PathBuf {
        self.folder.join(library)
    }
}

/// A library in its own process.
pub struct Python {
    name: String,
    process: Child,
    ask: ChildStdin,
    answer: BufReader<ChildStdout>,
    built: Built,
}

impl Python {
    /// Starts the process and builds the index. `library` is its name in the script.
    pub fn build(name: &str, library: &str, places: &Places, threads: usize) -> anyhow::Result<Self> {
        Self::start(python(threads), name, library, places, threads)
    }

    /// FAISS's exact search, with default BLAS kernels or with those for the OpenBLAS name `core`.
    pub fn flat(name: &str, core: Option<&str>, places: &Places, threads: usize) -> anyhow::Result<Self> {
        let mut start = python(threads);
        start.envs(core.map(|core| (CORE, core)));
        Self::start(start, name, "faiss-flat", places, threads)
    }

    fn start(mut start: Command, name: &str, library: &str, places: &Places, threads: usize) -> anyhow::Result<Self> {
        start.args(["serve", library, &places.dims.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = start.spawn().with_context(|| format!("{PYTHON} does not start"))?;
        let ask = process.stdin.take().context("the process has no standard input")?;
        let answer = BufReader::new(process.stdout.take().context("the process has no standard output")?);
        let mut python = Self { name: name.to_string(), process, ask, answer, built: Built::default() };
        // An exact index is never loaded, so it is not saved.
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
        ensure!(!line.is_empty(), "{} has ended; its output is above", self.name);
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
        // With one thread, their batch call is a loop over the queries without Python overhead.
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
        // After an error the process can be busy. After success it has no unsaved state.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The seconds from loading a saved index to the first answer, in a new process. `how` is a FAISS flag or empty.
pub fn first_answer(library: &str, how: &str, places: &Places) -> anyhow::Result<f64> {
    let mut run = python(1);
    run.args(["first", library, &places.dims.to_string()]).args([&places.saved(library), &places.queries]).arg(how);
    let output = run.output()?;
    ensure!(output.status.success(), "{library}: {}", String::from_utf8_lossy(&output.stderr).trim());
    number(&serde_json::from_slice(&output.stdout)?, "seconds")
}

/// The script in a process whose libraries use no more than this number of threads.
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
