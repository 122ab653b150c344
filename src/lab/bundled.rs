//! A trained bundle as the subject of an experiment: its name, and the training edges of its index that are nearest to
//! edges of the dev set.

use super::Lab;
use super::corpus::hash;
use crate::bundle::Bundle;
use crate::config::Basis;
use crate::edge::edge_vectors;
use crate::encoder::Vocabulary;
use crate::error::{Error, Result};
use crate::rule::Rule;
use crate::task::Task;

/// A bundle that was trained on the training set of the laboratory, with an index of all its edges.
pub(super) struct Subject<'a> {
    pub(super) bundle: &'a Bundle,
    /// Its name in reports and cached measurements.
    pub(super) name: String,
}

impl<'a> Subject<'a> {
    pub(super) fn new(lab: &Lab, bundle: &'a Bundle) -> Result<Self> {
        let refuse = |message: String| Err(Error::Explanation { message });
        let model = bundle.model();
        let system = model.config.system;
        if system.inference != Basis::Instances {
            return refuse(format!(
                "a bundle can be measured where training edges decide, as in WIc and IIc, not in {system}"
            ));
        }
        let index = bundle.index()?;
        let mut treebank = blake3::Hasher::new();
        hash(lab.train, &mut treebank)?;
        // Places in the training set are those in the index, so the sentences must be in the same order too.
        let same = index.index().manifest().content == treebank.finalize().as_bytes();
        if !same
            || model.tables.vocabulary
                != Vocabulary::new(lab.train, model.config.min_count).with_ends(model.config.char_ends)
        {
            let message = "the bundle was trained or indexed on another treebank than --train; give that one, or build \
                           the index again with `citree index`";
            return refuse(message.to_string());
        }
        let (fingerprint, rejected) = (bundle.fingerprint()?, index.rejected());
        Ok(Self { bundle, name: format!("{system}-{}-{rejected}", &fingerprint[..10]) })
    }

    /// The training edges nearest to the edges from every dev word to its head in `heads`, by the head model and by the
    /// label model, most similar first. An edge is its place in the training set. The search is exact.
    pub(super) fn nearest(&self, lab: &Lab, heads: &[Vec<usize>], count: usize) -> Result<[Vec<Vec<usize>>; 2]> {
        let (model, index) = (self.bundle.model(), self.bundle.index()?);
        let numbered = model.pretrained.number(&model.tables.vocabulary, lab.dev)?;
        let heads: Vec<&[usize]> = heads.iter().map(Vec::as_slice).collect();
        let models = [&model.heads.edges.frozen()?, &model.labels.edges.frozen()?];
        let vectors = edge_vectors(&models, model.config.share_encoder, &numbered, &heads)?;
        let first_words: Vec<usize> = lab
            .train
            .iter()
            .scan(0, |words, sentence| {
                let first = *words;
                *words += sentence.words().len();
                Some(first)
            })
            .collect();
        let place = |record: u32| {
            let edge = index.record(record)?;
            Some(first_words.get(edge.sentence as usize)? + (edge.dependent as usize).checked_sub(1)?)
        };
        let mut found = [Vec::new(), Vec::new()];
        for ((task, rows), found) in Task::ALL.into_iter().zip(vectors).zip(&mut found) {
            let rows = rows.concat();
            let answers = index.space(task).nearest_many(&rows, |_, nearest| nearest.count(count).exact())?;
            let places = answers.iter().map(|answer| answer.hits.iter().filter_map(|hit| place(hit.record)).collect());
            *found = places.collect();
        }
        Ok(found)
    }
}

/// A rule in a table.
pub(super) fn rule_title(rule: &Rule) -> String {
    let [heads, labels] = Task::ALL.map(|task| {
        let settings = rule.of(task).settings().into_iter().map(|(name, value)| match name {
            "temperature" => format!("T = {value}"),
            _ => value.to_string(),
        });
        std::iter::once(rule.of(task).name().to_string()).chain(settings).collect::<Vec<_>>().join(" ")
    });
    if heads == labels { heads } else { format!("heads {heads}, labels {labels}") }
}

/// A rule in the name of a cached measurement.
pub(super) fn rule_key(rule: &Rule) -> String {
    rule_title(rule).replace([' ', ',', '='], "-")
}
