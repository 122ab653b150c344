//! Weighs evidence by a rule: totals, scores, contributions, and the number of counted edges.

use super::nearest::Neighbors;
use super::{EdgeId, Evidence, Side};
use crate::error::{Error, Result};
use crate::rule::{Compared, Context, Rule, Scale, Scoring, Totals};
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
    /// Whether to compare with every training edge, even if summed vectors give the same score, or a graph nearly the
    /// same neighbours.
    pub exact: bool,
}

/// A side with the contributions to it added up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighed {
    /// What its contributions depend on.
    pub context: Context,
    /// The contributions to it.
    pub totals: Totals,
    /// Its score.
    pub score: f64,
}

/// The evidence for a head by kind.
pub(crate) struct ByLabel {
    /// What accepted edges contribute, label by label.
    pub accepted: Vec<(u32, f64)>,
    /// What rejected edges contribute: nothing, or a number below 0.
    pub rejected: f64,
}

impl Weighing {
    /// Whether summed vectors give the scores of a task.
    pub(crate) fn uses_sums(&self, task: Task) -> bool {
        self.rule.of(task).is_linear() && !self.exact
    }
}

impl Evidence {
    /// What speaks for a side, less what speaks against it, as the rule adds it up.
    pub fn total(&self, by: &Weighing, side: &Side) -> Result<f64> {
        Ok(self.weigh(by, side)?.totals.evidence())
    }

    /// Adds up the contributions of training edges to a side.
    pub(crate) fn weigh(&self, by: &Weighing, side: &Side) -> Result<Weighed> {
        let rule = by.rule.of(side.task);
        if let Some(count) = rule.neighbors() {
            return self.vote(by, side, &self.neighbors(by, count, side)?);
        }
        let context = self.context(by, side)?;
        if rule.is_linear() {
            let total = rule.contribution(1.0, &context) * self.similarity_to_sum(side);
            return Ok(weighed(rule, context, total, 0.0));
        }
        if let Some(temperature) = rule.exponent().filter(|_| self.uses_densities(by, side)) {
            let densities = self.densities(temperature, side)?;
            let (accepted, rejected) = match context.compared {
                Compared::Both => (densities.of(side), densities.rejected),
                Compared::Accepted | Compared::Label => (densities.of(side), 0.0),
            };
            // An edge with similarity 1 has the weight 1.
            let whole = match context.compared {
                Compared::Both => (accepted + rejected).max(f64::MIN_POSITIVE),
                Compared::Accepted | Compared::Label => 1.0,
            };
            let context = Context { whole, ..context };
            let unit = rule.contribution(1.0, &context);
            return Ok(weighed(rule, context, unit * accepted, unit * rejected));
        }
        self.weigh_all(by, side, context)
    }

    /// Adds up the contributions of every single training edge to a side.
    fn weigh_all(&self, by: &Weighing, side: &Side, context: Context) -> Result<Weighed> {
        let accepted = self.counted_similarities(side)?;
        let rejected = match context.compared {
            Compared::Both => self.counted_rejected(side)?,
            Compared::Accepted | Compared::Label => Cow::Borrowed(&[][..]),
        };
        Ok(all_weighed(by.rule.of(side.task), context, &accepted, &rejected))
    }

    /// The vote of these neighbours on a side.
    pub(crate) fn vote(&self, by: &Weighing, side: &Side, found: &Neighbors) -> Result<Weighed> {
        let rule = by.rule.of(side.task);
        let [accepted, rejected] = [&found.accepted, &found.rejected].map(|hits| similarities(hits));
        let context = self.voting(rule, self.context(by, side)?, &accepted, &rejected, found.nearest());
        let own: Vec<f32> = match side.label {
            Some(_) => similarities(&self.of_label(side, &found.accepted)),
            None => accepted,
        };
        Ok(weighed(rule, context, rule.total(&own, &context), rule.total(&rejected, &context)))
    }

    /// What contributions to a side depend on, before anything is added up.
    pub(crate) fn context(&self, by: &Weighing, side: &Side) -> Result<Context> {
        let rule = by.rule.of(side.task);
        let compared = match side.task {
            Task::Labels => Compared::Label,
            Task::Heads if rule.counts_rejected() && self.rejected() > 0 => Compared::Both,
            Task::Heads => Compared::Accepted,
        };
        let dot = self.edges().facts(side.task).metric == citree_index::Metric::Dot;
        if compared == Compared::Accepted && dot && rule.neighbors().is_some() {
            let message = "the knn rule needs rejected edges in a system with dot products, and this index has none; \
                           build it again with `citree index`";
            return Err(Error::Explanation { message: message.to_string() });
        }
        Ok(Context { scale: by.scale, compared, count: self.count(side), nearest: 1.0, whole: 1.0 })
    }

    /// The context of a vote of these neighbours.
    fn voting(
        &self,
        rule: &dyn Scoring,
        context: Context,
        accepted: &[f32],
        rejected: &[f32],
        nearest: f32,
    ) -> Context {
        // Where nothing is divided by what all weigh, sides are compared with each other, so the reference is fixed.
        let context = match context.compared {
            Compared::Accepted => context,
            Compared::Both | Compared::Label => Context { nearest, ..context },
        };
        Context { whole: rule.whole(accepted, rejected, &context), ..context }
    }

    /// Those of the neighbours that have the label of a side.
    pub(crate) fn of_label(&self, side: &Side, hits: &[Hit]) -> Vec<Hit> {
        let range = self.range(side);
        hits.iter().filter(|hit| range.contains(&hit.record)).copied().collect()
    }

    /// Does for several sides of one task together what weighing each of them needs, and caches it.
    pub(crate) fn prepare(&self, by: &Weighing, sides: &[&Side]) -> Result<()> {
        let Some(task) = sides.first().map(|side| side.task) else { return Ok(()) };
        let rule = by.rule.of(task);
        match (rule.neighbors(), rule.exponent()) {
            _ if by.uses_sums(task) => Ok(()),
            (Some(count), _) => self.find_neighbors(by, count, sides),
            (None, Some(temperature)) if sides.iter().any(|side| self.uses_densities(by, side)) => {
                self.find_densities(temperature, sides)
            }
            _ => self.compare(sides),
        }
    }

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

    /// The contribution of one training edge to a side: negative for a rejected edge, 0 if it does not count.
    pub(crate) fn contribution(&self, by: &Weighing, edge: EdgeId, side: &Side, weighed: &Weighed) -> Result<f64> {
        let rule = by.rule.of(side.task);
        let similarity = match rule.neighbors() {
            Some(count) => {
                let found = self.neighbors(by, count, side)?;
                let (hits, number) = match edge {
                    EdgeId::Accepted(number) => (&found.accepted, number),
                    EdgeId::Rejected(number) => (&found.rejected, number),
                };
                hits.iter().find(|hit| hit.record == number).map(|hit| hit.similarity)
            }
            None => match edge {
                EdgeId::Accepted(number) => self.edges().space(side.task).similarity(&side.row, number),
                EdgeId::Rejected(_) if weighed.context.compared != Compared::Both => None,
                EdgeId::Rejected(number) => {
                    self.edges().rejected_space().and_then(|space| space.similarity(&side.row, number))
                }
            },
        };
        let counted = match edge {
            EdgeId::Accepted(number) => self.range(side).contains(&number) && self.counts(edge),
            EdgeId::Rejected(_) => self.counts(edge),
        };
        let part = similarity.filter(|_| counted).map_or(0.0, |own| rule.contribution(own, &weighed.context));
        Ok(if matches!(edge, EdgeId::Rejected(_)) { -part } else { part })
    }

    /// The contributions of all counted training edges to a side.
    pub(crate) fn contributions(&self, by: &Weighing, side: &Side) -> Result<Vec<(EdgeId, f64)>> {
        let rule = by.rule.of(side.task);
        // All contributions add up to the total exactly, so it is not taken from densities, which are estimates.
        if rule.exponent().is_some() {
            self.compare(&[&side.with_label(None)])?;
        }
        let context = self.weigh(by, side)?.context;
        let accepted = |edge, similarity| (EdgeId::Accepted(edge), rule.contribution(similarity, &context));
        let rejected = |edge, similarity| (EdgeId::Rejected(edge), -rule.contribution(similarity, &context));
        if let Some(count) = rule.neighbors() {
            let found = self.neighbors(by, count, side)?;
            let own = if side.label.is_some() { self.of_label(side, &found.accepted) } else { found.accepted };
            let own = own.iter().map(|hit| accepted(hit.record, hit.similarity));
            return Ok(own.chain(found.rejected.iter().map(|hit| rejected(hit.record, hit.similarity))).collect());
        }
        let similarities = self.similarities(side)?;
        let own = self.range(side).zip(similarities.iter()).map(|(edge, &similarity)| accepted(edge, similarity));
        let mut parts: Vec<(EdgeId, f64)> = own.filter(|(edge, _)| self.counts(*edge)).collect();
        if context.compared == Compared::Both {
            let against = (0..).zip(self.rejected_similarities(side)?).map(|(edge, &own)| rejected(edge, own));
            parts.extend(against.filter(|(edge, _)| self.counts(*edge)));
        }
        Ok(parts)
    }

    /// The number of edges that contribute to a side.
    pub(crate) fn counted(&self, by: &Weighing, side: &Side) -> Result<u64> {
        let rule = by.rule.of(side.task);
        if let Some(count) = rule.neighbors() {
            let found = self.neighbors(by, count, side)?;
            // For a label, all neighbours vote: those with other labels against it.
            return Ok((found.accepted.len() + found.rejected.len()) as u64);
        }
        let against = match self.context(by, side)?.compared {
            Compared::Both => self.rejected(),
            Compared::Accepted | Compared::Label => 0,
        };
        Ok(self.count(side) + against)
    }

    /// The total under a linear rule, broken down by label.
    pub(crate) fn totals_by_label(&self, by: &Weighing, side: &Side) -> Result<Vec<(u32, f64)>> {
        let sums = self.sums(side.task);
        let weight = by.rule.of(side.task).contribution(1.0, &self.context(by, side)?);
        Ok((0..).zip(sums.sums().chunks(sums.dims().max(1)).map(|sum| weight * product(sum, &side.row))).collect())
    }

    /// The total of a head broken down by label, and what rejected edges contribute, where the index has densities for the
    /// rule; `None` where every training edge has to be read.
    pub(crate) fn densities_by_label(&self, by: &Weighing, side: &Side) -> Result<Option<ByLabel>> {
        let rule = by.rule.of(side.task);
        let Some(temperature) = rule.exponent().filter(|_| self.uses_densities(by, side)) else { return Ok(None) };
        let (densities, weighed) = (self.densities(temperature, side)?, self.weigh(by, side)?);
        let unit = rule.contribution(1.0, &weighed.context);
        let of_labels = (0..).zip(densities.accepted.iter().map(|density| unit * density)).collect();
        Ok(Some(ByLabel { accepted: of_labels, rejected: -weighed.totals.rejected }))
    }

    /// The contribution of an edge with similarity 1 under a linear rule.
    pub(crate) fn unit_contribution(&self, by: &Weighing, side: &Side) -> Result<f64> {
        Ok(by.rule.of(side.task).contribution(1.0, &self.context(by, side)?))
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
}

/// A side whose contributions were added up.
fn weighed(rule: &dyn Scoring, context: Context, accepted: f64, rejected: f64) -> Weighed {
    let totals = Totals { accepted, rejected };
    Weighed { context, totals, score: rule.score(totals, &context) }
}

/// A side to which all training edges of these similarities contribute.
fn all_weighed(rule: &dyn Scoring, context: Context, accepted: &[f32], rejected: &[f32]) -> Weighed {
    let context = Context { whole: rule.whole(accepted, rejected, &context), ..context };
    weighed(rule, context, rule.total(accepted, &context), rule.total(rejected, &context))
}

fn similarities(hits: &[Hit]) -> Vec<f32> {
    hits.iter().map(|hit| hit.similarity).collect()
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
