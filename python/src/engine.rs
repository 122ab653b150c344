//! An opened bundle with the settings that it decides by: parses texts and sentences, and finds neighbours.

use crate::errors::exception;
use crate::pool::run;
use crate::rows::{Rows, space};
use crate::sentence::{Sentence, json};
use crate::text;
use citree::config::Basis;
use citree::evidence::{EdgeId, Space};
use citree::explain::{Explainer, NeighborQuery};
use citree::parse::{Decode, Parse, Settings};
use citree::rule::{Rule, RuleSettings};
use citree::{Bundle, Error, Parser, Result, treebank};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Sentences parsed together, as many as `citree parse` does, so that the numbers are the same. Ctrl-C is noticed between.
const PARSED_TOGETHER: usize = 1024;
/// The same for sentences that are to be explained, as `citree explain` does.
const ANALYSED_TOGETHER: usize = 256;

/// A bundle at one generation of its index. Sentences keep the one that parsed them.
pub(crate) struct Snapshot {
    pub(crate) bundle: Bundle,
    pub(crate) parser: Parser,
    pub(crate) settings: Settings,
    pub(crate) threads: usize,
    explainer: OnceLock<Explainer>,
}

impl Snapshot {
    pub(crate) fn new(bundle: Bundle, settings: Settings, threads: usize) -> Result<Self> {
        let explainer = OnceLock::new();
        let by_edges = bundle.config().system.inference == Basis::Instances;
        let parser = match bundle.index() {
            Ok(_) if by_edges => {
                let own = bundle.explainer_with(&settings)?;
                explainer.get_or_init(|| own).parser().clone()
            }
            // Without an index it can parse. What needs one says so.
            Ok(_) | Err(Error::Bundle { .. }) => bundle.parser_with(&settings)?,
            Err(damaged) => return Err(damaged),
        };
        Ok(Self { bundle, parser, settings, threads, explainer })
    }

    pub(crate) fn explainer(&self) -> Result<&Explainer> {
        if let Some(explainer) = self.explainer.get() {
            return Ok(explainer);
        }
        let explainer = self.bundle.explainer_with(&self.settings)?;
        Ok(self.explainer.get_or_init(|| explainer))
    }

    /// Parses sentences in chunks. With `keep`, what explanations need is kept.
    fn parse(
        self: &Arc<Self>,
        sentences: Vec<treebank::Sentence>,
        keep: bool,
        stop: &AtomicBool,
    ) -> Result<Vec<Sentence>> {
        let mut parsed = Vec::with_capacity(sentences.len());
        let mut sentences = sentences.into_iter();
        loop {
            let together = if keep { ANALYSED_TOGETHER } else { PARSED_TOGETHER };
            let some: Vec<treebank::Sentence> = sentences.by_ref().take(together).collect();
            if some.is_empty() {
                return Ok(parsed);
            }
            if keep {
                let analyses = self.parser.analyse(&some)?;
                parsed.extend(some.into_iter().zip(analyses).map(|(sentence, analysis)| match analysis {
                    Some(analysis) => Sentence::parsed(sentence, analysis.parse.clone(), Some(analysis), self.clone()),
                    None => Sentence::plain(sentence),
                }));
            } else {
                let parses = self.parser.parse(&some)?;
                let one = |(sentence, parse)| Sentence::parsed(sentence, parse, None, self.clone());
                parsed.extend(some.into_iter().zip(parses).map(one));
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
        }
    }
}

/// An opened bundle.
#[pyclass(frozen, module = "citree._native")]
pub(crate) struct Engine {
    snapshot: Mutex<Arc<Snapshot>>,
}

impl Engine {
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes up what the folder of the bundle holds now.
    pub(crate) fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        let Snapshot { bundle, settings, threads, .. } = &*self.snapshot();
        let fresh = run(py, *threads, |_| Snapshot::new(bundle.refreshed()?, settings.clone(), *threads))?;
        *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(fresh);
        Ok(())
    }
}

/// Edges (the place of the sentence, dependent, head, label), and the ids and similarities of their neighbours, flat.
type Neighbors<'py> = (Vec<(usize, usize, usize, String)>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (path, *, rule = None, temperature = None, neighbors = None, decode = "mst", exact = false,
        treebanks = vec![], weights = vec![], device = "auto", threads = 0))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        rule: Option<&str>,
        temperature: Option<f32>,
        neighbors: Option<usize>,
        decode: &str,
        exact: bool,
        treebanks: Vec<String>,
        weights: Vec<(String, f64)>,
        device: &str,
        threads: usize,
    ) -> PyResult<Self> {
        let decode = match decode {
            "mst" => Decode::Tree,
            "greedy" => Decode::Greedy,
            _ => return Err(PyValueError::new_err(format!("no decoder {decode:?}; there are mst and greedy"))),
        };
        let settings = RuleSettings { temperature, neighbors };
        if rule.is_none() && settings != RuleSettings::default() {
            return Err(PyValueError::new_err("temperature and neighbors are settings of a rule; name the rule too"));
        }
        let snapshot = run(py, threads, |_| {
            let rule = rule.map(|rule| Rule::named(rule, settings)).transpose()?;
            let settings = Settings { decode, rule, exact, treebanks, weights, ..Settings::default() };
            Snapshot::new(Bundle::open_on(path, &citree::device::pick(device)?)?, settings, threads)
        })?;
        Ok(Self { snapshot: Mutex::new(Arc::new(snapshot)) })
    }

    /// Cuts texts into sentences and parses them.
    fn parse_texts(&self, py: Python<'_>, texts: Vec<String>, lines: bool, keep: bool) -> PyResult<Vec<Vec<Sentence>>> {
        let snapshot = self.snapshot();
        run(py, snapshot.threads, |stop| {
            let split = |text: &String| text::sentences(&snapshot.parser, text, lines, stop);
            let texts: Vec<Vec<_>> = texts.iter().map(split).collect::<Result<_>>()?;
            let counts: Vec<usize> = texts.iter().map(Vec::len).collect();
            let mut parsed = snapshot.parse(texts.into_iter().flatten().collect(), keep, stop)?.into_iter();
            Ok(counts.into_iter().map(|count| parsed.by_ref().take(count).collect()).collect())
        })
    }

    /// Parses sentences. What they have of heads and labels is replaced.
    fn parse(&self, py: Python<'_>, sentences: Vec<Py<Sentence>>, keep: bool) -> PyResult<Vec<Sentence>> {
        let (snapshot, sentences) = (self.snapshot(), plain(&sentences));
        run(py, snapshot.threads, |stop| snapshot.parse(sentences, keep, stop))
    }

    /// A sentence that was parsed before, from its CoNLL-U and the probabilities of its heads and labels.
    fn restore(&self, py: Python<'_>, conllu: &str, heads: Vec<f32>, labels: Vec<f32>) -> PyResult<Sentence> {
        let sentence = treebank::Reader::new(conllu.as_bytes(), "<pickle>").next().transpose();
        let sentence = sentence.map_err(|error| exception(py, error))?.unwrap_or_default();
        let words = sentence.words();
        if [heads.len(), labels.len()] != [words.len(); 2] || words.iter().any(|word| word.head.is_none()) {
            return Err(PyValueError::new_err("the sentence and its probabilities do not belong together"));
        }
        let parse = Parse {
            heads: std::iter::once(0).chain(words.iter().map(|word| word.head.unwrap_or_default())).collect(),
            labels: std::iter::once(String::new()).chain(words.iter().map(|word| word.label.clone())).collect(),
            head_probabilities: std::iter::once(1.0).chain(heads).collect(),
            label_probabilities: std::iter::once(1.0).chain(labels).collect(),
        };
        Ok(Sentence::parsed(sentence, parse, None, self.snapshot()))
    }

    /// The labels that can be predicted.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.snapshot().parser.labels().to_vec()
    }

    /// The rule in words.
    #[getter]
    fn rule(&self) -> String {
        self.snapshot().parser.rule().describe()
    }

    /// The facts of the bundle, as JSON.
    fn info(&self, py: Python<'_>) -> PyResult<String> {
        let snapshot = self.snapshot();
        let info = run(py, snapshot.threads, |_| snapshot.bundle.info())?;
        json(py, &info)
    }

    /// Takes up a newer index in the folder.
    #[pyo3(name = "refresh")]
    fn take_up(&self, py: Python<'_>) -> PyResult<()> {
        self.refresh(py)
    }

    /// The rows of one of the two models, run by run.
    fn rows(&self, py: Python<'_>, name: &str) -> PyResult<Vec<Rows>> {
        let (snapshot, task) = (self.snapshot(), space(name)?);
        run(py, snapshot.threads, |_| {
            let edges = snapshot.bundle.index()?;
            let runs = edges.space(task).runs().len();
            edges.space(task).intact().map_err(Error::from)?;
            Ok((0..runs).map(|run| Rows::new(edges.clone(), task, run)).collect())
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

    /// The vectors of the predicted edges of sentences, flat.
    fn vectors<'py>(&self, py: Python<'py>, sentences: Vec<Py<Sentence>>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let (snapshot, task, sentences) = (self.snapshot(), space(name)?, plain(&sentences));
        let rows = run(py, snapshot.threads, |stop| {
            let mut rows = Vec::new();
            for some in sentences.chunks(ANALYSED_TOGETHER) {
                for analysis in snapshot.parser.analyse(some)?.into_iter().flatten() {
                    let edges: Vec<(usize, usize)> = analysis.parse.heads.iter().copied().enumerate().skip(1).collect();
                    rows.extend(snapshot.parser.vectors(task, &analysis, &edges)?);
                }
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::Stopped);
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
        let query = NeighborQuery { space: space(name)?, count: k, gold, exact, others };
        let found = run(py, snapshot.threads, |_| snapshot.explainer()?.neighbors(&sentences, query))?;
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
        let (snapshot, task) = (self.snapshot(), space(name)?);
        let number = |bytes: &[u8]| f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let rows: Vec<f32> = vectors.chunks_exact(4).map(number).collect();
        let hits = run(py, snapshot.threads, |_| {
            let evidence = snapshot.explainer()?.evidence();
            let counts = |edge: u32| evidence.counts(EdgeId::Accepted(edge));
            let space: &Space = evidence.edges().space(task);
            let found = space.nearest_many(&rows, |_, nearest| {
                let nearest = nearest.count(k).filter(&counts);
                if exact { nearest.exact() } else { nearest }
            });
            let found = found.map_err(Error::from)?;
            Ok(found.iter().map(|one| one.hits.iter().map(|hit| (hit.record, hit.similarity)).collect()).collect())
        })?;
        Ok(tables::<Vec<Vec<(u32, f32)>>>(py, &hits, k))
    }
}

/// The ids (−1 where there is none) and similarities (NaN) of neighbours as bytes, `k` for each edge.
fn tables<'py, T: AsRef<[Vec<(u32, f32)>]>>(
    py: Python<'py>,
    hits: &T,
    k: usize,
) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
    let padded = || hits.as_ref().iter().flat_map(move |hits| (0..k).map(move |at| hits.get(at)));
    let ids = bytes(py, padded().map(|hit| hit.map_or(-1, |(id, _)| i64::from(*id)).to_ne_bytes()));
    (ids, bytes(py, padded().map(|hit| hit.map_or(f32::NAN, |(_, similarity)| *similarity).to_ne_bytes())))
}

fn bytes<const N: usize>(py: Python<'_>, numbers: impl Iterator<Item = [u8; N]>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &numbers.flatten().collect::<Vec<u8>>())
}

pub(crate) fn plain(sentences: &[Py<Sentence>]) -> Vec<treebank::Sentence> {
    sentences.iter().map(|sentence| sentence.get().sentence.clone()).collect()
}
