//! Sums of rows by class. An index stores such sums, but they are useful without one.
//!
//! ```
//! use citree_index::sums::Sums;
//!
//! let mut sums = Sums::new(2, 2);
//! sums.add(1, &[1.0, 2.0]);
//! sums.add(1, &[3.0, -2.0]);
//! assert_eq!(sums.sums(), [0.0, 0.0, 4.0, 0.0]);
//! assert_eq!(sums.counts(), [0, 2]);
//! assert_eq!(sums.means(), [0.0, 0.0, 2.0, 0.0]);
//! ```

/// The sum and the number of the rows of each class. Rows are added in f64, in the order of the calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    dims: usize,
    sums: Vec<f64>,
    counts: Vec<u64>,
}

impl Sums {
    /// Zero sums for a number of classes and dimensions.
    pub fn new(classes: usize, dims: usize) -> Self {
        Self { dims, sums: vec![0.0; classes * dims], counts: vec![0; classes] }
    }

    /// Sums from stored numbers. `None` if the lengths are inconsistent.
    pub fn from_parts(dims: usize, sums: Vec<f64>, counts: Vec<u64>) -> Option<Self> {
        (counts.len().checked_mul(dims)? == sums.len()).then_some(Self { dims, sums, counts })
    }

    /// Adds a row to its class.
    ///
    /// # Panics
    /// If the class does not exist or the row has another number of dimensions.
    pub fn add(&mut self, class: usize, row: &[f32]) {
        self.add_weighted(class, row, 1.0);
    }

    /// Adds a row times a weight to its class. It counts as one row.
    ///
    /// # Panics
    /// As for [`add`](Self::add).
    pub fn add_weighted(&mut self, class: usize, row: &[f32], weight: f64) {
        assert_eq!(row.len(), self.dims, "number of dimensions of a row");
        let sum = &mut self.sums[class * self.dims..][..self.dims];
        sum.iter_mut().zip(row).for_each(|(sum, &value)| *sum += weight * f64::from(value));
        self.counts[class] += 1;
    }

    /// Dimensions of a row.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// All sums, class after class.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// The number of rows of each class.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The mean row of each class, class after class. Zeros for a class without rows.
    pub fn means(&self) -> Vec<f64> {
        let counts = self.counts.iter().map(|&count| count.max(1) as f64);
        self.sums.chunks(self.dims.max(1)).zip(counts).flat_map(|(sum, n)| sum.iter().map(move |s| s / n)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_counts_and_means_follow_from_the_rows() {
        let mut sums = Sums::new(3, 2);
        sums.add(0, &[1.0, 2.0]);
        sums.add(2, &[5.0, 1.0]);
        sums.add(0, &[3.0, -2.0]);
        assert_eq!(sums.sums(), [4.0, 0.0, 0.0, 0.0, 5.0, 1.0]);
        assert_eq!(sums.counts(), [2, 0, 1]);
        assert_eq!(sums.means(), [2.0, 0.0, 0.0, 0.0, 5.0, 1.0]);
    }

    #[test]
    fn small_rows_are_not_lost_in_a_large_sum() {
        let mut sums = Sums::new(1, 1);
        sums.add(0, &[1e8]);
        (0..1000).for_each(|_| sums.add(0, &[0.5]));
        assert_eq!(sums.sums(), [1e8 + 500.0]);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        assert!(Sums::from_parts(2, vec![0.0; 3], vec![0; 2]).is_none());
        assert!(Sums::from_parts(2, vec![0.0; 4], vec![0; 2]).is_some());
    }
}
