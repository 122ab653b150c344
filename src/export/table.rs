//! Parquet tables, compressed with Snappy.

use crate::error::{Error, Result};
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Values of a column, one for each row of a row group.
pub(crate) enum Column {
    /// `binary (STRING)`.
    Text(Vec<ByteArray>),
    /// `int32`, signed or unsigned: an unsigned number is stored as the signed number with the same bits.
    Number(Vec<u32>),
    /// `int64 (INTEGER(64, false))`.
    Id(Vec<u64>),
    /// `boolean`.
    Flag(Vec<bool>),
    /// `float`.
    Real(Vec<f32>),
    /// A `LIST` of `float`, each with so many values.
    Vectors(Vec<f32>, usize),
}

/// A table being written.
pub(crate) struct Table<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> Table<W> {
    /// Begins a table with the columns of a schema.
    pub(crate) fn new(out: W, schema: &str) -> Result<Self> {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let schema = parse_message_type(schema).map_err(error)?;
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build())).map_err(error)?;
        Ok(Self { writer })
    }

    /// Writes a row group: all columns, in the order of the schema.
    pub(crate) fn write(&mut self, columns: Vec<Column>) -> Result<()> {
        let mut group = self.writer.next_row_group().map_err(error)?;
        for column in columns {
            let Some(mut writer) = group.next_column().map_err(error)? else { break };
            put(writer.untyped(), column).map_err(error)?;
            writer.close().map_err(error)?;
        }
        group.close().map_err(error)?;
        Ok(())
    }

    /// Completes the table.
    pub(crate) fn finish(self) -> Result<()> {
        self.writer.close().map_err(error)?;
        Ok(())
    }
}

fn put(writer: &mut ColumnWriter<'_>, column: Column) -> Result<usize, ParquetError> {
    match (writer, column) {
        (ColumnWriter::ByteArrayColumnWriter(writer), Column::Text(values)) => writer.write_batch(&values, None, None),
        (ColumnWriter::BoolColumnWriter(writer), Column::Flag(values)) => writer.write_batch(&values, None, None),
        (ColumnWriter::FloatColumnWriter(writer), Column::Real(values)) => writer.write_batch(&values, None, None),
        (ColumnWriter::Int32ColumnWriter(writer), Column::Number(values)) => {
            let values: Vec<i32> = values.into_iter().map(u32::cast_signed).collect();
            writer.write_batch(&values, None, None)
        }
        (ColumnWriter::Int64ColumnWriter(writer), Column::Id(values)) => {
            let values: Vec<i64> = values.into_iter().map(u64::cast_signed).collect();
            writer.write_batch(&values, None, None)
        }
        (ColumnWriter::FloatColumnWriter(writer), Column::Vectors(values, dims)) => {
            // The first value of a list starts a new row, the others repeat its list.
            let repeats: Vec<i16> = (0..values.len()).map(|at| i16::from(at % dims > 0)).collect();
            writer.write_batch(&values, Some(&vec![1; values.len()]), Some(&repeats))
        }
        _ => Err(ParquetError::General("a column of another type than the schema's".to_string())),
    }
}

fn error(error: ParquetError) -> Error {
    let source = match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => *source,
            Err(other) => std::io::Error::other(other),
        },
        other => std::io::Error::other(other),
    };
    Error::io(Path::new("the Parquet table"))(source)
}
