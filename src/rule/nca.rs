//! Neighbourhood component analysis: every training edge counts by exp(temperature · cosine), so near edges dominate
//! and far ones count for almost nothing. For heads, the score is the log of a ratio of densities: that of accepted
//! edges around a candidate to that of rejected ones.

use super::{Compared, Context, Scoring, Totals};
use candle_core::{D, Tensor};

/// Beyond this temperature the contributions of all edges can be too small for f64, and ties would decide.
const HIGHEST: f32 = 1024.0;

/// A log ratio of densities for heads; the log of the sum or of the mean of exp(temperature · cosine) otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nca {
    pub(super) temperature: f32,
}

impl Nca {
    /// Subtracts 1, the highest cosine, so that nothing overflows.
    fn weight(&self, similarity: f32) -> f64 {
        (f64::from(self.temperature) * (f64::from(similarity) - 1.0)).exp()
    }
}

impl Scoring for Nca {
    fn name(&self) -> &'static str {
        "nca"
    }

    fn describe(&self) -> String {
        let temperature = self.temperature;
        format!("every training edge counts by exp({temperature} × cosine), so near ones count for most")
    }

    fn settings(&self) -> Vec<(&'static str, serde_json::Value)> {
        vec![("temperature", serde_json::json!(self.temperature))]
    }

    fn exponent(&self) -> Option<f32> {
        Some(self.temperature)
    }

    fn counts_rejected(&self) -> bool {
        true
    }

    fn whole(&self, accepted: &[f32], rejected: &[f32], context: &Context) -> f64 {
        match context.compared {
            Compared::Both => {
                let weights = accepted.iter().chain(rejected).map(|&similarity| self.weight(similarity));
                weights.sum::<f64>().max(f64::MIN_POSITIVE)
            }
            Compared::Accepted | Compared::Label => 1.0,
        }
    }

    fn contribution(&self, similarity: f32, context: &Context) -> f64 {
        match context.compared {
            Compared::Both => self.weight(similarity) / context.whole,
            Compared::Accepted | Compared::Label => context.scale.share(context.count) * self.weight(similarity),
        }
    }

    fn score(&self, totals: Totals, context: &Context) -> f64 {
        let log = |total: f64| total.max(f64::MIN_POSITIVE).ln();
        match context.compared {
            Compared::Both => log(totals.accepted) - log(totals.rejected),
            Compared::Accepted | Compared::Label => log(totals.accepted) + f64::from(self.temperature),
        }
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
