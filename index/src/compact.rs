//! Compact rows: a quarter of the bytes of the rows, compared by integer products, with a known error.
//!
//! Rows of a trained model lie in a narrow cone: they are mostly their mean µ, and eight bits of that say little. So
//! the mean is taken off first: with x = µ + b and q = αµ + c, q·x = c·b + α µ·x + (q·µ − α µ·µ). c and b are kept as i8
//! with one scale each, µ·x as a float beside the row, and the bracket is a constant of the query. A query may have any
//! length: α is what makes c shortest, about 1 for a query that lies in the cone, and 0 for one that does not lie along µ
//! at all. Beside each row lie also the length of what rounding took from it and of what it left, which bound how far an
//! estimate can be from the truth.

use crate::{
    map::View,
    simd::{Codes, Kernel},
};

/// Bytes at the end of a compact row: scale, µ·x, length of the rounding error, length of the rounded row.
const TAIL: usize = 16;

/// Bytes of a compact row: whole cache lines.
pub(crate) fn stride(dims: usize) -> usize {
    (dims + TAIL).next_multiple_of(64)
}

/// Writes the compact form of a row.
pub(crate) fn encode(row: &[f32], mean: &[f32], out: &mut [i8]) {
    out.fill(0);
    let centred = row.iter().zip(mean).map(|(value, mean)| value - mean);
    let (scale, error, norm) = round(centred, out);
    let bias: f64 = row.iter().zip(mean).map(|(value, mean)| f64::from(*value) * f64::from(*mean)).sum();
    let tail = out.len() - TAIL;
    let numbers = [scale, bias as f32, error, norm];
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
    out[tail..].iter_mut().zip(bytes).for_each(|(out, byte)| *out = byte as i8);
}

/// Rounds values to i8; returns the scale, the length of the error and the length of the rounded row, both rounded up.
fn round(values: impl Iterator<Item = f32> + Clone, out: &mut [i8]) -> (f32, f32, f32) {
    let largest = values.clone().fold(0f32, |largest, value| largest.max(value.abs()));
    let scale = largest / 127.0;
    // Zero where the scale is (next to) zero: the row is then its mean, and the error tells what is left of it.
    let inverse = if scale > f32::MIN_POSITIVE { scale.recip() } else { 0.0 };
    // Eight sums at a time, in a fixed order: one alone would wait for each addition.
    let (mut error, mut norm) = ([0f64; 8], [0f64; 8]);
    for (i, (value, out)) in values.zip(out).enumerate() {
        // Half away from zero; the cast drops the fraction.
        *out = (value * inverse + 0.5f32.copysign(value)).clamp(-127.0, 127.0) as i8;
        let rounded = f64::from(scale) * f64::from(*out);
        error[i % 8] += (f64::from(value) - rounded).powi(2);
        norm[i % 8] += rounded.powi(2);
    }
    (scale, up(error.iter().sum::<f64>().sqrt()), up(norm.iter().sum::<f64>().sqrt()))
}

fn up(value: f64) -> f32 {
    (value as f32) * (1.0 + 1e-6)
}

/// A query in compact form.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    codes: Codes,
    scale: f32,
    constant: f32,
    /// How much of the mean is in the query: α.
    along: f32,
    per_error: f32,
    per_norm: f32,
    slack: f32,
}

impl Query {
    /// The estimate for a row, and by how much the true similarity may differ from it.
    #[inline]
    pub(crate) fn estimate(&self, tail: &[f32; 4], product: i32) -> (f32, f32) {
        let [scale, bias, error, norm] = *tail;
        let estimate = self.constant + self.along * bias + self.scale * scale * product as f32;
        (estimate, self.slack + self.per_error * error + self.per_norm * norm)
    }

    /// The most that the similarity of each row can be.
    pub(crate) fn upper_bounds(&self, tails: &Tails, products: &[i32], out: &mut [f32]) {
        let tails = tails.scale.iter().zip(&tails.bias).zip(tails.error.iter().zip(&tails.norm));
        for ((out, product), ((scale, bias), (error, norm))) in out.iter_mut().zip(products).zip(tails) {
            let (estimate, bound) = self.estimate(&[*scale, *bias, *error, *norm], *product);
            *out = estimate + bound;
        }
    }
}

/// What lies beside rows that follow each other, number by number, so that a loop over rows runs in vector registers.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    scale: Vec<f32>,
    bias: Vec<f32>,
    error: Vec<f32>,
    norm: Vec<f32>,
}

impl Tails {
    pub(crate) fn get(&self, i: usize) -> [f32; 4] {
        [self.scale[i], self.bias[i], self.error[i], self.norm[i]]
    }
}

/// Compact rows, mapped.
#[derive(Clone, Debug)]
pub(crate) struct Compact {
    rows: View<i8>,
    mean: View<f32>,
    stride: usize,
    mean_square: f32,
    pub(crate) kernel: Kernel,
}

impl Compact {
    pub(crate) fn new(rows: View<i8>, mean: View<f32>) -> Self {
        let mean_square = mean.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() as f32;
        Self { stride: stride(mean.len()), rows, mean, mean_square, kernel: Kernel::best() }
    }

    pub(crate) fn count(&self) -> usize {
        self.rows.len() / self.stride
    }

    /// The compact form of a row that is not stored here.
    pub(crate) fn query(&self, row: &[f32]) -> Query {
        let dims = self.mean.len();
        let mut rounded = vec![0i8; self.stride];
        let across = self.kernel.similarity(row, &self.mean);
        // Next to no mean says nothing about a query, and would be multiplied by next to infinity.
        let along = if self.mean_square > 1e-12 { across / self.mean_square } else { 0.0 };
        let centred = row.iter().zip(self.mean.iter()).map(|(value, mean)| value - along * mean);
        let (scale, error, norm) = round(centred, &mut rounded);
        let mut codes = Codes::default();
        codes.set(&rounded, dims);
        // No less than the length of the query; its square might be too small for a float.
        let length = along.abs() * self.mean_square.sqrt() + norm + error;
        // |c·b − ĉ·b̂| ≤ |c| |b − b̂| + |c − ĉ| |b̂|, and float sums of this many terms are off by no more than `float`.
        let float = (8.0 + dims as f32 / 16.0) * 1.2e-7 * length;
        Query {
            codes,
            scale,
            constant: across - along * self.mean_square,
            along,
            per_error: norm + error + float,
            per_norm: error + float,
            // The last is for products so small that they lose digits.
            slack: float * (self.mean_square.sqrt() + 1e-6) + 1e-30,
        }
    }

    /// Makes `query` the stored row of this number, for comparing rows with each other.
    pub(crate) fn load(&self, id: u32, query: &mut Query) {
        let row = self.row(id);
        let [scale, bias, ..] = tail(row);
        query.codes.set(row, self.mean.len());
        (query.scale, query.constant, query.along) = (scale, bias - self.mean_square, 1.0);
    }

    /// Estimates of the similarity of a query with the rows of these numbers.
    #[inline]
    pub(crate) fn estimates(&self, query: &Query, ids: &[u32], products: &mut [i32], out: &mut [f32]) {
        self.kernel.gather(&query.codes, &self.rows, ids, products);
        for ((out, product), id) in out.iter_mut().zip(products).zip(ids) {
            *out = query.estimate(&tail(self.row(*id)), *product).0;
        }
    }

    /// The integer products of several queries with rows that follow each other.
    pub(crate) fn block(&self, queries: &[&Query], rows: std::ops::Range<usize>, products: &mut [i32]) {
        let queries: Vec<&Codes> = queries.iter().map(|query| &query.codes).collect();
        let part = self.rows.get(rows.start * self.stride..rows.end * self.stride).unwrap_or_default();
        self.kernel.block(&queries, part, products);
    }

    /// What lies beside rows that follow each other.
    pub(crate) fn tails(&self, rows: std::ops::Range<usize>, out: &mut Tails) {
        [&mut out.scale, &mut out.bias, &mut out.error, &mut out.norm].into_iter().for_each(Vec::clear);
        for [scale, bias, error, norm] in rows.map(|id| tail(self.row(id as u32))) {
            out.scale.push(scale);
            out.bias.push(bias);
            out.error.push(error);
            out.norm.push(norm);
        }
    }

    /// By how much the true similarity of a row may differ from its estimate.
    pub(crate) fn bound(&self, query: &Query, id: u32) -> f32 {
        query.estimate(&tail(self.row(id)), 0).1
    }

    /// Writes the row of this number anew, to compare it with what is stored.
    pub(crate) fn same(&self, id: u32, row: &[f32], scratch: &mut Vec<i8>) -> bool {
        scratch.resize(self.stride, 0);
        encode(row, &self.mean, scratch);
        self.row(id) == scratch.as_slice()
    }

    #[inline]
    fn row(&self, id: u32) -> &[i8] {
        let start = id as usize * self.stride;
        self.rows.get(start..start + self.stride).unwrap_or_default()
    }
}

#[inline]
fn tail(row: &[i8]) -> [f32; 4] {
    let Some(tail) = row.last_chunk::<TAIL>() else { return [0.0; 4] };
    std::array::from_fn(|i| f32::from_le_bytes(std::array::from_fn(|byte| tail[4 * i + byte] as u8)))
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;

    use super::*;
    use crate::{
        map::{Map, bytes_of},
        testing::{Random, cone},
    };

    /// The compact form of rows, in a file of its own.
    pub(crate) fn stored(rows: &[f32], dims: usize) -> Compact {
        let mut mean = vec![0f32; dims];
        let count = (rows.len() / dims) as f32;
        rows.chunks(dims).for_each(|row| mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / count));
        let mut bytes = vec![0i8; rows.len() / dims * stride(dims)];
        rows.chunks(dims).zip(bytes.chunks_mut(stride(dims))).for_each(|(row, out)| encode(row, &mean, out));
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes_of(&bytes)).unwrap();
        file.write_all(bytes_of(&mean)).unwrap();
        let map = Map::of(&file).unwrap();
        let split = bytes.len() as u64;
        Compact::new(map.view(0, split).unwrap(), map.view(split, dims as u64 * 4).unwrap())
    }

    #[test]
    fn the_true_similarity_lies_within_the_bound_of_every_estimate() {
        let (count, dims) = (500, 75);
        let rows = cone(&mut Random::new(3), count, dims, 8, 0.95);
        let compact = stored(&rows, dims);
        let (mut worst, mut largest) = (0f64, 0f64);
        let asked = rows.chunks(dims).take(40).map(<[f32]>::to_vec);
        let differences = rows.chunks(dims).take(41).collect::<Vec<_>>();
        let differences = differences.windows(2).map(|pair| pair[0].iter().zip(pair[1]).map(|(a, b)| a - b).collect());
        for asked in asked.chain(differences).chain([vec![0.0; dims]]) {
            let query = compact.query(&asked);
            let mut products = vec![0; count];
            compact.block(&[&query], 0..count, &mut products);
            for ((id, product), row) in products.into_iter().enumerate().zip(rows.chunks(dims)) {
                let (estimate, bound) = query.estimate(&tail(compact.row(id as u32)), product);
                let truth: f64 = asked.iter().zip(row).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                worst = worst.max((truth - f64::from(estimate)).abs() / f64::from(bound));
                largest = largest.max(f64::from(bound));
            }
        }
        assert!(worst <= 1.0, "an estimate is {worst} bounds away");
        assert!(largest < 0.01, "a bound of {largest} says nothing");
    }

    #[test]
    fn rows_that_are_all_the_same_are_their_mean_and_lose_nothing() {
        let rows = [0.6f32, 0.0, 0.8].repeat(4);
        let compact = stored(&rows, 3);
        let mut estimates = [0.0; 4];
        compact.estimates(&compact.query(&rows[..3]), &[0, 1, 2, 3], &mut [0; 4], &mut estimates);
        assert!(estimates.iter().all(|estimate| (estimate - 1.0).abs() < 1e-6), "{estimates:?}");
    }
}
