//! What single training edges, and those of each label, contribute to a side.

use super::weigh::{Weighed, Weighing, product};
use super::{EdgeId, Evidence, Side};
use crate::error::Result;
use crate::rule::Compared;

/// The evidence for a head by kind.
pub(crate) struct ByLabel {
    /// What accepted edges contribute, label by label.
    pub accepted: Vec<(u32, f64)>,
    /// What rejected edges contribute: nothing, or a number below 0.
    pub rejected: f64,
}

impl Evidence {
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
        let part = similarity
            .filter(|_| counted)
            .map_or(0.0, |own| self.weight(edge) * rule.contribution(own, &weighed.context));
        Ok(if matches!(edge, EdgeId::Rejected(_)) { -part } else { part })
    }

    /// The contributions of all counted training edges to a side.
    pub(crate) fn contributions(&self, by: &Weighing, side: &Side) -> Result<Vec<(EdgeId, f64)>> {
        by.interrupt.check()?;
        let rule = by.rule.of(side.task);
        // All contributions add up to the total exactly, so it is not taken from densities, which are estimates.
        if rule.exponent().is_some() {
            self.compare(&[&side.with_label(None)])?;
        }
        let context = self.weigh(by, side)?.context;
        let part = |edge: EdgeId, similarity| (edge, self.weight(edge) * rule.contribution(similarity, &context));
        let accepted = |edge, similarity| part(EdgeId::Accepted(edge), similarity);
        let rejected = |edge, similarity| (EdgeId::Rejected(edge), -part(EdgeId::Rejected(edge), similarity).1);
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

    /// The total of a head broken down by label, and what rejected edges contribute, if the index has densities for the
    /// rule; `None` if every training edge has to be read.
    pub(crate) fn densities_by_label(&self, by: &Weighing, side: &Side) -> Result<Option<ByLabel>> {
        let rule = by.rule.of(side.task);
        let Some(temperature) = rule.exponent().filter(|_| self.uses_densities(by, side)) else { return Ok(None) };
        let (densities, weighed) = (self.densities(temperature, side)?, self.weigh(by, side)?);
        let unit = rule.contribution(1.0, &weighed.context);
        let of_labels = (0..).zip(densities.accepted.iter().map(|density| unit * density.sum)).collect();
        Ok(Some(ByLabel { accepted: of_labels, rejected: -weighed.totals.rejected }))
    }

    /// The contribution of an edge with similarity 1 under a linear rule.
    pub(crate) fn unit_contribution(&self, by: &Weighing, side: &Side) -> Result<f64> {
        Ok(by.rule.of(side.task).contribution(1.0, &self.context(by, side)?))
    }
}
