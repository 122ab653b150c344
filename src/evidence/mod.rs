//! Evidence: the training edges that count in a decision.
//!
//! An index stores every gold edge of a treebank as encoded by both models ([`TrainingEdges`]): the *accepted* edges. It
//! also stores *rejected* edges: for every word its hardest wrong heads, as the head model encodes them. Evidence is a
//! view of both: all edges, or all [without](Evidence::without) some. Every decision is computed from it by a rule.

mod build;
mod change;
mod checks;
mod compare;
mod contributions;
mod density;
mod edges;
mod encode;
mod groups;
mod labels;
mod lookup;
mod nearest;
mod record;
mod regroup;
mod scores;
mod side;
mod similar;
mod treebanks;
mod upkeep;
mod weigh;
mod weights;

pub use build::{Built, Step};
pub(crate) use build::{REJECTED, build};
pub use change::{Changed, EvidenceEditor};
pub use edges::TrainingEdges;
pub(crate) use groups::{Grouping, prefix};
pub(crate) use nearest::Neighbors;
pub use record::{Edge, EdgeId, Source, TrainingSentence, TrainingWord};
pub(crate) use side::Side;
#[cfg(any(feature = "cli", feature = "serve"))]
pub(crate) use treebanks::shown as treebank_name;
pub(crate) use weigh::{Weighed, Weighing};

pub use citree_index::{LogEntry, SegmentFacts, Space};

use crate::config::Aggregate;
use crate::error::{Error, Result};
use crate::task::Task;
use citree_index::sums::Sums;
use citree_index::{Among, Ranges};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Numbers of evidence without some edges.
static SERIALS: AtomicU64 = AtomicU64::new(0);

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
    /// How many of both are left in each segment; empty if none are left out.
    among: [Vec<Among>; 2],
    /// A number that evidence without other edges does not have; 0 if none are left out.
    serial: u64,
    /// The treebanks that do not count at all.
    left_out_treebanks: Vec<String>,
    /// The weight of each treebank; empty if all count alike.
    weights: Vec<f64>,
    /// The weights of the counted edges of each label, added up.
    weights_of_labels: Vec<f64>,
}

impl Evidence {
    /// All edges of an index, with the weights of their treebanks.
    pub(crate) fn new(edges: Arc<TrainingEdges>) -> Self {
        let sums = Task::ALL.map(|task| OnceLock::from(edges.space(task).sums()));
        let counts = edges.space(Task::Heads).sums().counts().to_vec();
        let rejected = u64::from(edges.rejected());
        let weights_of_labels = as_weights(&counts);
        let (left_out, own) = ([Vec::new(), Vec::new()], edges.weights().to_vec());
        let (total, weights, among, serial, left_out_treebanks) = Default::default();
        let all = Self {
            edges,
            counts,
            sums,
            total,
            rejected,
            left_out,
            among,
            serial,
            left_out_treebanks,
            weights,
            weights_of_labels,
        };
        all.with_weights(own)
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
        let counts: Vec<u64> = (0..self.counts.len() as u32).map(left).collect();
        let (sums, total) = ([OnceLock::new(), OnceLock::new()], OnceLock::new());
        let (edges, weights_of_labels) = (self.edges.clone(), as_weights(&counts));
        let among = [among(&edges, &gone, EdgeId::Accepted), among(&edges, &against, EdgeId::Rejected)];
        let serial = 1 + SERIALS.fetch_add(1, Ordering::Relaxed);
        let left_out_treebanks = self.left_out_treebanks.clone();
        let fewer = Self {
            edges,
            counts,
            sums,
            total,
            rejected,
            left_out: [gone, against],
            among,
            serial,
            left_out_treebanks,
            weights: Vec::new(),
            weights_of_labels,
        };
        fewer.with_weights(self.weights.clone())
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

    /// Refuses evidence by which no tree could be labelled.
    pub(crate) fn require_labels(&self) -> Result<()> {
        let others = (0..).zip(&self.counts).filter(|(label, count)| **count > 0 && self.edges.label(*label) != "root");
        let message = match (self.len(), others.count()) {
            (0, _) => {
                "no training edge is left to decide by; leave out fewer of them, or add some with `citree evidence`"
            }
            (_, 0) => "the training edges that count have no label but root; leave out fewer, or add some",
            _ => return Ok(()),
        };
        Err(Error::Explanation { message: message.to_string() })
    }

    /// Whether an edge counts.
    pub fn counts(&self, edge: EdgeId) -> bool {
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

    /// Whether every edge counts once, so that what the index stores of all edges holds.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_partial() && !self.has_weights()
    }

    /// The sums of each label, added in index order, so that they equal the sums of an index of only these edges.
    pub(crate) fn sums(&self, task: Task) -> &Sums {
        self.sums[task as usize].get_or_init(|| {
            if !self.is_partial() {
                return self.weighted_sums(task);
            }
            let space = self.edges.space(task);
            let mut sums = Sums::new(self.counts.len(), space.dims());
            for label in 0..self.counts.len() {
                for edge in
                    self.edges.index().records_of(label as u32).filter(|edge| self.counts(EdgeId::Accepted(*edge)))
                {
                    let weight = self.weight(EdgeId::Accepted(edge));
                    space.row(edge).into_iter().for_each(|row| sums.add_weighted(label, row, weight));
                }
            }
            sums
        })
    }

    /// The sums of the support of one task: one class for heads, one class per label for labels. Where treebanks have
    /// weights, they are such that the means are weighted means.
    pub(crate) fn support(&self, task: Task, aggregate: Aggregate) -> Sums {
        let sums = self.sums(task);
        let (mut values, counts, weights) = match task {
            Task::Labels => (sums.sums().to_vec(), self.counts.clone(), self.weights_of_labels.clone()),
            Task::Heads => (self.total_sum().to_vec(), vec![self.len()], vec![self.weights_of_labels.iter().sum()]),
        };
        if self.has_weights() && aggregate == Aggregate::Mean {
            let factors =
                counts.iter().zip(weights).map(|(count, weight)| *count as f64 / weight.max(f64::MIN_POSITIVE));
            for (sum, factor) in values.chunks_mut(sums.dims().max(1)).zip(factors) {
                sum.iter_mut().for_each(|value| *value *= factor);
            }
        }
        let classes = counts.len();
        Sums::from_parts(sums.dims(), values, counts).unwrap_or_else(|| Sums::new(classes, sums.dims()))
    }

    /// The sum of all counted edges, for heads.
    fn total_sum(&self) -> &[f64] {
        self.total.get_or_init(|| sum_of_sums(self.sums(Task::Heads)))
    }

    /// The number of counted edges that a side is compared with.
    pub(crate) fn count(&self, side: &Side) -> u64 {
        side.label.map_or_else(|| self.len(), |label| self.count_of_label(label))
    }

    /// The number of counted edges of a label.
    pub(crate) fn count_of_label(&self, label: u32) -> u64 {
        self.counts.get(label as usize).copied().unwrap_or(0)
    }

    /// The numbers of the edges that a side is compared with, including those left out.
    pub(crate) fn range(&self, side: &Side) -> Ranges {
        match side.label {
            Some(label) => self.edges.index().records_of(label),
            None => Ranges::new(std::iter::once(0..self.edges.space(side.task).count() as u32)),
        }
    }
}

/// How many edges of a kind are left in each segment.
fn among(edges: &TrainingEdges, gone: &[bool], edge: fn(u32) -> EdgeId) -> Vec<Among> {
    let index = edges.index();
    let segment_of = |number: usize| {
        let sentence = edges.sentence_of(edge(number as u32));
        sentence.and_then(|sentence| index.segment_of_source(sentence)).unwrap_or(usize::MAX)
    };
    let mut start = 0;
    let mut of_segment = |segment: usize| {
        // Numbers go through the segments in their order, so the end is found without a look at every edge.
        let (mut end, mut after) = (start, gone.len());
        while end < after {
            let middle = end.midpoint(after);
            if segment_of(middle) <= segment { end = middle + 1 } else { after = middle }
        }
        let own = &gone[start..end];
        start = end;
        match (own.contains(&true), own.contains(&false)) {
            (false, _) => Among::All,
            (true, true) => Among::Some,
            (true, false) => Among::None,
        }
    };
    (0..index.segments().len()).map(&mut of_segment).collect()
}

fn as_weights(counts: &[u64]) -> Vec<f64> {
    counts.iter().map(|count| *count as f64).collect()
}

/// The sum over all classes, in order.
fn sum_of_sums(sums: &Sums) -> Vec<f64> {
    let mut total = vec![0.0; sums.dims()];
    sums.sums().chunks(sums.dims().max(1)).for_each(|sum| total.iter_mut().zip(sum).for_each(|(t, s)| *t += s));
    total
}
