//! Neighbours as a Parquet table, one row per neighbour.

use super::{Found, Sink};
use ::parquet::basic::Compression;
use ::parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int32Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;

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
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> Parquet<W> {
    /// Writes to `out`.
    pub(super) fn new(out: W) -> anyhow::Result<Self> {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        Ok(Self { writer: SerializedFileWriter::new(out, schema, Arc::new(properties))? })
    }
}

/// The columns of a row group, in the order of the schema.
#[derive(Default)]
struct Columns {
    texts: [Vec<ByteArray>; 4],
    numbers: [Vec<i32>; 6],
    similarity: Vec<f32>,
}

/// The type of a column of the schema, and its index among the columns of that type.
enum Kind {
    Text(usize),
    Number(usize),
    Similarity,
}

const ORDER: [Kind; 11] = [
    Kind::Text(0),
    Kind::Number(0),
    Kind::Number(1),
    Kind::Text(1),
    Kind::Number(2),
    Kind::Number(3),
    Kind::Text(2),
    Kind::Number(4),
    Kind::Number(5),
    Kind::Text(3),
    Kind::Similarity,
];

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
                    // Parquet stores an unsigned number as the signed number with the same bits.
                    let numbers =
                        [edge.dependent as u32, edge.head as u32, rank, hit.record, record.dependent, record.head];
                    columns.numbers.iter_mut().zip(numbers).for_each(|(column, number)| column.push(number as i32));
                    columns.similarity.push(hit.similarity);
                }
            }
        }
        Ok(columns)
    }
}

impl<W: Write + Send> Sink for Parquet<W> {
    fn write(&mut self, found: &[Found<'_>]) -> anyhow::Result<()> {
        let columns = Columns::of(found)?;
        let mut group = self.writer.next_row_group()?;
        for kind in ORDER {
            let Some(mut column) = group.next_column()? else { break };
            match kind {
                Kind::Text(at) => column.typed::<ByteArrayType>().write_batch(&columns.texts[at], None, None)?,
                Kind::Number(at) => column.typed::<Int32Type>().write_batch(&columns.numbers[at], None, None)?,
                Kind::Similarity => column.typed::<FloatType>().write_batch(&columns.similarity, None, None)?,
            };
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        self.writer.close()?;
        Ok(())
    }
}
