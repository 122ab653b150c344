//! The decision of every rule about the label of every gold edge. Each label is weighed by the training edges that have
//! it.

use super::density::TEMPERATURES;
use super::tally::{Decided, FLIPS, Flip, Tally, tally};
use super::weigh::{CANDIDATES_PER_PASS, CITED, Support, Weighed, added, best_two, contributions, flip_count};
use crate::config::Aggregate;
use crate::encoder::Vocabulary;
use crate::error::Result;
use crate::lab::bench::{Bench, system};
use crate::lab::corpus::Corpus;
use crate::lab::nearest::Rows;
use crate::rule::Rule;
use crate::score::accuracies;
use crate::task::Task;
use crate::train::Stage;
use crate::treebank::Sentence;
use rayon::prelude::*;
use std::ops::Range;

/// How similarities become the score of a label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Measured {
    /// The sum or the mean over the label's edges.
    All(Aggregate),
    /// The sum over the label's edges that are among the nearest of all. The number of nearest is at this index of
    /// [`CITED`].
    Nearest(usize),
    /// The logarithm of the sum or the mean of the exponentials over the label's edges. The temperature is at this
    /// index of [`TEMPERATURES`].
    Nca(usize, Aggregate),
}

impl Measured {
    /// All measured rules.
    pub(super) const ALL: [Self; 8] = [
        Self::All(Aggregate::Mean),
        Self::All(Aggregate::Sum),
        Self::Nearest(1),
        Self::Nearest(0),
        Self::Nca(0, Aggregate::Mean),
        Self::Nca(0, Aggregate::Sum),
        Self::Nca(2, Aggregate::Mean),
        Self::Nca(2, Aggregate::Sum),
    ];
    /// The index of the mean, the default for labels, which the others are compared with.
    const BASE: usize = 0;

    /// The name in tables.
    pub(super) fn name(self) -> String {
        let of = |aggregate: Aggregate| if aggregate == Aggregate::Sum { "sum" } else { "mean" };
        match self {
            Self::All(aggregate) => format!("{} of all", of(aggregate)),
            Self::Nearest(place) => format!("votes of the {} nearest", CITED[place]),
            Self::Nca(place, aggregate) => format!("NCA, {}, T = {}", of(aggregate), TEMPERATURES[place]),
        }
    }

    fn scores(self, labels: &[Weighed]) -> Vec<f64> {
        match self {
            Self::All(aggregate) => labels.iter().map(|label| label.evenly(aggregate)).collect(),
            Self::Nca(place, aggregate) => labels.iter().map(|label| label.nearly(place, aggregate)).collect(),
            // A label without votes is not chosen, even if the votes for the others are negative.
            Self::Nearest(place) => votes(labels, CITED[place])
                .iter()
                .map(|votes| if votes.is_empty() { f64::NEG_INFINITY } else { added(votes) })
                .collect(),
        }
    }

    /// The share of a label's total that this number of its nearest edges carries.
    fn coverage(self, labels: &[Weighed], label: usize, count: usize) -> f64 {
        match self {
            Self::All(_) => labels[label].coverage_evenly(count),
            Self::Nca(place, _) => labels[label].coverage_nearly(place, count),
            Self::Nearest(place) => {
                let votes = &votes(labels, CITED[place])[label];
                added(votes.iter().take(count)) / added(votes)
            }
        }
    }

    /// The edges of the chosen label to remove until another label scores higher. `None` for votes, where other edges
    /// replace the removed ones.
    fn flip(self, own: &[f32], other: &[f32]) -> Option<Flip> {
        let (rule, aggregate) = match self {
            Self::All(aggregate) => (Rule::sum(), aggregate),
            Self::Nca(place, aggregate) => (Rule::nca(TEMPERATURES[place]).unwrap_or_default(), aggregate),
            Self::Nearest(_) => return None,
        };
        let rival: f64 = contributions(&rule, other).sum();
        let rival = if aggregate == Aggregate::Mean { rival / other.len().max(1) as f64 } else { rival };
        let gone = flip_count(contributions(&rule, own).collect(), aggregate, rival);
        Some(Flip { edges: gone, of: own.len() })
    }
}

/// For each label the similarities of its edges among the nearest of all, nearest first.
fn votes(labels: &[Weighed], count: usize) -> Vec<Vec<f32>> {
    let of_label = |(label, weighed): (usize, &Weighed)| -> Vec<(f32, usize)> {
        weighed.nearest().iter().take(count).map(|similarity| (*similarity, label)).collect()
    };
    let mut nearest: Vec<(f32, usize)> = labels.iter().enumerate().flat_map(of_label).collect();
    let order = |a: &(f32, usize), b: &(f32, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if nearest.len() > count {
        nearest.select_nth_unstable_by(count, order);
        nearest.truncate(count);
    }
    nearest.sort_unstable_by(order);
    let mut votes = vec![Vec::new(); labels.len()];
    nearest.iter().for_each(|(similarity, label)| votes[*label].push(*similarity));
    votes
}

/// All rules on all gold edges of the dev set, in the order of [`Measured::ALL`].
pub(super) fn measure(bench: &Bench, seed: u64) -> Result<Tally> {
    let lab = bench.lab;
    let learnt = bench.given_or_learnt(Stage::Labels, seed)?;
    let vocabulary = &learnt.tables.vocabulary;
    let rows = learnt.gold_rows(&learnt.number(lab.train)?)?;
    let (rows, ranges) = by_label(rows, &labels(vocabulary, lab.train), vocabulary.labels().len());
    let support = Support::new(rows)?;
    let (edges, gold) = (learnt.gold_rows(&learnt.number(lab.dev)?)?, labels(vocabulary, lab.dev));
    let flips: usize = lab.dev.iter().take(FLIPS).map(|sentence| sentence.words().len()).sum();
    let mut decided = Vec::with_capacity(gold.len());
    for (block, gold) in
        edges.values.chunks(CANDIDATES_PER_PASS * edges.dims.max(1)).zip(gold.chunks(CANDIDATES_PER_PASS))
    {
        let similarities = support.similarities(block.to_vec())?;
        let first = decided.len();
        let decide = |(at, (own, gold)): (usize, (&[f32], &Option<u32>))| {
            decide(own, &ranges, gold.map(|label| label as usize), first + at < flips)
        };
        decided.par_extend(similarities.par_chunks(support.count()).zip(gold).enumerate().map(decide));
        super::go_on(bench, &format!("rules for labels: {} edges", decided.len()))?;
    }
    Ok(tally(&decided, Measured::BASE))
}

/// The label of every word, if it is in the training treebank.
fn labels(vocabulary: &Vocabulary, sentences: &[Sentence]) -> Vec<Option<u32>> {
    let words = sentences.iter().flat_map(|sentence| sentence.words());
    words.map(|word| vocabulary.label(&word.label)).collect()
}

/// The rows sorted by label, and the range of each label.
fn by_label(rows: Rows, labels: &[Option<u32>], count: usize) -> (Rows, Vec<Range<usize>>) {
    let mut of_label: Vec<Vec<&[f32]>> = vec![Vec::new(); count];
    for (row, label) in rows.iter().zip(labels) {
        label.and_then(|label| of_label.get_mut(label as usize)).into_iter().for_each(|own| own.push(row));
    }
    let ranges = of_label.iter().scan(0, |end, own| {
        *end += own.len();
        Some(*end - own.len()..*end)
    });
    let ranges = ranges.collect();
    (Rows { values: of_label.concat().concat(), dims: rows.dims }, ranges)
}

/// The decisions of all rules about an edge, from its similarities to all training edges. `ranges` has the edges of
/// each label.
fn decide(
    similarities: &[f32],
    ranges: &[Range<usize>],
    gold: Option<usize>,
    flips: bool,
) -> Decided<{ Measured::ALL.len() }> {
    let of_label = |label: usize| &similarities[ranges[label].clone()];
    let labels: Vec<Weighed> = (0..ranges.len()).map(|label| Weighed::new(of_label(label))).collect();
    let chosen = Measured::ALL.map(|rule| best_two(&rule.scores(&labels)));
    let flip = |rule: Measured, (best, second): (usize, Option<usize>)| {
        let second = second.filter(|_| flips)?;
        rule.flip(of_label(best), of_label(second))
    };
    Decided {
        right: chosen.map(|(label, _)| Some(label) == gold),
        coverage: std::array::from_fn(|at| CITED.map(|count| Measured::ALL[at].coverage(&labels, chosen[at].0, count))),
        flips: std::array::from_fn(|at| flip(Measured::ALL[at], chosen[at])),
    }
}

/// The share of gold edges that a system labels correctly, by the sum and by the mean of all similarities.
pub(super) fn by_sum_and_mean(bench: &Bench, name: &str, seed: u64) -> Result<[f64; 2]> {
    let learnt = bench.learnt(&Corpus::Whole, Stage::Labels, system(name)?, seed)?;
    let dev = learnt.number(bench.lab.dev)?;
    let mut shares = [0.0; 2];
    for (share, aggregate) in shares.iter_mut().zip([Aggregate::Sum, Aggregate::Mean]) {
        let scorer = learnt.scorer(aggregate, bench.lab)?;
        *share = accuracies(&[(Task::Labels, &scorer)], &dev)?.first().copied().unwrap_or_default();
    }
    Ok(shares)
}

#[cfg(test)]
mod tests;
