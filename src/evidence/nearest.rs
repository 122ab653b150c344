//! The training edges nearest to an edge vector: accepted and rejected ones, found by the graphs of the index or, for
//! certainty, by a scan.

use super::{EdgeId, Evidence, Side};
use crate::error::Result;
use crate::task::Task;
use citree_index::{Hit, Nearest, Space};

/// The training edges nearest to an edge vector, most similar first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Neighbors {
    /// Gold edges.
    pub accepted: Vec<Hit>,
    /// Wrong heads.
    pub rejected: Vec<Hit>,
    /// Whether these are certainly the nearest.
    pub exact: bool,
}

impl Neighbors {
    /// The nearest of both kinds together. Ties go to accepted edges.
    pub(crate) fn keep(&mut self, count: usize) {
        let (mut accepted, mut rejected) = (0, 0);
        while accepted + rejected < count {
            match (self.accepted.get(accepted), self.rejected.get(rejected)) {
                (Some(a), Some(r)) if a.similarity >= r.similarity => accepted += 1,
                (Some(_), None) => accepted += 1,
                (_, Some(_)) => rejected += 1,
                (None, None) => break,
            }
        }
        self.accepted.truncate(accepted);
        self.rejected.truncate(rejected);
    }

    /// The highest similarity; 0 if there is no neighbour.
    pub(super) fn nearest(&self) -> f32 {
        let highest = |hits: &[Hit]| hits.first().map(|hit| hit.similarity);
        let [accepted, rejected] = [&self.accepted, &self.rejected].map(|hits| highest(hits));
        accepted.into_iter().chain(rejected).fold(f32::NEG_INFINITY, f32::max).max(f32::MIN)
    }
}

impl Evidence {
    /// The `count` training edges nearest to each row, of both kinds for heads.
    pub(crate) fn neighbors_of_rows(
        &self,
        task: Task,
        rows: &[f32],
        count: usize,
        exact: bool,
    ) -> Result<Vec<Neighbors>> {
        let search = |space: &Space, counts: &(dyn Fn(u32) -> bool + Sync)| {
            space.nearest_many(rows, |_, nearest| self.limited(nearest, count, exact, counts))
        };
        let accepted = search(self.edges().space(task), &|edge| self.counts(EdgeId::Accepted(edge)))?;
        let mut found: Vec<Neighbors> = accepted
            .into_iter()
            .map(|answer| Neighbors { accepted: answer.hits, rejected: Vec::new(), exact: answer.exact })
            .collect();
        if let (Task::Heads, Some(space)) = (task, self.edges().rejected_space()) {
            let rejected = search(space, &|edge| self.counts(EdgeId::Rejected(edge)))?;
            for (own, answer) in found.iter_mut().zip(rejected) {
                own.rejected = answer.hits;
                own.exact &= answer.exact;
                own.keep(count);
            }
        }
        Ok(found)
    }

    fn limited<'a>(
        &self,
        nearest: Nearest<'a>,
        count: usize,
        exact: bool,
        counts: &'a (dyn Fn(u32) -> bool + Sync),
    ) -> Nearest<'a> {
        let nearest = nearest.count(count);
        let nearest = if exact { nearest.exact() } else { nearest };
        if self.is_partial() { nearest.filter(counts) } else { nearest }
    }

    /// The nearest of all training edges to a side, whatever its label. The result is cached with the side.
    pub(crate) fn neighbors(&self, count: usize, side: &Side, exact: bool) -> Result<Neighbors> {
        // The cache of a side covers all training edges, so it is not valid for partial evidence.
        let usable = |found: &Neighbors| !self.is_partial() && (found.exact || !exact);
        if let Some((_, found)) = side.cached.nearest.get().filter(|(of, found)| *of == count && usable(found)) {
            return Ok(found.clone());
        }
        let found = self.neighbors_of_rows(side.task, &side.row, count, exact)?.pop().unwrap_or_default();
        if !self.is_partial() {
            let _ = side.cached.nearest.set((count, found.clone()));
        }
        Ok(found)
    }

    /// Searches the neighbours of several sides of one task together, and caches them.
    pub(crate) fn find_neighbors(&self, count: usize, sides: &[&Side], exact: bool) -> Result<()> {
        let new: Vec<&&Side> = sides.iter().filter(|side| side.cached.nearest.get().is_none()).collect();
        let Some(first) = new.first().filter(|_| !self.is_partial()) else { return Ok(()) };
        let rows: Vec<f32> = new.iter().flat_map(|side| side.row.iter().copied()).collect();
        for (side, found) in new.iter().zip(self.neighbors_of_rows(first.task, &rows, count, exact)?) {
            let _ = side.cached.nearest.set((count, found));
        }
        Ok(())
    }

    /// The accepted edges most similar to a side, with its label if it has one, and whether they are certainly the
    /// nearest.
    pub(super) fn nearest_accepted(&self, side: &Side, count: usize, exact: bool) -> Result<(Vec<Hit>, bool)> {
        let counts = |edge| self.counts(EdgeId::Accepted(edge));
        let mut nearest = self.edges().space(side.task).nearest(&side.row);
        if let Some(label) = side.label {
            nearest = nearest.class(label);
        }
        let answer = self.limited(nearest, count, exact, &counts).run()?;
        Ok((answer.hits, answer.exact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_of_both_kinds_are_kept_and_ties_go_to_accepted_edges() {
        let hits = |values: &[f32]| values.iter().map(|&similarity| Hit { record: 0, similarity }).collect::<Vec<_>>();
        let of = |accepted: &[f32], rejected: &[f32], count| {
            let mut found = Neighbors { accepted: hits(accepted), rejected: hits(rejected), exact: true };
            found.keep(count);
            (found.accepted.len(), found.rejected.len())
        };
        assert_eq!(of(&[0.9, 0.8, 0.7], &[0.8, 0.75], 3), (2, 1));
        assert_eq!(of(&[0.9, 0.8], &[0.8, 0.75], 2), (2, 0));
        assert_eq!(of(&[0.9], &[0.8, 0.75], 10), (1, 2));
        assert_eq!(of(&[], &[], 3), (0, 0));
    }
}
