//! Measures `citree serve` under load: latency, throughput and endurance.

mod client;
pub mod hostile;
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

/// Measures the requested parts and prints a table for each. Fails if a server failed.
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
        // Shows the results so far before a long part starts.
        out.flush()?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The served bundle and the machine.
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
