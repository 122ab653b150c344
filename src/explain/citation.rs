//! Citations: training edges that speak for a decision or against it, with their sentences and what they contribute.

use super::Explainer;
use super::rationale::share;
use crate::error::Result;
use crate::evidence::{EdgeId, Side, Source, Weighed};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;

/// A training edge that is cited.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Citation {
    /// Its number in the index, among the edges of its kind.
    pub edge: u32,
    /// Its sentence: `sent_id`, document, words.
    #[serde(flatten)]
    pub source: Arc<Source>,
    /// The id of its dependent.
    pub dependent: usize,
    /// The id of its head; of a rejected edge, the wrong head.
    pub head: usize,
    /// The head that the dependent really has, if this is a rejected edge; `None` for a gold edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gold_head: Option<usize>,
    /// Its label; of a rejected edge, the label of the edge that the dependent really has.
    pub label: String,
    /// How similar it is, from the stored vectors.
    pub similarity: f32,
    /// Its share of all that counts for what was chosen or against it.
    pub share: f64,
    /// Its share of the margin over the runner-up.
    pub margin_share: Option<f64>,
}

/// The two sides that citations are weighed for: the chosen one, and the runner-up with the margin over it.
pub(super) struct Weights<'a> {
    pub chosen: (&'a Side, &'a Weighed),
    pub rival: Option<(&'a Side, &'a Weighed)>,
    /// What all counted edges contribute, for and against.
    pub all: f64,
    pub margin: Option<f64>,
    /// What each edge that votes contributes to both sides; `None` where all edges count.
    pub votes: Option<[HashMap<EdgeId, f64>; 2]>,
}

impl Weights<'_> {
    /// What an edge contributes to the chosen side and to the rival.
    fn parts(&self, explainer: &Explainer, edge: EdgeId) -> Result<[f64; 2]> {
        if let Some(votes) = &self.votes {
            return Ok([0, 1].map(|side: usize| votes[side].get(&edge).copied().unwrap_or(0.0)));
        }
        let (evidence, by) = (&explainer.evidence, explainer.parser.by());
        let (chosen, weighed) = self.chosen;
        let other = match self.rival {
            Some((rival, of_rival)) => evidence.contribution(by, edge, rival, of_rival)?,
            None => 0.0,
        };
        Ok([evidence.contribution(by, edge, chosen, weighed)?, other])
    }
}

impl Explainer {
    /// A citation of an edge that counts in the decision.
    pub(super) fn cite(&self, edge: EdgeId, similarity: f32, weights: &Weights<'_>) -> Result<Citation> {
        let (chosen, weighed) = weights.chosen;
        let rule = self.rule().of(chosen.task);
        // A neighbour with another label takes part in the vote, though it contributes nothing to this label.
        let part = self.evidence.weight(edge) * rule.contribution(similarity, &weighed.context);
        let [own, other] = weights.parts(self, edge)?;
        let margin_share = weights.margin.map(|margin| share(own - other, margin));
        Ok(Citation { share: share(part, weights.all), margin_share, ..self.cited(edge, similarity)? })
    }

    /// A citation without shares.
    pub(super) fn cited(&self, edge: EdgeId, similarity: f32) -> Result<Citation> {
        let edges = self.edges();
        let (dependent, head, source) = edges.source(edge)?;
        let (number, gold_head, label) = match edge {
            EdgeId::Accepted(number) => {
                let label = edges.record(number).map_or("_", |record| edges.label(record.label));
                (number, None, label.to_string())
            }
            EdgeId::Rejected(number) => {
                let (sentence, ..) = edges.place(edge)?;
                let sentence = edges.sentence(sentence)?;
                let word = sentence.words.get(dependent as usize - 1);
                (number, word.map(|word| word.head), word.map_or("_", |word| word.label).to_string())
            }
        };
        Ok(Citation {
            edge: number,
            source,
            dependent: dependent as usize,
            head: head as usize,
            gold_head,
            label,
            similarity,
            share: 0.0,
            margin_share: None,
        })
    }
}
