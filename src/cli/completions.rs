//! `citree completions`: scripts with which a shell completes commands and options.

use clap::CommandFactory;
use clap_complete::Shell;
use std::process::ExitCode;

/// Write a completion script for a shell.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree completions bash > ~/.local/share/bash-completion/completions/citree
  citree completions zsh > \"${fpath[1]}/_citree\"
  citree completions fish > ~/.config/fish/completions/citree.fish")]
pub(crate) struct Args {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

/// Writes the script to the standard output.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    clap_complete::generate(args.shell, &mut super::Cli::command(), "citree", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}
