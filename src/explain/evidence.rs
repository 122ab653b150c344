//! The training edges as evidence: for a side of a decision, what all of them, and each of them, say for it.
//!
//! A decision weighs sides: two heads of a word, or two labels of an edge. Every rule gives each training edge a number for
//! each side and adds these numbers up, so that the whole of the evidence can be split over training edges exactly.

use super::Inference;
use crate::config::{Aggregate, Similarity};
use crate::error::Result;
use crate::indexing::TrainingEdges;
use crate::model::Model;
use crate::support::Task;
use citree_index::{Hit, sums::Sums};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// One of the alternatives of a decision: an edge vector, compared with all training edges or with those of a label.
#[derive(Clone, Debug)]
pub struct Side {
    /// Which model's decision.
    pub task: Task,
    row: Vec<f32>,
    /// The label that is decided on; `None` where heads are.
    pub label: Option<u32>,
    known: Arc<Known>,
}

/// What was found out about an edge vector: one pass over the training edges serves all labels and all that is asked.
#[derive(Debug, Default)]
struct Known {
    /// The nearest of all edges, once the kNN rule asked for so many.
    nearest: OnceLock<(usize, Vec<Hit>)>,
    /// The similarities with all edges, once they were needed.
    similarities: OnceLock<Vec<f32>>,
}

impl Side {
    /// The side of an edge vector.
    pub fn new(task: Task, row: Vec<f32>, label: Option<u32>) -> Self {
        Self { task, row, label, known: Arc::default() }
    }

    /// The vector of the edge.
    pub fn row(&self) -> &[f32] {
        &self.row
    }

    /// The same edge, compared with the training edges of another label, or with all.
    pub fn with_label(&self, label: Option<u32>) -> Self {
        Self { label, ..self.clone() }
    }
}

/// The training edges that count, and how.
#[derive(Debug)]
pub struct Evidence {
    edges: Arc<TrainingEdges>,
    /// τ of cosine systems, 1 for dot products.
    scale: f64,
    aggregate: Aggregate,
    /// How many edges of each label count.
    counts: Vec<u64>,
    /// Their sums for heads and labels, added up when first needed.
    sums: [OnceLock<Sums>; 2],
    /// The sums of these sums for heads.
    total: OnceLock<Vec<f64>>,
    /// Which edges are left out; empty where none is.
    left_out: Vec<bool>,
}

impl Evidence {
    /// All edges of an index.
    pub fn new(edges: TrainingEdges, model: &Model, aggregate: Aggregate) -> Self {
        let scale = match model.config.system.similarity {
            Similarity::Cosine => model.config.scale,
            Similarity::Dot => 1.0,
        };
        let sums = Task::ALL.map(|task| OnceLock::from(edges.space(task).sums()));
        let counts = edges.space(Task::Heads).sums().counts().to_vec();
        let (total, left_out) = (OnceLock::new(), Vec::new());
        Self { edges: Arc::new(edges), scale, aggregate, counts, sums, total, left_out }
    }

    /// The same without some edges, as if they had never been in the treebank; `left_out` is asked of the number of each
    /// edge and that of its sentence.
    pub fn without(&self, left_out: impl Fn(u32, u32) -> bool) -> Self {
        let count = self.edges.index().manifest().records as u32;
        let gone: Vec<bool> = (0..count)
            .map(|edge| {
                let record = self.edges.record(edge);
                !self.counts(edge) || record.is_none_or(|record| left_out(edge, record.sentence))
            })
            .collect();
        let kept = |label| self.edges.index().records_of(label).filter(|edge| !gone[*edge as usize]).count() as u64;
        let counts = (0..self.counts.len() as u32).map(kept).collect();
        let (sums, total) = ([OnceLock::new(), OnceLock::new()], OnceLock::new());
        Self { edges: self.edges.clone(), counts, sums, total, left_out: gone, ..*self }
    }

    /// The sums of each label, added up in the order of the index, so that they equal those of an index of the same edges.
    pub fn sums(&self, task: Task) -> &Sums {
        self.sums[task as usize].get_or_init(|| {
            let space = self.edges.space(task);
            let mut sums = Sums::new(self.counts.len(), space.dims());
            for label in 0..self.counts.len() {
                for edge in self.edges.index().records_of(label as u32).filter(|edge| self.counts(*edge)) {
                    space.row(edge).into_iter().for_each(|row| sums.add(label, row));
                }
            }
            sums
        })
    }

    /// The training edges behind it.
    pub fn edges(&self) -> &TrainingEdges {
        &self.edges
    }

    /// Whether an edge counts.
    pub fn counts(&self, edge: u32) -> bool {
        self.left_out.get(edge as usize) != Some(&true)
    }

    /// Whether some edges are left out.
    pub fn is_partial(&self) -> bool {
        !self.left_out.is_empty()
    }

    /// The sums of the support of one task, a class for heads and one a label for labels.
    pub fn support(&self, task: Task) -> Sums {
        match task {
            Task::Labels => self.sums(task).clone(),
            Task::Heads => {
                let (dims, count) = (self.sums(task).dims(), self.counts.iter().sum());
                Sums::from_parts(dims, self.total_sum().to_vec(), vec![count]).unwrap_or_else(|| Sums::new(1, dims))
            }
        }
    }

    /// The sum of all edges that count, for heads.
    fn total_sum(&self) -> &[f64] {
        self.total.get_or_init(|| {
            let sums = self.sums(Task::Heads);
            let mut total = vec![0.0; sums.dims()];
            sums.sums().chunks(sums.dims()).for_each(|sum| total.iter_mut().zip(sum).for_each(|(t, s)| *t += s));
            total
        })
    }

    /// How many edges count for a side.
    pub fn count(&self, side: &Side) -> u64 {
        let counts = &self.counts;
        side.label.map_or_else(|| counts.iter().sum(), |label| counts.get(label as usize).copied().unwrap_or(0))
    }

    /// How many edges count for a side by a rule: those that vote, where only some do.
    pub fn voices(&self, inference: Inference, side: &Side) -> Result<u64> {
        match inference {
            Inference::Knn { .. } => Ok(self.voters(inference, side)?.len() as u64),
            _ => Ok(self.count(side)),
        }
    }

    /// The numbers of the edges of a side, those left out among them.
    pub fn range(&self, side: &Side) -> Range<u32> {
        match side.label {
            Some(label) => self.edges.index().records_of(label),
            None => 0..self.edges.space(side.task).count() as u32,
        }
    }

    /// What one edge of this similarity adds to a side's evidence, by a rule; `count` edges count for that side.
    pub fn weight(&self, inference: Inference, similarity: f32, count: u64) -> f64 {
        let similarity = f64::from(similarity);
        let share = self.share(count);
        match inference {
            Inference::Sum => share * self.scale * similarity,
            // Less 1, the highest cosine, so that nothing overflows.
            Inference::Nca { temperature } => share * (f64::from(temperature) * (similarity - 1.0)).exp(),
            Inference::Knn { neighbors } => self.scale * similarity / neighbors.max(1) as f64,
        }
    }

    /// The score that a side's summed evidence stands for: what its probability is computed from.
    pub fn score(&self, inference: Inference, evidence: f64) -> f64 {
        match inference {
            Inference::Nca { temperature } => evidence.max(f64::MIN_POSITIVE).ln() + f64::from(temperature),
            _ => evidence,
        }
    }

    /// The summed evidence of a side under the sum rule, from its summed vectors.
    pub fn summed(&self, side: &Side) -> f64 {
        let sums = self.sums(side.task);
        let dims = sums.dims();
        let product = |sum: &[f64]| product(sum, &side.row);
        let total: f64 = match side.label {
            Some(label) => sums.sums().get(label as usize * dims..(label as usize + 1) * dims).map_or(0.0, product),
            None => product(self.total_sum()),
        };
        self.share(self.count(side)) * self.scale * total
    }

    /// The same of a head, label by label.
    pub fn label_parts(&self, side: &Side) -> Vec<(u32, f64)> {
        let sums = self.sums(side.task);
        let weight = self.share(self.count(side)) * self.scale;
        (0..).zip(sums.sums().chunks(sums.dims()).map(|sum| weight * product(sum, &side.row))).collect()
    }

    /// What each of `count` edges counts for.
    fn share(&self, count: u64) -> f64 {
        match self.aggregate {
            Aggregate::Mean => 1.0 / (count.max(1) as f64),
            Aggregate::Sum => 1.0,
        }
    }

    /// Whether scores are means, so that taking an edge away changes what the others count for.
    pub fn by_mean(&self) -> bool {
        self.aggregate == Aggregate::Mean
    }

    /// The similarity of a side's edge with every training edge of its range, those left out among them.
    pub fn similarities<'a>(&self, side: &'a Side) -> Result<Cow<'a, [f32]>> {
        let range = self.range(side);
        if side.label.is_none() {
            self.compare(&[side])?;
        }
        if let Some(all) = side.known.similarities.get() {
            return Ok(Cow::Borrowed(&all[range.start as usize..range.end as usize]));
        }
        Ok(Cow::Owned(self.edges.space(side.task).similarities(&side.row, range)?))
    }

    /// Compares several sides of one task with all training edges in one pass, for whatever is asked of them later.
    pub fn compare(&self, sides: &[&Side]) -> Result<()> {
        let new: Vec<&&Side> = sides.iter().filter(|side| side.known.similarities.get().is_none()).collect();
        let Some(first) = new.first() else { return Ok(()) };
        let rows: Vec<f32> = new.iter().flat_map(|side| side.row.iter().copied()).collect();
        let space = self.edges.space(first.task);
        let similarities = space.similarities(&rows, 0..space.count() as u32)?;
        for (side, similarities) in new.iter().zip(similarities.chunks(space.count().max(1))) {
            let _ = side.known.similarities.set(similarities.to_vec());
        }
        Ok(())
    }

    /// The training edges of a side most similar to it, and whether these are the nearest for certain.
    pub fn nearest(&self, side: &Side, count: usize, exact: bool) -> Result<(Vec<Hit>, bool)> {
        let counts = |edge| self.counts(edge);
        let mut nearest = self.edges.space(side.task).nearest(&side.row).count(count);
        if let Some(label) = side.label {
            nearest = nearest.class(label);
        }
        if self.is_partial() {
            nearest = nearest.filter(&counts);
        }
        let answer = if exact { nearest.exact() } else { nearest }.run()?;
        Ok((answer.hits, answer.exact))
    }

    /// The edges nearest to each of some rows, for certain: the rows share passes over the edges.
    pub fn nearest_of_all(&self, task: Task, rows: &[f32], count: usize) -> Result<Vec<Vec<Hit>>> {
        let counts = |edge| self.counts(edge);
        let answers = self.edges.space(task).nearest_many(rows, |_, nearest| {
            let nearest = nearest.count(count).exact();
            if self.is_partial() { nearest.filter(&counts) } else { nearest }
        })?;
        Ok(answers.into_iter().map(|answer| answer.hits).collect())
    }

    /// The highest of some similarities, as hits; `first` is the number of the first edge.
    pub fn highest(&self, similarities: &[f32], first: u32, count: usize) -> Vec<Hit> {
        let mut hits: Vec<Hit> = (first..)
            .zip(similarities)
            .filter(|(edge, _)| self.counts(*edge))
            .map(|(edge, &similarity)| Hit { record: edge, similarity })
            .collect();
        let order = |a: &Hit, b: &Hit| b.similarity.total_cmp(&a.similarity).then(a.record.cmp(&b.record));
        if hits.len() > count {
            hits.select_nth_unstable_by(count, order);
            hits.truncate(count);
        }
        hits.sort_unstable_by(order);
        hits
    }

    /// All evidence of a side by a rule.
    pub fn total(&self, inference: Inference, side: &Side) -> Result<f64> {
        let count = self.count(side);
        match inference {
            Inference::Sum => Ok(self.summed(side)),
            Inference::Nca { .. } => {
                let similarities = self.similarities(side)?;
                Ok(self.density(inference, &similarities, self.range(side).start, count))
            }
            Inference::Knn { .. } => {
                let hits = self.voters(inference, side)?;
                Ok(hits.iter().map(|hit| self.weight(inference, hit.similarity, count)).fold(0.0, std::ops::Add::add))
            }
        }
    }

    /// The evidence of edges of these similarities, the first of which has number `first`, that count among `count`.
    pub fn density(&self, inference: Inference, similarities: &[f32], first: u32, count: u64) -> f64 {
        let counted = (first..).zip(similarities).filter(|(edge, _)| self.counts(*edge));
        counted.map(|(_, &similarity)| self.weight(inference, similarity, count)).sum()
    }

    /// The edges that count for a side under the kNN rule: the nearest of all, those of its label among them.
    pub fn voters(&self, inference: Inference, side: &Side) -> Result<Vec<Hit>> {
        let Inference::Knn { neighbors } = inference else { return Ok(Vec::new()) };
        // What is known of a side is known of all training edges.
        let known = side.known.nearest.get().filter(|(count, _)| *count == neighbors && !self.is_partial());
        let mut hits = match known {
            Some((_, hits)) => hits.clone(),
            None => {
                let (hits, _) = self.nearest(&side.with_label(None), neighbors, true)?;
                if !self.is_partial() {
                    let _ = side.known.nearest.set((neighbors, hits.clone()));
                }
                hits
            }
        };
        if side.label.is_some() {
            let range = self.range(side);
            hits.retain(|hit| range.contains(&hit.record));
        }
        Ok(hits)
    }
}

/// The product of a sum and a row, in lanes that the compiler can run side by side.
fn product(sum: &[f64], row: &[f32]) -> f64 {
    let mut lanes = [0.0; 16];
    let ((sums, sums_rest), (rows, rows_rest)) = (sum.as_chunks::<16>(), row.as_chunks::<16>());
    for (sums, rows) in sums.iter().zip(rows) {
        lanes.iter_mut().zip(sums.iter().zip(rows)).for_each(|(lane, (sum, row))| *lane += sum * f64::from(*row));
    }
    let rest: f64 = sums_rest.iter().zip(rows_rest).map(|(sum, row)| sum * f64::from(*row)).sum();
    lanes.iter().sum::<f64>() + rest
}
