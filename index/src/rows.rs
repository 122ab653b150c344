//! The rows of a space as searches see them: in full, compact, and with their twins.

use crate::{
    compact::Compact,
    error::{Error, Result},
    hash,
    map::View,
    meta::Metric,
};

/// No row: the end of a list of links or of twins.
pub(crate) const NONE: u32 = u32::MAX;

/// An edge that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Number of the edge.
    pub edge: u32,
    /// Its similarity with the query, computed from the stored row.
    pub similarity: f32,
}

impl Hit {
    /// Best first; equal similarities by number.
    pub(crate) fn order(&self, other: &Self) -> std::cmp::Ordering {
        other.similarity.total_cmp(&self.similarity).then(self.edge.cmp(&other.edge))
    }
}

/// Rows, mapped.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) values: View<f32>,
    pub(crate) dims: usize,
    pub(crate) compact: Compact,
    /// For each row the next one that is equal to it, or [`NONE`].
    pub(crate) twins: View<u32>,
}

impl Rows {
    pub(crate) fn count(&self) -> usize {
        self.values.len() / self.dims
    }

    pub(crate) fn get(&self, place: u32) -> Option<&[f32]> {
        let start = place as usize * self.dims;
        self.values.get(start..start + self.dims)
    }

    pub(crate) fn similarity(&self, row: &[f32], place: u32) -> f32 {
        self.get(place).map_or(f32::NEG_INFINITY, |stored| self.compact.kernel.similarity(row, stored))
    }

    /// This row and those equal to it that come after it; numbers that do not ascend end the list, whatever a file says.
    pub(crate) fn chain(&self, place: u32) -> impl Iterator<Item = u32> + '_ {
        let next = |place: &u32| self.twins.get(*place as usize).copied().filter(|next| next > place && *next != NONE);
        std::iter::successors(Some(place), next)
    }
}

/// For each row the next equal one.
pub(crate) fn twins(values: &[f32], dims: usize) -> Vec<u32> {
    let mut hashes: Vec<(u64, u32)> =
        values.chunks_exact(dims).enumerate().map(|(place, row)| (hash::row(row), place as u32)).collect();
    hashes.sort_unstable();
    let row = |place: u32| &values[place as usize * dims..][..dims];
    let same = |a: u32, b: u32| row(a).iter().zip(row(b)).all(|(a, b)| a.to_bits() == b.to_bits());
    let mut next = vec![NONE; hashes.len()];
    for group in hashes.chunk_by(|a, b| a.0 == b.0) {
        // Rows that share a hash by accident stay apart; at worst a later twin of theirs stays apart too.
        for pair in group.windows(2).filter(|pair| same(pair[0].1, pair[1].1)) {
            next[pair[0].1 as usize] = pair[1].1;
        }
    }
    next
}

/// The rows that stand for themselves and for their twins, in order.
pub(crate) fn nodes(twins: &[u32]) -> Vec<u32> {
    let mut first = vec![true; twins.len()];
    twins.iter().for_each(|twin| {
        if let Some(first) = first.get_mut(*twin as usize) {
            *first = false;
        }
    });
    (0..twins.len() as u32).filter(|place| first[*place as usize]).collect()
}

/// Refuses a row that this space cannot hold.
pub(crate) fn fits(row: &[f32], dims: usize, metric: Metric) -> Result<()> {
    let square = comparable(row, dims)?;
    let unit = (square - 1.0).abs() < 1e-3 || square < 1e-9;
    if metric == Metric::Cosine && !unit {
        return Err(Error::input("the length of a vector in a cosine space", "1 (or 0)", square.sqrt()));
    }
    Ok(())
}

/// Refuses a row that cannot be compared with those of a space; returns the square of its length.
pub(crate) fn comparable(row: &[f32], dims: usize) -> Result<f64> {
    if row.len() != dims {
        return Err(Error::input("the length of a row", dims, row.len()));
    }
    let square: f64 = row.iter().map(|value| f64::from(*value).powi(2)).sum();
    if !square.is_finite() || square > 1e30 {
        return Err(Error::input("a row", "finite numbers and a length up to 10^15", "others"));
    }
    Ok(square)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_are_chained_in_order_and_only_the_first_is_a_node() {
        let values = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5], [1.0, 0.0], [0.0, 1.0]].concat();
        let twins = twins(&values, 2);
        assert_eq!(twins, [2, 5, 4, NONE, NONE, NONE]);
        assert_eq!(nodes(&twins), [0, 1, 3]);
    }
}
