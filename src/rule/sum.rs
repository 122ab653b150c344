//! The paper's rule: every training edge counts by its similarity, so a total is the similarity to a summed vector.

use super::{Context, Scoring};

/// The sum, or the mean, of all similarities.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum;

impl Scoring for Sum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn describe(&self) -> String {
        "every training edge counts by its similarity".to_string()
    }

    fn contribution(&self, similarity: f32, context: &Context) -> f64 {
        context.scale.share(context.count) * context.scale.factor * f64::from(similarity)
    }

    fn is_linear(&self) -> bool {
        true
    }
}
