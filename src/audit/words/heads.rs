//! A model of the head of a word, given its label: logistic regression over all words of the sentence.

use super::features::Tree;
use super::{HeadOpinion, sentences, softmax};
use crate::error::Result;
use crate::random::Random;

/// How often every word is learned from.
pub(super) const EPOCHS: usize = 2;
/// The rate of learning at the start. It falls to a half in the last epoch.
const RATE: f32 = 0.1;
/// The number of weights. Features share them by their hashes.
const WEIGHTS: usize = 1 << 22;
/// Longer sentences are judged, but not learned from: the time grows with the square of their length.
const LONGEST: usize = 120;
/// If the error about a head is less, it teaches nothing.
const LEARNED: f32 = 1e-3;

/// Trains a model on the sentences outside of a fold, and judges the heads of those inside. `step` is called after each
/// epoch.
pub(super) fn judge(
    trees: &[Tree],
    fold_of: &[usize],
    fold: usize,
    step: &(dyn Fn() -> Result<()> + Sync),
) -> Result<Vec<(usize, Vec<HeadOpinion>)>> {
    let mut model = Model { weights: vec![0.0; WEIGHTS], squares: vec![0.1; WEIGHTS], features: Vec::new() };
    let mut order = sentences(fold_of, fold, false);
    order.retain(|&sentence| trees[sentence].len() <= LONGEST);
    let mut random = Random::branch(fold as u64, "head model");
    for epoch in 0..EPOCHS {
        random.shuffle(&mut order);
        let rate = RATE * (1.0 - epoch as f32 / EPOCHS as f32);
        for &sentence in &order {
            (1..=trees[sentence].len()).for_each(|word| model.learn(&trees[sentence], word, rate));
        }
        step()?;
    }
    let judged = sentences(fold_of, fold, true).into_iter().map(|sentence| {
        let tree = &trees[sentence];
        (sentence, (1..=tree.len()).map(|word| model.opinion(tree, word)).collect())
    });
    Ok(judged.collect())
}

struct Model {
    weights: Vec<f32>,
    /// The squared errors of each weight, added up: the more, the slower it changes.
    squares: Vec<f32>,
    /// The weights of each possible head of the word that is looked at.
    features: Vec<Vec<u32>>,
}

impl Model {
    /// The probability of each head of a word. A word is not its own head.
    fn probabilities(&mut self, tree: &Tree, word: usize) -> Vec<f32> {
        self.features.resize(self.features.len().max(tree.len() + 1), Vec::new());
        let mut scores = vec![f32::NEG_INFINITY; tree.len() + 1];
        for head in (0..=tree.len()).filter(|&head| head != word) {
            let features = &mut self.features[head];
            tree.head_features(word, head, WEIGHTS, features);
            scores[head] = features.iter().map(|&feature| self.weights[feature as usize]).sum();
        }
        softmax(&mut scores);
        scores
    }

    fn learn(&mut self, tree: &Tree, word: usize, rate: f32) {
        let mut errors = self.probabilities(tree, word);
        errors[tree.head(word)] -= 1.0;
        for (head, error) in errors.into_iter().enumerate().filter(|(_, error)| error.abs() >= LEARNED) {
            for &feature in &self.features[head] {
                let squares = &mut self.squares[feature as usize];
                *squares += error * error;
                self.weights[feature as usize] -= rate * error / squares.sqrt();
            }
        }
    }

    fn opinion(&mut self, tree: &Tree, word: usize) -> HeadOpinion {
        let probabilities = self.probabilities(tree, word);
        let own = tree.head(word);
        let others = (0..probabilities.len()).filter(|&head| head != own && head != word);
        let other = others.max_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
        HeadOpinion {
            own: probabilities[own],
            other: other.unwrap_or(own),
            other_probability: other.map_or(0.0, |other| probabilities[other]),
        }
    }
}
