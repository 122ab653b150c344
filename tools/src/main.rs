//! Chores of the repository, run as `cargo xtask NAME`.

mod tidy;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

const USAGE: &str = "\
usage: cargo xtask NAME

  tidy   check the house rules over every file of the repository; list each violation as file:line
";

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["tidy"] => tidy::run(repository()?),
        ["help" | "--help" | "-h"] => {
            std::io::stdout().write_all(USAGE.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            std::io::stderr().write_all(USAGE.as_bytes())?;
            Ok(ExitCode::from(2))
        }
    }
}

/// The folder above this crate, so that a chore does the same wherever in the repository it is called.
fn repository() -> anyhow::Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the xtask crate must lie inside the repository")
}
