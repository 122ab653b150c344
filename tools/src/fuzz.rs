//! Builds the fuzz targets of `fuzz/` and runs them for some time, as `cargo fuzz` does, but on a stable compiler and without
//! an installed tool.
//!
//! Only citree and the readers of formats that it uses report to libFuzzer what they reach. Kernels that report every
//! comparison would take most of the time, and a report of them helps nobody. So this program stands before the compiler
//! and adds the flags for some crates.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, bail};

const USAGE: &str = "\
usage: cargo xtask fuzz [--target T]… [--minutes M] [--runs N] [--jobs J] [--address]

  --target   conllu, config, encoder, index, model, requests or vectors; all by default
  --minutes  how long each target runs, 1 by default
  --runs     end a target after so many runs
  --jobs     how many targets run at a time, 1 by default
  --address  with AddressSanitizer, for all that is compiled

Examples:
  cargo xtask fuzz
  cargo xtask fuzz --target index --minutes 60
  cargo xtask fuzz --jobs 2 --minutes 0.5

Inputs begin with those in fuzz/seeds. Those that reach more are kept in fuzz/corpus; those that crash, or take more than
10 s or 256 MiB, in fuzz/artifacts, beside the log of each target. To try one again: fuzz/target/HOST/release/T FILE
";

const TARGETS: &[&str] = &["conllu", "config", "encoder", "index", "model", "requests", "vectors"];

/// Crates beside the targets that report what they reach.
const REPORTING: &[&str] =
    &["citree", "citree_fuzz", "citree_index", "safetensors", "serde_json", "tokenizers", "toml", "toml_parser", "zip"];
const COVERAGE: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// Set while cargo calls this program in place of the compiler.
const COMPILING: &str = "CITREE_FUZZ_COMPILING";

/// The facts that libFuzzer prints at its end, and what they are called here.
const FACTS: [(&str, &str); 4] = [
    ("number_of_executed_units", "runs"),
    ("average_exec_per_sec", "a second"),
    ("slowest_unit_time_sec", "slowest, s"),
    ("peak_rss_mb", "most memory, MiB"),
];

struct Options {
    targets: Vec<&'static str>,
    minutes: f64,
    runs: Option<u64>,
    jobs: usize,
    address: bool,
}

impl Options {
    fn read(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self { targets: Vec::new(), minutes: 1.0, runs: None, jobs: 1, address: false };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().context(USAGE);
            match *argument {
                "--target" => {
                    let name = value()?;
                    let target = TARGETS.iter().find(|target| *target == name);
                    options.targets.push(target.with_context(|| format!("no target {name}\n\n{USAGE}"))?);
                }
                "--minutes" => options.minutes = value()?.parse().ok().filter(|m| *m > 0.0).context(USAGE)?,
                "--runs" => options.runs = Some(value()?.parse().context(USAGE)?),
                "--jobs" => options.jobs = value()?.parse().ok().filter(|jobs| *jobs > 0).context(USAGE)?,
                "--address" => options.address = true,
                _ => bail!(USAGE),
            }
        }
        if options.targets.is_empty() {
            options.targets = TARGETS.to_vec();
        }
        Ok(options)
    }
}

pub fn run(arguments: &[&str]) -> anyhow::Result<ExitCode> {
    if let ["help" | "--help" | "-h"] = arguments {
        std::io::stdout().write_all(USAGE.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let options = Options::read(arguments)?;
    let folder = crate::repository()?.join("fuzz");
    let programs = build(&folder, &options)?;
    let mut waiting = options.targets.iter().rev().collect::<Vec<_>>();
    let mut running: Vec<(&str, Child)> = Vec::new();
    let mut failed = false;
    loop {
        while let Some(target) = waiting.pop_if(|_| running.len() < options.jobs) {
            running.push((target, start(&folder, &programs.join(target), target, &options)?));
        }
        if running.is_empty() {
            break;
        }
        let mut left = Vec::new();
        for (target, mut child) in running {
            match child.try_wait()? {
                Some(status) => failed |= report(&folder, target, status.success())?,
                None => left.push((target, child)),
            }
        }
        running = left;
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Builds the targets. Returns the folder of the programs.
fn build(folder: &Path, options: &Options) -> anyhow::Result<PathBuf> {
    let host = host()?;
    let mut run = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // With a target, the flags are not for build scripts, which have no main function of libFuzzer.
    run.args(["build", "--release", "--target", &host, "--manifest-path"]).arg(folder.join("Cargo.toml"));
    for target in &options.targets {
        run.args(["--bin", target]);
    }
    run.env("RUSTC_BOOTSTRAP", "1").env(COMPILING, "1").env("RUSTC_WRAPPER", std::env::current_exe()?);
    run.env("RUSTFLAGS", if options.address { "-Zsanitizer=address" } else { "" });
    anyhow::ensure!(run.status().context("cargo does not start")?.success(), "the fuzz targets do not compile");
    Ok(folder.join("target").join(host).join("release"))
}

/// Whether cargo calls this program in place of the compiler.
pub fn is_compiling() -> bool {
    std::env::var_os(COMPILING).is_some()
}

/// Calls the compiler, which is the first argument.
pub fn compile(mut arguments: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let mut compiler = Command::new(arguments.next().context("no compiler")?);
    let arguments: Vec<OsString> = arguments.collect();
    let of = |name: &str| arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1));
    let reports = |name: &OsString| [REPORTING, TARGETS].concat().iter().any(|reporting| name == reporting);
    compiler.args(&arguments);
    if of("--target").is_some() && of("--crate-name").is_some_and(reports) {
        compiler.args(COVERAGE);
    }
    let status = compiler.status().context("the compiler does not start")?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

fn start(folder: &Path, program: &Path, target: &str, options: &Options) -> anyhow::Result<Child> {
    let (corpus, artifacts) = (folder.join("corpus").join(target), folder.join("artifacts"));
    std::fs::create_dir_all(&corpus)?;
    std::fs::create_dir_all(&artifacts)?;
    let mut run = Command::new(program);
    run.arg(corpus).arg(folder.join("seeds").join(target));
    run.arg(format!("-max_total_time={}", (60.0 * options.minutes).ceil() as u64));
    run.args(options.runs.map(|runs| format!("-runs={runs}")));
    // By the clock, so that other work on the machine counts too.
    run.args(["-timeout=10", "-report_slow_units=1", "-print_final_stats=1"]);
    run.arg(format!("-rss_limit_mb={}", if options.address { 2048 } else { 256 }));
    run.arg(format!("-artifact_prefix={}/{target}-", artifacts.display()));
    // Asking the system for the number of processors takes a tenth of a run.
    run.env("RAYON_NUM_THREADS", "1");
    // Temporary files in memory, where there is such a folder.
    if Path::new("/dev/shm").is_dir() {
        run.env("TMPDIR", "/dev/shm");
    }
    run.stderr(File::create(log(folder, target))?);
    run.spawn().with_context(|| format!("{} does not start", program.display()))
}

fn log(folder: &Path, target: &str) -> PathBuf {
    folder.join("artifacts").join(format!("{target}.log"))
}

/// Says what a target did. Returns whether it failed.
fn report(folder: &Path, target: &str, succeeded: bool) -> anyhow::Result<bool> {
    let path = log(folder, target);
    let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
    let fact = |(key, name): (&str, &str)| {
        let line = text.lines().rev().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(key));
        line.map(|value| format!("{name} {}", value.trim_start_matches(':').trim()))
    };
    let facts: Vec<String> = FACTS.into_iter().filter_map(fact).collect();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{target}: {}", facts.join(", "))?;
    if !succeeded {
        let lines: Vec<&str> = text.lines().collect();
        let end = lines[lines.len().saturating_sub(40)..].join("\n");
        writeln!(out, "{end}\n{target} failed; {} has the log", path.display())?;
    }
    Ok(!succeeded)
}

/// The machine that the compiler builds for.
fn host() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("rustc does not start")?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what it builds for")?.to_owned())
}
