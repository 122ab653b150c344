//! Rows with the ids of their edges, as a NumPy array or a Parquet table.

#[cfg(feature = "parquet")]
use super::table::{Column, Table};
use super::{Export, Output, npy};
use crate::error::Result;

impl Export<'_> {
    /// Writes a structured array with the fields `id` and `row`.
    pub(crate) fn rows_as_npy(&self, mut out: Output<'_>) -> Result<()> {
        let fields = [("id", "<u8", None), ("row", "<f4", Some(self.space.dims()))];
        out.write(&npy::header(&fields, u64::from(self.count())))?;
        let mut bytes = Vec::new();
        for number in self.numbers() {
            bytes.clear();
            bytes.extend(self.id(number)?.to_le_bytes());
            bytes.extend(self.row(number)?.iter().flat_map(|value| value.to_le_bytes()));
            out.write(&bytes)?;
        }
        Ok(())
    }

    /// Writes a table with the columns `id` and `row`, a list.
    #[cfg(feature = "parquet")]
    pub(crate) fn rows_as_parquet(&self, out: Output<'_>) -> Result<()> {
        const SCHEMA: &str = "message rows {
            required int64 id (INTEGER(64, false));
            required group row (LIST) {
                repeated group list {
                    required float element;
                }
            }
        }";
        let mut table = Table::new(out.out, SCHEMA)?;
        let numbers: Vec<u32> = (0..self.count()).collect();
        for together in numbers.chunks(super::TOGETHER) {
            (self.tell)(u64::from(together[0]), u64::from(self.count()));
            let ids = together.iter().map(|number| self.id(*number)).collect::<Result<_>>()?;
            let mut values = Vec::with_capacity(together.len() * self.space.dims());
            for number in together {
                values.extend_from_slice(self.row(*number)?);
            }
            table.write(vec![Column::Id(ids), Column::Vectors(values, self.space.dims())])?;
        }
        table.finish()
    }
}
