//! An opened bundle with the settings that it decides by: parses texts and sentences, and finds neighbours.

use crate::errors::exception;
use crate::pool::{Stop, run};
use crate::sentence::{Sentence, json};
use citree::config::Basis;
use citree::explain::Explainer;
use citree::parse::{Decode, Parse, Settings};
use citree::rule::{Rule, RuleSettings};
use citree::{Bundle, Error, Parser, Result, treebank};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Sentences parsed together, as many as `citree parse` does, so that the numbers are the same. Ctrl-C is noticed between.
const PARSED_TOGETHER: usize = 1024;
/// The same for sentences that are to be explained, as `citree explain` does.
pub(crate) const ANALYSED_TOGETHER: usize = 256;

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

    /// The explainer, which ends its work on Ctrl-C.
    pub(crate) fn explainer(&self, stop: &Stop) -> Result<Explainer> {
        let explainer = match self.explainer.get() {
            Some(explainer) => explainer,
            None => {
                let new = self.bundle.explainer_with(&self.settings)?;
                self.explainer.get_or_init(|| new)
            }
        };
        let stop = stop.clone();
        Ok(explainer.interrupted_by(move || stop.flow()))
    }

    /// The parser, which ends its work on Ctrl-C.
    pub(crate) fn parser(&self, stop: &Stop) -> Parser {
        let stop = stop.clone();
        self.parser.interrupted_by(move || stop.flow())
    }

    /// Parses sentences in chunks. With `keep`, what explanations need is kept.
    fn parse(self: &Arc<Self>, sentences: Vec<treebank::Sentence>, keep: bool, stop: &Stop) -> Result<Vec<Sentence>> {
        let parser = self.parser(stop);
        let mut parsed = Vec::with_capacity(sentences.len());
        let mut sentences = sentences.into_iter();
        loop {
            let together = if keep { ANALYSED_TOGETHER } else { PARSED_TOGETHER };
            let some: Vec<treebank::Sentence> = sentences.by_ref().take(together).collect();
            if some.is_empty() {
                return Ok(parsed);
            }
            if keep {
                let analyses = parser.analyse(&some)?;
                parsed.extend(some.into_iter().zip(analyses).map(|(sentence, analysis)| match analysis {
                    Some(analysis) => Sentence::parsed(sentence, analysis.parse.clone(), Some(analysis), self.clone()),
                    None => Sentence::plain(sentence),
                }));
            } else {
                let parses = parser.parse(&some)?;
                let one = |(sentence, parse)| Sentence::parsed(sentence, parse, None, self.clone());
                parsed.extend(some.into_iter().zip(parses).map(one));
            }
            stop.check()?;
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
            let split = |text: &String| sentences(&snapshot.parser, text, lines, stop);
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
        let parse = Parse::of_sentence(&sentence, &heads, &labels).ok_or_else(|| {
            PyValueError::new_err("the sentence, its tree and its probabilities do not belong together")
        })?;
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

    /// The same, which stays at this generation of the index.
    fn pinned(&self) -> Self {
        Self { snapshot: Mutex::new(self.snapshot()) }
    }

    /// Takes up a newer index in the folder.
    #[pyo3(name = "refresh")]
    fn take_up(&self, py: Python<'_>) -> PyResult<()> {
        self.refresh(py)
    }
}

/// The sentences of a text. With `lines`, each line is one.
fn sentences(parser: &Parser, text: &str, lines: bool, stop: &Stop) -> Result<Vec<treebank::Sentence>> {
    let mut sentences = Vec::new();
    let mut add = |sentence| {
        sentences.push(sentence);
        stop.check()
    };
    match lines {
        true => {
            let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
            lines.filter(|line| !line.is_empty()).try_for_each(|line| add(parser.split(line)))?;
        }
        false => parser.sentences(text).try_for_each(add)?,
    }
    Ok(sentences)
}

pub(crate) fn plain(sentences: &[Py<Sentence>]) -> Vec<treebank::Sentence> {
    sentences.iter().map(|sentence| sentence.get().sentence.clone()).collect()
}
