//! The training edges: their rows, their words, and those nearest to edges or vectors.

use crate::engine::{ANALYSED_TOGETHER, Engine, plain};
use crate::pool::run;
use crate::rows::{Rows, space};
use crate::sentence::Sentence;
use citree::evidence::{EdgeId, Space};
use citree::explain::NeighborQuery;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Vectors whose neighbours are searched together. Ctrl-C is noticed between.
const SEARCHED_TOGETHER: usize = 512;
/// The most neighbours of an edge, so that a slip of the finger does not ask for all memory.
const MOST_NEIGHBORS: usize = 1_000_000;

/// Edges (the place of the sentence, dependent, head, label), and the ids and similarities of their neighbours, flat.
type Neighbors<'py> = (Vec<(usize, usize, usize, String)>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Columns of training edges: sent_id, dependent, its form, head, its form, label.
type Columns = (Vec<String>, Vec<u32>, Vec<String>, Vec<u32>, Vec<String>, Vec<String>);

#[pymethods]
impl Engine {
    /// The rows of one of the two models, run by run.
    fn rows(&self, py: Python<'_>, name: &str) -> PyResult<Vec<Rows>> {
        let (snapshot, task) = (self.snapshot(), space(name)?);
        run(py, snapshot.threads, |_| {
            let edges = snapshot.bundle.index()?;
            let runs = edges.space(task).runs().len();
            edges.space(task).intact().map_err(citree::Error::from)?;
            Ok((0..runs).map(|run| Rows::new(edges.clone(), task, run)).collect())
        })
    }

    /// The number of training edges, and of numbers in a row of a model.
    fn shape(&self, py: Python<'_>, name: &str) -> PyResult<(u32, usize)> {
        let (snapshot, task) = (self.snapshot(), space(name)?);
        run(py, snapshot.threads, |_| {
            let edges = snapshot.bundle.index()?;
            Ok((edges.accepted(), edges.space(task).dims()))
        })
    }

    /// A training edge by its number: sent_id, document, words, dependent, head, label.
    fn edge(&self, py: Python<'_>, number: u32) -> PyResult<(String, String, Vec<String>, u32, u32, String)> {
        let snapshot = self.snapshot();
        run(py, snapshot.threads, |_| {
            let edges = snapshot.bundle.index()?;
            let (edge, sentence) = edges.edge(number)?;
            let words = sentence.words.iter().map(|word| word.form.to_string()).collect();
            let label = edges.label(edge.label).to_string();
            Ok((sentence.sent_id.to_string(), sentence.document.to_string(), words, edge.dependent, edge.head, label))
        })
    }

    /// Training edges by their numbers, with their words.
    fn named(&self, py: Python<'_>, numbers: Vec<u32>) -> PyResult<Columns> {
        let snapshot = self.snapshot();
        run(py, snapshot.threads, |stop| {
            let (edges, mut columns) = (snapshot.bundle.index()?, Columns::default());
            for number in numbers {
                stop.check()?;
                let (edge, sentence) = edges.edge(number)?;
                columns.0.push(sentence.sent_id.to_string());
                columns.1.push(edge.dependent);
                columns.2.push(sentence.form(edge.dependent as usize).to_string());
                columns.3.push(edge.head);
                columns.4.push(sentence.form(edge.head as usize).to_string());
                columns.5.push(edges.label(edge.label).to_string());
            }
            Ok(columns)
        })
    }

    /// The vectors of the predicted edges of sentences, flat.
    fn vectors<'py>(&self, py: Python<'py>, sentences: Vec<Py<Sentence>>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let (snapshot, task, sentences) = (self.snapshot(), space(name)?, plain(&sentences));
        let rows = run(py, snapshot.threads, |stop| {
            let (parser, mut rows) = (snapshot.parser(stop), Vec::new());
            for some in sentences.chunks(ANALYSED_TOGETHER) {
                for analysis in parser.analyse(some)?.into_iter().flatten() {
                    let edges: Vec<(usize, usize)> = analysis.parse.heads.iter().copied().enumerate().skip(1).collect();
                    rows.extend(parser.vectors(task, &analysis, &edges)?);
                }
            }
            Ok(rows)
        })?;
        Ok(bytes(py, rows.iter().map(|value| value.to_ne_bytes())))
    }

    /// The training edges nearest to every edge of some sentences.
    #[pyo3(signature = (sentences, name, k, gold, exact, others))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn neighbors<'py>(
        &self,
        py: Python<'py>,
        sentences: Vec<Py<Sentence>>,
        name: &str,
        k: usize,
        gold: bool,
        exact: bool,
        others: bool,
    ) -> PyResult<Neighbors<'py>> {
        let (snapshot, sentences) = (self.snapshot(), plain(&sentences));
        let query = NeighborQuery { space: space(name)?, count: bounded(k)?, gold, exact, others };
        let found = run(py, snapshot.threads, |stop| {
            let (explainer, mut found) = (snapshot.explainer(stop)?, Vec::with_capacity(sentences.len()));
            for some in sentences.chunks(ANALYSED_TOGETHER) {
                found.extend(explainer.neighbors(some, query)?);
            }
            Ok(found)
        })?;
        let (mut edges, mut hits) = (Vec::new(), Vec::new());
        for (place, edge) in
            (0..).zip(found).flat_map(|(place, found)| found.into_iter().map(move |edge| (place, edge)))
        {
            edges.push((place, edge.dependent, edge.head, edge.label));
            hits.push(edge.hits.iter().map(|hit| (hit.record, hit.similarity)).collect());
        }
        let (ids, similarities) = tables(py, &hits, k);
        Ok((edges, ids, similarities))
    }

    /// The training edges nearest to vectors, which are bytes of 32-bit numbers.
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        vectors: &[u8],
        name: &str,
        k: usize,
        exact: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let (snapshot, task, count) = (self.snapshot(), space(name)?, bounded(k)?);
        let rows: Vec<f32> = vectors.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
        let hits =
            run(py, snapshot.threads, |stop| {
                let explainer = snapshot.explainer(stop)?;
                let evidence = explainer.evidence();
                let counts = |edge: u32| evidence.counts(EdgeId::Accepted(edge));
                let (space, mut hits): (&Space, _) = (evidence.edges().space(task), Vec::new());
                for some in rows.chunks(SEARCHED_TOGETHER * space.dims()) {
                    stop.check()?;
                    let found = space.nearest_many(some, |_, nearest| {
                        let nearest = nearest.count(count).filter(&counts);
                        if exact { nearest.exact() } else { nearest }
                    })?;
                    hits.extend(found.iter().map(|one| {
                        one.hits.iter().map(|hit| (hit.record, hit.similarity)).collect::<Vec<(u32, f32)>>()
                    }));
                }
                Ok(hits)
            })?;
        Ok(tables(py, &hits, k))
    }
}

fn bounded(k: usize) -> PyResult<usize> {
    match k {
        1..=MOST_NEIGHBORS => Ok(k),
        _ => Err(PyValueError::new_err(format!("k is a number from 1 to {MOST_NEIGHBORS}, not {k}"))),
    }
}

/// The ids (−1 where there is none) and similarities (NaN) of neighbours as bytes, `k` for each edge.
fn tables<'py>(py: Python<'py>, hits: &[Vec<(u32, f32)>], k: usize) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
    let padded = || hits.iter().flat_map(move |hits| (0..k).map(move |at| hits.get(at)));
    let ids = bytes(py, padded().map(|hit| hit.map_or(-1, |(id, _)| i64::from(*id)).to_ne_bytes()));
    (ids, bytes(py, padded().map(|hit| hit.map_or(f32::NAN, |(_, similarity)| *similarity).to_ne_bytes())))
}

fn bytes<const N: usize>(py: Python<'_>, numbers: impl Iterator<Item = [u8; N]>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &numbers.flatten().collect::<Vec<u8>>())
}
