//! A treebank judged by the evidence.

use crate::engine::Engine;
use crate::pool::run;
use crate::sentence::json;
use crate::train::Listener;
use citree::Flow;
use citree::audit::{Decisions, Kind, Options, Treebank, html};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// Judges the edges of a treebank, or those of the evidence. Returns the findings as JSON lines, how many edges were
/// judged, how many findings there are in all, and a page of them.
#[pyfunction]
#[pyo3(signature = (engine, conllu, name, *, top, kind = None, inconsistent = false, folds = 5, punctuation = false,
    decisions = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn audit(
    py: Python<'_>,
    engine: &Engine,
    conllu: Option<&[u8]>,
    name: &str,
    top: usize,
    kind: Option<&str>,
    inconsistent: bool,
    folds: usize,
    punctuation: bool,
    decisions: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<String>, usize, usize, String)> {
    let kind = kind.map(|name| name.parse::<Kind>().map_err(PyValueError::new_err)).transpose()?;
    if folds == 1 || folds > 100 {
        return Err(PyValueError::new_err("folds is 0, or a number from 2 to 100"));
    }
    let (snapshot, listener) = (engine.snapshot(), Listener::new(progress));
    let audit = run(py, snapshot.threads, |stop| {
        let treebank = conllu.map(|conllu| Treebank::read(conllu, Path::new(name))).transpose()?;
        let decisions = decisions.as_deref().map(Decisions::read).transpose()?.unwrap_or_default();
        let options = Options { top, kind, inconsistent, folds, punctuation, decisions };
        snapshot.explainer(stop)?.audit(treebank.as_ref(), &options, &|done, all| {
            let goes_on = listener.tell("judging", done as u64, all as u64);
            if goes_on { stop.flow() } else { Flow::Stop }
        })
    });
    listener.failure()?;
    let audit = audit?;
    let page = html::report(&audit, &format!("Audit of {name}"), |finding| match finding.line {
        Some(line) => format!("{name}:{line}:{}", finding.column),
        None => finding.sent_id.clone(),
    });
    let findings = audit.findings.iter().map(|finding| json(py, finding)).collect::<PyResult<_>>()?;
    Ok((findings, audit.judged, audit.found, page))
}
