//! What models of the words say about a whole treebank, for tools that compare ways to find errors.

use super::{HeadOpinion, Opinions, opinions};
use crate::audit::Treebank;
use crate::audit::subject::{Subject, without_evidence};
use crate::error::Result;
use crate::train::Flow;
use std::collections::{BTreeSet, HashMap};

impl Treebank {
    /// What models of the words say about it; `None` if it is too small.
    pub(crate) fn cross_fitted(&self, folds: usize) -> Result<Option<CrossFitted>> {
        CrossFitted::new(&without_evidence(&self.0), folds)
    }
}

/// What models of the words say about a treebank.
pub struct CrossFitted {
    /// The labels of the treebank.
    pub labels: Vec<String>,
    /// Its edges.
    pub edges: Vec<CrossFittedEdge>,
}

/// What models that never saw its document say about an edge.
pub struct CrossFittedEdge {
    /// The sentence and the id of the dependent.
    pub place: (String, usize),
    /// The number of its label.
    pub label: usize,
    /// The mean probability of each label by the two label models.
    pub probabilities: Vec<f32>,
    /// The probability of its head, and of the best other one.
    pub heads: [f32; 2],
}

impl CrossFitted {
    fn new(subjects: &[Subject<'_>], folds: usize) -> Result<Option<Self>> {
        let mut names = BTreeSet::new();
        subjects.iter().for_each(|own| names.extend((1..=own.len()).map(|word| own.label(word))));
        let numbers: HashMap<&str, u32> = names.iter().copied().zip(0..).collect();
        let label = |name: &str| numbers[name];
        let Some(all) = opinions(subjects, folds, names.len(), label, &|_| Flow::Continue)? else { return Ok(None) };
        let edge = |subject: &Subject<'_>, own: &Opinions, word: usize| {
            let [grammar, words] = own.labels(word);
            let HeadOpinion { own: head, other_probability, .. } = own.head(word);
            CrossFittedEdge {
                place: (subject.sent_id().to_string(), word),
                label: label(subject.label(word)) as usize,
                probabilities: grammar.iter().zip(words).map(|(a, b)| f32::midpoint(*a, *b)).collect(),
                heads: [head, other_probability],
            }
        };
        let edges = subjects
            .iter()
            .zip(&all)
            .flat_map(|(subject, own)| (1..=subject.len()).map(move |word| edge(subject, own, word)));
        Ok(Some(Self { labels: names.iter().map(ToString::to_string).collect(), edges: edges.collect() }))
    }
}
