//! The `citree` command, for `python -m citree`.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command with these arguments, of which the first is its name, and returns its exit code.
#[cfg(feature = "cli")]
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let code = py.detach(|| citree::cli::main_with(arguments));
    // An exit code can be compared but not read.
    (0..=u8::MAX).find(|number| std::process::ExitCode::from(*number) == code).unwrap_or(u8::MAX)
}

/// Says that the command is missing.
#[cfg(not(feature = "cli"))]
#[pyfunction]
pub(crate) fn main(arguments: Vec<OsString>) -> PyResult<u8> {
    drop(arguments);
    let message = "this package was built without the command; build it with `--features cli`";
    Err(pyo3::exceptions::PyRuntimeError::new_err(message))
}
