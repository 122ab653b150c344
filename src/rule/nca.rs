//! Neighbourhood component analysis: every training edge counts by exp(temperature · cosine), so near edges dominate
//! and far ones count for almost nothing. For heads, the score is the log of a ratio of densities: that of accepted
//! edges around a candidate to that of rejected ones.

use super::{Compared, Context, Scale, Scoring, Totals};
use candle_core::{D, Tensor};
use std::sync::Arc;

/// Beyond this temperature the contributions of all edges can be too small for f64, and ties would decide.
const HIGHEST: f32 = 1024.0;

/// A log ratio of densities for heads; the log of the sum or of the mean of exp(temperature · cosine) otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nca {
    /// How much more near edges count than far ones; by default the factor τ that the model was trained with.
    pub(super) temperature: Option<f32>,
}

impl Nca {
    fn temperature(&self, context: &Context) -> f64 {
        self.temperature.map_or(context.scale.factor, f64::from)
    }

    /// Subtracts 1, the highest cosine, so that nothing overflows.
    fn weight(&self, similarity: f32, context: &Context) -> f64 {
        (self.temperature(context) * (f64::from(similarity) - 1.0)).exp()
    }
}

impl Scoring for Nca {
    fn name(&self) -> &'static str {
        "nca"
    }

    fn describe(&self) -> String {
        let temperature = self.temperature.map_or("τ".to_string(), |temperature| temperature.to_string());
        format!("every training edge counts by exp({temperature} × cosine), so near ones count for most")
    }

    fn settings(&self) -> Vec<(&'static str, serde_json::Value)> {
        self.temperature.map(|temperature| ("temperature", serde_json::json!(temperature))).into_iter().collect()
    }

    fn with_scale(&self, scale: Scale) -> Option<Arc<dyn Scoring>> {
        Some(Arc::new(Self { temperature: Some(self.temperature.unwrap_or(scale.factor as f32)) }))
    }

    fn exponent(&self) -> Option<f32> {
        self.temperature
    }

    fn counts_rejected(&self) -> bool {
        true
    }

    fn gives_shares(&self, compared: Compared) -> bool {
        compared == Compared::Both
    }

    fn contribution(&self, similarity: f32, context: &Context) -> f64 {
        match context.compared {
            Compared::Both => self.weight(similarity, context) / context.whole,
            Compared::Accepted | Compared::Label => {
                context.scale.share(context.count) * self.weight(similarity, context)
            }
        }
    }

    fn score(&self, totals: Totals, context: &Context) -> f64 {
        let log = |total: f64| total.max(f64::MIN_POSITIVE).ln();
        match context.compared {
            Compared::Both => log(totals.accepted) - log(totals.rejected),
            Compared::Accepted | Compared::Label => log(totals.accepted) + self.temperature(context),
        }
    }

    fn check(&self, cosine: bool) -> Result<(), String> {
        if let Some(temperature) = self.temperature {
            if !(temperature > 0.0 && temperature.is_finite()) {
                return Err("the `temperature` of the nca rule must be a positive number".to_string());
            }
            if temperature > HIGHEST {
                return Err(format!("the `temperature` of the nca rule is at most {HIGHEST}"));
            }
        }
        match cosine {
            true => Ok(()),
            false => Err("the nca rule needs a system with cosine, such as IIc; use sum or knn".to_string()),
        }
    }

    fn training_scores(&self, accepted: &Tensor, rejected: Option<&Tensor>) -> Option<candle_core::Result<Tensor>> {
        Some(match rejected {
            Some(rejected) => log_mean_exp(accepted).and_then(|own| own - log_mean_exp(rejected)?),
            None => log_mean_exp(accepted),
        })
    }
}

/// The log of the sum of the exponentials of each row.
pub(super) fn log_sum_exp(rows: &Tensor) -> candle_core::Result<Tensor> {
    let largest = rows.max_keepdim(D::Minus1)?.detach();
    let sums = rows.broadcast_sub(&largest)?.exp()?.sum(D::Minus1)?;
    sums.log()? + largest.squeeze(D::Minus1)?
}

fn log_mean_exp(rows: &Tensor) -> candle_core::Result<Tensor> {
    log_sum_exp(rows)? - (rows.dim(D::Minus1)? as f64).ln()
}
