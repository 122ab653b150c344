//! Weights of treebanks: every edge of a treebank counts so many times. With a weight of 0 none of them counts.

use super::checks::refused;
use super::{EdgeId, Evidence};
use crate::error::Result;

/// Weights beyond this are more likely mistyped than meant.
const HIGHEST: f64 = 1e6;

impl Evidence {
    /// The same evidence with only some treebanks, all of them if none is named, and with weights for some.
    pub(crate) fn of_treebanks(self, only: &[String], weights: &[(String, f64)]) -> Result<Self> {
        if only.is_empty() && weights.is_empty() {
            return Ok(self);
        }
        let edges = self.edges.clone();
        let chosen: Vec<u32> = only.iter().map(|name| edges.treebank(name)).collect::<Result<_>>()?;
        let mut all: Vec<f64> = (0..)
            .zip(edges.treebanks())
            .map(|(at, _)| if only.is_empty() || chosen.contains(&at) { 1.0 } else { 0.0 })
            .collect();
        for (name, weight) in weights {
            let at = edges.treebank(name)? as usize;
            if !(0.0..=HIGHEST).contains(weight) {
                return Err(refused(format!("the weight of treebank {name} must be a number of 0 to {HIGHEST}")));
            }
            if all[at] == 0.0 {
                return Err(refused(format!(
                    "treebank {name} has a weight, but only {} are to count",
                    only.join(", ")
                )));
            }
            all[at] = *weight;
        }
        if all.iter().all(|weight| *weight == 0.0) {
            return Err(refused("no treebank is left to count; give one a weight above 0".to_string()));
        }
        let gone = |sentence: u32| edges.treebank_of(sentence).is_none_or(|at| all[at as usize] == 0.0);
        let left = match all.contains(&0.0) {
            true => self.without(|_, sentence| gone(sentence)),
            false => self,
        };
        // Those that are left out need no weight.
        let alike = all.iter().all(|weight| [0.0, 1.0].contains(weight));
        Ok(if alike { left } else { left.with_weights(all) })
    }

    /// The same evidence with a weight for each treebank.
    pub(super) fn with_weights(self, weights: Vec<f64>) -> Self {
        let (sums, total) = Default::default();
        let mut weighted = Self { weights, sums, total, ..self };
        let edges = weighted.edges.clone();
        let of_label = |label: u32| {
            let counted = edges.index().records_of(label).map(EdgeId::Accepted);
            counted.filter(|edge| weighted.counts(*edge)).map(|edge| weighted.weight(edge)).sum()
        };
        weighted.weights_of_labels = (0..weighted.counts.len() as u32).map(of_label).collect();
        weighted
    }

    /// Whether treebanks have weights.
    pub(crate) fn has_weights(&self) -> bool {
        !self.weights.is_empty()
    }

    /// How many times an edge counts.
    pub(crate) fn weight(&self, edge: EdgeId) -> f64 {
        if self.weights.is_empty() {
            return 1.0;
        }
        let treebank = self.edges().sentence_of(edge).and_then(|sentence| self.edges().treebank_of(sentence));
        treebank.and_then(|treebank| self.weights.get(treebank as usize)).copied().unwrap_or(1.0)
    }

    /// The weights of the edges that a side is compared with, added up: their number, if treebanks have no weights.
    pub(super) fn weight_of(&self, side: &super::Side) -> f64 {
        match side.label {
            Some(label) => self.weights_of_labels.get(label as usize).copied().unwrap_or(0.0),
            None => self.weights_of_labels.iter().sum(),
        }
    }
}
