//! Probabilities of choices: a softmax over the scores of what the decoder allows, at the temperature that was fitted on
//! the dev set for the rule in use.

use super::Parser;
use crate::task::Task;

impl Parser {
    /// The probability of a head among all positions that were scored, except the word itself.
    pub(crate) fn head_probability(&self, scores: &[f32], word: usize, head: usize) -> f32 {
        probability(scores, |at| at != word, head, self.temperature(Task::Heads))
    }

    /// The probability of a label among those that the decoder allows for an edge from this head.
    pub(crate) fn label_probability(&self, scores: &[f32], head: usize, label: usize) -> f32 {
        let allowed = |at| at == label || self.allows_label(at, head);
        probability(scores, allowed, label, self.temperature(Task::Labels))
    }

    /// What scores are divided by before they become probabilities; 1 for a rule that nobody calibrated.
    fn temperature(&self, task: Task) -> f64 {
        self.measured.temperature(&self.by.rule, task).unwrap_or(1.0)
    }
}

/// The softmax probability of one choice among those that are allowed.
pub(crate) fn probability(scores: &[f32], allowed: impl Fn(usize) -> bool, chosen: usize, temperature: f64) -> f32 {
    let scores_of = || scores.iter().enumerate().filter(|(at, _)| allowed(*at)).map(|(_, &score)| f64::from(score));
    let largest = scores_of().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = scores_of().map(|score| ((score - largest) / temperature).exp()).sum();
    (((f64::from(scores[chosen]) - largest) / temperature).exp() / total) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_one_over_what_is_allowed() {
        let scores = [1.0, 2.0, 300.0, -4.0];
        for temperature in [0.5, 1.0, 3.0] {
            let of = |chosen| probability(&scores, |at| at != 2, chosen, temperature);
            assert!(([0, 1, 3].map(of).iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn a_higher_temperature_makes_the_best_choice_less_certain() {
        let of = |temperature| probability(&[0.0, 2.0], |_| true, 1, temperature);
        assert!(of(2.0) < of(1.0) && of(1.0) < of(0.5));
    }
}
