//! The rows to search in and the queries, all of unit length.

use super::options::Options;
use anyhow::Context;
use citree::Bundle;
use citree::internals::{gold_vectors, index};
use citree::treebank::read_trees;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_distr::StandardNormal;
use rayon::prelude::*;
use std::io::{Read, Write};
use std::path::Path;

const SEED: u64 = 1;
/// The cosine of a synthetic row to the real row it is made from.
const COSINE: f64 = 0.98;
/// Synthetic rows per random generator, so that they do not depend on the number of threads.
const TOGETHER: usize = 1024;

/// Contiguous rows of `dims` values.
pub struct Rows {
    pub dims: usize,
    pub values: Vec<f32>,
}

/// The rows to search in, and the queries in random order, so that any slice is a fair sample.
pub fn load(options: &Options) -> anyhow::Result<(Rows, Rows)> {
    let bundle = Bundle::open(&options.bundle)?;
    let [space, _] = index(bundle.index()?).spaces();
    let values = (0..space.count() as u32).filter_map(|edge| space.row(edge)).flatten().copied().collect();
    let base = Rows { dims: space.dims(), values };
    let values = gold_vectors(&bundle, &read_trees(&options.queries)?)?;
    let queries = Rows { dims: base.dims, values };
    Ok((base.unit(), queries.unit().shuffled()))
}

impl Rows {
    /// Reads only the first row of a file written by [`write`](Self::write).
    pub fn read_first(path: &Path, dims: usize) -> anyhow::Result<Self> {
        let mut bytes = vec![0; 4 * dims];
        std::fs::File::open(path)?.read_exact(&mut bytes).with_context(|| path.display().to_string())?;
        Ok(Self { dims, values: values(&bytes) })
    }

    /// Writes the values as raw little-endian f32.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
        for value in &self.values {
            file.write_all(&value.to_le_bytes())?;
        }
        Ok(file.flush()?)
    }

    /// Scales every row to length 1. hnsw_rs panics if a product exceeds 1 by more than rounding.
    pub fn unit(mut self) -> Self {
        self.values.par_chunks_mut(self.dims).for_each(normalise);
        self
    }

    fn shuffled(self) -> Self {
        let mut order: Vec<usize> = (0..self.count()).collect();
        order.shuffle(&mut StdRng::seed_from_u64(SEED));
        let values = order.into_iter().flat_map(|number| self.row(number).iter().copied()).collect();
        Self { dims: self.dims, values }
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.values.len() / self.dims
    }

    /// One row.
    pub fn row(&self, number: usize) -> &[f32] {
        &self.values[number * self.dims..][..self.dims]
    }

    /// A range of rows.
    pub fn part(&self, from: usize, to: usize) -> &[f32] {
        &self.values[from * self.dims..to * self.dims]
    }

    /// Every `step`th row.
    pub fn every(&self, step: usize) -> Self {
        let values = self.values.chunks_exact(self.dims).step_by(step).flatten().copied().collect();
        Self { dims: self.dims, values }
    }

    /// This number of rows, each a randomly drawn real row with noise added.
    pub fn perturbed(&self, count: usize) -> Self {
        // The noise is almost orthogonal to the row, so its length is the tangent of the angle between them.
        let length = (1.0 / (COSINE * COSINE) - 1.0).sqrt();
        let each = (length / (self.dims as f64).sqrt()) as f32;
        let mut values = vec![0.0; count * self.dims];
        values.par_chunks_mut(TOGETHER * self.dims).enumerate().for_each(|(number, together)| {
            let mut random = StdRng::seed_from_u64(SEED + number as u64);
            for row in together.chunks_exact_mut(self.dims) {
                let real = self.row(random.random_range(0..self.count()));
                row.iter_mut()
                    .zip(real)
                    .for_each(|(value, real)| *value = real + each * random.sample::<f32, _>(StandardNormal));
                normalise(row);
            }
        });
        Self { dims: self.dims, values }
    }
}

fn values(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}

fn normalise(row: &mut [f32]) {
    let length = dot(row, row).sqrt();
    if length > 0.0 {
        row.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    }
}

/// The inner product in f64, precise enough to check any library.
pub fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(count: usize, dims: usize) -> Rows {
        let mut random = StdRng::seed_from_u64(7);
        Rows { dims, values: (0..count * dims).map(|_| random.sample(StandardNormal)).collect() }.unit()
    }

    #[test]
    fn the_first_row_round_trips_and_a_short_file_is_refused() {
        let folder = tempfile::tempdir().expect("folder");
        let (path, rows) = (folder.path().join("rows.f32"), made(5, 3));
        rows.write(&path).expect("written");
        assert_eq!(Rows::read_first(&path, 3).expect("read").values, rows.row(0));
        assert!(Rows::read_first(&path, 16).is_err());
    }

    #[test]
    fn synthetic_rows_have_unit_length_and_the_right_cosine_to_a_real_row() {
        let real = made(20, 300);
        let more = real.perturbed(100);
        assert_eq!(more.count(), 100);
        let nearest = |row: &[f32]| (0..real.count()).map(|i| dot(row, real.row(i))).fold(-1.0, f64::max);
        let cosines: Vec<f64> = (0..100).map(|i| nearest(more.row(i))).collect();
        let mean = cosines.iter().sum::<f64>() / 100.0;
        assert!((mean - COSINE).abs() < 0.002, "{mean}");
        assert!((0..100).all(|i| (dot(more.row(i), more.row(i)) - 1.0).abs() < 1e-6));
        assert_eq!(real.perturbed(100).values, more.values);
    }
}
