//! `citree man`: writes the manual pages, one for the command and one for each verb.

use clap::CommandFactory;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the manual pages into a folder.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  citree man ~/.local/share/man/man1 && man citree-explain")]
pub(crate) struct Args {
    /// The folder, which is made if it is not there
    folder: PathBuf,
}

/// Writes `citree.1` and `citree-VERB.1`.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(&args.folder).map_err(|error| anyhow::anyhow!("{}: {error}", args.folder.display()))?;
    clap_mangen::generate_to(super::Cli::command(), &args.folder)?;
    writeln!(std::io::stderr(), "wrote the manual pages into {}", args.folder.display())?;
    Ok(ExitCode::SUCCESS)
}
