//! `citree index`: writes every gold edge of a treebank to a bundle's index.

use super::machine::Machine;
use super::progress::{advance, step_bar};
use crate::bundle::Bundle;
use crate::evidence::{REJECTED, Step};
use crate::flow::Flow;
use crate::task::Task;
use crate::treebank::read_trees;
use citree_index::Phase;
use indicatif::ProgressBar;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Index the gold edges of a treebank, to be cited.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree index en.citree --treebank en_ewt-ud-train.conllu

`citree train` does this at its end. Do it again for a bundle without an index, or to cite from another \
treebank than the one trained on. The new index replaces the old one only when it is whole: programs \
that use the old one go on with it, and Ctrl-C leaves it as it was.")]
pub(super) struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    /// The treebank whose edges are to be cited, in CoNLL-U
    #[arg(long, value_name = "FILE")]
    treebank: PathBuf,
    /// How many wrong heads of every word to keep as rejected edges, the hardest ones; 0 for none
    #[arg(long, value_name = "N", default_value_t = REJECTED, value_parser = rejected)]
    rejected: usize,
    #[command(flatten)]
    machine: Machine,
}

/// More would make the index many times as large, and easy wrong heads are never near.
const MOST_REJECTED: usize = 16;

fn rejected(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number <= MOST_REJECTED);
    number.ok_or_else(|| format!("give a number from 0 to {MOST_REJECTED}"))
}

/// Builds a new generation of the index.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let device = args.machine.start()?;
    let bundle = Bundle::open_on(&args.bundle, &device)?;
    let sentences = read_trees(&args.treebank)?;
    let bar = step_bar()?;
    let built = bundle.build_index_with(&sentences, args.rejected, &|step| show(&bar, step));
    bar.finish_and_clear();
    let built = built?;
    let mut stderr = std::io::stderr().lock();
    if built.left_out > 0 {
        writeln!(stderr, "left out {} edges with labels that the model was not trained with", built.left_out)?;
    }
    writeln!(
        stderr,
        "indexed {} edges of {} sentences, and {} rejected edges",
        built.edges,
        sentences.len(),
        built.rejected
    )?;
    if !bundle.rules().measured.is_empty() {
        writeln!(
            stderr,
            "probabilities are still those of the index before; `citree calibrate` fits them to this one"
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows the progress of a build. Ctrl-C ends the process, which leaves the index as it was.
pub(super) fn show(bar: &ProgressBar, step: Step) -> Flow {
    let (name, done, total) = match step {
        Step::Encoding { done, total } => ("encoding".to_string(), done as u64, total as u64),
        Step::Measuring { done, total } => ("measuring rules".to_string(), done as u64, total as u64),
        Step::Indexing(progress) => (
            format!(
                "{}: {}",
                Task::ALL.get(progress.space).map_or("rejected", |task| task.name()),
                phase_name(progress.phase)
            ),
            progress.done,
            progress.total,
        ),
    };
    advance(bar, &name, done, total);
    Flow::Continue
}

/// What a phase of a build is called.
pub(super) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Sums => "sums",
        Phase::Groups => "sums of groups",
        Phase::Compact => "compact rows",
        Phase::Twins => "equal rows",
        Phase::Graph => "graph",
        Phase::Recall => "measuring recall",
        Phase::Save => "saving",
    }
}
