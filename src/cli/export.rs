//! `citree export`: training edges, their rows and their graph for other programs.

use super::index::phase_name;
use super::machine::Machine;
use super::neighbors::space;
use super::progress::{advance, step_bar};
use crate::bundle::Bundle;
use crate::error::{Error, Result};
use crate::export::{Export, Output, to_file};
use crate::files::remove_unpublished;
use crate::task::Task;
use clap::ValueEnum;
use indicatif::ProgressBar;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Export training edges, their vectors and their graph for other programs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree export en.citree --what rows --output rows.npy
  citree export en.citree --what edges --format parquet --output edges.parquet
  citree export en.citree --what edges | jq 'select(.label == \"obl\")'
  citree export en.citree --what sentences > counted.conllu
  citree export en.citree --what graph --space labels --output labels-graph

Row 7 of the rows, edge 7 of the edges and point 7 of the graph are the same edge, until the evidence \
changes; ids stay. Removed edges are in none of them.

What and format: rows as npy or parquet, edges as jsonl or parquet, sentences as conllu, graph as hnsw_rs. \
A graph is a folder with edges.hnsw.graph and edges.hnsw.data, which the Rust crate hnsw_rs loads, and \
points.npy, which gives every edge its id and its point: edges with equal vectors share one. Its distances \
are Euclidean (DistL2): cosine = 1 - distance^2 / 2.

A file or folder appears when it is whole. Ctrl-C leaves nothing.")]
pub(super) struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    /// What to export
    #[arg(long, value_enum)]
    what: What,
    /// How to write it [default: the first that fits: npy, jsonl, conllu or hnsw_rs]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Whose vectors, for rows and graph: heads or labels [default: heads]
    #[arg(long, value_parser = space)]
    space: Option<Task>,
    /// The rejected edges instead of the gold edges
    #[arg(long)]
    rejected: bool,
    /// The file, or for a graph the folder; - is the standard output
    #[arg(long, short, value_name = "PATH", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    machine: Machine,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum What {
    /// The vectors of edges, with the edges' ids
    Rows,
    /// The edges with their words, sentences and labels
    Edges,
    /// The sentences that the edges are from
    Sentences,
    /// The graph over the rows, for searching
    Graph,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Format {
    Npy,
    Parquet,
    Jsonl,
    Conllu,
    HnswRs,
}

impl What {
    /// The formats that it can be written in, the default first.
    fn formats(self) -> &'static [Format] {
        match self {
            Self::Rows => &[Format::Npy, Format::Parquet],
            Self::Edges => &[Format::Jsonl, Format::Parquet],
            Self::Sentences => &[Format::Conllu],
            Self::Graph => &[Format::HnswRs],
        }
    }
}

fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
}

impl Args {
    /// The format, after all options are found to fit each other.
    fn checked(&self) -> anyhow::Result<Format> {
        let (what, formats) = (name(self.what), self.what.formats());
        let format = self.format.unwrap_or(formats[0]);
        if !formats.contains(&format) {
            let fitting: Vec<String> = formats.iter().map(|format| name(*format)).collect();
            let fitting = fitting.join(" or --format ");
            anyhow::bail!("{what} cannot be written as {}; use --format {fitting}", name(format));
        }
        let has_rows = matches!(self.what, What::Rows | What::Graph);
        if self.space.is_some() && !has_rows {
            anyhow::bail!("{what} are the same in both spaces; leave --space out");
        }
        if self.rejected && self.space == Some(Task::Labels) {
            anyhow::bail!("rejected edges have vectors of the head model only; use --space heads");
        }
        if self.rejected && self.what == What::Sentences {
            anyhow::bail!("rejected edges are in the same sentences as gold edges; leave --rejected out");
        }
        if self.what == What::Graph && self.is_stream() {
            anyhow::bail!("a graph is a folder; name it with --output");
        }
        let binary = matches!(format, Format::Npy | Format::Parquet);
        if binary && self.is_stream() && std::io::stdout().is_terminal() {
            anyhow::bail!("{0} is not for a terminal; send it to a file: --output {what}.{0}", name(format));
        }
        Ok(format)
    }

    fn is_stream(&self) -> bool {
        self.output == Path::new("-")
    }
}

/// Exports what the options say.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let format = args.checked()?;
    if format == Format::Parquet && cfg!(not(feature = "parquet")) {
        anyhow::bail!(
            "this citree was built without parquet; build it with `cargo install --path . --features parquet`, or use \
             --format {}",
            name(args.what.formats()[0])
        );
    }
    ctrlc::set_handler(|| {
        remove_unpublished();
        std::process::exit(130);
    })?;
    let device = args.machine.start()?;
    let bundle = Bundle::open_on(&args.bundle, &device)?;
    let shown = !(args.is_stream() && std::io::stdout().is_terminal());
    let bar = if shown { step_bar()? } else { ProgressBar::hidden() };
    let tell = |done, total| advance(&bar, "exporting", done, total);
    let export = match args.rejected {
        true => Export::rejected(bundle.index()?, &tell)?,
        false => Export::accepted(bundle.index()?, args.space.unwrap_or(Task::Heads), &tell),
    };
    let written = match writer(args.what, format) {
        None => {
            let growing = |phase, done, total| advance(&bar, phase_name(phase), done, total);
            export.graph_as_hnsw_rs(&args.output, &growing)
        }
        Some(write) if args.is_stream() => {
            let mut out = std::io::BufWriter::new(std::io::stdout());
            let written = write(&export, Output::stream(STREAM, &mut out));
            written.and_then(|()| out.flush().map_err(Error::io(Path::new(STREAM))))
        }
        Some(write) => to_file(&args.output, |out| write(&export, out)),
    };
    bar.finish_and_clear();
    written?;
    Ok(ExitCode::SUCCESS)
}

/// What errors call the standard output.
const STREAM: &str = "standard output";

type Write<'a> = fn(&Export<'a>, Output<'_>) -> Result<()>;

/// What writes a file. `None` for a graph, which is a folder.
fn writer<'a>(what: What, format: Format) -> Option<Write<'a>> {
    match (what, format) {
        #[cfg(feature = "parquet")]
        (What::Rows, Format::Parquet) => Some(Export::rows_as_parquet),
        #[cfg(feature = "parquet")]
        (What::Edges, Format::Parquet) => Some(Export::edges_as_parquet),
        (What::Rows, _) => Some(Export::rows_as_npy),
        (What::Edges, _) => Some(Export::edges_as_jsonl),
        (What::Sentences, _) => Some(Export::sentences_as_conllu),
        (What::Graph, _) => None,
    }
}
