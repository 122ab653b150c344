//! The exact neighbours, and the share of them that a library found.

use super::library::{COUNT, NO_ROW};
use super::rows::{Rows, dot};
use rayon::prelude::*;

/// The difference that another order of summation can make.
const TOLERANCE: f64 = 1e-6;

/// For each query, the similarity of its last exact neighbour.
pub struct Truth<'a> {
    base: &'a Rows,
    queries: &'a Rows,
    least: Vec<f64>,
}

impl<'a> Truth<'a> {
    /// Uses the results of an exact search for the first queries.
    pub fn new(base: &'a Rows, queries: &'a Rows, ids: &[u32]) -> Self {
        let least = |(query, ids): (usize, &[u32])| {
            let similarity = |id: &u32| dot(queries.row(query), base.row(*id as usize));
            ids.iter().filter(|id| **id != NO_ROW).map(similarity).fold(f64::INFINITY, f64::min)
        };
        Self { base, queries, least: ids.par_chunks(COUNT).enumerate().map(least).collect() }
    }

    /// The recall of these results for the queries from number `from` on. It is counted by similarity: a row as near as
    /// the tenth neighbour counts as the tenth, because equal rows are common.
    pub fn recall(&self, from: usize, ids: &[u32]) -> f64 {
        let found = |(place, ids): (usize, &[u32])| {
            let query = from + place;
            let mut distinct = ids.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            let row = |id: &u32| ((*id as usize) < self.base.count()).then(|| self.base.row(*id as usize));
            let near = |row: &[f32]| dot(self.queries.row(query), row) >= self.least[query] - TOLERANCE;
            distinct.iter().filter_map(row).filter(|row| near(row)).count()
        };
        ids.par_chunks(COUNT).enumerate().map(found).sum::<usize>() as f64 / ids.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_are_interchangeable_but_no_row_counts_twice() {
        // Rows on a quarter circle, the last two of them equal.
        let angles = (0..14).chain([13]).map(|step| step as f32 * 0.1);
        let base = Rows { dims: 2, values: angles.flat_map(|angle| [angle.cos(), angle.sin()]).collect() };
        let queries = Rows { dims: 2, values: vec![1.3f32.cos(), 1.3f32.sin()] };
        let truth = Truth::new(&base, &queries, &[14, 13, 12, 11, 10, 9, 8, 7, 6, 5]);
        assert_eq!(truth.recall(0, &[13, 14, 12, 11, 10, 9, 8, 7, 6, 5]), 1.0);
        assert_eq!(truth.recall(0, &[13, 14, 12, 11, 10, 9, 8, 7, 6, 4]), 0.9);
        assert_eq!(truth.recall(0, &[13, 13, 12, 11, 10, 9, 8, 7, 6, NO_ROW]), 0.8);
    }
}
