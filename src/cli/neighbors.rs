//! `citree neighbors`: streams the training edges nearest to every edge of the input.

mod jsonl;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;

use super::input::Input;
use super::machine::Machine;
use super::progress::sentence_counter;
use crate::bundle::Bundle;
use crate::evidence::TrainingEdges;
use crate::explain::{EdgeNeighbors, NeighborQuery};
use crate::task::Task;
use crate::treebank::Sentence;
use std::io::{BufWriter, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

/// Sentences whose edges are looked up together.
const CHUNK: usize = 1024;

/// Find the training edges nearest to every edge of a file.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree neighbors en.citree dev.conllu > neighbors.jsonl
  citree neighbors en.citree dev.conllu --gold --format parquet > near.parquet
  citree neighbors en.citree train.conllu --gold --others --space labels \\
    | jq 'select(.neighbors[0].label != .label)'

The last one lists the edges of the training treebank whose nearest other edge has another label: a \
place to look for inconsistent annotation.

Formats: jsonl, a line an edge; parquet, a row a neighbour; npy, a structured array with a row an edge, \
where edge 4294967295 stands for no neighbour.

Similarities are exact. That no nearer edge was missed is certain with --exact, and otherwise as likely \
as the recall that `citree info` shows. The output is the same for any number of threads.")]
pub(super) struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    #[command(flatten)]
    input: Input,
    /// How many neighbours of each edge
    #[arg(long, short, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    count: u32,
    /// How to write them: jsonl, npy or parquet
    #[arg(long, default_value = "jsonl", value_parser = ["jsonl", "npy", "parquet"])]
    format: String,
    /// Whose vectors to compare: heads or labels, the model that finds heads or the one that names edges
    #[arg(long, default_value = "heads", value_parser = space)]
    space: Task,
    /// The edges of the file itself, not those that the parser predicts
    #[arg(long)]
    gold: bool,
    /// Compare with every training edge, so that no nearer one is missed
    #[arg(long)]
    exact: bool,
    /// Leave out the training sentence with the same sent_id
    #[arg(long)]
    others: bool,
    #[command(flatten)]
    machine: Machine,
}

/// One of the two models by the name of what it finds.
pub(super) fn space(name: &str) -> Result<Task, String> {
    match name {
        "heads" => Ok(Task::Heads),
        "labels" => Ok(Task::Labels),
        _ => Err("there are heads and labels".to_string()),
    }
}

/// A sentence, its index in the input, and the neighbours of its edges.
struct Found<'a> {
    edges: &'a TrainingEdges,
    number: usize,
    sentence: &'a Sentence,
    found: &'a [EdgeNeighbors],
}

impl Found<'_> {
    /// The name of the sentence: its `sent_id`, or its number in the input, counted from 1.
    fn name(&self) -> String {
        self.sentence.sent_id().map_or_else(|| (self.number + 1).to_string(), str::to_string)
    }
}

/// Writes neighbours in one of the formats.
trait Sink {
    fn write(&mut self, found: &[Found<'_>]) -> anyhow::Result<()>;
    fn finish(self: Box<Self>) -> anyhow::Result<()>;
}

/// Writes the neighbours of all edges of the input.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.format != "jsonl" && std::io::stdout().is_terminal() {
        anyhow::bail!("{} is not for a terminal; send it to a file: > neighbors.{0}", args.format);
    }
    if args.gold && args.input.is_text() {
        anyhow::bail!(
            "plain text has no edges of its own; leave --gold out, or give CoNLL-U without --text and --lines"
        );
    }
    let device = args.machine.start()?;
    let explainer = Bundle::open_on(&args.bundle, &device)?.explainer()?;
    let out = BufWriter::new(std::io::stdout());
    let mut sink: Box<dyn Sink> = match args.format.as_str() {
        "npy" => Box::new(npy::Npy::new(out, args.count as usize)),
        #[cfg(feature = "parquet")]
        "parquet" => Box::new(parquet::Parquet::new(out)?),
        #[cfg(not(feature = "parquet"))]
        "parquet" => anyhow::bail!(
            "this citree was built without parquet; build it with `cargo install --path . --features parquet`, or use \
             --format jsonl"
        ),
        _ => Box::new(jsonl::Jsonl::new(out)),
    };
    let query = NeighborQuery {
        space: args.space,
        count: args.count as usize,
        gold: args.gold,
        exact: args.exact,
        others: args.others,
    };
    let bar = sentence_counter()?;
    let mut reader = args.input.sentences(explainer.parser())?;
    let mut number = 0;
    loop {
        let sentences: Vec<Sentence> = reader.by_ref().take(CHUNK).collect::<anyhow::Result<_>>()?;
        if sentences.is_empty() {
            break;
        }
        let neighbors = explainer.neighbors(&sentences, query)?;
        let found: Vec<Found<'_>> = sentences
            .iter()
            .zip(&neighbors)
            .enumerate()
            .map(|(at, (sentence, found))| Found { edges: explainer.edges(), number: number + at, sentence, found })
            .collect();
        sink.write(&found)?;
        number += sentences.len();
        bar.inc(sentences.len() as u64);
    }
    sink.finish()?;
    bar.finish_and_clear();
    Ok(ExitCode::SUCCESS)
}
