//! The rows of a space as searches use them: in full, in compact form, and with links between equal rows (twins).

use crate::{
    compact::Compact,
    container::View,
    error::{Error, Result},
    hash,
    meta::Metric,
};

/// Marks the end of a list of links or twins. Not the number of a row.
pub(crate) const NONE: u32 = u32::MAX;

/// A record that a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Number of the record.
    pub record: u32,
    /// Similarity of its row with the query, computed in f32 from the stored row.
    pub similarity: f32,
}

impl Hit {
    /// Most similar first, ties by number.
    pub(crate) fn order(&self, other: &Self) -> std::cmp::Ordering {
        other.similarity.total_cmp(&self.similarity).then(self.record.cmp(&other.record))
    }
}

/// Rows, mapped.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) values: View<f32>,
    pub(crate) dims: usize,
    pub(crate) compact: Compact,
    /// For each row the next equal row, or [`NONE`].
    pub(crate) twins: View<u32>,
}

impl Rows {
    pub(crate) fn count(&self) -> usize {
        self.values.len() / self.dims
    }

    pub(crate) fn get(&self, number: u32) -> Option<&[f32]> {
        let start = number as usize * self.dims;
        self.values.part(start..start + self.dims)
    }

    pub(crate) fn similarity(&self, row: &[f32], number: u32) -> f32 {
        self.get(number).map_or(f32::NEG_INFINITY, |stored| self.compact.kernel.similarity(row, stored))
    }

    /// This row and the equal rows after it. A number that does not ascend ends the list, so a damaged file cannot make
    /// it endless.
    pub(crate) fn chain(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let next = |number: &u32| self.twins.value(*number as usize).filter(|next| next > number && *next != NONE);
        std::iter::successors(Some(number), next)
    }
}

/// For each row the next equal row.
pub(crate) fn twins(values: &[f32], dims: usize) -> Vec<u32> {
    let mut hashes: Vec<(u64, u32)> =
        values.chunks_exact(dims).enumerate().map(|(number, row)| (hash::row(row), number as u32)).collect();
    hashes.sort_unstable();
    let row = |number: u32| &values[number as usize * dims..][..dims];
    let same = |a: u32, b: u32| row(a).iter().zip(row(b)).all(|(a, b)| a.to_bits() == b.to_bits());
    let mut next = vec![NONE; hashes.len()];
    for group in hashes.chunk_by(|a, b| a.0 == b.0) {
        // Different rows with the same hash are not linked. In the worst case, a twin after such a pair is not linked.
        for pair in group.windows(2).filter(|pair| same(pair[0].1, pair[1].1)) {
            next[pair[0].1 as usize] = pair[1].1;
        }
    }
    next
}

/// The first row of each chain of twins, in order: the nodes of the graph.
pub(crate) fn nodes(twins: &[u32]) -> Vec<u32> {
    let mut first = vec![true; twins.len()];
    twins.iter().for_each(|twin| {
        if let Some(first) = first.get_mut(*twin as usize) {
            *first = false;
        }
    });
    (0..twins.len() as u32).filter(|number| first[*number as usize]).collect()
}

/// Refuses a row that a space cannot store.
pub(crate) fn fits(row: &[f32], dims: usize, metric: Metric) -> Result<()> {
    let square = comparable(row, dims)?;
    let unit = (square - 1.0).abs() < 1e-3 || square < 1e-9;
    if metric == Metric::Cosine && !unit {
        return Err(Error::input("the norm of a row in a cosine space", "1 (or 0)", square.sqrt()));
    }
    Ok(())
}

/// Refuses a row that cannot be compared with those of a space. Returns the square of its norm.
pub(crate) fn comparable(row: &[f32], dims: usize) -> Result<f64> {
    if row.len() != dims {
        return Err(Error::input("the length of a row", dims, row.len()));
    }
    let square: f64 = row.iter().map(|value| f64::from(*value).powi(2)).sum();
    if !square.is_finite() || square > 1e30 {
        return Err(Error::input("a row", "finite numbers and a norm of at most 10^15", "others"));
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
