//! Weights of treebanks: every edge of a treebank counts so many times. With a weight of 0 none of them counts.

use super::checks::HIGHEST_WEIGHT;
use super::{EdgeId, Evidence};
use crate::error::{Error, Result};
use crate::task::Task;
use citree_index::sums::Sums;
use std::collections::BTreeMap;
use std::ops::Range;

impl Evidence {
    /// The same evidence with only some treebanks, all of them if none is named, and with weights for some.
    pub(crate) fn of_treebanks(self, only: &[String], weights: &[(String, f64)]) -> Result<Self> {
        if only.is_empty() && weights.is_empty() {
            return Ok(self);
        }
        let edges = self.edges.clone();
        let chosen: Vec<u32> = only.iter().map(|name| edges.treebank(name)).collect::<Result<_>>()?;
        let own = |(at, weight): (u32, &f64)| if only.is_empty() || chosen.contains(&at) { *weight } else { 0.0 };
        let mut all: Vec<f64> = (0..).zip(edges.weights()).map(own).collect();
        for (name, weight) in weights {
            let at = edges.treebank(name)? as usize;
            if !(0.0..=HIGHEST_WEIGHT).contains(weight) {
                return Err(unfit(format!("the weight of treebank {name} must be a number of 0 to {HIGHEST_WEIGHT}")));
            }
            if all[at] == 0.0 {
                return Err(unfit(format!("treebank {name} has a weight, but only {} are to count", only.join(", "))));
            }
            all[at] = *weight;
        }
        if all.iter().all(|weight| *weight == 0.0) {
            return Err(unfit("no treebank is left to count; give one a weight above 0".to_string()));
        }
        let gone = |sentence: u32| edges.treebank_of(sentence).is_none_or(|at| all[at as usize] == 0.0);
        let mut left = match all.contains(&0.0) {
            true => self.without(|_, sentence| gone(sentence)),
            false => self,
        };
        let zero = edges.treebanks().zip(&all).filter(|(_, weight)| **weight == 0.0);
        left.left_out_treebanks = zero.map(|(name, _)| name.to_string()).collect();
        Ok(left.with_weights(all))
    }

    /// The same evidence with a weight for each treebank. Those that are left out need none.
    pub(super) fn with_weights(self, weights: Vec<f64>) -> Self {
        let alike = weights.iter().all(|weight| [0.0, 1.0].contains(weight));
        if alike && self.weights.is_empty() {
            return self;
        }
        let weights = if alike { Vec::new() } else { weights };
        let mut weighted = Self { weights, sums: Default::default(), total: Default::default(), ..self };
        weighted.weights_of_labels =
            (0..weighted.counts.len() as u32).map(|label| weighted.weight_of_label(label)).collect();
        weighted
    }

    /// The weights of the counted edges of a label, added up.
    fn weight_of_label(&self, label: u32) -> f64 {
        // Each range is within a segment, so its edges have one weight.
        let of_range = |range: &Range<u32>| {
            let counted = match self.is_partial() {
                true => range.clone().filter(|edge| self.counts(EdgeId::Accepted(*edge))).count(),
                false => range.len(),
            };
            match range.clone().next() {
                Some(first) if counted > 0 => counted as f64 * self.weight(EdgeId::Accepted(first)),
                _ => 0.0,
            }
        };
        self.edges.index().records_of(label).ranges().iter().map(of_range).sum()
    }

    /// The sums of a task where treebanks have weights and no edge is left out: those of the index, and more or less of the
    /// edges that count more or less than once.
    pub(super) fn weighted_sums(&self, task: Task) -> Sums {
        let space = self.edges.space(task);
        let (stored, dims) = (space.sums(), space.dims());
        let mut values = stored.sums().to_vec();
        for (segment, _) in self.edges.index().segments().iter().enumerate() {
            let treebank = self.edges.treebank_of_segment(segment);
            let weight = treebank.and_then(|treebank| self.weights.get(treebank)).copied().unwrap_or(1.0);
            if weight == 1.0 {
                continue;
            }
            for edge in self.edges.index().records_in(segment) {
                let label = self.edges.record(edge).map_or(usize::MAX, |record| record.label as usize);
                let sum = values.chunks_exact_mut(dims.max(1)).nth(label).into_iter().flatten();
                sum.zip(space.row(edge).into_iter().flatten())
                    .for_each(|(sum, own)| *sum += (weight - 1.0) * f64::from(*own));
            }
        }
        Sums::from_parts(dims, values, stored.counts().to_vec()).unwrap_or(stored)
    }

    /// The weights of treebanks, where they are not 1.
    pub(crate) fn weights_by_name(&self) -> BTreeMap<String, f64> {
        let all = self.edges.treebanks().zip(&self.weights).map(|(name, weight)| (name.to_string(), *weight));
        let left_out = self.left_out_treebanks.iter().map(|name| (name.clone(), 0.0));
        all.filter(|(_, weight)| ![0.0, 1.0].contains(weight)).chain(left_out).collect()
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

fn unfit(message: String) -> Error {
    Error::Explanation { message }
}
