//! What a training run reports, and who receives it: the library itself prints nothing.

use crate::config::Config;
use crate::evidence::Step;
use crate::flow::Flow;
use crate::task::Task;
use serde::{Deserialize, Serialize};

/// Receives the progress of a training run. `()` ignores it.
pub trait Observer: Sync {
    /// Called after every batch.
    fn step(&mut self, _report: &StepReport) -> Flow {
        Flow::Continue
    }
    /// Called after every epoch.
    fn epoch(&mut self, _report: &EpochReport) {}
    /// Called while the training edges are encoded and indexed, from several threads. A run that stops here is resumed
    /// where the index begins.
    fn indexing(&self, _step: Step) -> Flow {
        Flow::Continue
    }
}

/// Ignores all reports.
impl Observer for () {}

/// The models that are trained together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The head model alone.
    Heads,
    /// The label model alone.
    Labels,
    /// Both, on one encoder.
    Both,
}

impl Stage {
    /// The stages of training, in order.
    pub fn all(config: &Config) -> &'static [Self] {
        if config.share_encoder { &[Self::Both] } else { &[Self::Heads, Self::Labels] }
    }

    /// The models of the stage.
    pub(crate) fn tasks(self) -> &'static [Task] {
        match self {
            Self::Heads => &[Task::Heads],
            Self::Labels => &[Task::Labels],
            Self::Both => &Task::ALL,
        }
    }

    /// The name in files and messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Heads => "heads",
            Self::Labels => "labels",
            Self::Both => "both",
        }
    }
}

/// The progress of a run after a batch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepReport {
    /// The current stage.
    pub stage: Stage,
    /// Epochs completed.
    pub epoch: usize,
    /// Epochs planned.
    pub epochs: usize,
    /// Batches done in this epoch.
    pub batch: usize,
    /// Batches per epoch.
    pub batches: usize,
    /// Mean loss of the epoch so far.
    pub loss: f64,
    /// Query words in the epoch so far.
    pub tokens: usize,
    /// Seconds spent on them.
    pub seconds: f64,
}

/// The results of an epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EpochReport {
    /// `heads` or `labels`.
    pub task: String,
    /// The epoch, from 1.
    pub epoch: usize,
    /// Mean loss of its batches.
    pub loss: f64,
    /// On the dev set: the share of correct heads (greedy), or of correct labels on gold edges.
    pub dev_accuracy: f64,
    /// Whether it is the best so far.
    pub best: bool,
    /// Seconds spent on training.
    pub train_seconds: f64,
    /// Seconds spent on summing the support and scoring the dev set.
    pub dev_seconds: f64,
    /// Query words per second.
    pub tokens_per_second: f64,
}
