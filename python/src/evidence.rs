//! Changes of the evidence. After each, the engine decides by the new generation.

use crate::engine::{Engine, plain};
use crate::pool::run;
use crate::sentence::Sentence;
use citree::evidence::EvidenceEditor;
use pyo3::prelude::*;

/// Name, edges, rejected edges, sentences, removed sentences, weight.
type Segment = (String, u64, u64, u64, u64, f64);

/// Generation, seconds since 1970, who, what, why.
type Entry = (u64, u64, String, String, String);

#[pymethods]
impl Engine {
    /// Publishes additions, replacements and removals together. Returns the generation, and how many sentences were
    /// added and removed.
    #[pyo3(signature = (added, replaced, removed, *, treebank = None, weight = None, new_labels = false, message = ""))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn commit(
        &self,
        py: Python<'_>,
        added: Vec<Py<Sentence>>,
        replaced: Vec<Py<Sentence>>,
        removed: Vec<String>,
        treebank: Option<&str>,
        weight: Option<f64>,
        new_labels: bool,
        message: &str,
    ) -> PyResult<(u64, usize, usize)> {
        let (snapshot, added, replaced) = (self.snapshot(), plain(&added), plain(&replaced));
        let changed = run(py, snapshot.threads, |stop| {
            let mut editor: EvidenceEditor<'_> = snapshot.bundle.evidence();
            if let Some(name) = treebank {
                editor = editor.to_treebank(name);
            }
            if let Some(weight) = weight {
                editor = editor.with_weight(weight);
            }
            if new_labels {
                editor = editor.with_new_labels();
            }
            editor.add(&added)?.replace(&replaced)?.remove(&removed).commit_with(message, &|_| stop.flow())
        })?;
        self.refresh(py)?;
        Ok((changed.generation, changed.added, changed.removed))
    }

    /// Takes back the last change.
    #[pyo3(signature = (message = ""))]
    fn undo(&self, py: Python<'_>, message: &str) -> PyResult<u64> {
        let snapshot = self.snapshot();
        let generation = run(py, snapshot.threads, |_| snapshot.bundle.evidence().undo(message))?;
        self.refresh(py)?;
        Ok(generation)
    }

    /// Writes the parts of each treebank as one.
    #[pyo3(signature = (message = ""))]
    fn merge(&self, py: Python<'_>, message: &str) -> PyResult<Option<u64>> {
        let snapshot = self.snapshot();
        let generation = run(py, snapshot.threads, |stop| snapshot.bundle.evidence().merge(message, &|_| stop.flow()))?;
        self.refresh(py)?;
        Ok(generation)
    }

    /// The changes since the index was built.
    fn log(&self, py: Python<'_>) -> PyResult<Vec<Entry>> {
        let snapshot = self.snapshot();
        let log = run(py, snapshot.threads, |_| snapshot.bundle.evidence().log())?;
        Ok(log.into_iter().map(|entry| (entry.generation, entry.time, entry.who, entry.what, entry.message)).collect())
    }

    /// The segments that the evidence consists of.
    fn segments(&self, py: Python<'_>) -> PyResult<Vec<Segment>> {
        let snapshot = self.snapshot();
        let segments = run(py, snapshot.threads, |_| snapshot.bundle.evidence().list())?;
        let one =
            |of: citree::evidence::SegmentFacts| (of.name, of.records, of.contrasts, of.sources, of.removed, of.weight);
        Ok(segments.into_iter().map(one).collect())
    }
}
