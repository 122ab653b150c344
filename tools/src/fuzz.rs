//! Builds the fuzz targets of `fuzz/` with the coverage that libFuzzer needs, and runs each for some minutes.
//!
//! This is what `cargo fuzz` does, on a stable compiler and without an installed tool.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail, ensure};

const USAGE: &str = "usage: cargo xtask fuzz [--minutes N] [--address] [TARGET…]

  --minutes  how long each target runs, 1 by default
  --address  with AddressSanitizer
";

const TARGETS: &[&str] = &["index"];
const COVERAGE: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
    "--cfg",
    "fuzzing",
];

pub fn run(arguments: &[&str]) -> anyhow::Result<ExitCode> {
    let (mut minutes, mut flags, mut targets) = (1.0, COVERAGE.to_vec(), Vec::new());
    let mut memory = 256;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match *argument {
            "--minutes" => minutes = arguments.next().context(USAGE)?.parse::<f64>().context(USAGE)?,
            "--address" => {
                flags.push("-Zsanitizer=address");
                memory = 1024;
            }
            target if TARGETS.contains(&target) => targets.push(target),
            _ => bail!(USAGE),
        }
    }
    if targets.is_empty() {
        targets = TARGETS.to_vec();
    }
    let folder = crate::repository()?.join("fuzz");
    let host = host()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for target in targets {
        let mut run = Command::new(&cargo);
        // With a target, the flags are not for build scripts, which have no main function of libFuzzer.
        run.args(["run", "--release", "--target", &host, "--bin", target, "--manifest-path"]);
        run.arg(folder.join("Cargo.toml"))
            .arg("--")
            .arg(new_inputs(&folder, target)?)
            .arg(folder.join("seeds").join(target));
        run.arg(format!("-max_total_time={}", (60.0 * minutes) as u64));
        // By the clock, so that other work on the machine counts too.
        run.args(["-timeout=10", &format!("-rss_limit_mb={memory}"), "-print_final_stats=1"]);
        run.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags.join(" "));
        // Temporary files in memory, where there is such a folder.
        if Path::new("/dev/shm").is_dir() {
            run.env("TMPDIR", "/dev/shm");
        }
        ensure!(run.status().context("cargo does not start")?.success(), "{target} failed");
    }
    Ok(ExitCode::SUCCESS)
}

/// Where inputs that reach new code are kept between runs.
fn new_inputs(folder: &Path, target: &str) -> anyhow::Result<std::path::PathBuf> {
    let inputs = folder.join("corpus").join(target);
    std::fs::create_dir_all(&inputs)?;
    Ok(inputs)
}

/// The machine that the compiler builds for.
fn host() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("rustc does not start")?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what it builds for")?.to_owned())
}
