//! Summarises many decisions per rule: accuracy, difference to a base rule, coverage, and edges needed to flip a
//! decision.

use super::weigh::CITED;
use crate::lab::statistics::{mean_and_deviation, median};
use serde::{Deserialize, Serialize};

/// The number of sentences in which the edges that flip a decision are counted.
pub(super) const FLIPS: usize = 160;

/// The results of all rules for one decision.
pub(super) struct Decided<const RULES: usize> {
    /// Whether each rule chose correctly.
    pub(super) right: [bool; RULES],
    /// For each rule, the shares of its choice's total that the nearest edges carry, by [`CITED`].
    pub(super) coverage: [[f64; CITED.len()]; RULES],
    /// For each rule, the edges to remove until its runner-up wins, if they were counted.
    pub(super) flips: [Option<Flip>; RULES],
}

/// The edges to remove to change a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Flip {
    pub(super) edges: usize,
    /// The number of edges they are taken from.
    pub(super) of: usize,
}

/// The results of all rules over all decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) decisions: usize,
    /// The number of decisions with counted flips.
    pub(super) flipped: usize,
    /// The summaries, in the order of the rules.
    pub(super) rules: Vec<Summary>,
}

/// The results of one rule over all decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Summary {
    /// The share of correct choices.
    pub(super) accuracy: f64,
    /// The accuracy minus that of the base rule, and the standard error of this difference, paired by decision.
    pub(super) gain: f64,
    pub(super) error: f64,
    /// The mean shares of the total that the nearest edges carry, by [`CITED`].
    pub(super) coverage: [f64; CITED.len()],
    /// The median share of the edges to remove until the runner-up wins.
    pub(super) flip: Option<f64>,
    /// The median number of these edges.
    pub(super) flip_edges: Option<f64>,
}

/// Compares every rule with the one at index `base`.
pub(super) fn tally<const RULES: usize>(decided: &[Decided<RULES>], base: usize) -> Tally {
    let count = decided.len().max(1) as f64;
    let right = |own: &Decided<RULES>, rule: usize| f64::from(u8::from(own.right[rule]));
    let summary = |rule: usize| {
        let differences: Vec<f64> = decided.iter().map(|own| right(own, rule) - right(own, base)).collect();
        let (gain, deviation) = mean_and_deviation(&differences);
        let flips = || decided.iter().filter_map(|own| own.flips[rule]);
        let mut shares: Vec<f64> = flips().map(|flip| flip.edges as f64 / flip.of.max(1) as f64).collect();
        let mut edges: Vec<f64> = flips().map(|flip| flip.edges as f64).collect();
        Summary {
            accuracy: decided.iter().map(|own| right(own, rule)).sum::<f64>() / count,
            gain,
            error: deviation.unwrap_or_default() / count.sqrt(),
            coverage: std::array::from_fn(|at| decided.iter().map(|own| own.coverage[rule][at]).sum::<f64>() / count),
            flip: median(&mut shares),
            flip_edges: median(&mut edges),
        }
    };
    let flipped = decided.iter().filter(|own| own.flips.iter().any(Option::is_some)).count();
    Tally { decisions: decided.len(), flipped, rules: (0..RULES).map(summary).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-5, "{found} instead of {wanted}");
    }

    #[test]
    fn rules_are_compared_with_the_base_decision_by_decision() {
        let decided = |base: bool, other: bool, flip: Option<usize>| Decided {
            right: [base, other],
            coverage: [[0.25, 0.5], [0.5, 1.0]],
            flips: [flip.map(|edges| Flip { edges, of: 10 }), None],
        };
        let tally = tally(
            &[
                decided(true, true, Some(1)),
                decided(false, true, Some(3)),
                decided(true, true, Some(2)),
                decided(true, false, None),
                decided(false, true, None),
            ],
            0,
        );
        let [base, other] = &tally.rules[..] else { panic!("{tally:?}") };
        assert_eq!((tally.decisions, tally.flipped, base.gain, base.error), (5, 3, 0.0, 0.0));
        assert_eq!((base.flip, base.flip_edges, other.flip), (Some(0.2), Some(2.0), None));
        close(base.accuracy, 0.6);
        close(other.accuracy, 0.8);
        close(other.gain, 0.2);
        close(other.error, 0.374_166);
        assert_eq!((base.coverage, other.coverage), ([0.25, 0.5], [0.5, 1.0]));
    }
}
