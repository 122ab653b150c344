//! Reliability: whether choices with a probability of 0.8 are right eight times out of ten.

use crate::softmax::Softmax;
use rayon::prelude::*;
use serde::Serialize;

/// The number of bins that probabilities are sorted into, all of the same width.
const BINS: usize = 15;

/// How far probabilities are from what happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Reliability {
    /// Choices that were judged.
    pub choices: usize,
    /// The share of right choices.
    pub accuracy: f64,
    /// The mean probability.
    pub confidence: f64,
    /// The expected calibration error: the mean distance of probability and accuracy over the bins, by their choices.
    pub error: f64,
    /// The bins with any choices, from low to high probability.
    pub bins: Vec<ReliabilityBin>,
}

/// Choices of similar probability.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReliabilityBin {
    /// The lowest probability of the bin.
    pub from: f64,
    /// The highest.
    pub to: f64,
    /// Choices in it.
    pub choices: usize,
    /// The share of right ones.
    pub accuracy: f64,
    /// Their mean probability.
    pub confidence: f64,
}

impl Reliability {
    /// Judges choices by their probability and whether they are right.
    pub fn of(choices: impl IntoIterator<Item = (f64, bool)>) -> Self {
        let mut bins = vec![(0usize, 0usize, 0.0); BINS];
        for (probability, right) in choices {
            // As it is written and shown, so that a parse and its file are judged alike.
            let probability = (probability.clamp(0.0, 1.0) * 1e4).round() / 1e4;
            let bin = &mut bins[((probability * BINS as f64) as usize).min(BINS - 1)];
            *bin = (bin.0 + 1, bin.1 + usize::from(right), bin.2 + probability);
        }
        let choices: usize = bins.iter().map(|bin| bin.0).sum();
        let share = |part: f64| if choices == 0 { 0.0 } else { part / choices as f64 };
        let filled = bins.iter().enumerate().filter(|(_, bin)| bin.0 > 0);
        let bins_of: Vec<ReliabilityBin> = filled
            .map(|(at, &(count, right, sum))| ReliabilityBin {
                from: at as f64 / BINS as f64,
                to: (at + 1) as f64 / BINS as f64,
                choices: count,
                accuracy: right as f64 / count as f64,
                confidence: sum / count as f64,
            })
            .collect();
        let gap = |bin: &ReliabilityBin| bin.choices as f64 * (bin.accuracy - bin.confidence).abs();
        Self {
            choices,
            accuracy: share(bins.iter().map(|bin| bin.1 as f64).sum()),
            confidence: share(bins.iter().map(|bin| bin.2).sum()),
            error: share(bins_of.iter().map(gap).sum()),
            bins: bins_of,
        }
    }
}

/// A decision with the scores of its alternatives, the gold one among them or not.
#[derive(Clone, Debug)]
pub(crate) struct Scored {
    /// The scores of the alternatives.
    pub scores: Vec<f64>,
    /// Which one was chosen.
    pub chosen: usize,
    /// Which one is right; `None` if none is.
    pub gold: Option<usize>,
}

impl Scored {
    /// The probability of one alternative.
    fn probability(&self, of: usize, softmax: Softmax) -> f64 {
        softmax.probability(self.scores.iter().copied(), self.scores[of])
    }
}

/// The softmax by which the choices' probabilities best predict whether they are right: the one with the lowest mean log
/// loss of right and wrong.
pub(crate) fn fit(decisions: &[Scored]) -> Softmax {
    /// No choice is taken for more certain than this, so that one mistake does not outweigh everything.
    const MOST_CERTAIN: f64 = 1.0 - 1e-4;
    /// Decisions whose losses are added by one thread; the sum does not depend on how many threads there are.
    const BLOCK: usize = 1024;
    if decisions.is_empty() {
        return Softmax::default();
    }
    let loss = |softmax: Softmax| -> f64 {
        let of = |decision: &Scored| {
            let sure = decision.probability(decision.chosen, softmax).clamp(1.0 - MOST_CERTAIN, MOST_CERTAIN);
            if decision.gold == Some(decision.chosen) { -sure.ln() } else { -(1.0 - sure).ln() }
        };
        let blocks: Vec<f64> = decisions.par_chunks(BLOCK).map(|block| block.iter().map(of).sum::<f64>()).collect();
        blocks.iter().sum()
    };
    let at_power = |power: f64| {
        let at = |log: f64| loss(Softmax { temperature: log.exp(), power });
        let (log, loss) = lowest([-3.9, 3.9], 20, at);
        (Softmax { temperature: log.exp(), power }, loss)
    };
    let (log_power, _) = lowest([-1.4, 0.7], 12, |log| at_power(log.exp()).1);
    at_power(log_power.exp()).0
}

/// Where a function of one valley is lowest between two points, and how low, by golden-section search.
fn lowest([mut low, mut high]: [f64; 2], steps: usize, function: impl Fn(f64) -> f64) -> (f64, f64) {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let mut inner = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)];
    let mut values = inner.map(&function);
    for _ in 0..steps {
        if values[0] <= values[1] {
            high = inner[1];
            inner = [high - GOLDEN * (high - low), inner[0]];
            values = [function(inner[0]), values[0]];
        } else {
            low = inner[0];
            inner = [inner[1], low + GOLDEN * (high - low)];
            values = [values[1], function(inner[1])];
        }
    }
    if values[0] <= values[1] { (inner[0], values[0]) } else { (inner[1], values[1]) }
}

/// The reliability of decisions by a softmax.
pub(crate) fn reliability(decisions: &[Scored], softmax: Softmax) -> Reliability {
    let judged =
        |decision: &Scored| (decision.probability(decision.chosen, softmax), decision.gold == Some(decision.chosen));
    Reliability::of(decisions.iter().map(judged))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::Random;

    #[test]
    fn honest_probabilities_have_no_error_and_boasting_ones_have() {
        let honest = (0..1000).map(|at| (0.8, at % 5 > 0));
        assert!(Reliability::of(honest).error < 1e-9);
        let boasting = Reliability::of((0..1000).map(|at| (0.95, at % 5 > 0)));
        assert!((boasting.error - 0.15).abs() < 1e-9, "{boasting:?}");
        assert!((boasting.accuracy - 0.8).abs() < 1e-9);
        assert_eq!(Reliability::of([]), Reliability::default());
    }

    #[test]
    fn every_choice_is_in_a_bin_even_at_the_ends() {
        let found = Reliability::of([(0.0, false), (1.0, true), (1.0, false), (1.2, true)]);
        assert_eq!(found.bins.iter().map(|bin| bin.choices).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(found.choices, 4);
    }

    /// Decisions whose gold choice is drawn by the probabilities that their scores give by `honest`, and whose scores are
    /// then stretched.
    fn drawn(honest: Softmax, stretch: f64) -> Vec<Scored> {
        let mut random = Random::new(3);
        (0..20_000)
            .map(|_| {
                let scores: Vec<f64> = (0..4).map(|_| 2.0 * f64::from(random.normal())).collect();
                let mut left = f64::from(random.unit());
                let drawn = Scored { scores, chosen: 0, gold: None };
                let gold = (0..4).find(|&at| {
                    left -= drawn.probability(at, honest);
                    left < 0.0
                });
                let best = (0..4).max_by(|&a, &b| drawn.scores[a].total_cmp(&drawn.scores[b])).unwrap();
                let scores = drawn.scores.iter().map(|score| stretch * score).collect();
                Scored { scores, chosen: best, gold: gold.or(Some(3)) }
            })
            .collect()
    }

    #[test]
    fn what_is_fitted_undoes_a_stretch_of_the_scores() {
        for (power, stretch) in [(1.0, 0.4), (1.0, 1.0), (1.0, 5.0), (0.5, 1.0), (0.6, 8.0)] {
            let decisions = drawn(Softmax { temperature: 1.0, power }, stretch);
            let found = fit(&decisions);
            assert!((found.temperature / stretch - 1.0).abs() < 0.12, "{found:?} for {stretch}");
            assert!((found.power - power).abs() < 0.08, "{found:?} for {power}");
            let error = reliability(&decisions, found).error;
            assert!(error < 0.012, "{error}");
            if stretch != 1.0 {
                assert!(reliability(&decisions, Softmax::default()).error > 2.0 * error);
            }
        }
    }

    #[test]
    fn scores_that_grow_faster_than_certainty_need_the_power() {
        let decisions = drawn(Softmax { temperature: 1.0, power: 0.4 }, 6.0);
        let fitted = fit(&decisions);
        let by_temperature = |log: f64| reliability(&decisions, Softmax { temperature: log.exp(), power: 1.0 }).error;
        let (_, best) = lowest([-3.9, 3.9], 20, by_temperature);
        assert!(reliability(&decisions, fitted).error < 0.5 * best, "{best}");
    }

    #[test]
    fn nothing_to_fit_leaves_scores_as_they_are() {
        assert_eq!(fit(&[]), Softmax::default());
    }
}
