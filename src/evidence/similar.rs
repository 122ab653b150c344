//! Similarities to counted training edges, each with the weight of the edge's treebank.

use super::{EdgeId, Evidence};
use crate::rule::{Context, Scoring};
use citree_index::Hit;
use std::borrow::Cow;

/// Similarities to training edges that count.
#[derive(Clone, Debug, Default)]
pub(super) struct Similar<'a> {
    similarities: Cow<'a, [f32]>,
    /// The weight of each edge; `None` where all treebanks count alike.
    weights: Option<Vec<f64>>,
}

impl Similar<'_> {
    /// The contributions of all of them, added in order.
    pub(super) fn total(&self, rule: &dyn Scoring, context: &Context) -> f64 {
        let Some(weights) = &self.weights else { return rule.total(&self.similarities, context) };
        let parts = self.similarities.iter().zip(weights);
        parts.fold(0.0, |sum, (&similarity, weight)| sum + weight * rule.contribution(similarity, context))
    }
}

impl Evidence {
    /// The similarities of hits of a kind.
    pub(super) fn similar(&self, hits: &[Hit], edge: fn(u32) -> EdgeId) -> Similar<'static> {
        let similarities = hits.iter().map(|hit| hit.similarity).collect();
        let weights = self.has_weights().then(|| hits.iter().map(|hit| self.weight(edge(hit.record))).collect());
        Similar { similarities: Cow::Owned(similarities), weights }
    }

    /// Those of all similarities that belong to counted edges. `numbers` has the number of each edge.
    pub(super) fn counted_of<'a>(
        &self,
        all: Cow<'a, [f32]>,
        numbers: impl Iterator<Item = u32>,
        edge: fn(u32) -> EdgeId,
    ) -> Similar<'a> {
        if self.is_whole() {
            return Similar { similarities: all, weights: None };
        }
        let counted = numbers.zip(all.iter()).filter(|(number, _)| self.counts(edge(*number)));
        let hits: Vec<Hit> = counted.map(|(record, &similarity)| Hit { record, similarity }).collect();
        self.similar(&hits, edge)
    }
}
