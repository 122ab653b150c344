//! The k-nearest-neighbours rule: only the nearest of all training edges count, by their similarity. For a label, only
//! those among them that have it.

use super::{Scale, Scoring};

/// With more neighbours than this it is the sum rule by another name, and slow.
const MOST: usize = 10_000;

/// The sum of the nearest similarities, divided by `neighbors`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knn {
    pub(super) neighbors: usize,
}

impl Scoring for Knn {
    fn name(&self) -> &'static str {
        "knn"
    }

    fn describe(&self) -> String {
        format!("the {} nearest training edges count, by their similarity", self.neighbors)
    }

    fn setting(&self) -> Option<(&'static str, serde_json::Value)> {
        Some(("neighbors", serde_json::json!(self.neighbors)))
    }

    fn neighbors(&self) -> Option<usize> {
        Some(self.neighbors)
    }

    fn contribution(&self, similarity: f32, scale: Scale, _count: u64) -> f64 {
        scale.factor * f64::from(similarity) / self.neighbors.max(1) as f64
    }

    fn check(&self, _cosine: bool) -> Result<(), String> {
        match self.neighbors {
            0 => Err("the knn rule needs `neighbors` of 1 or more".to_string()),
            1..=MOST => Ok(()),
            _ => Err(format!("the knn rule takes at most {MOST} `neighbors`")),
        }
    }
}
