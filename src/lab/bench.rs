//! Gives experiments their trained models, edge vectors and cached measurements.

use super::corpus::{Corpus, short_hash};
use super::nearest::Rows;
use super::{Lab, Watcher};
use crate::config::{Aggregate, Config, Similarity, System};
use crate::edge::{EdgeModel, edge_vectors};
use crate::encoder::{Numbered, Pretrained};
use crate::error::{Error, Result};
use crate::files::{to_json, write_atomically};
use crate::model::{Model, Tables, Trained};
use crate::score::Scorer;
use crate::train::{Flow, Stage};
use crate::treebank::Sentence;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Mutex;

/// The version of the measurements. Change it whenever their meaning changes, so that older results are not reused.
const REVISION: &str = "1";
/// The number of row comparisons that take as long as training on one word.
const PAIRS_A_WORD: u64 = 60_000;
/// The number of words encoded in the time of training on one word.
const READ_A_WORD: u64 = 4;

/// The cost of encoding this number of words.
pub(super) fn reading(words: u64) -> u64 {
    words / READ_A_WORD
}

/// The cost of comparing each query with each row.
pub(super) fn comparing(queries: u64, rows: u64) -> u64 {
    queries * rows / PAIRS_A_WORD
}

/// The system of this name.
pub(super) fn system(name: &str) -> Result<System> {
    name.parse().map_err(|message| Error::Training { message })
}

/// A running laboratory.
pub(super) struct Bench<'a> {
    pub(super) lab: &'a Lab<'a>,
    pub(super) watcher: &'a dyn Watcher,
    /// The keys of the corpora used so far.
    keys: Mutex<Vec<(Corpus, String)>>,
}

/// One of the two models of a system, ready for measurement.
pub(super) struct Learnt {
    pub(super) tables: Tables,
    pub(super) model: Trained,
    pretrained: Pretrained,
}

impl<'a> Bench<'a> {
    pub(super) fn new(lab: &'a Lab<'a>, watcher: &'a dyn Watcher) -> Self {
        Self { lab, watcher, keys: Mutex::default() }
    }

    /// Returns the cached measurement of this name, or measures now and caches the result.
    pub(super) fn once<T: Serialize + DeserializeOwned>(
        &self,
        corpus: &Corpus,
        name: &str,
        cost: u64,
        measure: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let folder = self.lab.folder.join("measured").join(REVISION).join(self.measured_key(corpus)?);
        let path = folder.join(format!("{name}.json"));
        let cached = std::fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok());
        let measured = match cached {
            Some(cached) => cached,
            None => {
                self.report_progress(0, name)?;
                let measured = measure()?;
                std::fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
                let text = to_json("a measurement", &measured)?;
                write_atomically(&path, text.as_bytes())?;
                measured
            }
        };
        self.report_progress(cost, name)?;
        Ok(measured)
    }

    /// A short key for everything that determines what is learned from a corpus.
    pub(super) fn key(&self, corpus: &Corpus) -> Result<String> {
        let mut keys = self.keys.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, key)) = keys.iter().find(|(known, _)| known == corpus) {
            return Ok(key.clone());
        }
        let key = corpus.key(self.lab)?;
        keys.push((corpus.clone(), key.clone()));
        Ok(key)
    }

    /// The key of measurements. It includes the whole dev set, because models trained on one genre are tested on
    /// others.
    fn measured_key(&self, corpus: &Corpus) -> Result<String> {
        Ok(format!("{}-{}", self.key(corpus)?, short_hash(self.lab.dev)?))
    }

    fn report_progress(&self, cost: u64, name: &str) -> Result<()> {
        match self.watcher.done(cost, &format!("measuring {name}")) {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(Error::Stopped),
        }
    }

    /// The head model or the label model of a system.
    pub(super) fn learnt(&self, corpus: &Corpus, stage: Stage, system: System, seed: u64) -> Result<Learnt> {
        let mut finished = self.finished(corpus, stage, system, seed)?;
        let model = finished.models.pop().ok_or(Error::Stopped)?;
        Ok(Learnt { tables: finished.tables, model, pretrained: self.lab.pretrained.clone() })
    }

    /// Both models of a system as one parser model.
    pub(super) fn parser_model(&self, corpus: &Corpus, system: System, seed: u64) -> Result<Model> {
        let heads = self.learnt(corpus, Stage::Heads, system, seed)?;
        let labels = self.learnt(corpus, Stage::Labels, system, seed)?;
        let config = Config { system, seed, ..self.lab.config.clone() };
        let pretrained = self.lab.pretrained.clone();
        Ok(Model::new(config, heads.tables, pretrained, heads.model, labels.model))
    }
}

impl Learnt {
    pub(super) fn number(&self, sentences: &[Sentence]) -> Result<Vec<Numbered>> {
        self.pretrained.number(&self.tables.vocabulary, sentences)
    }

    pub(super) fn scorer(&self, aggregate: Aggregate, lab: &Lab) -> Result<Scorer> {
        self.model.scorer(aggregate, lab.device.of_tensors())
    }

    /// The vectors of the gold edges, as the system compares them.
    pub(super) fn gold_rows(&self, sentences: &[Numbered]) -> Result<Rows> {
        let heads: Vec<&[usize]> = sentences.iter().map(|sentence| sentence.heads.as_slice()).collect();
        rows(&self.model.edges.frozen()?, sentences, &heads)
    }

    /// The vectors of the gold edges, not normalised.
    pub(super) fn raw_rows(&self, sentences: &[Numbered]) -> Result<Rows> {
        let heads: Vec<&[usize]> = sentences.iter().map(|sentence| sentence.heads.as_slice()).collect();
        rows(&self.model.edges.frozen()?.compared_by(Similarity::Dot), sentences, &heads)
    }

    /// The head that the system chooses for every word, with an entry for ROOT.
    pub(super) fn heads(&self, sentences: &[Numbered], lab: &Lab) -> Result<Vec<Vec<usize>>> {
        use crate::encoder::{Batch, length_batches};
        use rayon::prelude::*;
        let scorer = self.scorer(lab.config.aggregate, lab)?;
        let choose = |batch: &Vec<usize>| -> Result<Vec<(usize, Vec<usize>)>> {
            let chosen: Vec<&Numbered> = batch.iter().map(|&s| &sentences[s]).collect();
            let heads = scorer.best_heads(&scorer.encode(&Batch::new(&chosen))?)?;
            Ok(batch.iter().copied().zip(heads).collect())
        };
        let chosen: Vec<Vec<(usize, Vec<usize>)>> =
            length_batches(sentences).par_iter().map(choose).collect::<Result<_>>()?;
        let mut heads = vec![Vec::new(); sentences.len()];
        chosen.into_iter().flatten().for_each(|(place, own)| heads[place] = own);
        Ok(heads)
    }

    /// The vectors of the edges to these heads, as the system compares them.
    pub(super) fn rows_to(&self, sentences: &[Numbered], heads: &[Vec<usize>]) -> Result<Rows> {
        let heads: Vec<&[usize]> = heads.iter().map(Vec::as_slice).collect();
        rows(&self.model.edges.frozen()?, sentences, &heads)
    }
}

fn rows(edges: &EdgeModel, sentences: &[Numbered], heads: &[&[usize]]) -> Result<Rows> {
    let values = edge_vectors(&[edges], false, sentences, heads)?.concat().concat();
    Ok(Rows { values, dims: edges.dims() })
}
