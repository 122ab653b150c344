//! The scores of many candidates: heads of words, labels of edges.

use super::weigh::{Weighing, all_weighed, similarities};
use super::{Evidence, Side};
use crate::error::Result;
use crate::rule::Totals;
use crate::task::Task;

/// Edge vectors per pass over all training edges; bounds the memory.
const ROWS_PER_PASS: usize = 32;

impl Evidence {
    /// The scores of edge vectors as heads. `rows` holds `dims` values per edge.
    pub(crate) fn head_scores(&self, by: &Weighing, rows: &[f32], dims: usize) -> Result<Vec<f64>> {
        let mut scores = Vec::with_capacity(rows.len() / dims.max(1));
        let sides = |rows: &[f32]| -> Vec<Side> {
            rows.chunks(dims.max(1)).map(|row| Side::new(Task::Heads, row.to_vec(), None)).collect()
        };
        for block in rows.chunks(ROWS_PER_PASS * dims.max(1)) {
            let sides = sides(block);
            self.prepare(by, &sides.iter().collect::<Vec<_>>())?;
            for side in &sides {
                scores.push(self.exact_score(by, side)?);
            }
        }
        Ok(scores)
    }

    /// The scores of all labels for each edge. The sides have no label.
    pub(crate) fn label_scores(&self, by: &Weighing, edges: &[Side]) -> Result<Vec<Vec<f64>>> {
        let mut scores = Vec::with_capacity(edges.len());
        for block in edges.chunks(ROWS_PER_PASS) {
            self.prepare(by, &block.iter().collect::<Vec<_>>())?;
            for edge in block {
                scores.push(match by.rule.of(Task::Labels).neighbors() {
                    Some(count) => self.label_votes(by, edge, count)?,
                    None => {
                        let score = |label| self.exact_score(by, &edge.with_label(Some(label)));
                        (0..self.counts.len() as u32).map(score).collect::<Result<_>>()?
                    }
                });
            }
        }
        Ok(scores)
    }

    /// The scores of all labels by one vote of an edge's neighbours.
    fn label_votes(&self, by: &Weighing, edge: &Side, count: usize) -> Result<Vec<f64>> {
        let rule = by.rule.of(Task::Labels);
        let found = self.neighbors(by, count, edge)?;
        let all = similarities(&found.accepted);
        let context = self.voting(rule, self.context(by, edge)?, &all, &[], found.nearest());
        let mut votes = vec![0.0; self.counts.len()];
        for hit in &found.accepted {
            let label = self.edges().record(hit.record).and_then(|edge| votes.get_mut(edge.label as usize));
            label.into_iter().for_each(|votes| *votes += rule.contribution(hit.similarity, &context));
        }
        Ok(votes.iter().map(|&votes| rule.score(Totals { accepted: votes, rejected: 0.0 }, &context)).collect())
    }

    /// The score of a side; by a linear rule in exact mode, from every single training edge.
    fn exact_score(&self, by: &Weighing, side: &Side) -> Result<f64> {
        let rule = by.rule.of(side.task);
        if by.exact && rule.is_linear() {
            let context = self.context(by, side)?;
            return Ok(all_weighed(rule, context, &self.counted_similarities(side)?, &[]).score);
        }
        Ok(self.weigh(by, side)?.score)
    }
}
