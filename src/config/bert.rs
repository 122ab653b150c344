//! Which layers of BERT a model uses, and whether it fine-tunes them.

use serde::{Deserialize, Serialize};

/// The table `[bert]` of a configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BertSettings {
    /// The layers that a word's state comes from.
    pub layers: BertLayers,
    /// Whether to fine-tune BERT. It is frozen otherwise.
    pub train: bool,
    /// The peak learning rate of BERT's own parameters. It decreases linearly to 0.
    pub learning_rate: f64,
    /// Share of all steps in which the rate increases from 0 to its peak.
    pub warmup: f64,
}

impl Default for BertSettings {
    fn default() -> Self {
        Self { layers: BertLayers::Last, train: false, learning_rate: 1e-4, warmup: 0.1 }
    }
}

impl BertSettings {
    /// Whether all settings are defaults. They are not serialised then, so that bundles without BERT keep their text
    /// and their fingerprint.
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

    /// The learning rate after this share of all steps.
    pub(crate) fn rate(&self, done: f64) -> f64 {
        let falling = (1.0 - done) / (1.0 - self.warmup).max(f64::MIN_POSITIVE);
        let rising = if self.warmup > 0.0 { done / self.warmup } else { 1.0 };
        self.learning_rate * rising.min(falling).clamp(0.0, 1.0)
    }
}

/// The layers that a word's state comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BertLayers {
    /// The last layer, as in the paper.
    #[default]
    Last,
    /// All layers with learnt weights, the embedding included: lower layers encode more syntax.
    Mix,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_in_the_warm_up_and_falls_to_zero() {
        let settings = BertSettings { learning_rate: 2.0, warmup: 0.2, ..BertSettings::default() };
        let rates = [0.0, 0.1, 0.2, 0.6, 1.0].map(|done| settings.rate(done));
        let expected = [0.0, 1.0, 2.0, 1.0, 0.0];
        assert!(rates.iter().zip(expected).all(|(rate, expected)| (rate - expected).abs() < 1e-12), "{rates:?}");
        let at_once = BertSettings { warmup: 0.0, ..settings };
        assert_eq!(at_once.rate(0.0), 2.0);
    }
}
