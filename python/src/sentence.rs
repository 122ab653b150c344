//! Sentences: as read or split, or parsed by a snapshot of a bundle that can explain them.

use crate::engine::Snapshot;
use crate::errors::exception;
use crate::pool::{Stop, run};
use citree::explain::{Answer, By, Expected, Options, Question, html};
use citree::parse::{Analysis, Parse};
use citree::treebank::{self, Reader, write_sentence};
use citree::{Error, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// A sentence. It never changes.
#[pyclass(frozen, module = "citree._native")]
pub(crate) struct Sentence {
    pub(crate) sentence: treebank::Sentence,
    parsed: Option<Parsed>,
}

/// The parse of a sentence, and by what it was made.
struct Parsed {
    parse: Parse,
    snapshot: Arc<Snapshot>,
    /// Kept where explanations are expected; otherwise made again when one is asked for.
    analysis: OnceLock<Analysis>,
}

/// A line of CoNLL-U with two probabilities, which a sentence that is not parsed lacks.
type Row<'a> =
    (&'a str, &'a str, &'a str, &'a str, &'a str, Option<usize>, &'a str, &'a str, &'a str, Option<(f64, f64)>);

impl Sentence {
    pub(crate) fn plain(sentence: treebank::Sentence) -> Self {
        Self { sentence, parsed: None }
    }

    /// A parsed sentence. An analysis is there to explain it; without one, `parse` is its parse.
    pub(crate) fn parsed(
        mut sentence: treebank::Sentence,
        parse: Parse,
        analysis: Option<Analysis>,
        snapshot: Arc<Snapshot>,
    ) -> Self {
        parse.annotate(&mut sentence, false);
        if let Some(warning) = snapshot.parser.warning(&sentence) {
            sentence.set_comment("warning", &warning);
        }
        let kept = OnceLock::new();
        if let Some(analysis) = analysis {
            // The lock is new, so it is empty.
            let _ = kept.set(analysis);
        }
        Self { sentence, parsed: Some(Parsed { parse, snapshot, analysis: kept }) }
    }

    fn answer(&self, py: Python<'_>, question: &Question) -> PyResult<Answer> {
        let Some(parsed) = &self.parsed else {
            return Err(PyValueError::new_err("the sentence is not parsed; call the parser on it first"));
        };
        run(py, parsed.snapshot.threads, |stop| {
            let explainer = parsed.snapshot.explainer(stop)?;
            let analysis = match parsed.analysis.get() {
                Some(analysis) => analysis,
                None => {
                    let analyses = explainer.parser().analyse(std::slice::from_ref(&self.sentence))?;
                    let analysis = analyses.into_iter().next().flatten();
                    let analysis = analysis.ok_or_else(|| refused("the sentence has no words".to_string()))?;
                    parsed.analysis.get_or_init(|| analysis)
                }
            };
            explainer.answer(&self.sentence, analysis, question, None)
        })
    }
}

#[pymethods]
impl Sentence {
    /// A sentence of bare words.
    #[staticmethod]
    fn from_words(words: Vec<String>) -> PyResult<Self> {
        // White space inside of a word becomes one space, as everywhere; a word of nothing else is a mistake.
        if let Some(word) = words.iter().find(|word| word.trim().is_empty()) {
            return Err(PyValueError::new_err(format!("{word:?} is no word; leave it out")));
        }
        Ok(Self::plain(treebank::Sentence::from_forms(words)))
    }

    /// The words: form, lemma, upos, xpos, feats, head, deprel, deps, misc, and the probabilities of head and label.
    fn rows(&self) -> Vec<Row<'_>> {
        let probabilities = |at: usize| {
            let parse = &self.parsed.as_ref()?.parse;
            Some((decimal(parse.head_probabilities[at]), decimal(parse.label_probabilities[at])))
        };
        let mut rows: Vec<Row<'_>> = Vec::with_capacity(self.sentence.words().len());
        for (at, word) in (1..).zip(self.sentence.words()) {
            let treebank::Word { form, lemma, upos, xpos, feats, head, label, deps, misc } = word;
            rows.push((form, lemma, upos, xpos, feats, *head, label, deps, misc, probabilities(at)));
        }
        rows
    }

    /// The tokens that stand for several words: first word, last word, form.
    fn tokens(&self) -> Vec<(usize, usize, &str)> {
        self.sentence.multiword_tokens().iter().map(|token| (token.first, token.last, token.form.as_str())).collect()
    }

    #[getter]
    fn sent_id(&self) -> Option<&str> {
        self.sentence.sent_id()
    }

    #[getter]
    fn text(&self) -> Option<&str> {
        self.sentence.text()
    }

    #[getter]
    fn comments(&self) -> Vec<String> {
        self.sentence.comments().to_vec()
    }

    fn __len__(&self) -> usize {
        self.sentence.words().len()
    }

    /// As CoNLL-U, with probabilities in MISC if `scores` is set.
    #[pyo3(signature = (scores = false))]
    fn to_conllu(&self, scores: bool) -> PyResult<String> {
        let mut out = Vec::new();
        match &self.parsed {
            Some(parsed) if scores => {
                let mut sentence = self.sentence.clone();
                parsed.parse.annotate(&mut sentence, true);
                write_sentence(&mut out, &sentence)?;
            }
            _ => write_sentence(&mut out, &self.sentence)?,
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// The answer about some words, as the JSON of `citree explain`.
    #[pyo3(signature = (words, k = None, by = vec!["label".to_string()], why_not = vec![], flip = false))]
    fn explain(
        &self,
        py: Python<'_>,
        words: Vec<usize>,
        k: Option<usize>,
        by: Vec<String>,
        why_not: Vec<(usize, usize, Option<String>)>,
        flip: bool,
    ) -> PyResult<String> {
        let answer = self.answer(py, &self.question(words, k, by, why_not, flip)?)?;
        json(py, &answer)
    }

    /// The same as a page that needs no other file.
    #[pyo3(signature = (title, words, k = None, by = vec!["label".to_string()], why_not = vec![], flip = false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn html(
        &self,
        py: Python<'_>,
        title: &str,
        words: Vec<usize>,
        k: Option<usize>,
        by: Vec<String>,
        why_not: Vec<(usize, usize, Option<String>)>,
        flip: bool,
    ) -> PyResult<String> {
        let answer = self.answer(py, &self.question(words, k, by, why_not, flip)?)?;
        Ok(html::report(&[answer], title))
    }

    /// The tree as a drawing.
    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        // No probability is below 0, so no edge is explained.
        let options = Options { below: Some(0.0), ..Options::default() };
        let answer = self.answer(py, &Question { options, ..Question::default() })?;
        Ok(html::svg(&answer.explanation))
    }
}

impl Sentence {
    fn question(
        &self,
        words: Vec<usize>,
        k: Option<usize>,
        by: Vec<String>,
        why_not: Vec<(usize, usize, Option<String>)>,
        flip: bool,
    ) -> PyResult<Question> {
        let by = by.iter().map(|name| name.parse::<By>()).collect::<std::result::Result<_, _>>();
        let by = by.map_err(PyValueError::new_err)?;
        let own = || self.parsed.as_ref().map_or(0, |parsed| parsed.snapshot.parser.rule().citations());
        let options = Options { count: k.unwrap_or_else(own), by, words, below: None };
        let expected = |(dependent, head, label)| Expected { dependent, head, label };
        Ok(Question { options, why_not: why_not.into_iter().map(expected).collect(), flip })
    }
}

/// Reads CoNLL-U: a file, or `text`, for which `name` is the file name in messages.
#[pyfunction]
#[pyo3(signature = (path, text = None, trees = false))]
pub(crate) fn read_conllu(py: Python<'_>, path: PathBuf, text: Option<&str>, trees: bool) -> PyResult<Vec<Sentence>> {
    let sentences = run(py, 1, |stop| match (text, trees) {
        (Some(text), true) => Reader::new(text.as_bytes(), &path).trees(),
        (Some(text), false) => all(Reader::new(text.as_bytes(), &path), stop),
        (None, true) => treebank::read_trees(&path),
        (None, false) => {
            let file = File::open(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
            all(Reader::new(BufReader::new(file), &path), stop)
        }
    })?;
    Ok(sentences.into_iter().map(Sentence::plain).collect())
}

/// All sentences. Ctrl-C is noticed between.
fn all<R: BufRead>(reader: Reader<R>, stop: &Stop) -> Result<Vec<treebank::Sentence>> {
    reader.map(|sentence| stop.check().and(sentence)).collect()
}

/// A value as JSON.
pub(crate) fn json(py: Python<'_>, value: &impl serde::Serialize) -> PyResult<String> {
    let failed = |e: serde_json::Error| Error::Json { what: "an answer", message: e.to_string() };
    serde_json::to_string(value).map_err(|e| exception(py, failed(e)))
}

/// A number with the fewest digits that name it, as JSON has it, so that it is the same in both.
pub(crate) fn decimal(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| f64::from(number))
}

fn refused(message: String) -> Error {
    Error::Explanation { message }
}
