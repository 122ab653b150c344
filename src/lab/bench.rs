//! Where experiments find trained models, their edge vectors, and what was measured before.

use super::corpus::{Corpus, hash};
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

/// Names the meaning of what is measured: another one wherever that changes, so that nothing older is taken for it.
const REVISION: &str = "1";
/// Pairs of rows that are compared in the time of one word of training.
const PAIRS_A_WORD: u64 = 60_000;
/// Words that are read in the time of one word of training.
const READ_A_WORD: u64 = 4;

/// What reading so many words costs.
pub(super) fn reading(words: u64) -> u64 {
    words / READ_A_WORD
}

/// What comparing each of some rows with each of some others costs.
pub(super) fn comparing(queries: u64, rows: u64) -> u64 {
    queries * rows / PAIRS_A_WORD
}

/// The system of this name.
pub(super) fn system(name: &str) -> Result<System> {
    name.parse().map_err(|message| Error::Training { message })
}

/// The laboratory at work.
pub(super) struct Bench<'a> {
    pub(super) lab: &'a Lab<'a>,
    pub(super) watcher: &'a dyn Watcher,
    /// The keys of the parts of the treebank met so far.
    keys: Mutex<Vec<(Corpus, String)>>,
}

/// One of the two models of a system, ready to be measured.
pub(super) struct Learnt {
    pub(super) tables: Tables,
    pub(super) model: Trained,
    pretrained: Pretrained,
}

impl<'a> Bench<'a> {
    pub(super) fn new(lab: &'a Lab<'a>, watcher: &'a dyn Watcher) -> Self {
        Self { lab, watcher, keys: Mutex::default() }
    }

    /// What was measured under this name before, or else is measured now and kept.
    pub(super) fn once<T: Serialize + DeserializeOwned>(
        &self,
        corpus: &Corpus,
        name: &str,
        cost: u64,
        measure: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let folder = self.lab.folder.join("measured").join(REVISION).join(self.measured_key(corpus)?);
        let path = folder.join(format!("{name}.json"));
        let kept = std::fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok());
        let measured = match kept {
            Some(kept) => kept,
            None => {
                self.tell(0, name)?;
                let measured = measure()?;
                std::fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
                let text = to_json("what was measured", &measured)?;
                write_atomically(&path, text.as_bytes())?;
                measured
            }
        };
        self.tell(cost, name)?;
        Ok(measured)
    }

    /// A short name for everything that decides what is learnt from a part of the treebank.
    pub(super) fn key(&self, corpus: &Corpus) -> Result<String> {
        let mut keys = self.keys.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, key)) = keys.iter().find(|(known, _)| known == corpus) {
            return Ok(key.clone());
        }
        let key = corpus.key(self.lab)?;
        keys.push((corpus.clone(), key.clone()));
        Ok(key)
    }

    /// What is trained on one genre is measured on others too.
    fn measured_key(&self, corpus: &Corpus) -> Result<String> {
        let mut hasher = blake3::Hasher::new();
        hash(self.lab.dev, &mut hasher)?;
        Ok(format!("{}-{}", self.key(corpus)?, &hasher.finalize().to_hex()[..6]))
    }

    fn tell(&self, cost: u64, name: &str) -> Result<()> {
        match self.watcher.done(cost, &format!("measuring {name}")) {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(Error::Stopped),
        }
    }

    /// The model of a system that finds heads, or that names edges.
    pub(super) fn learnt(&self, corpus: &Corpus, stage: Stage, system: System, seed: u64) -> Result<Learnt> {
        let mut finished = self.finished(corpus, stage, system, seed)?;
        let model = finished.models.pop().ok_or(Error::Stopped)?;
        Ok(Learnt { tables: finished.tables, model, pretrained: self.lab.pretrained.clone() })
    }

    /// The model of IIc that finds heads, or that names edges; or that of the model that was given.
    pub(super) fn given_or_learnt(&self, stage: Stage, seed: u64) -> Result<Learnt> {
        let Some(given) = self.lab.bundle.map(|bundle| bundle.model()) else {
            return self.learnt(&Corpus::Whole, stage, System::IIC, seed);
        };
        let model = if stage == Stage::Labels { &given.labels } else { &given.heads };
        let (tables, pretrained) = (given.tables.clone(), given.pretrained.clone());
        Ok(Learnt { tables, model: model.clone(), pretrained })
    }

    /// Both models of a system as one parser.
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
        self.model.scorer(aggregate, lab.device)
    }

    /// The vectors of the gold edges, as the system compares them.
    pub(super) fn gold_rows(&self, sentences: &[Numbered]) -> Result<Rows> {
        let heads: Vec<&[usize]> = sentences.iter().map(|sentence| sentence.heads.as_slice()).collect();
        rows(&self.model.edges.frozen()?, sentences, &heads)
    }

    /// The vectors of the gold edges, of whatever length they are.
    pub(super) fn raw_rows(&self, sentences: &[Numbered]) -> Result<Rows> {
        let heads: Vec<&[usize]> = sentences.iter().map(|sentence| sentence.heads.as_slice()).collect();
        rows(&self.model.edges.frozen()?.compared_by(Similarity::Dot), sentences, &heads)
    }

    /// The head of every word that the system chooses, ROOT's place included.
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
