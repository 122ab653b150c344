//! Groupings: every edge is in one group of each grouping, and the rows of each group are added up.
//!
//! What the groups are (documents, sentences, words) is the caller's matter. Their sums split a score over them: the
//! similarities of a query with all rows of a group add up to its similarity with their sum.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    error::{Error, Result},
    map::View,
};

/// Most groupings: their numbers of groups are read whenever an index is opened.
pub(crate) const MOST_GROUPINGS: u64 = 256;
const MOST_GROUPS: u64 = 1 << 31;

/// Groups whose sums are computed before they are handed on: what bounds the memory.
const BLOCK: usize = 1024;

/// The number of groups of all groupings together; `None` if there are more than an index can hold.
pub(crate) fn total(counts: &[u32]) -> Option<u64> {
    let few = counts.len() as u64 <= MOST_GROUPINGS;
    few.then(|| counts.iter().copied().map(u64::from).sum()).filter(|total| *total < MOST_GROUPS)
}

/// Refuses groups of an edge that are not one of each grouping.
pub(crate) fn fits(groups: &[u32], counts: &[u32]) -> Result<()> {
    if groups.len() != counts.len() {
        return Err(Error::input("the number of groups of an edge", counts.len(), groups.len()));
    }
    match groups.iter().zip(counts).find(|(group, count)| group >= count) {
        Some((group, count)) => Err(Error::input("the group of an edge", format!("below {count}"), group)),
        None => Ok(()),
    }
}

/// The groups of all edges, mapped.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    counts: Vec<u32>,
    /// Edge after edge, its group of each grouping.
    of_edges: View<u32>,
}

impl Groups {
    pub(crate) fn new(counts: Vec<u32>, of_edges: View<u32>) -> Self {
        Self { counts, of_edges }
    }

    /// The number of groups of each grouping.
    pub(crate) fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The group of an edge; `None` where there is no such grouping or edge, or where the file names no such group.
    pub(crate) fn get(&self, grouping: usize, edge: u32) -> Option<u32> {
        let count = self.counts.get(grouping)?;
        self.of_edges.get(edge as usize * self.counts.len() + grouping).copied().filter(|group| group < count)
    }

    /// Where the groups of a grouping lie among those of all groupings.
    pub(crate) fn range(&self, grouping: usize) -> Option<Range<usize>> {
        let count = *self.counts.get(grouping)? as usize;
        let start = self.counts[..grouping].iter().map(|count| *count as usize).sum();
        Some(start..start + count)
    }

    /// The first edge that is in no group of some grouping, whatever the file says.
    pub(crate) fn without_group(&self) -> Option<u32> {
        let edges = self.of_edges.len() / self.counts.len().max(1);
        let all = |edge: &u32| (0..self.counts.len()).all(|grouping| self.get(grouping, *edge).is_some());
        (0..edges as u32).find(|edge| !all(edge))
    }

    /// Adds up the rows of each group of a grouping and hands the sums on in blocks, each with its first group.
    ///
    /// Each sum is taken in f64 in the order of the rows and rounded once, so always to the same bits.
    pub(crate) fn sums(
        &self,
        grouping: usize,
        values: &[f32],
        dims: usize,
        mut take: impl FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<()> {
        let (starts, edges) = self.by_group(grouping);
        let groups: Vec<&[u32]> = starts.windows(2).map(|ends| &edges[ends[0]..ends[1]]).collect();
        for (i, block) in groups.chunks(BLOCK).enumerate() {
            let mut sums = vec![0f32; block.len() * dims];
            let pairs = block.par_iter().zip(sums.par_chunks_mut(dims));
            pairs.for_each_init(
                || vec![0f64; dims],
                |sum, (edges, out)| {
                    sum.fill(0.0);
                    for row in edges.iter().filter_map(|edge| values.get(*edge as usize * dims..)) {
                        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
                    }
                    out.iter_mut().zip(sum).for_each(|(out, sum)| *out = *sum as f32);
                },
            );
            take(i * BLOCK, &sums)?;
        }
        Ok(())
    }

    /// All edges ordered by their group, then by number, and where each group begins and ends among them.
    fn by_group(&self, grouping: usize) -> (Vec<usize>, Vec<u32>) {
        let edges = self.of_edges.len() / self.counts.len().max(1);
        let grouped = || (0..edges as u32).filter_map(|edge| Some((self.get(grouping, edge)? as usize, edge)));
        let mut starts = vec![0; self.counts.get(grouping).map_or(0, |count| *count as usize) + 1];
        grouped().for_each(|(group, _)| starts[group + 1] += 1);
        (1..starts.len()).for_each(|group| starts[group] += starts[group - 1]);
        let mut next = starts.clone();
        let mut order = vec![0; starts.last().copied().unwrap_or_default()];
        for (group, edge) in grouped() {
            order[next[group]] = edge;
            next[group] += 1;
        }
        (starts, order)
    }
}
