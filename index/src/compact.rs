//! Compact rows: i8 instead of f32, compared by integer products, with a known error bound.
//!
//! The rows of a trained model lie in a narrow cone around their mean µ, so most of their bits encode µ. Subtracting the
//! mean first leaves the bits for the differences: with x = µ + b and q = αµ + c, q·x = c·b + α µ·x + (q·µ − α µ·µ). b and c
//! are stored as i8 with one scale each, µ·x as a float beside the row, and the bracket is a constant of the query. A query
//! can have any norm: α minimises the norm of c. It is about 1 for a query in the cone, and 0 for one orthogonal to µ.
//! Each compact row also stores the norms of its rounding error and of its rounded values. They bound the difference
//! between an estimate and the true similarity.

use crate::{
    container::View,
    exponentials::Estimates,
    round::Rounded,
    simd::{Codes, Kernel},
};

/// Bytes at the end of a compact row: scale, µ·x, norm of the rounding error, norm of the rounded row.
const TAIL: usize = 16;

/// Bytes of a compact row: whole cache lines.
pub(crate) fn stride(dims: usize) -> usize {
    (dims + TAIL).next_multiple_of(64)
}

/// Writes the compact form of a row.
pub(crate) fn encode(kernel: Kernel, row: &[f32], mean: &[f32], out: &mut [i8]) {
    out.fill(0);
    let centred: Vec<f32> = row.iter().zip(mean).map(|(value, mean)| value - mean).collect();
    let Rounded { scale, error, norm } = kernel.round(&centred, out);
    let bias: f64 = row.iter().zip(mean).map(|(value, mean)| f64::from(*value) * f64::from(*mean)).sum();
    let tail = out.len() - TAIL;
    let numbers = [scale, bias as f32, error, norm];
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
    out[tail..].iter_mut().zip(bytes).for_each(|(out, byte)| *out = byte as i8);
}

/// A query in compact form.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    codes: Codes,
    scale: f32,
    constant: f32,
    /// The factor α of the mean in the query.
    along: f32,
    per_error: f32,
    per_norm: f32,
    slack: f32,
}

impl Query {
    /// The estimated similarity of a row, and how much the true similarity can differ from it.
    #[inline]
    pub(crate) fn estimate(&self, tail: &[f32; 4], product: i32) -> (f32, f32) {
        let [scale, bias, error, norm] = *tail;
        let estimate = self.constant + self.along * bias + self.scale * scale * product as f32;
        (estimate, self.slack + self.per_error * error + self.per_norm * norm)
    }

    /// Writes exp(temperature · estimate − reference) of each row, where the reference is the highest temperature · estimate
    /// of the block. Returns the reference.
    pub(crate) fn exponentials(
        &self,
        kernel: Kernel,
        tails: &Tails,
        products: &[i32],
        temperature: f32,
        out: &mut [f32],
    ) -> f32 {
        let Self { scale, constant, along, .. } = *self;
        let estimates = Estimates { products, scales: &tails.scale, biases: &tails.bias, scale, constant, along };
        kernel.exponentials(estimates, temperature, out)
    }

    /// How much the true similarity of any of these rows can differ from its estimate.
    pub(crate) fn largest_bound(&self, tails: &Tails) -> f32 {
        let largest = |values: &[f32]| values.iter().fold(0f32, |largest, value| largest.max(*value));
        self.slack + self.per_error * largest(&tails.error) + self.per_norm * largest(&tails.norm)
    }

    /// An upper bound for the similarity of each row.
    pub(crate) fn upper_bounds(&self, tails: &Tails, products: &[i32], out: &mut [f32]) {
        let tails = tails.scale.iter().zip(&tails.bias).zip(tails.error.iter().zip(&tails.norm));
        for ((out, product), ((scale, bias), (error, norm))) in out.iter_mut().zip(products).zip(tails) {
            let (estimate, bound) = self.estimate(&[*scale, *bias, *error, *norm], *product);
            *out = estimate + bound;
        }
    }
}

/// The tails of consecutive rows, field by field, so that a loop over rows can be vectorised.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    scale: Vec<f32>,
    bias: Vec<f32>,
    error: Vec<f32>,
    norm: Vec<f32>,
}

impl Tails {
    /// Makes the estimate of a row a NaN, which is never the highest one.
    pub(crate) fn hide(&mut self, i: usize) {
        self.bias[i] = f32::NAN;
    }

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

    /// The compact form of a query.
    pub(crate) fn query(&self, row: &[f32]) -> Query {
        let dims = self.mean.len();
        let mut rounded = vec![0i8; self.stride];
        let across = self.kernel.similarity(row, &self.mean);
        // With a mean of almost zero, the quotient would be almost infinite.
        let along = if self.mean_square > 1e-12 { across / self.mean_square } else { 0.0 };
        let centred: Vec<f32> = row.iter().zip(self.mean.iter()).map(|(value, mean)| value - along * mean).collect();
        let Rounded { scale, error, norm } = self.kernel.round(&centred, &mut rounded);
        let mut codes = Codes::default();
        codes.set(&rounded, dims);
        // At least the norm of the query. The square of the norm could be too small for a float.
        let length = along.abs() * self.mean_square.sqrt() + norm + error;
        // |c·b − ĉ·b̂| ≤ |c| |b − b̂| + |c − ĉ| |b̂|. `float` bounds the error of a float sum of this many terms.
        let float = (8.0 + dims as f32 / 16.0) * 1.2e-7 * length;
        Query {
            codes,
            scale,
            constant: across - along * self.mean_square,
            along,
            per_error: norm + error + float,
            per_norm: error + float,
            // The last term is for products so small that they lose digits.
            slack: float * (self.mean_square.sqrt() + 1e-6) + 1e-30,
        }
    }

    /// Loads a stored row into `query`, to compare rows with each other.
    pub(crate) fn load(&self, id: u32, query: &mut Query) {
        let row = self.row(id);
        let [scale, bias, ..] = tail(row);
        query.codes.set(row, self.mean.len());
        (query.scale, query.constant, query.along) = (scale, bias - self.mean_square, 1.0);
    }

    /// Estimates of the similarity of a query with the rows of these numbers.
    #[inline]
    pub(crate) fn estimates(&self, query: &Query, ids: &[u32], products: &mut [i32], out: &mut [f32]) {
        self.kernel.gather(&query.codes, self.rows.raw(), ids, products);
        for ((out, product), id) in out.iter_mut().zip(products).zip(ids) {
            *out = query.estimate(&tail(self.row(*id)), *product).0;
        }
    }

    /// Compares rows with their checksums, after [`Compact::estimates`] has read them.
    pub(crate) fn compare(&self, ids: &[u32]) {
        // Once all were compared, which is soon, this costs nothing.
        if !self.rows.is_compared() {
            ids.iter().map(|id| *id as usize * self.stride).for_each(|at| self.rows.compare(at..at + self.stride));
        }
    }

    /// The integer products of several queries with consecutive rows.
    pub(crate) fn block(&self, queries: &[&Query], rows: std::ops::Range<usize>, products: &mut [i32]) {
        let queries: Vec<&Codes> = queries.iter().map(|query| &query.codes).collect();
        let part = self.rows.part(rows.start * self.stride..rows.end * self.stride).unwrap_or_default();
        self.kernel.block(&queries, part, products);
    }

    /// Loads the tails of consecutive rows, which [`Compact::block`] has read.
    pub(crate) fn tails(&self, rows: std::ops::Range<usize>, out: &mut Tails) {
        [&mut out.scale, &mut out.bias, &mut out.error, &mut out.norm].into_iter().for_each(Vec::clear);
        for [scale, bias, error, norm] in rows.map(|id| tail(self.row(id as u32))) {
            out.scale.push(scale);
            out.bias.push(bias);
            out.error.push(error);
            out.norm.push(norm);
        }
    }

    /// How much the true similarity of a row can differ from its estimate.
    pub(crate) fn bound(&self, query: &Query, id: u32) -> f32 {
        query.estimate(&tail(self.row(id)), 0).1
    }

    /// Whether the stored compact row is the one that this row gives.
    pub(crate) fn same(&self, id: u32, row: &[f32], scratch: &mut Vec<i8>) -> bool {
        scratch.resize(self.stride, 0);
        encode(self.kernel, row, &self.mean, scratch);
        self.row(id) == scratch.as_slice()
    }

    #[inline]
    fn row(&self, id: u32) -> &[i8] {
        let start = id as usize * self.stride;
        self.rows.raw().get(start..start + self.stride).unwrap_or_default()
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
    use super::*;
    use crate::{
        container::Writer,
        testing::{Random, cone},
    };

    /// The compact form of rows, in a temporary file.
    pub(crate) fn stored(rows: &[f32], dims: usize) -> Compact {
        let mut mean = vec![0f32; dims];
        let count = (rows.len() / dims) as f32;
        rows.chunks(dims).for_each(|row| mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / count));
        let mut bytes = vec![0i8; rows.len() / dims * stride(dims)];
        rows.chunks(dims)
            .zip(bytes.chunks_mut(stride(dims)))
            .for_each(|(row, out)| encode(Kernel::best(), row, &mean, out));
        let folder = tempfile::tempdir().unwrap();
        let mut file = Writer::create(folder.path().join("rows"), 0).unwrap();
        let (bytes, mean) = (file.section(1, &bytes).unwrap(), file.section(2, &mean).unwrap());
        Compact::new(file.seal(bytes).unwrap(), file.seal(mean).unwrap())
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
        assert!(largest < 0.01, "a bound of {largest} is useless");
    }

    #[test]
    fn equal_rows_equal_their_mean_and_lose_nothing() {
        let rows = [0.6f32, 0.0, 0.8].repeat(4);
        let compact = stored(&rows, 3);
        let mut estimates = [0.0; 4];
        compact.estimates(&compact.query(&rows[..3]), &[0, 1, 2, 3], &mut [0; 4], &mut estimates);
        assert!(estimates.iter().all(|estimate| (estimate - 1.0).abs() < 1e-6), "{estimates:?}");
    }
}
