//! Whether one parser is better than another, or was lucky with the sentences: the paired bootstrap.
//!
//! Sentences are drawn with replacement, as many as there are, and both parsers are scored on what was drawn; again and again.
//! If the better parser is rarely worse in these samples, the difference does not hang on a few sentences.

use crate::random::Random;
use serde::Serialize;

/// The correct words of two parses of one sentence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) words: usize,
    pub(super) heads: [usize; 2],
    pub(super) labelled: [usize; 2],
}

/// How far the second of two parses is ahead of the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Significance {
    /// The difference in UAS.
    pub uas: PairedDifference,
    /// The difference in LAS.
    pub las: PairedDifference,
    /// How many samples were drawn.
    pub samples: usize,
    /// The seed that they were drawn by.
    pub seed: u64,
}

/// The difference of two scores.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PairedDifference {
    /// The score of the second parse less that of the first, -1 to 1.
    pub difference: f64,
    /// Where the middle 95 % of the samples are.
    pub interval: [f64; 2],
    /// Twice the share of samples in which the parser that is behind is not behind, at most 1: the two-sided p-value.
    pub p: f64,
}

impl Significance {
    /// Draws the samples. Equal input gives equal numbers on every machine.
    pub(super) fn of(sentences: &[Counts], samples: usize, seed: u64) -> Self {
        let lead = |correct: [usize; 2]| correct[1] as i64 - correct[0] as i64;
        let leads: Vec<(usize, i64, i64)> =
            sentences.iter().map(|one| (one.words, lead(one.heads), lead(one.labelled))).collect();
        let share = |lead: i64, words: usize| if words == 0 { 0.0 } else { lead as f64 / words as f64 };
        let sum = |drawn: &mut dyn Iterator<Item = &(usize, i64, i64)>| {
            let add =
                |(words, heads, labelled), one: &(usize, i64, i64)| (words + one.0, heads + one.1, labelled + one.2);
            let (words, heads, labelled) = drawn.fold((0, 0, 0), add);
            (share(heads, words), share(labelled, words))
        };
        let (uas, las) = sum(&mut leads.iter());
        let mut random = Random::branch(seed, "paired bootstrap");
        let count = leads.len();
        let drawn: (Vec<f64>, Vec<f64>) =
            (0..samples).map(|_| sum(&mut (0..count).map(|_| &leads[random.below(count)]))).unzip();
        Self { uas: PairedDifference::of(uas, drawn.0), las: PairedDifference::of(las, drawn.1), samples, seed }
    }
}

impl PairedDifference {
    fn of(difference: f64, mut drawn: Vec<f64>) -> Self {
        drawn.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * (drawn.len().saturating_sub(1)) as f64).round() as usize;
            drawn.get(place).copied().unwrap_or(difference)
        };
        let not_ahead = drawn.iter().filter(|one| **one <= 0.0).count();
        let not_behind = drawn.iter().filter(|one| **one >= 0.0).count();
        // What was observed counts as a sample, so that p is never 0.
        let p = 2.0 * (1 + not_ahead.min(not_behind)) as f64 / (1 + drawn.len()) as f64;
        Self { difference, interval: [at(0.025), at(0.975)], p: p.min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(leads: &[i64]) -> Vec<Counts> {
        let correct = |lead: &i64| [5, usize::try_from(5 + lead).unwrap_or_default()];
        leads.iter().map(|lead| Counts { words: 10, heads: correct(lead), labelled: [5, 5] }).collect()
    }

    #[test]
    fn a_lead_in_every_sentence_is_significant_and_none_at_all_is_not() {
        let found = Significance::of(&sentences(&[1; 200]), 1000, 1);
        assert_eq!((found.uas.difference, found.uas.interval), (0.1, [0.1, 0.1]));
        assert!(found.uas.p < 0.01, "{found:?}");
        assert_eq!((found.las.difference, found.las.p), (0.0, 1.0));
    }

    #[test]
    fn a_lead_that_hangs_on_one_sentence_is_not_significant() {
        let mut leads = [0; 200];
        leads[7] = 5;
        let found = Significance::of(&sentences(&leads), 1000, 1);
        assert!(found.uas.difference > 0.0 && found.uas.p > 0.5, "{found:?}");
    }

    #[test]
    fn the_samples_spread_as_the_mean_of_the_sentences_does() {
        // Leads of -1 and 2 by turns: mean 0.5, standard deviation 1.5, so 1.5 / sqrt(400) = 0.075 for their mean.
        let leads: Vec<i64> = (0..400).map(|at| if at % 2 == 0 { -1 } else { 2 }).collect();
        let [low, high] = Significance::of(&sentences(&leads), 4000, 3).uas.interval;
        assert!(((high - low) / 2.0 * 10.0 - 1.96 * 0.075).abs() < 0.01, "{low} {high}");
    }

    #[test]
    fn no_sentences_and_no_samples_are_no_difference() {
        assert_eq!(Significance::of(&[], 100, 1).las.p, 1.0);
        assert_eq!(Significance::of(&sentences(&[1]), 0, 1).uas.difference, 0.1);
    }
}
