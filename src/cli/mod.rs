//! The command line: one file per verb; the only place with clap, printing and progress bars.

mod arcs;
mod audit;
mod calibrate;
mod check;
mod columns;
mod compare;
mod completions;
mod demo;
mod destination;
mod eval;
mod evidence;
mod explain;
mod export;
mod fetch;
mod find;
mod finding;
mod index;
mod info;
mod input;
mod lab;
mod language;
mod machine;
mod man;
mod neighbors;
mod pack;
mod parse;
mod printable;
mod progress;
mod recipe;
mod rule;
mod serve;
mod shell;
mod style;
mod train;
mod treebanks;
mod verify;

use citree_index::container::{OnTruncation, on_truncation};
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// A dependency parser that cites its sources.
///
/// citree learns from a treebank and scores every edge by its similarity to the treebank's gold edges.
#[derive(Parser)]
#[command(
    name = "citree",
    version = env!("CITREE_VERSION"),
    after_help = "\
Start here:
  citree demo                                  train, parse and explain at once
  citree fetch UD_English-EWT --release 2.7    get a real treebank
  citree train --train T.conllu --dev D.conllu en.citree
  echo 'She reads old letters.' | citree explain en.citree --text
  citree serve en.citree                       a page for sentences, and an API

Results go to the standard output, everything else to the standard error; - is the standard input. \
Exit codes: 0 done, 1 done but problems were found, 2 could not be done, 130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Demo(demo::Args),
    Train(train::Args),
    Index(index::Args),
    Evidence(evidence::Args),
    Calibrate(calibrate::Args),
    Parse(parse::Args),
    Explain(explain::Args),
    Neighbors(neighbors::Args),
    Export(export::Args),
    Serve(serve::Args),
    Eval(eval::Args),
    Compare(compare::Args),
    Find(find::Args),
    Info(info::Args),
    Verify(verify::Args),
    Check(check::Args),
    Audit(audit::Args),
    Fetch(fetch::Args),
    Pack(pack::Args),
    Lab(lab::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// The `citree` command: parses the command line, runs the verb and reports errors.
pub fn main() -> ExitCode {
    main_with(std::env::args_os())
}

/// The same with given arguments, of which the first is the name of the command. For programs in other languages, whose
/// own arguments are not those of the command. Call it once per process. Ends the process if the arguments ask for help or are wrong.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match run(arguments) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed too, the message is lost.
            let _ = writeln!(std::io::stderr(), "citree: {}", printable::printable(&error.to_string()));
            ExitCode::from(2)
        }
    }
}

/// Whether the reader of the output closed the pipe, as `head` does. That is not an error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

fn run(arguments: impl IntoIterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let verb = Cli::parse_from(shell::given(arguments)).verb;
    on_truncation(OnTruncation::Exit)?;
    match verb {
        Verb::Demo(args) => demo::run(args),
        Verb::Train(args) => train::run(args),
        Verb::Parse(args) => parse::run(args),
        Verb::Eval(args) => eval::run(args),
        Verb::Compare(args) => compare::run(args),
        Verb::Find(args) => find::run(args),
        Verb::Check(args) => check::run(args),
        Verb::Audit(args) => audit::run(args),
        Verb::Index(args) => index::run(args),
        Verb::Evidence(args) => evidence::run(args),
        Verb::Calibrate(args) => calibrate::run(args),
        Verb::Neighbors(args) => neighbors::run(args),
        Verb::Export(args) => export::run(args),
        Verb::Info(args) => info::run(args),
        Verb::Verify(args) => verify::run(args),
        Verb::Explain(args) => explain::run(args),
        Verb::Serve(args) => serve::run(args),
        Verb::Fetch(args) => fetch::run(args),
        Verb::Pack(args) => pack::run(args),
        Verb::Lab(args) => lab::run(args),
        Verb::Completions(args) => completions::run(args),
        Verb::Man(args) => man::run(args),
    }
}
