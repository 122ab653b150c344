//! Weighs evidence by a rule: totals, contributions, the number of counted edges, and the nearest edges to cite.

use super::{Evidence, Side};
use crate::error::Result;
use crate::rule::{Rule, Scale};
use crate::task::Task;
use citree_index::Hit;
use std::borrow::Cow;

/// Edge vectors per pass over all training edges; bounds the memory.
const ROWS_PER_PASS: usize = 32;

/// A rule and the scale of a model: everything that turns similarities into scores.
#[derive(Clone, Debug)]
pub struct Weighing {
    /// The rule.
    pub rule: Rule,
    /// How the model's similarities are scaled.
    pub scale: Scale,
    /// Whether to compare with every training edge, even if summed vectors give the same score.
    pub exact: bool,
}

impl Weighing {
    /// Whether totals are computed from summed vectors.
    pub(crate) fn uses_sums(&self) -> bool {
        self.rule.is_linear() && !self.exact
    }
}

impl Evidence {
    /// The sum of all contributions of training edges to a side.
    pub fn total(&self, by: &Weighing, side: &Side) -> Result<f64> {
        let count = self.count(side);
        if let Some(neighbors) = by.rule.neighbors() {
            let similarities: Vec<f32> = self.neighbors(neighbors, side)?.iter().map(|hit| hit.similarity).collect();
            return Ok(by.rule.total(&similarities, by.scale, count));
        }
        if by.rule.is_linear() {
            return Ok(by.rule.contribution(1.0, by.scale, count) * self.similarity_to_sum(side));
        }
        let range = self.range(side);
        Ok(self.total_of(by, &self.similarities(side)?, range.start, count))
    }

    /// The total of edges with these similarities. `first` is the number of the first edge, and `count` edges count.
    fn total_of(&self, by: &Weighing, similarities: &[f32], first: u32, count: u64) -> f64 {
        if !self.is_partial() {
            return by.rule.total(similarities, by.scale, count);
        }
        let counted = (first..).zip(similarities).filter(|(edge, _)| self.counts(*edge));
        by.rule.total(&counted.map(|(_, &similarity)| similarity).collect::<Vec<_>>(), by.scale, count)
    }

    /// The scores of edge vectors as heads. `rows` holds `dims` values per edge.
    pub(crate) fn head_scores(&self, by: &Weighing, rows: &[f32], dims: usize) -> Result<Vec<f64>> {
        let mut scores = Vec::with_capacity(rows.len() / dims.max(1));
        let count = self.len();
        for block in rows.chunks(ROWS_PER_PASS * dims.max(1)) {
            if let Some(neighbors) = by.rule.neighbors() {
                for hits in self.nearest_of_all(Task::Heads, block, neighbors)? {
                    let similarities: Vec<f32> = hits.iter().map(|hit| hit.similarity).collect();
                    scores.push(by.rule.score(by.rule.total(&similarities, by.scale, count)));
                }
                continue;
            }
            let space = self.edges().space(Task::Heads);
            let similarities = space.similarities(block, 0..space.count() as u32)?;
            for own in similarities.chunks(space.count().max(1)) {
                scores.push(by.rule.score(self.total_of(by, own, 0, count)));
            }
        }
        Ok(scores)
    }

    /// The scores of all labels for each edge. The sides have no label.
    pub(crate) fn label_scores(&self, by: &Weighing, edges: &[Side]) -> Result<Vec<Vec<f64>>> {
        let mut scores = Vec::with_capacity(edges.len());
        for block in edges.chunks(ROWS_PER_PASS) {
            if by.rule.neighbors().is_none() && !by.uses_sums() {
                self.compare(&block.iter().collect::<Vec<_>>())?;
            }
            for edge in block {
                // One search covers all labels.
                let neighbors = by.rule.neighbors().map(|neighbors| self.neighbors(neighbors, edge)).transpose()?;
                let labels = (0..self.counts.len() as u32).map(|label| edge.with_label(Some(label)));
                let score = |side: Side| match &neighbors {
                    Some(hits) => {
                        let range = self.range(&side);
                        let own = hits.iter().filter(|hit| range.contains(&hit.record)).map(|hit| hit.similarity);
                        Ok(by.rule.score(by.rule.total(&own.collect::<Vec<_>>(), by.scale, self.count(&side))))
                    }
                    None => self.label_score(by, &side),
                };
                scores.push(labels.map(score).collect::<Result<_>>()?);
            }
        }
        Ok(scores)
    }

    fn label_score(&self, by: &Weighing, side: &Side) -> Result<f64> {
        let total = match by.exact {
            true => self.total_of(by, &self.similarities(side)?, self.range(side).start, self.count(side)),
            false => self.total(by, side)?,
        };
        Ok(by.rule.score(total))
    }

    /// The contribution of one training edge to a side.
    pub(crate) fn contribution(&self, by: &Weighing, edge: u32, side: &Side) -> Result<f64> {
        if !self.range(side).contains(&edge) || !self.counts(edge) {
            return Ok(0.0);
        }
        let similarity = match by.rule.neighbors() {
            Some(neighbors) => {
                self.neighbors(neighbors, side)?.iter().find(|hit| hit.record == edge).map(|hit| hit.similarity)
            }
            None => self.edges().space(side.task).similarity(&side.row, edge),
        };
        Ok(similarity.map_or(0.0, |similarity| by.rule.contribution(similarity, by.scale, self.count(side))))
    }

    /// The contributions of all counted training edges to a side.
    pub(crate) fn contributions(&self, by: &Weighing, side: &Side) -> Result<Vec<(u32, f64)>> {
        let count = self.count(side);
        let contribution = |edge, similarity| (edge, by.rule.contribution(similarity, by.scale, count));
        if let Some(neighbors) = by.rule.neighbors() {
            let neighbors = self.neighbors(neighbors, side)?;
            return Ok(neighbors.iter().map(|hit| contribution(hit.record, hit.similarity)).collect());
        }
        let similarities = self.similarities(side)?;
        let counted = self.range(side).zip(similarities.iter()).filter(|(edge, _)| self.counts(*edge));
        Ok(counted.map(|(edge, &similarity)| contribution(edge, similarity)).collect())
    }

    /// The number of edges that contribute to a side.
    pub(crate) fn counted(&self, by: &Weighing, side: &Side) -> Result<u64> {
        match by.rule.neighbors() {
            Some(neighbors) => Ok(self.neighbors(neighbors, side)?.len() as u64),
            None => Ok(self.count(side)),
        }
    }

    /// The edges to cite for a side, most similar first, and whether they are certainly the nearest.
    pub(crate) fn to_cite(&self, by: &Weighing, side: &Side, count: usize) -> Result<(Vec<Hit>, bool)> {
        if let Some(neighbors) = by.rule.neighbors() {
            let mut hits = self.neighbors(neighbors, side)?;
            hits.truncate(count);
            return Ok((hits, true));
        }
        if by.rule.is_linear() {
            return self.nearest(side, count, by.exact);
        }
        // The rule has compared every training edge anyway.
        Ok((self.highest(&self.similarities(side)?, self.range(side).start, count), true))
    }

    /// The total under a linear rule, broken down by label.
    pub(crate) fn totals_by_label(&self, by: &Weighing, side: &Side) -> Vec<(u32, f64)> {
        let sums = self.sums(side.task);
        let weight = by.rule.contribution(1.0, by.scale, self.count(side));
        (0..).zip(sums.sums().chunks(sums.dims().max(1)).map(|sum| weight * product(sum, &side.row))).collect()
    }

    fn similarity_to_sum(&self, side: &Side) -> f64 {
        let sums = self.sums(side.task);
        let dims = sums.dims();
        match side.label {
            Some(label) => {
                let sum = sums.sums().get(label as usize * dims..(label as usize + 1) * dims);
                sum.map_or(0.0, |sum| product(sum, &side.row))
            }
            None => product(self.total_sum(), &side.row),
        }
    }

    /// The similarity of a side's edge to every training edge in its range, including those left out.
    pub(crate) fn similarities<'a>(&self, side: &'a Side) -> Result<Cow<'a, [f32]>> {
        let range = self.range(side);
        if side.label.is_none() {
            self.compare(&[side])?;
        }
        if let Some(all) = side.cached.similarities.get() {
            return Ok(Cow::Borrowed(&all[range.start as usize..range.end as usize]));
        }
        Ok(Cow::Owned(self.edges().space(side.task).similarities(&side.row, range)?))
    }

    /// Compares several sides of one task with all training edges in one pass, and caches the similarities.
    pub(crate) fn compare(&self, sides: &[&Side]) -> Result<()> {
        let new: Vec<&&Side> = sides.iter().filter(|side| side.cached.similarities.get().is_none()).collect();
        let Some(first) = new.first() else { return Ok(()) };
        let rows: Vec<f32> = new.iter().flat_map(|side| side.row.iter().copied()).collect();
        let space = self.edges().space(first.task);
        let similarities = space.similarities(&rows, 0..space.count() as u32)?;
        for (side, similarities) in new.iter().zip(similarities.chunks(space.count().max(1))) {
            let _ = side.cached.similarities.set(similarities.to_vec());
        }
        Ok(())
    }

    /// The training edges most similar to a side, and whether they are certainly the nearest.
    fn nearest(&self, side: &Side, count: usize, exact: bool) -> Result<(Vec<Hit>, bool)> {
        let counts = |edge| self.counts(edge);
        let mut nearest = self.edges().space(side.task).nearest(&side.row).count(count);
        if let Some(label) = side.label {
            nearest = nearest.class(label);
        }
        if self.is_partial() {
            nearest = nearest.filter(&counts);
        }
        let answer = if exact { nearest.exact() } else { nearest }.run()?;
        Ok((answer.hits, answer.exact))
    }

    /// The exact nearest edges of each row. The rows share passes over the edges.
    fn nearest_of_all(&self, task: Task, rows: &[f32], count: usize) -> Result<Vec<Vec<Hit>>> {
        let counts = |edge| self.counts(edge);
        let answers = self.edges().space(task).nearest_many(rows, |_, nearest| {
            let nearest = nearest.count(count).exact();
            if self.is_partial() { nearest.filter(&counts) } else { nearest }
        })?;
        Ok(answers.into_iter().map(|answer| answer.hits).collect())
    }

    /// The edges with the highest similarities. `first` is the number of the first edge.
    pub(crate) fn highest(&self, similarities: &[f32], first: u32, count: usize) -> Vec<Hit> {
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

    /// The nearest of all edges, restricted to those with the side's label.
    pub(crate) fn neighbors(&self, neighbors: usize, side: &Side) -> Result<Vec<Hit>> {
        // The cache of a side covers all training edges, so it is not valid for partial evidence.
        let cached = side.cached.nearest.get().filter(|(count, _)| *count == neighbors && !self.is_partial());
        let mut hits = match cached {
            Some((_, hits)) => hits.clone(),
            None => {
                let (hits, _) = self.nearest(&side.with_label(None), neighbors, true)?;
                if !self.is_partial() {
                    let _ = side.cached.nearest.set((neighbors, hits.clone()));
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

/// The dot product of a sum and a row, in independent lanes that vectorise.
fn product(sum: &[f64], row: &[f32]) -> f64 {
    let mut lanes = [0.0; 16];
    let ((sums, sums_rest), (rows, rows_rest)) = (sum.as_chunks::<16>(), row.as_chunks::<16>());
    for (sums, rows) in sums.iter().zip(rows) {
        lanes.iter_mut().zip(sums.iter().zip(rows)).for_each(|(lane, (sum, row))| *lane += sum * f64::from(*row));
    }
    let rest: f64 = sums_rest.iter().zip(rows_rest).map(|(sum, row)| sum * f64::from(*row)).sum();
    lanes.iter().sum::<f64>() + rest
}
