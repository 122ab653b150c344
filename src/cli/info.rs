//! `citree info`: shows what a bundle holds.

use super::machine::Machine;
use crate::bundle::Bundle;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what a bundle holds: training date and scores, model, index, search recall and sizes.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree info en.citree
  citree info en.citree --format json | jq .index.heads.recall")]
pub(super) struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    /// How to write it: text, or json
    #[arg(long, default_value = "text", value_parser = ["text", "json"])]
    format: String,
    #[command(flatten)]
    machine: Machine,
}

/// Prints the facts of a bundle.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let device = args.machine.start()?;
    let info = Bundle::open_on(&args.bundle, &device)?.info()?;
    let mut out = std::io::stdout().lock();
    match args.format.as_str() {
        "json" => writeln!(out, "{}", serde_json::to_string_pretty(&info)?)?,
        _ => write!(out, "{info}")?,
    }
    Ok(ExitCode::SUCCESS)
}
