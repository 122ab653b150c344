//! One side of a decision: an edge vector, compared with all training edges or with those of a label.

use crate::task::Task;
use citree_index::Hit;
use std::sync::{Arc, OnceLock};

/// One of the alternatives of a decision as the training edges see it.
#[derive(Clone, Debug)]
pub struct Side {
    /// Which model's decision.
    pub task: Task,
    /// The vector of the edge.
    pub row: Vec<f32>,
    /// The label that is decided on; `None` where heads are.
    pub label: Option<u32>,
    pub(super) cached: Arc<Cached>,
}

/// What was computed about an edge vector: one pass over the training edges serves all labels and all that is asked.
#[derive(Debug, Default)]
pub(super) struct Cached {
    /// The nearest of all edges, once a rule needed so many.
    pub(super) nearest: OnceLock<(usize, Vec<Hit>)>,
    /// The similarities with all edges, once they were needed.
    pub(super) similarities: OnceLock<Vec<f32>>,
}

impl Side {
    /// The side of an edge vector.
    pub(crate) fn new(task: Task, row: Vec<f32>, label: Option<u32>) -> Self {
        Self { task, row, label, cached: Arc::default() }
    }

    /// The same edge, compared with the training edges of another label, or with all.
    pub(crate) fn with_label(&self, label: Option<u32>) -> Self {
        Self { label, ..self.clone() }
    }
}
