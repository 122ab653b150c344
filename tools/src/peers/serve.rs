//! What `citree serve` bears: how soon it answers, how much at a time, and whether it lasts.

mod client;
mod latency;
mod load;
mod numbers;
mod options;
mod process;
mod requests;
mod soak;
mod throughput;

pub use options::{Options, USAGE};

use crate::search::release_build;
use crate::train::processor;
use citree::treebank::read_trees;
use options::Part;
use process::Process;
use std::io::Write;
use std::process::ExitCode;

/// Measures the parts that are asked for and prints a table for each; fails if a server did.
pub fn run(options: &Options) -> anyhow::Result<ExitCode> {
    release_build("serve")?;
    let sentences = requests::sentences(&read_trees(&options.dev)?, &options.dev)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "`cargo xtask peers serve {}`\n\n{}.", options.given, setting(options)?)?;
    let mut failed = false;
    for part in &options.parts {
        let table = match part {
            Part::Latency => latency::latency(options, &sentences)?,
            Part::Throughput => throughput::throughput(options, &sentences)?,
            Part::Soak => {
                let report = soak::soak(options, &sentences)?;
                failed |= report.failed();
                report.to_string()
            }
        };
        writeln!(out, "\n{}", table.trim_end())?;
        // A long part that comes next must not hold back what is known.
        out.flush()?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What is served, and where.
fn setting(options: &Options) -> anyhow::Result<String> {
    let server = Process::start(&options.bundle, &[])?;
    let ready: serde_json::Value = serde_json::from_slice(&server.get("/readyz")?.body)?;
    let threads = std::thread::available_parallelism()?;
    Ok(format!(
        "{}, {} training edges; {}, {threads} threads, clients on the same machine",
        ready["system"].as_str().unwrap_or("unknown system"),
        ready["edges"],
        processor()
    ))
}
