//! Columns as a stream of the Arrow PyCapsule interface, which pandas, polars, DuckDB and others take.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// A capsule with one batch of columns: their names, their types (`str`, `int` or `float`) and their values.
#[pyfunction]
pub(crate) fn arrow_stream<'py>(
    py: Python<'py>,
    columns: Vec<(String, String, Bound<'py, PyAny>)>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let mut arrays: Vec<(String, ArrayRef, bool)> = Vec::with_capacity(columns.len());
    for (name, kind, values) in columns {
        let array: ArrayRef = match kind.as_str() {
            "str" => Arc::new(StringArray::from(values.extract::<Vec<Option<String>>>()?)),
            "int" => Arc::new(Int64Array::from(values.extract::<Vec<Option<i64>>>()?)),
            "float" => Arc::new(Float64Array::from(values.extract::<Vec<Option<f64>>>()?)),
            _ => return Err(PyValueError::new_err(format!("no columns of type {kind}; there are str, int and float"))),
        };
        let nullable = true;
        arrays.push((name, array, nullable));
    }
    let refuse = |error: ArrowError| PyValueError::new_err(error.to_string());
    let batch = RecordBatch::try_from_iter_with_nullable(arrays).map_err(refuse)?;
    let schema = batch.schema();
    let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}
