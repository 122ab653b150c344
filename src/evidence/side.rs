//! One side of a decision: an edge vector that is compared with training edges, all of them or those of one label.

use super::density::Densities;
use super::nearest::Neighbors;
use crate::task::Task;
use std::sync::{Arc, OnceLock};

/// One candidate of a decision, for comparison with training edges.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    /// The model that decides.
    pub task: Task,
    /// The vector of the edge.
    pub row: Vec<f32>,
    /// The label in question; `None` in a decision about heads.
    pub label: Option<u32>,
    pub(super) cached: Arc<Cached>,
}

/// Cached results for an edge vector, shared by the sides of all labels, so that one search or one pass over the
/// training edges is enough.
#[derive(Debug, Default)]
pub(super) struct Cached {
    /// The nearest of all edges that count in evidence with this serial number, and how many a rule requested.
    pub(super) nearest: OnceLock<(u64, usize, Neighbors)>,
    /// The densities around it, with the temperature that a rule requested.
    pub(super) densities: OnceLock<(f32, Densities)>,
    /// The similarities to all accepted edges.
    pub(super) similarities: OnceLock<Vec<f32>>,
    /// The similarities to all rejected edges.
    pub(super) rejected: OnceLock<Vec<f32>>,
}

impl Side {
    /// The side of an edge vector.
    pub(crate) fn new(task: Task, row: Vec<f32>, label: Option<u32>) -> Self {
        Self { task, row, label, cached: Arc::default() }
    }

    /// A copy with a cache of its own: neighbours and densities, which are small, are copied; similarities to all training
    /// edges are not.
    pub(crate) fn carried_over(&self) -> Self {
        let cached = Cached {
            nearest: self.cached.nearest.clone(),
            densities: self.cached.densities.clone(),
            ..Cached::default()
        };
        Self { row: self.row.clone(), cached: Arc::new(cached), ..*self }
    }

    /// The same edge, compared with the training edges of another label, or with all.
    pub(crate) fn with_label(&self, label: Option<u32>) -> Self {
        Self { label, ..self.clone() }
    }
}
