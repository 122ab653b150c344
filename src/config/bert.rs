//! How a model reads BERT, and whether it trains it along.

use serde::{Deserialize, Serialize};

/// The table `[bert]` of a configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BertSettings {
    /// Which layers a word's state is taken from.
    pub layers: BertLayers,
    /// Whether BERT is trained along; frozen otherwise.
    pub train: bool,
    /// The highest learning rate of BERT's own parameters; it falls in a straight line to nothing.
    pub learning_rate: f64,
    /// Share of all steps in which that rate rises from nothing.
    pub warmup: f64,
}

impl Default for BertSettings {
    fn default() -> Self {
        Self { layers: BertLayers::Last, train: false, learning_rate: 1e-4, warmup: 0.1 }
    }
}

impl BertSettings {
    /// Whether nothing was chosen. Bundles without BERT then keep their text, and with it their fingerprint.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if !(self.learning_rate > 0.0 && self.learning_rate.is_finite()) {
            return Err(format!("bert.learning_rate is {}, but must be a positive number", self.learning_rate));
        }
        if !(0.0..=1.0).contains(&self.warmup) {
            return Err(format!("bert.warmup is {}, but must lie in 0..=1", self.warmup));
        }
        Ok(())
    }

    /// The learning rate when this share of all steps is done.
    pub(crate) fn rate(&self, done: f64) -> f64 {
        let falling = (1.0 - done) / (1.0 - self.warmup).max(f64::MIN_POSITIVE);
        let rising = if self.warmup > 0.0 { done / self.warmup } else { 1.0 };
        self.learning_rate * rising.min(falling).clamp(0.0, 1.0)
    }
}

/// Which layers a word's state is taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BertLayers {
    /// The last one, as the paper.
    #[default]
    Last,
    /// All of them, the embedding included, each by a learnt weight: lower layers know more of syntax.
    Mix,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_in_the_warm_up_and_falls_to_nothing() {
        let settings = BertSettings { learning_rate: 2.0, warmup: 0.2, ..BertSettings::default() };
        let rates = [0.0, 0.1, 0.2, 0.6, 1.0].map(|done| settings.rate(done));
        let expected = [0.0, 1.0, 2.0, 1.0, 0.0];
        assert!(rates.iter().zip(expected).all(|(rate, expected)| (rate - expected).abs() < 1e-12), "{rates:?}");
        let at_once = BertSettings { warmup: 0.0, ..settings };
        assert_eq!(at_once.rate(0.0), 2.0);
    }
}
