//! Errors of the library as Python exceptions. Each keeps its message, which says what to do.

use citree::Error;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;
use std::io::ErrorKind;

create_exception!(citree, CitreeError, PyException, "What goes wrong in citree. Its message says what to do.");
create_exception!(citree, BundleError, CitreeError, "A bundle or its index is missing, damaged or of another version.");
create_exception!(
    citree,
    CoNLLUError,
    CitreeError,
    "A file is not CoNLL-U, or a sentence is no tree: `file`, `line` and `column` say where."
);
create_exception!(citree, EvidenceError, CitreeError, "A change of the evidence is refused. Nothing was changed.");

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("CitreeError", py.get_type::<CitreeError>())?;
    module.add("BundleError", py.get_type::<BundleError>())?;
    module.add("CoNLLUError", py.get_type::<CoNLLUError>())?;
    module.add("EvidenceError", py.get_type::<EvidenceError>())
}

/// The exception for an error.
pub(crate) fn exception(py: Python<'_>, error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Io { path, source } => {
            let arguments = (source.raw_os_error(), source.to_string(), path);
            match source.kind() {
                ErrorKind::NotFound => PyFileNotFoundError::new_err(arguments),
                _ => PyOSError::new_err(arguments),
            }
        }
        Error::Treebank { file, line, column, .. } => {
            let exception = CoNLLUError::new_err(message);
            let value = exception.value(py);
            // An exception has a dictionary, so this does not fail.
            let _ = value.setattr("file", file);
            let _ = value.setattr("line", line);
            let _ = value.setattr("column", column);
            exception
        }
        Error::Bundle { .. } | Error::Index(_) => BundleError::new_err(message),
        Error::Evidence { .. } | Error::Stale { .. } => EvidenceError::new_err(message),
        Error::Stopped => PyKeyboardInterrupt::new_err(message),
        Error::Explanation { .. }
        | Error::Audit { .. }
        | Error::Config { .. }
        | Error::Device { .. }
        | Error::SentenceTooLong { .. }
        | Error::Training { .. } => PyValueError::new_err(message),
        _ => CitreeError::new_err(message),
    }
}
