//! Reliability: whether choices with a probability of 0.8 are right eight times out of ten.

use serde::Serialize;

/// The number of bins that probabilities are sorted into, all of the same width.
const BINS: usize = 15;

/// How far probabilities are from what happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
            let probability = probability.clamp(0.0, 1.0);
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
    /// The probability of one alternative at a temperature.
    fn probability(&self, of: usize, temperature: f64) -> f64 {
        let highest = self.scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = self.scores.iter().map(|score| ((score - highest) / temperature).exp()).sum();
        ((self.scores[of] - highest) / temperature).exp() / total
    }
}

/// The temperature at which the choices' probabilities best predict whether they are right: the one with the lowest mean
/// log loss of right and wrong.
pub(crate) fn fit_temperature(decisions: &[Scored]) -> f64 {
    /// No choice is taken for more certain than this, so that one mistake does not outweigh everything.
    const MOST_CERTAIN: f64 = 1.0 - 1e-4;
    let loss = |log_temperature: f64| -> f64 {
        let temperature = log_temperature.exp();
        let of = |decision: &Scored| {
            let sure = decision.probability(decision.chosen, temperature).clamp(1.0 - MOST_CERTAIN, MOST_CERTAIN);
            if decision.gold == Some(decision.chosen) { -sure.ln() } else { -(1.0 - sure).ln() }
        };
        decisions.iter().map(of).sum()
    };
    // Golden-section search between 1/50 and 50.
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let (mut low, mut high) = (-3.9, 3.9);
    let mut inner = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)];
    let mut losses = inner.map(loss);
    for _ in 0..40 {
        if losses[0] <= losses[1] {
            high = inner[1];
            inner = [high - GOLDEN * (high - low), inner[0]];
            losses = [loss(inner[0]), losses[0]];
        } else {
            low = inner[0];
            inner = [inner[1], low + GOLDEN * (high - low)];
            losses = [losses[1], loss(inner[1])];
        }
    }
    if decisions.is_empty() { 1.0 } else { f64::midpoint(low, high).exp() }
}

/// The reliability of decisions at a temperature.
pub(crate) fn reliability(decisions: &[Scored], temperature: f64) -> Reliability {
    Reliability::of(
        decisions.iter().map(|decision| {
            (decision.probability(decision.chosen, temperature), decision.gold == Some(decision.chosen))
        }),
    )
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

    /// Decisions whose gold choice is drawn by the probabilities that their scores give at temperature 1, and whose
    /// scores are then stretched.
    fn drawn(stretch: f64) -> Vec<Scored> {
        let mut random = Random::new(3);
        (0..20_000)
            .map(|_| {
                let scores: Vec<f64> = (0..4).map(|_| 2.0 * f64::from(random.normal())).collect();
                let mut left = f64::from(random.unit());
                let honest = Scored { scores, chosen: 0, gold: None };
                let gold = (0..4).find(|&at| {
                    left -= honest.probability(at, 1.0);
                    left < 0.0
                });
                let best = (0..4).max_by(|&a, &b| honest.scores[a].total_cmp(&honest.scores[b])).unwrap();
                let scores = honest.scores.iter().map(|score| stretch * score).collect();
                Scored { scores, chosen: best, gold: gold.or(Some(3)) }
            })
            .collect()
    }

    #[test]
    fn the_fitted_temperature_undoes_a_stretch_of_the_scores() {
        for stretch in [0.4, 1.0, 5.0] {
            let decisions = drawn(stretch);
            let temperature = fit_temperature(&decisions);
            assert!((temperature / stretch - 1.0).abs() < 0.06, "{temperature} for {stretch}");
            let error = reliability(&decisions, temperature).error;
            assert!(error < 0.012, "{error}");
            if stretch != 1.0 {
                assert!(reliability(&decisions, 1.0).error > 2.0 * error);
            }
        }
    }

    #[test]
    fn nothing_to_fit_leaves_scores_as_they_are() {
        assert_eq!(fit_temperature(&[]), 1.0);
    }
}
