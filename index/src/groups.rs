//! Groupings: every record is in one group of each grouping, and the index stores the sum of each group's rows.
//!
//! The caller defines the groups. Their sums split a score: the similarities of a query with all rows of a group add up to
//! its similarity with the sum of the group.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    container::View,
    error::{Error, Result},
};

/// Most groupings. Few, because opening an index reads the number of groups of each.
pub(crate) const MOST_GROUPINGS: u64 = 256;
const MOST_GROUPS: u64 = 1 << 31;

/// Groups whose sums are computed at a time, which bounds the memory.
const BLOCK: usize = 1024;

/// The number of groups of all groupings. `None` if there are more than an index can hold.
pub(crate) fn total(counts: &[u32]) -> Option<u64> {
    let few = counts.len() as u64 <= MOST_GROUPINGS;
    few.then(|| counts.iter().copied().map(u64::from).sum()).filter(|total| *total < MOST_GROUPS)
}

/// Refuses groups of a record that are not one of each grouping.
pub(crate) fn fits(groups: &[u32], counts: &[u32]) -> Result<()> {
    if groups.len() != counts.len() {
        return Err(Error::input("the number of groups of a record", counts.len(), groups.len()));
    }
    match groups.iter().zip(counts).find(|(group, count)| group >= count) {
        Some((group, count)) => Err(Error::input("the group of a record", format!("below {count}"), group)),
        None => Ok(()),
    }
}

/// The groups of all records, mapped.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    counts: Vec<u32>,
    /// For each record its group in each grouping.
    of_records: View<u32>,
}

impl Groups {
    pub(crate) fn new(counts: Vec<u32>, of_records: View<u32>) -> Self {
        Self { counts, of_records }
    }

    /// The number of groups of each grouping.
    pub(crate) fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The group of a record. `None` if there is no such grouping or record, or if the file is damaged here.
    pub(crate) fn get(&self, grouping: usize, record: u32) -> Option<u32> {
        let count = self.counts.get(grouping)?;
        self.of_records.value(record as usize * self.counts.len() + grouping).filter(|group| group < count)
    }

    /// The position of a grouping's groups among those of all groupings.
    pub(crate) fn range(&self, grouping: usize) -> Option<Range<usize>> {
        let count = *self.counts.get(grouping)? as usize;
        let start = self.counts[..grouping].iter().map(|count| *count as usize).sum();
        Some(start..start + count)
    }

    /// The first record without a valid group in some grouping.
    pub(crate) fn without_group(&self) -> Option<u32> {
        let records = self.of_records.len() / self.counts.len().max(1);
        let all = |record: &u32| (0..self.counts.len()).all(|grouping| self.get(grouping, *record).is_some());
        (0..records as u32).find(|record| !all(record))
    }

    /// Adds up the rows of each group of a grouping. Calls `take` for each block of sums, with the first group of the block.
    ///
    /// Each sum is computed in f64 in the order of the rows and rounded once, so its bits are always the same.
    pub(crate) fn sums(
        &self,
        grouping: usize,
        values: &[f32],
        dims: usize,
        mut take: impl FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<()> {
        let (starts, records) = self.by_group(grouping);
        let groups: Vec<&[u32]> = starts.windows(2).map(|ends| &records[ends[0]..ends[1]]).collect();
        for (i, block) in groups.chunks(BLOCK).enumerate() {
            let mut sums = vec![0f32; block.len() * dims];
            let pairs = block.par_iter().zip(sums.par_chunks_mut(dims));
            pairs.for_each_init(
                || vec![0f64; dims],
                |sum, (records, out)| {
                    sum.fill(0.0);
                    for row in records.iter().filter_map(|record| values.get(*record as usize * dims..)) {
                        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
                    }
                    out.iter_mut().zip(sum).for_each(|(out, sum)| *out = *sum as f32);
                },
            );
            take(i * BLOCK, &sums)?;
        }
        Ok(())
    }

    /// Where each group begins and ends in the list of all records by group, and that list.
    fn by_group(&self, grouping: usize) -> (Vec<usize>, Vec<u32>) {
        let records = self.of_records.len() / self.counts.len().max(1);
        let grouped = || (0..records as u32).filter_map(|record| Some((self.get(grouping, record)? as usize, record)));
        let mut starts = vec![0; self.counts.get(grouping).map_or(0, |count| *count as usize) + 1];
        grouped().for_each(|(group, _)| starts[group + 1] += 1);
        (1..starts.len()).for_each(|group| starts[group] += starts[group - 1]);
        let mut next = starts.clone();
        let mut order = vec![0; starts.last().copied().unwrap_or_default()];
        for (group, record) in grouped() {
            order[next[group]] = record;
            next[group] += 1;
        }
        (starts, order)
    }
}
