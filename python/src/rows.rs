//! The mapped rows of the index, for NumPy to look at without a copy.

use citree::Task;
use citree::evidence::TrainingEdges;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Rows of consecutive training edges. NumPy keeps it alive, and it keeps the map.
#[pyclass(frozen, module = "citree._native")]
pub(crate) struct Rows {
    edges: Arc<TrainingEdges>,
    task: Task,
    run: usize,
}

impl Rows {
    pub(crate) fn new(edges: Arc<TrainingEdges>, task: Task, run: usize) -> Self {
        Self { edges, task, run }
    }
}

#[pymethods]
impl Rows {
    /// Where the rows are and how they lie, in the protocol of NumPy.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let space = self.edges.space(self.task);
        let run = space.runs().get(self.run).copied().unwrap_or_default();
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (run.len() / space.dims(), space.dims()))?;
        interface.set_item("typestr", if cfg!(target_endian = "little") { "<f4" } else { ">f4" })?;
        let read_only = true;
        interface.set_item("data", (run.as_ptr() as usize, read_only))?;
        Ok(interface)
    }
}

/// One of the two models by the name of what it finds.
pub(crate) fn space(name: &str) -> PyResult<Task> {
    match name {
        "heads" => Ok(Task::Heads),
        "labels" => Ok(Task::Labels),
        _ => Err(PyValueError::new_err(format!("no space {name:?}; there are heads and labels"))),
    }
}
