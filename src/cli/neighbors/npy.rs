//! Neighbours as one structured NumPy array, one row per edge. `numpy.load` gives its fields by name.
//!
//! The number of rows comes first in the file, so rows are held in memory until the end: a few hundred bytes per edge.

use super::{Found, Sink};
use crate::export::npy::{Field, header};
use std::io::Write;

/// Collects rows and writes them at the end.
pub(super) struct Npy<W> {
    out: W,
    count: usize,
    rows: u64,
    bytes: Vec<u8>,
}

/// The fields of the edge itself, and those that a row has once per neighbour.
const OWN: [&str; 3] = ["sentence", "dependent", "head"];
const EACH: [&str; 5] = ["edge", "edge_sentence", "edge_dependent", "edge_head", "edge_label"];
const NONE: u32 = u32::MAX;

impl<W: Write> Npy<W> {
    /// Writes `count` neighbours per edge to `out`.
    pub(super) fn new(out: W, count: usize) -> Self {
        Self { out, count, rows: 0, bytes: Vec::new() }
    }

    fn fields(&self) -> Vec<Field<'static>> {
        let own = OWN.iter().map(|name| (*name, "<u4", None));
        let each = EACH.iter().map(|name| (*name, "<u4", Some(self.count)));
        own.chain(each).chain([("similarity", "<f4", Some(self.count))]).collect()
    }
}

impl<W: Write> Sink for Npy<W> {
    fn write(&mut self, found: &[Found<'_>]) -> anyhow::Result<()> {
        for sentence in found {
            for edge in sentence.found {
                let own = [sentence.number as u32, edge.dependent as u32, edge.head as u32];
                self.bytes.extend(own.iter().flat_map(|value| value.to_le_bytes()));
                let records: Vec<[u32; 5]> = edge
                    .hits
                    .iter()
                    .filter_map(|hit| {
                        let record = sentence.edges.record(hit.record)?;
                        Some([hit.record, record.sentence, record.dependent, record.head, record.label])
                    })
                    .collect();
                for field in 0..EACH.len() {
                    let values = (0..self.count).map(|at| records.get(at).map_or(NONE, |record| record[field]));
                    self.bytes.extend(values.flat_map(u32::to_le_bytes));
                }
                let similarity = (0..self.count).map(|at| edge.hits.get(at).map_or(f32::NAN, |hit| hit.similarity));
                self.bytes.extend(similarity.flat_map(f32::to_le_bytes));
                self.rows += 1;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        let header = header(&self.fields(), self.rows);
        self.out.write_all(&header)?;
        self.out.write_all(&self.bytes)?;
        self.out.flush()?;
        Ok(())
    }
}
