//! Training edges for other programs: rows, edges and sentences as tables, and the graph as the crate `hnsw_rs` loads it.
//!
//! All exports of a state of the evidence count edges alike: row 7 of the rows, edge 7 of the edges and point 7 of the
//! graph are the same edge. A removed edge has no number in the index, so it is in none of them.

mod edges;
mod graph;
pub(crate) mod npy;
mod rows;
mod sentences;
#[cfg(feature = "parquet")]
pub(crate) mod table;

use crate::error::{Error, Result};
use crate::evidence::{EdgeId, TrainingEdges};
use crate::files::write_output;
use crate::task::Task;
use citree_index::{Metric, Space};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Edges that are written together: a row group of a table.
#[cfg(feature = "parquet")]
const TOGETHER: usize = 16_384;

/// The edges to export: all accepted ones, or all rejected ones.
pub(crate) struct Export<'a> {
    edges: &'a TrainingEdges,
    rejected: bool,
    /// The model whose rows are exported. Rejected edges have rows of the head model only.
    space: &'a Space,
    metric: Metric,
    /// Receives how many edges are done, and how many there are.
    tell: &'a (dyn Fn(u64, u64) + Sync),
}

impl<'a> Export<'a> {
    /// The accepted edges, with the rows of one of the models.
    pub(crate) fn accepted(edges: &'a TrainingEdges, space: Task, tell: &'a (dyn Fn(u64, u64) + Sync)) -> Self {
        let (metric, space) = (edges.facts(space).metric, edges.space(space));
        Self { edges, rejected: false, space, metric, tell }
    }

    /// The rejected edges, with the rows of the head model.
    pub(crate) fn rejected(edges: &'a TrainingEdges, tell: &'a (dyn Fn(u64, u64) + Sync)) -> Result<Self> {
        let missing = || refused("the bundle has no rejected edges; `citree index` adds them");
        let space = edges.rejected_space().filter(|space| space.count() > 0).ok_or_else(missing)?;
        let metric = edges.facts(Task::Heads).metric;
        Ok(Self { edges, rejected: true, space, metric, tell })
    }

    /// How many edges there are.
    fn count(&self) -> u32 {
        self.space.count() as u32
    }

    fn edge(&self, number: u32) -> EdgeId {
        if self.rejected { EdgeId::Rejected(number) } else { EdgeId::Accepted(number) }
    }

    /// The id of an edge, which stays while the evidence changes.
    fn id(&self, number: u32) -> Result<u64> {
        self.edges.id_of(self.edge(number))
    }

    fn row(&self, number: u32) -> Result<&'a [f32]> {
        let row = self.space.row(number);
        self.edges.intact()?;
        row.ok_or_else(|| self.edges.damaged(format!("no row of edge {number}")))
    }

    /// All numbers, telling the progress.
    fn numbers(&self) -> impl Iterator<Item = u32> {
        let total = self.count();
        (0..total).inspect(move |number| {
            if number % 1024 == 0 {
                (self.tell)(u64::from(*number), u64::from(total));
            }
        })
    }
}

/// Where an export is written. Errors name it.
pub(crate) struct Output<'a> {
    name: &'a Path,
    out: &'a mut (dyn Write + Send),
}

impl<'a> Output<'a> {
    /// A stream, such as standard output.
    pub(crate) fn stream(name: &'a str, out: &'a mut (dyn Write + Send)) -> Self {
        Self { name: Path::new(name), out }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(Error::io(self.name))
    }
}

/// Writes a file that appears when it is whole. Nothing is left of one that cannot be completed.
pub(crate) fn to_file(path: &Path, write: impl FnOnce(Output<'_>) -> Result<()>) -> Result<()> {
    write_output(path, |out| write(Output { name: path, out }))
}

/// Writes a file and syncs it to disk.
fn write_to(path: &Path, file: File, write: impl FnOnce(Output<'_>) -> Result<()>) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    write(Output { name: path, out: &mut out })?;
    let file = out.into_inner().map_err(|error| Error::io(path)(error.into_error()))?;
    file.sync_all().map_err(Error::io(path))
}

fn refused(message: &str) -> Error {
    Error::Export { message: message.to_string() }
}
