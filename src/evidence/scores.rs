//! The scores of many candidates: heads of words, labels of edges.

use super::similar::Similar;
use super::weigh::{Weighing, all_weighed};
use super::{EdgeId, Evidence, Side};
use crate::error::Result;
use crate::rule::Totals;
use crate::task::Task;

/// Sides per pass over all training edges; bounds the memory.
const ROWS_PER_PASS: usize = 32;

impl Evidence {
    /// The scores of edges as heads. What is found out about them is cached with the sides, unless it is large.
    pub(crate) fn head_scores(&self, by: &Weighing, edges: &[Side]) -> Result<Vec<f64>> {
        let mut scores = Vec::with_capacity(edges.len());
        for block in edges.chunks(ROWS_PER_PASS) {
            let block = self.for_one_pass(by, block);
            self.prepare(by, &block.iter().collect::<Vec<_>>())?;
            for side in &block {
                scores.push(self.exact_score(by, side)?);
            }
        }
        Ok(scores)
    }

    /// The sides of a pass. Where each would cache its similarity to every training edge, these are copies that do not
    /// outlive the pass.
    fn for_one_pass(&self, by: &Weighing, sides: &[Side]) -> Vec<Side> {
        let copy = |side: &Side| if self.caches_little(by, side.task) { side.clone() } else { side.carried_over() };
        sides.iter().map(copy).collect()
    }

    /// Whether weighing a side caches a few numbers with it, rather than its similarity to every training edge.
    pub(crate) fn caches_little(&self, by: &Weighing, task: Task) -> bool {
        let rule = by.rule.of(task);
        rule.neighbors().is_some() || (rule.exponent().is_some() && !by.exact && self.is_whole())
    }

    /// The scores of all labels for each edge. The sides have no label.
    pub(crate) fn label_scores(&self, by: &Weighing, edges: &[Side]) -> Result<Vec<Vec<f64>>> {
        let mut scores = Vec::with_capacity(edges.len());
        for block in edges.chunks(ROWS_PER_PASS) {
            let block = self.for_one_pass(by, block);
            self.prepare(by, &block.iter().collect::<Vec<_>>())?;
            for edge in &block {
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
        let all = self.similar(&found.accepted, EdgeId::Accepted);
        let context = self.voting(rule, self.context(by, edge)?, &all, &Similar::default(), found.nearest());
        let mut votes = vec![0.0; self.counts.len()];
        for hit in &found.accepted {
            let label = self.edges().record(hit.record).and_then(|edge| votes.get_mut(edge.label as usize));
            let part = self.weight(EdgeId::Accepted(hit.record)) * rule.contribution(hit.similarity, &context);
            label.into_iter().for_each(|votes| *votes += part);
        }
        Ok(votes.iter().map(|&votes| rule.score(Totals { accepted: votes, rejected: 0.0 }, &context)).collect())
    }

    /// The score of a side; by a linear rule in exact mode, from every single training edge.
    fn exact_score(&self, by: &Weighing, side: &Side) -> Result<f64> {
        let rule = by.rule.of(side.task);
        if by.exact && rule.is_linear() {
            let context = self.context(by, side)?;
            return Ok(all_weighed(rule, context, &self.counted_similarities(side)?, &Similar::default()).score);
        }
        Ok(self.weigh(by, side)?.score)
    }
}
