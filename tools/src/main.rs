//! Repository tasks, run as `cargo xtask NAME`.

mod deny;
mod faults;
mod fuzz;
mod tidy;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

const USAGE: &str = "\
usage: cargo xtask NAME

  tidy           check the house rules in every file of the repository; list each violation as file:line
  deny           check licences, banned crates and sources of all dependencies by deny.toml
  faults         let every write, sync, rename and removal of the verbs that change files fail, and check what is left
  fuzz           run the fuzz targets
  hostile        run good clients against the server, alone and beside hostile ones
  peers train    compare the speed of training and parsing with PyTorch
  peers bert     compare the speed of BERT features with PyTorch and Hugging Face transformers
  peers joint    measure what one encoder for heads and labels saves
  peers search   compare nearest-neighbour search with four libraries
  peers growth   measure our search with growing numbers of rows
  peers explain  measure the cost of explaining
  peers python   compare the Python package with the library
  peers serve    measure the server under load
  peers audit    measure findings of an audit by later corrections of the treebank
";

fn main() -> anyhow::Result<ExitCode> {
    if fuzz::is_compiling() {
        return fuzz::compile(std::env::args_os().skip(1));
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["tidy"] => tidy::run(repository()?),
        ["deny"] => deny::run(),
        ["faults", ref rest @ ..] => faults::run(rest),
        ["fuzz", ref rest @ ..] => fuzz::run(rest),
        ["hostile", ..] => peers(&arguments),
        ["peers", ref rest @ ..] => peers(rest),
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

/// Runs the `peers` binary in a release build, because it measures speed.
fn peers(arguments: &[&str]) -> anyhow::Result<ExitCode> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = repository()?.join("Cargo.toml");
    let mut run = std::process::Command::new(cargo);
    run.args(["run", "--quiet", "--release", "--package", "xtask", "--bin", "peers", "--manifest-path"]).arg(manifest);
    let status = run.arg("--").args(arguments).status().context("cargo does not start")?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

/// The repository root, so that tasks do not depend on the current folder.
fn repository() -> anyhow::Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the xtask crate must lie inside the repository")
}
