//! The training edges nearest to an edge vector: accepted and rejected ones, found by the graphs of the index or exactly
//! by a scan.

use super::{EdgeId, Evidence, Side, Weighing};
use crate::error::Result;
use crate::task::Task;
use citree_index::{Among, Hit, Nearest, Space};

/// Which edges count, and how many of each segment do.
type Counts<'a> = (&'a (dyn Fn(u32) -> bool + Sync), &'a [Among]);

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
    /// Keeps half of each kind. The odd one is an accepted edge.
    pub(crate) fn keep(&mut self, count: usize) {
        self.accepted.truncate(count.div_ceil(2));
        self.rejected.truncate(count / 2);
    }

    /// The highest similarity; the lowest number if there is no neighbour.
    pub(super) fn nearest(&self) -> f32 {
        let highest = |hits: &[Hit]| hits.first().map(|hit| hit.similarity);
        let [accepted, rejected] = [&self.accepted, &self.rejected].map(|hits| highest(hits));
        accepted.into_iter().chain(rejected).fold(f32::NEG_INFINITY, f32::max).max(f32::MIN)
    }
}

impl Evidence {
    /// The `count` training edges nearest to each row: for heads, half of them of each kind, if the index has both.
    pub(crate) fn neighbors_of_rows(
        &self,
        by: &Weighing,
        task: Task,
        rows: &[f32],
        count: usize,
    ) -> Result<Vec<Neighbors>> {
        let search = |space: &Space, count: usize, counts: Counts<'_>| {
            space.nearest_many(rows, |_, nearest| self.limited(nearest, count, by.exact, counts))
        };
        let asked = task == Task::Heads && by.rule.of(task).counts_rejected() && self.rejected() > 0;
        let both = self.edges().rejected_space().filter(|_| asked);
        let [for_it, against] = if both.is_some() { [count.div_ceil(2), count / 2] } else { [count, 0] };
        let counts = |edge| self.counts(EdgeId::Accepted(edge));
        let accepted = search(self.edges().space(task), for_it, (&counts, &self.among[0]))?;
        let mut found: Vec<Neighbors> = accepted
            .into_iter()
            .map(|answer| Neighbors { accepted: answer.hits, rejected: Vec::new(), exact: answer.exact })
            .collect();
        if let Some(space) = both {
            let counts = |edge| self.counts(EdgeId::Rejected(edge));
            let rejected = search(space, against, (&counts, &self.among[1]))?;
            for (own, answer) in found.iter_mut().zip(rejected) {
                own.rejected = answer.hits;
                own.exact &= answer.exact;
            }
        }
        Ok(found)
    }

    fn limited<'a>(&self, nearest: Nearest<'a>, count: usize, exact: bool, (counts, among): Counts<'a>) -> Nearest<'a> {
        let nearest = nearest.count(count);
        let nearest = if exact { nearest.exact() } else { nearest };
        if self.is_partial() { nearest.filter(counts).among(among) } else { nearest }
    }

    /// The nearest of all training edges to a side, whatever its label. The result is cached with the side.
    pub(crate) fn neighbors(&self, by: &Weighing, count: usize, side: &Side) -> Result<Neighbors> {
        let usable = |found: &Neighbors| found.exact || !by.exact;
        let fits =
            |(serial, of, found): &&(u64, usize, Neighbors)| *serial == self.serial && *of == count && usable(found);
        if let Some((.., found)) = side.cached.nearest.get().filter(fits) {
            return Ok(found.clone());
        }
        let found = self.neighbors_of_rows(by, side.task, &side.row, count)?.pop().unwrap_or_default();
        let _ = side.cached.nearest.set((self.serial, count, found.clone()));
        Ok(found)
    }

    /// Searches the neighbours of several sides of one task together, and caches them.
    pub(crate) fn find_neighbors(&self, by: &Weighing, count: usize, sides: &[&Side]) -> Result<()> {
        let new: Vec<&&Side> = sides.iter().filter(|side| side.cached.nearest.get().is_none()).collect();
        let Some(first) = new.first() else { return Ok(()) };
        let rows: Vec<f32> = new.iter().flat_map(|side| side.row.iter().copied()).collect();
        for (side, found) in new.iter().zip(self.neighbors_of_rows(by, first.task, &rows, count)?) {
            let _ = side.cached.nearest.set((self.serial, count, found));
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
        let answer = self.limited(nearest, count, exact, (&counts, &self.among[0])).run()?;
        Ok((answer.hits, answer.exact))
    }

    /// The rejected edges most similar to a side, and whether they are certainly the nearest; none for a label.
    pub(super) fn nearest_rejected(&self, side: &Side, count: usize) -> Result<(Vec<Hit>, bool)> {
        let counts = |edge| self.counts(EdgeId::Rejected(edge));
        match self.edges().rejected_space().filter(|_| side.task == Task::Heads) {
            Some(space) => {
                let answer = self.limited(space.nearest(&side.row), count, false, (&counts, &self.among[1])).run()?;
                Ok((answer.hits, answer.exact))
            }
            None => Ok((Vec::new(), true)),
        }
    }
}
