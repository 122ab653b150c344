//! A model of the label of an edge: multinomial logistic regression over features that are there or not.

use super::features::{Tree, View};
use super::{sentences, softmax};
use crate::error::Result;
use crate::random::Random;
use std::collections::HashMap;

/// How often every edge is learned from.
pub(super) const EPOCHS: usize = 4;
/// The rate of learning at the start. It falls to a quarter in the last epoch.
const RATE: f32 = 0.3;
/// A feature that only one edge has says nothing about others.
const LEAST_COUNT: u32 = 2;
/// If the squared error of an edge is less, it teaches nothing.
const LEARNED: f32 = 1e-6;

/// The features of all edges of a treebank, as numbers.
pub(super) struct Rows {
    features: Vec<u32>,
    /// Where the features of an edge end.
    ends: Vec<usize>,
    /// The number of the first edge of each sentence.
    starts: Vec<usize>,
    /// How many features there are.
    count: usize,
}

impl Rows {
    pub(super) fn new(trees: &[Tree], view: View) -> Self {
        let edges = || trees.iter().flat_map(|tree| (1..=tree.len()).map(move |word| (tree, word)));
        let mut counts: HashMap<u64, (u32, u32)> = HashMap::new();
        let mut own = Vec::new();
        for (tree, word) in edges() {
            tree.label_features(word, view, &mut own);
            own.iter().for_each(|feature| counts.entry(*feature).or_default().0 += 1);
        }
        let mut rows = Self { features: Vec::new(), ends: Vec::new(), starts: Vec::new(), count: 0 };
        for (tree, word) in edges() {
            tree.label_features(word, view, &mut own);
            for feature in &own {
                let Some((count, number)) = counts.get_mut(feature) else { continue };
                if *count < LEAST_COUNT {
                    continue;
                }
                // Numbers are given in the order of the treebank. 0 is none yet.
                if *number == 0 {
                    rows.count += 1;
                    *number = rows.count as u32;
                }
                rows.features.push(*number - 1);
            }
            rows.ends.push(rows.features.len());
        }
        let mut first = 0;
        for tree in trees {
            rows.starts.push(first);
            first += tree.len();
        }
        rows
    }

    fn of(&self, edge: usize) -> &[u32] {
        let start = edge.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.features[start..self.ends[edge]]
    }
}

/// Trains a model on the sentences outside of a fold. Returns the probability of each label for each word of the sentences
/// inside. `step` is called after each epoch.
pub(super) fn judge(
    rows: &Rows,
    trees: &[Tree],
    fold_of: &[usize],
    fold: usize,
    classes: usize,
    step: &(dyn Fn() -> Result<()> + Sync),
) -> Result<Vec<(usize, Vec<f32>)>> {
    let mut model = Model { classes, weights: vec![0.0; rows.count * classes], squares: vec![0.01; rows.count] };
    let edges = |sentence: usize| (1..=trees[sentence].len()).map(move |word| (sentence, word));
    let mut order: Vec<(usize, usize)> = sentences(fold_of, fold, false).into_iter().flat_map(edges).collect();
    let mut random = Random::branch(fold as u64, "label model");
    for epoch in 0..EPOCHS {
        random.shuffle(&mut order);
        let rate = RATE * (1.0 - epoch as f32 / EPOCHS as f32);
        for &(sentence, word) in &order {
            model.learn(rows.of(rows.starts[sentence] + word - 1), trees[sentence].label(word) as usize, rate);
        }
        step()?;
    }
    let judged = sentences(fold_of, fold, true).into_iter().map(|sentence| {
        let words = (0..trees[sentence].len()).map(|at| model.probabilities(rows.of(rows.starts[sentence] + at)));
        (sentence, words.flatten().collect())
    });
    Ok(judged.collect())
}

struct Model {
    classes: usize,
    /// A weight for each class of each feature.
    weights: Vec<f32>,
    /// The squared errors of each feature, added up: the more, the slower it changes.
    squares: Vec<f32>,
}

impl Model {
    fn probabilities(&self, features: &[u32]) -> Vec<f32> {
        let mut scores = vec![0.0; self.classes];
        for &feature in features {
            let weights = &self.weights[feature as usize * self.classes..][..self.classes];
            scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += weight);
        }
        softmax(&mut scores);
        scores
    }

    fn learn(&mut self, features: &[u32], label: usize, rate: f32) {
        let mut errors = self.probabilities(features);
        errors[label] -= 1.0;
        let square: f32 = errors.iter().map(|error| error * error).sum();
        if square < LEARNED {
            return;
        }
        for &feature in features {
            let squares = &mut self.squares[feature as usize];
            *squares += square;
            let step = rate / squares.sqrt();
            let weights = &mut self.weights[feature as usize * self.classes..][..self.classes];
            weights.iter_mut().zip(&errors).for_each(|(weight, error)| *weight -= step * error);
        }
    }
}
