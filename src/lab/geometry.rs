//! Ways to compare the same edge vectors: by dot product or cosine, relative to the origin or to their mean.

use super::nearest::Rows;
use crate::config::{Similarity, System};

/// A way to compare vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    similarity: Similarity,
    centred: bool,
}

/// Prepared vectors, whose inner products are the similarities.
pub(super) struct Seen {
    pub(super) rows: Rows,
    pub(super) queries: Rows,
    /// The length of each row after centring, before normalisation.
    pub(super) lengths: Vec<f64>,
    /// The cosine of each row to the mean of all rows; `None` for centred rows.
    pub(super) to_mean: Option<Vec<f64>>,
}

impl Geometry {
    pub(super) const ALL: [Self; 4] = [
        Self { similarity: Similarity::Dot, centred: false },
        Self { similarity: Similarity::Dot, centred: true },
        Self { similarity: Similarity::Cosine, centred: false },
        Self { similarity: Similarity::Cosine, centred: true },
    ];

    /// The way in which a system itself compares.
    pub(super) fn of(system: &System) -> Self {
        Self { similarity: system.similarity, centred: false }
    }

    pub(super) fn name(self) -> &'static str {
        match (self.similarity, self.centred) {
            (Similarity::Dot, false) => "dot",
            (Similarity::Dot, true) => "dot, centred",
            (Similarity::Cosine, false) => "cosine",
            (Similarity::Cosine, true) => "cosine, centred",
        }
    }

    /// Prepares raw vectors. The mean is that of the rows.
    pub(super) fn see(self, mut rows: Rows, mut queries: Rows) -> Seen {
        let mean = mean(&rows);
        let to_mean = (!self.centred).then(|| {
            let product =
                |row: &[f32]| row.iter().zip(&mean).map(|(value, mean)| f64::from(*value) * mean).sum::<f64>();
            let own = mean.iter().map(|value| value * value).sum::<f64>().sqrt();
            rows.iter().map(|row| product(row) / (length(row) * own).max(f64::MIN_POSITIVE)).collect()
        });
        if self.centred {
            for values in [&mut rows, &mut queries] {
                let dims = values.dims;
                let centre =
                    |row: &mut [f32]| row.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= *mean as f32);
                values.values.chunks_exact_mut(dims).for_each(centre);
            }
        }
        let lengths = rows.iter().map(length).collect();
        if self.similarity == Similarity::Cosine {
            for values in [&mut rows, &mut queries] {
                let dims = values.dims;
                for row in values.values.chunks_exact_mut(dims) {
                    let length = length(row).max(f64::from(f32::MIN_POSITIVE)) as f32;
                    row.iter_mut().for_each(|value| *value /= length);
                }
            }
        }
        Seen { rows, queries, lengths, to_mean }
    }
}

fn length(row: &[f32]) -> f64 {
    row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
}

fn mean(rows: &Rows) -> Vec<f64> {
    let mut sum = vec![0.0; rows.dims];
    for row in rows.iter() {
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
    }
    let count = rows.count().max(1) as f64;
    sum.iter_mut().for_each(|sum| *sum /= count);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn see(geometry: usize) -> Seen {
        let rows = Rows { values: vec![3.0, 4.0, 5.0, 0.0], dims: 2 };
        Geometry::ALL[geometry].see(rows, Rows { values: vec![8.0, 2.0], dims: 2 })
    }

    #[test]
    fn centring_moves_rows_and_queries_by_the_mean_of_the_rows() {
        let seen = see(1);
        assert_eq!((seen.rows.values, seen.queries.values), (vec![-1.0, 2.0, 1.0, -2.0], vec![4.0, 0.0]));
        assert_eq!(seen.lengths, [5f64.sqrt(), 5f64.sqrt()]);
        assert_eq!(seen.to_mean, None);
    }

    #[test]
    fn cosine_normalises_rows_and_returns_the_original_lengths() {
        let seen = see(2);
        assert_eq!(seen.rows.values, [0.6, 0.8, 1.0, 0.0]);
        assert_eq!(seen.lengths, [5.0, 5.0]);
        let to_mean = seen.to_mean.unwrap_or_default();
        assert!((to_mean[0] - 20.0 / (5.0 * 20f64.sqrt())).abs() < 1e-12, "{to_mean:?}");
    }
}
