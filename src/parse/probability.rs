//! Probabilities of choices: a softmax over the scores of what the decoder allows, as it was fitted on the dev set for the
//! rule in use.

use super::Parser;
use crate::softmax::Softmax;
use crate::task::Task;

impl Parser {
    /// The probability of a head among all positions that were scored, except the word itself.
    pub(crate) fn head_probability(&self, scores: &[f32], word: usize, head: usize) -> f32 {
        probability(scores, |at| at != word, head, self.softmax(Task::Heads))
    }

    /// The probability of a label among those that the decoder allows for an edge from this head.
    pub(crate) fn label_probability(&self, scores: &[f32], head: usize, label: usize) -> f32 {
        let allowed = |at| at == label || self.allows_label(at, head);
        probability(scores, allowed, label, self.softmax(Task::Labels))
    }

    /// How scores become probabilities; the plain softmax for a rule that nobody calibrated.
    fn softmax(&self, task: Task) -> Softmax {
        self.measured.softmax(&self.by.rule, task).unwrap_or_default()
    }
}

/// The probability of one choice among those that are allowed.
fn probability(scores: &[f32], allowed: impl Fn(usize) -> bool + Clone, chosen: usize, softmax: Softmax) -> f32 {
    let allowed = scores.iter().enumerate().filter(move |(at, _)| allowed(*at)).map(|(_, &score)| f64::from(score));
    softmax.probability(allowed, f64::from(scores[chosen])) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_one_over_what_is_allowed() {
        let scores = [1.0, 2.0, 300.0, -4.0];
        let of = |chosen| probability(&scores, |at| at != 2, chosen, Softmax::default());
        assert!(([0, 1, 3].map(of).iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }
}
