//! How scores of alternatives become probabilities: a softmax with two parameters that are fitted on a dev set.
//!
//! An alternative whose score is d below the best one weighs exp(−(d / temperature)^power). With a power of 1 that is a
//! softmax at a temperature. A lower power is for rules whose scores grow faster than their certainty, such as the log
//! ratio of votes. The order of alternatives never changes.

use serde::{Deserialize, Serialize};

/// Beyond this exponent a weight does not change a sum of f64 that is at least 1.
const NEGLIGIBLE: f64 = 40.0;

/// A softmax with a temperature and a power.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Softmax {
    /// What distances to the best score are divided by.
    pub temperature: f64,
    /// The power that they are raised to then. Bundles of earlier versions have none, which means 1.
    #[serde(default = "one")]
    pub power: f64,
}

fn one() -> f64 {
    1.0
}

/// The plain softmax.
impl Default for Softmax {
    fn default() -> Self {
        Self { temperature: 1.0, power: 1.0 }
    }
}

impl Softmax {
    /// Whether both parameters are positive numbers.
    pub(crate) fn is_valid(&self) -> bool {
        [self.temperature, self.power].iter().all(|value| value.is_finite() && *value > 0.0)
    }

    /// The probability of an alternative with a score, among all alternatives, itself included.
    pub(crate) fn probability(&self, scores: impl Iterator<Item = f64> + Clone, chosen: f64) -> f64 {
        let best = scores.clone().fold(chosen, f64::max);
        // Found once, so that no power is computed of what counts for nothing.
        let farthest = self.temperature * NEGLIGIBLE.powf(1.0 / self.power);
        let weight = |score: f64| match best - score {
            distance if distance >= farthest => 0.0,
            distance if self.power == 1.0 => (-distance / self.temperature).exp(),
            distance => (-(distance / self.temperature).powf(self.power)).exp(),
        };
        weight(chosen) / scores.map(weight).sum::<f64>().max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCORES: [f64; 4] = [1.0, 2.0, 1.9, -400.0];

    fn all(softmax: Softmax) -> [f64; 4] {
        SCORES.map(|score| softmax.probability(SCORES.into_iter(), score))
    }

    #[test]
    fn probabilities_sum_to_one_and_keep_the_order_of_scores() {
        for (temperature, power) in [(0.5, 1.0), (1.0, 1.0), (3.0, 0.4), (0.2, 1.7)] {
            let found = all(Softmax { temperature, power });
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{found:?}");
            assert!(found[1] > found[2] && found[2] > found[0] && found[0] > found[3], "{found:?}");
        }
    }

    #[test]
    fn a_power_of_one_is_a_softmax() {
        let total: f64 = SCORES.iter().map(|score| (score / 2.0).exp()).sum();
        for (found, score) in all(Softmax { temperature: 2.0, power: 1.0 }).into_iter().zip(SCORES) {
            assert!((found - (score / 2.0).exp() / total).abs() < 1e-12);
        }
    }

    #[test]
    fn a_lower_power_is_less_certain_of_large_margins_and_as_certain_of_one_temperature() {
        let of = |power: f64, margin: f64| {
            Softmax { temperature: 2.0, power }.probability([0.0, margin].into_iter(), margin)
        };
        assert!(of(0.5, 20.0) < of(1.0, 20.0));
        assert!((of(0.5, 2.0) - of(1.0, 2.0)).abs() < 1e-12);
    }

    #[test]
    fn an_earlier_version_wrote_no_power() {
        let read: Softmax = serde_json::from_str(r#"{"temperature": 3.0}"#).expect("a softmax");
        assert_eq!(read, Softmax { temperature: 3.0, power: 1.0 });
        assert!(read.is_valid() && !Softmax { power: 0.0, ..read }.is_valid());
    }
}
