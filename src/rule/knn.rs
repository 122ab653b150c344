//! The k-nearest-neighbours rule: only the nearest training edges count, by exp(temperature · similarity).
//!
//! For a head, one half are the nearest accepted edges, which vote for it, and one half the nearest rejected edges, which
//! vote against it. The score is the log of the ratio of their votes, so that a nearer accepted edge never lowers it
//! and a nearer rejected edge never raises it. For a label, each neighbour votes for its own label.

use super::{Compared, Context, Scoring, Totals, nca};
use candle_core::Tensor;

/// With more neighbours than this it is the nca rule by another name, and slow.
const MOST: usize = 10_000;
/// Beyond this temperature the nearest edge alone decides.
const HIGHEST: f32 = 1024.0;
/// What speaks for a label before anybody votes, as a share of all votes: for one that no neighbour has, it is all.
const LABEL_PRIOR: f64 = 1e-3;

/// A vote of the `neighbors` nearest training edges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knn {
    pub(super) neighbors: usize,
    /// How much more near edges count than far ones; by default the factor τ that the model was trained with.
    pub(super) temperature: Option<f32>,
}

impl Knn {
    fn weight(&self, similarity: f32, context: &Context) -> f64 {
        let temperature = self.temperature.map_or(context.scale.factor, f64::from);
        (temperature * (f64::from(similarity) - f64::from(context.nearest))).exp()
    }
}

impl Scoring for Knn {
    fn name(&self) -> &'static str {
        "knn"
    }

    fn describe(&self) -> String {
        format!(
            "the {} nearest training edges vote, near ones with more weight; on a head half of them are rejected edges, if \
             there are any",
            self.neighbors
        )
    }

    fn settings(&self) -> Vec<(&'static str, serde_json::Value)> {
        let temperature = self.temperature.map(|temperature| ("temperature", serde_json::json!(temperature)));
        [("neighbors", serde_json::json!(self.neighbors))].into_iter().chain(temperature).collect()
    }

    fn neighbors(&self) -> Option<usize> {
        Some(self.neighbors)
    }

    fn counts_rejected(&self) -> bool {
        true
    }

    fn gives_shares(&self, compared: Compared) -> bool {
        compared != Compared::Accepted
    }

    fn contribution(&self, similarity: f32, context: &Context) -> f64 {
        let whole = match context.compared {
            Compared::Both | Compared::Label => context.whole,
            Compared::Accepted => self.neighbors.max(1) as f64,
        };
        self.weight(similarity, context) / whole
    }

    fn score(&self, totals: Totals, context: &Context) -> f64 {
        match context.compared {
            Compared::Both => totals.accepted.max(f64::MIN_POSITIVE).ln() - totals.rejected.max(f64::MIN_POSITIVE).ln(),
            Compared::Label => (totals.accepted + LABEL_PRIOR).ln(),
            Compared::Accepted => {
                let temperature = self.temperature.map_or(context.scale.factor, f64::from);
                totals.accepted.max(f64::MIN_POSITIVE).ln() + temperature * f64::from(context.nearest)
            }
        }
    }

    fn score_without_votes(&self) -> Option<f64> {
        Some(LABEL_PRIOR.ln())
    }

    fn check(&self, _cosine: bool) -> Result<(), String> {
        if self.temperature.is_some_and(|temperature| !(temperature > 0.0 && temperature <= HIGHEST)) {
            return Err(format!("the `temperature` of the knn rule must be a positive number of at most {HIGHEST}"));
        }
        match self.neighbors {
            0 | 1 => Err("the knn rule needs `neighbors` of 2 or more: one for a head and one against it".to_string()),
            2..=MOST => Ok(()),
            _ => Err(format!("the knn rule takes at most {MOST} `neighbors`")),
        }
    }

    // A batch holds few edges near to any candidate, so all of them vote. Near ones have nearly all the weight.
    fn training_scores(&self, accepted: &Tensor, rejected: Option<&Tensor>) -> Option<candle_core::Result<Tensor>> {
        Some(match rejected {
            Some(rejected) => nca::log_sum_exp(accepted).and_then(|own| own - nca::log_sum_exp(rejected)?),
            None => nca::log_sum_exp(accepted),
        })
    }
}
