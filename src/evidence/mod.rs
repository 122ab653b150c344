//! Evidence: the training edges that count in a decision.
//!
//! An index stores every gold edge of a treebank as encoded by both models ([`TrainingEdges`]): the *accepted* edges. It
//! also stores *rejected* edges: for every word its hardest wrong heads, as the head model encodes them. Evidence is a
//! view of both: all edges, or all [without](Evidence::without) some. Every decision is computed from it by a rule.

mod build;
mod change;
mod compare;
mod contributions;
mod density;
mod edges;
mod encode;
mod groups;
mod lookup;
mod nearest;
mod record;
mod regroup;
mod scores;
mod side;
mod weigh;

pub use build::{Built, Step};
pub(crate) use build::{REJECTED, build};
pub use change::{Changed, EvidenceEditor};
pub use edges::TrainingEdges;
pub(crate) use groups::{Grouping, prefix};
pub(crate) use nearest::Neighbors;
pub use record::{Edge, EdgeId, Source, TrainingSentence, TrainingWord};
pub(crate) use side::Side;
pub(crate) use weigh::{Weighed, Weighing};

pub use citree_index::{LogEntry, SegmentFacts};

use crate::task::Task;
use citree_index::Ranges;
use citree_index::sums::Sums;
use std::sync::{Arc, OnceLock};

/// The name of a part of the evidence. What training or `citree index` wrote has none of its own.
#[cfg(feature = "cli")]
pub(crate) fn part_name(part: &SegmentFacts) -> &str {
    if part.name.is_empty() { "treebank" } else { &part.name }
}

/// The training edges that count.
#[derive(Debug)]
pub struct Evidence {
    edges: Arc<TrainingEdges>,
    /// The number of counted edges of each label.
    counts: Vec<u64>,
    /// The sums for heads and labels, computed on first use.
    sums: [OnceLock<Sums>; 2],
    /// The sum over all labels for heads.
    total: OnceLock<Vec<f64>>,
    /// The number of counted rejected edges.
    rejected: u64,
    /// Which accepted and which rejected edges are left out; empty if none are.
    left_out: [Vec<bool>; 2],
}

impl Evidence {
    /// All edges of an index.
    pub(crate) fn new(edges: Arc<TrainingEdges>) -> Self {
        let sums = Task::ALL.map(|task| OnceLock::from(edges.space(task).sums()));
        let counts = edges.space(Task::Heads).sums().counts().to_vec();
        let rejected = u64::from(edges.rejected());
        Self { edges, counts, sums, total: OnceLock::new(), rejected, left_out: [Vec::new(), Vec::new()] }
    }

    /// The same evidence without some edges, as if they had never been in the treebank. `left_out` receives each edge and
    /// the number of its sentence, and returns whether to leave it out.
    pub fn without(&self, left_out: impl Fn(EdgeId, u32) -> bool) -> Self {
        let goes = |edge: EdgeId| {
            let sentence = self.edges.sentence_of(edge);
            !self.counts(edge) || sentence.is_none_or(|sentence| left_out(edge, sentence))
        };
        let gone: Vec<bool> = (0..self.edges.accepted()).map(|edge| goes(EdgeId::Accepted(edge))).collect();
        let against: Vec<bool> = (0..self.edges.rejected()).map(|edge| goes(EdgeId::Rejected(edge))).collect();
        let rejected = against.iter().filter(|gone| !**gone).count() as u64;
        let left = |label| self.edges.index().records_of(label).filter(|edge| !gone[*edge as usize]).count() as u64;
        let counts = (0..self.counts.len() as u32).map(left).collect();
        let (sums, total) = ([OnceLock::new(), OnceLock::new()], OnceLock::new());
        Self { edges: self.edges.clone(), counts, sums, total, rejected, left_out: [gone, against] }
    }

    /// The underlying index.
    pub fn edges(&self) -> &TrainingEdges {
        &self.edges
    }

    /// The number of counted edges.
    pub(crate) fn len(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The number of counted rejected edges.
    pub(crate) fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Whether an edge counts.
    pub(crate) fn counts(&self, edge: EdgeId) -> bool {
        let (kind, number) = match edge {
            EdgeId::Accepted(number) => (0, number),
            EdgeId::Rejected(number) => (1, number),
        };
        self.left_out[kind].get(number as usize) != Some(&true)
    }

    /// Whether some edges are left out.
    pub(crate) fn is_partial(&self) -> bool {
        !self.left_out[0].is_empty()
    }

    /// The sums of each label, added in index order, so that they equal the sums of an index of only these edges.
    pub(crate) fn sums(&self, task: Task) -> &Sums {
        self.sums[task as usize].get_or_init(|| {
            let space = self.edges.space(task);
            let mut sums = Sums::new(self.counts.len(), space.dims());
            for label in 0..self.counts.len() {
                for edge in
                    self.edges.index().records_of(label as u32).filter(|edge| self.counts(EdgeId::Accepted(*edge)))
                {
                    space.row(edge).into_iter().for_each(|row| sums.add(label, row));
                }
            }
            sums
        })
    }

    /// The sums of the support of one task: one class for heads, one class per label for labels.
    pub(crate) fn support(&self, task: Task) -> Sums {
        match task {
            Task::Labels => self.sums(task).clone(),
            Task::Heads => {
                let dims = self.sums(task).dims();
                let total = self.total_sum().to_vec();
                Sums::from_parts(dims, total, vec![self.len()]).unwrap_or_else(|| Sums::new(1, dims))
            }
        }
    }

    /// The sum of all counted edges, for heads.
    fn total_sum(&self) -> &[f64] {
        self.total.get_or_init(|| sum_of_sums(self.sums(Task::Heads)))
    }

    /// The number of counted edges that a side is compared with.
    pub(crate) fn count(&self, side: &Side) -> u64 {
        match side.label {
            Some(label) => self.counts.get(label as usize).copied().unwrap_or(0),
            None => self.len(),
        }
    }

    /// The numbers of the edges that a side is compared with, including those left out.
    pub(crate) fn range(&self, side: &Side) -> Ranges {
        match side.label {
            Some(label) => self.edges.index().records_of(label),
            None => Ranges::new(std::iter::once(0..self.edges.space(side.task).count() as u32)),
        }
    }
}

/// The sum over all classes, in order.
fn sum_of_sums(sums: &Sums) -> Vec<f64> {
    let mut total = vec![0.0; sums.dims()];
    sums.sums().chunks(sums.dims().max(1)).for_each(|sum| total.iter_mut().zip(sum).for_each(|(t, s)| *t += s));
    total
}
