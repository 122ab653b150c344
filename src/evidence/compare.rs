//! Comparing edge vectors with every training edge: similarities, cached with the side, and the most similar edges.

use super::similar::Similar;
use super::{EdgeId, Evidence, Side, Weighing};
use crate::error::Result;
use crate::task::Task;
use citree_index::{Hit, Space};
use std::borrow::Cow;
use std::sync::OnceLock;

/// Training edges to cite for a side, with their similarities, most similar first.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToCite {
    /// The edges for it.
    pub support: Vec<(EdgeId, f32)>,
    /// The edges against it: rejected edges, or neighbours with other labels.
    pub opposed: Vec<(EdgeId, f32)>,
    /// Whether these are certainly the nearest.
    pub exact: bool,
}

impl Evidence {
    /// The edges to cite for a side: the voters in a vote, otherwise the most similar edges of each kind that counts.
    pub(crate) fn to_cite(&self, by: &Weighing, side: &Side, count: usize) -> Result<ToCite> {
        let rule = by.rule.of(side.task);
        if let Some(neighbors) = rule.neighbors() {
            let found = self.neighbors(by, neighbors, side)?;
            let range = self.range(side);
            let (own, others): (Vec<Hit>, Vec<Hit>) =
                found.accepted.iter().partition(|hit| range.contains(&hit.record));
            let opposed = edges(&others, EdgeId::Accepted).chain(edges(&found.rejected, EdgeId::Rejected));
            return Ok(ToCite {
                support: edges(&own, EdgeId::Accepted).take(count).collect(),
                opposed: opposed.take(count).collect(),
                exact: found.exact,
            });
        }
        if rule.is_linear() {
            let (accepted, exact) = self.nearest_accepted(side, count, by.exact)?;
            return Ok(ToCite { support: edges(&accepted, EdgeId::Accepted).collect(), opposed: Vec::new(), exact });
        }
        if rule.exponent().is_some() && self.uses_densities(by, side) {
            let (accepted, exact) = self.nearest_accepted(side, count, false)?;
            let (rejected, all) = self.nearest_rejected(side, count)?;
            return Ok(ToCite {
                support: edges(&accepted, EdgeId::Accepted).collect(),
                opposed: edges(&rejected, EdgeId::Rejected).collect(),
                exact: exact && all,
            });
        }
        // The rule has compared every training edge anyway.
        let similarities = self.similarities(side)?;
        let accepted = self.highest(&similarities, self.range(side), count, EdgeId::Accepted);
        let rejected = match side.task {
            Task::Heads if rule.counts_rejected() => {
                self.highest(self.rejected_similarities(side)?, 0.., count, EdgeId::Rejected)
            }
            Task::Heads | Task::Labels => Vec::new(),
        };
        Ok(ToCite {
            support: edges(&accepted, EdgeId::Accepted).collect(),
            opposed: edges(&rejected, EdgeId::Rejected).collect(),
            exact: true,
        })
    }

    /// The similarity of a side's edge to every accepted edge in its range, including those left out.
    pub(crate) fn similarities<'a>(&self, side: &'a Side) -> Result<Cow<'a, [f32]>> {
        let range = self.range(side);
        if side.label.is_none() {
            self.compare_accepted(&[side])?;
        }
        let space = self.edges().space(side.task);
        // The edges of a label are one range in an index of one segment.
        match (side.cached.similarities.get(), range.ranges()) {
            (_, []) => Ok(Cow::Borrowed(&[])),
            (Some(all), [range]) => Ok(Cow::Borrowed(&all[range.start as usize..range.end as usize])),
            (Some(all), _) => Ok(Cow::Owned(range.map(|edge| all[edge as usize]).collect())),
            (None, ranges) => {
                let of = |range: &std::ops::Range<u32>| space.similarities(&side.row, range.clone());
                Ok(Cow::Owned(ranges.iter().map(of).collect::<Result<Vec<_>, _>>()?.concat()))
            }
        }
    }

    /// The similarity of a side's edge to every rejected edge, including those left out.
    pub(crate) fn rejected_similarities<'a>(&self, side: &'a Side) -> Result<&'a [f32]> {
        self.compare_rejected(&[side])?;
        Ok(side.cached.rejected.get().map_or(&[], Vec::as_slice))
    }

    /// The similarities of a side's edge to the accepted edges in its range that count.
    pub(super) fn counted_similarities<'a>(&self, side: &'a Side) -> Result<Similar<'a>> {
        Ok(self.counted_of(self.similarities(side)?, self.range(side), EdgeId::Accepted))
    }

    /// The similarities of a side's edge to the rejected edges that count.
    pub(super) fn counted_rejected<'a>(&self, side: &'a Side) -> Result<Similar<'a>> {
        Ok(self.counted_of(Cow::Borrowed(self.rejected_similarities(side)?), 0.., EdgeId::Rejected))
    }

    /// Compares several sides of one task with all training edges in one pass per kind, and caches the similarities.
    pub(crate) fn compare(&self, sides: &[&Side]) -> Result<()> {
        self.compare_accepted(sides)?;
        match sides.first().map(|side| side.task) {
            Some(Task::Heads) => self.compare_rejected(sides),
            _ => Ok(()),
        }
    }

    fn compare_accepted(&self, sides: &[&Side]) -> Result<()> {
        let Some(first) = sides.first() else { return Ok(()) };
        compare_with(self.edges().space(first.task), sides, |side| &side.cached.similarities)
    }

    fn compare_rejected(&self, sides: &[&Side]) -> Result<()> {
        match self.edges().rejected_space() {
            Some(space) => compare_with(space, sides, |side| &side.cached.rejected),
            None => Ok(()),
        }
    }

    /// The edges with the highest similarities that count. `numbers` has the number of each edge.
    pub(crate) fn highest(
        &self,
        similarities: &[f32],
        numbers: impl Iterator<Item = u32>,
        count: usize,
        edge: fn(u32) -> EdgeId,
    ) -> Vec<Hit> {
        let mut hits: Vec<Hit> = numbers
            .zip(similarities)
            .filter(|(number, _)| self.counts(edge(*number)))
            .map(|(record, &similarity)| Hit { record, similarity })
            .collect();
        let order = |a: &Hit, b: &Hit| b.similarity.total_cmp(&a.similarity).then(a.record.cmp(&b.record));
        if hits.len() > count {
            hits.select_nth_unstable_by(count, order);
            hits.truncate(count);
        }
        hits.sort_unstable_by(order);
        hits
    }
}

/// Hits as edges of a kind, with their similarities.
fn edges(hits: &[Hit], edge: fn(u32) -> EdgeId) -> impl Iterator<Item = (EdgeId, f32)> {
    hits.iter().map(move |hit| (edge(hit.record), hit.similarity))
}

/// Compares the sides that were not compared yet with every row of a space, in one pass.
fn compare_with(space: &Space, sides: &[&Side], cache: impl Fn(&Side) -> &OnceLock<Vec<f32>>) -> Result<()> {
    let new: Vec<&&Side> = sides.iter().filter(|side| cache(side).get().is_none()).collect();
    if new.is_empty() {
        return Ok(());
    }
    let rows: Vec<f32> = new.iter().flat_map(|side| side.row.iter().copied()).collect();
    let similarities = space.similarities(&rows, 0..space.count() as u32)?;
    for (side, similarities) in new.iter().zip(similarities.chunks(space.count().max(1))) {
        let _ = cache(side).set(similarities.to_vec());
    }
    Ok(())
}
