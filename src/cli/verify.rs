//! `citree verify`: checks that a bundle's index and pretrained input are as they were written.

use super::machine::Machine;
use crate::bundle::{Bundle, Verified};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Check every byte of a bundle's index and pretrained input, and that the model fits them.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  citree verify en.citree

Reads the whole index: checksums, edge records, rows, sums, compact rows and links against each other, \
and whether every edge can be found. Then the word vectors and the transformer's folder, where the bundle has them.

Exit status: 0 all is well, 1 something is not as it was written, 2 the check could not run.")]
pub(super) struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    #[command(flatten)]
    machine: Machine,
}

/// Verifies a bundle. Prints the result on standard output.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let device = args.machine.start()?;
    let mut out = std::io::stdout().lock();
    match Bundle::open_on(&args.bundle, &device)?.verify()? {
        Err(problem) => {
            writeln!(out, "{problem}")?;
            Ok(ExitCode::from(1))
        }
        Ok(Verified { generation, edges, rejected, sentences }) => {
            writeln!(
                out,
                "all is well: generation {generation}, {edges} edges, {rejected} rejected edges of {sentences} sentences"
            )?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
