//! Neighbours as a Parquet table, one row per neighbour.

use super::{Found, Sink};
use crate::export::table::{Column, Table};
use ::parquet::data_type::ByteArray;
use std::io::Write;

const SCHEMA: &str = "message neighbors {
    required binary sent_id (STRING);
    required int32 dependent;
    required int32 head;
    required binary label (STRING);
    required int32 rank;
    required int32 edge (INTEGER(32, false));
    required binary edge_sent_id (STRING);
    required int32 edge_dependent;
    required int32 edge_head;
    required binary edge_label (STRING);
    required float similarity;
}";

/// Writes one row group per chunk of sentences.
pub(super) struct Parquet<W: Write + Send> {
    table: Table<W>,
}

impl<W: Write + Send> Parquet<W> {
    /// Writes to `out`.
    pub(super) fn new(out: W) -> anyhow::Result<Self> {
        Ok(Self { table: Table::new(out, SCHEMA)? })
    }
}

/// The columns of a row group, by their type.
#[derive(Default)]
struct Columns {
    texts: [Vec<ByteArray>; 4],
    numbers: [Vec<u32>; 6],
    similarity: Vec<f32>,
}

impl Columns {
    fn of(found: &[Found<'_>]) -> anyhow::Result<Self> {
        let mut columns = Self::default();
        for sentence in found {
            let name = ByteArray::from(sentence.name().as_str());
            for edge in sentence.found {
                let label = ByteArray::from(edge.label.as_str());
                for (hit, rank) in edge.hits.iter().zip(1..) {
                    let (record, cited) = sentence.edges.edge(hit.record)?;
                    let cited_label = sentence.edges.label(record.label);
                    let texts = [name.clone(), label.clone(), cited.sent_id.into(), cited_label.into()];
                    columns.texts.iter_mut().zip(texts).for_each(|(column, text)| column.push(text));
                    let numbers =
                        [edge.dependent as u32, edge.head as u32, rank, hit.record, record.dependent, record.head];
                    columns.numbers.iter_mut().zip(numbers).for_each(|(column, number)| column.push(number));
                    columns.similarity.push(hit.similarity);
                }
            }
        }
        Ok(columns)
    }

    /// In the order of the schema.
    fn in_order(self) -> Vec<Column> {
        let [name, label, cited, cited_label] = self.texts.map(Column::Text);
        let [dependent, head, rank, edge, cited_dependent, cited_head] = self.numbers.map(Column::Number);
        let similarity = Column::Real(self.similarity);
        vec![name, dependent, head, label, rank, edge, cited, cited_dependent, cited_head, cited_label, similarity]
    }
}

impl<W: Write + Send> Sink for Parquet<W> {
    fn write(&mut self, found: &[Found<'_>]) -> anyhow::Result<()> {
        Ok(self.table.write(Columns::of(found)?.in_order())?)
    }

    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        Ok(self.table.finish()?)
    }
}
