//! The extension module of the Python package: a thin layer over the façade of citree.
//!
//! It has no classes that users see. `python/citree/` has these, and turns what comes from here into them: sentences,
//! and answers as the JSON that `citree explain --format json` prints, so that Python and the command line give the same
//! numbers.

mod arrow;
mod audit;
mod cli;
mod engine;
mod errors;
mod evidence;
mod neighbors;
mod pool;
mod rows;
mod sentence;
mod train;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    use super::*;

    #[pymodule_export]
    use super::arrow::arrow_stream;
    #[pymodule_export]
    use super::audit::audit;
    #[pymodule_export]
    use super::cli::main;
    #[pymodule_export]
    use super::engine::Engine;
    #[pymodule_export]
    use super::pool::start;
    #[pymodule_export]
    use super::rows::Rows;
    #[pymodule_export]
    use super::sentence::{Sentence, read_conllu};
    #[pymodule_export]
    use super::train::{starter, train};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        errors::add(module)
    }
}
