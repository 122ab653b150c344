//! Neighbourhood component analysis: every training edge counts by exp(temperature · cosine), so near edges dominate
//! and far ones count for almost nothing.

use super::{Scale, Scoring};
use candle_core::{D, Tensor};

/// Beyond this temperature the contributions of all edges can be too small for f64, and ties would decide.
const HIGHEST: f32 = 1024.0;

/// The log of the sum, or of the mean, of exp(temperature · cosine).
#[derive(Clone, Copy, Debug)]
pub(super) struct Nca {
    pub(super) temperature: f32,
}

impl Scoring for Nca {
    fn name(&self) -> &'static str {
        "nca"
    }

    fn describe(&self) -> String {
        let temperature = self.temperature;
        format!("every training edge counts by exp({temperature} × cosine), so near ones count for most")
    }

    fn setting(&self) -> Option<(&'static str, serde_json::Value)> {
        Some(("temperature", serde_json::json!(self.temperature)))
    }

    fn contribution(&self, similarity: f32, scale: Scale, count: u64) -> f64 {
        // Subtracts 1, the highest cosine, so that nothing overflows; `score` adds it back.
        scale.share(count) * (f64::from(self.temperature) * (f64::from(similarity) - 1.0)).exp()
    }

    fn score(&self, total: f64) -> f64 {
        total.max(f64::MIN_POSITIVE).ln() + f64::from(self.temperature)
    }

    fn check(&self, cosine: bool) -> Result<(), String> {
        if !(self.temperature > 0.0 && self.temperature.is_finite()) {
            return Err("the `temperature` of the nca rule must be a positive number".to_string());
        }
        if self.temperature > HIGHEST {
            return Err(format!("the `temperature` of the nca rule is at most {HIGHEST}"));
        }
        match cosine {
            true => Ok(()),
            false => Err("the nca rule needs a system with cosine, such as IIc; use sum or knn".to_string()),
        }
    }

    fn training_scores(&self, similarities: &Tensor) -> Option<candle_core::Result<Tensor>> {
        Some(log_mean_exp(similarities))
    }
}

/// The log of the mean of the exponentials of each row.
fn log_mean_exp(rows: &Tensor) -> candle_core::Result<Tensor> {
    let largest = rows.max_keepdim(D::Minus1)?.detach();
    let means = rows.broadcast_sub(&largest)?.exp()?.mean(D::Minus1)?;
    means.log()? + largest.squeeze(D::Minus1)?
}
