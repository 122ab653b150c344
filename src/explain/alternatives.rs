//! What else a word's head or label could have been, the likeliest first.

use super::{Explainer, Reading, RunnerUp};
use crate::parse::probability;

impl Explainer {
    /// The likeliest heads of a word but the one that was chosen.
    pub fn other_heads(&self, reading: &Reading, word: usize, count: usize) -> Vec<RunnerUp> {
        let n = reading.positions();
        let Some(scores) = reading.head_scores.get(word * n..(word + 1) * n).filter(|_| word > 0) else {
            return Vec::new();
        };
        let chosen = reading.parse.heads[word];
        let runner_up = |head: usize| RunnerUp {
            head: Some(head),
            label: None,
            score: f64::from(scores[head]),
            probability: probability(scores, Some(word), head),
            margin: f64::from(scores[chosen]) - f64::from(scores[head]),
        };
        best(scores, &[word, chosen], count).into_iter().map(runner_up).collect()
    }

    /// The likeliest labels of a word's edge but the one that was chosen.
    pub fn other_labels(&self, reading: &Reading, word: usize, count: usize) -> Vec<RunnerUp> {
        let names = self.parser.tables().vocabulary.labels();
        let scores = word.checked_sub(1).and_then(|at| reading.label_scores.chunks(names.len().max(1)).nth(at));
        let chosen = reading.parse.labels.get(word).and_then(|label| names.iter().position(|name| name == label));
        let (Some(scores), Some(chosen)) = (scores, chosen) else { return Vec::new() };
        let runner_up = |label: usize| RunnerUp {
            head: None,
            label: Some(names[label].clone()),
            score: f64::from(scores[label]),
            probability: probability(scores, None, label),
            margin: f64::from(scores[chosen]) - f64::from(scores[label]),
        };
        best(scores, &[chosen], count).into_iter().map(runner_up).collect()
    }
}

/// The places of the highest scores but for some places, and those that were not looked at.
fn best(scores: &[f32], others: &[usize], count: usize) -> Vec<usize> {
    let mut places: Vec<usize> =
        (0..scores.len()).filter(|at| !others.contains(at) && scores[*at] > f32::NEG_INFINITY).collect();
    places.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    places.truncate(count);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_others_come_first_and_what_was_not_looked_at_never() {
        let scores = [1.0, 5.0, f32::NEG_INFINITY, 3.0, 3.0];
        assert_eq!(best(&scores, &[1], 9), [3, 4, 0]);
        assert_eq!(best(&scores, &[], 2), [1, 3]);
    }
}
