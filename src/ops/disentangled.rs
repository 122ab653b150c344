//! Attention that also compares queries and keys with embeddings of their distance, as in DeBERTa, with its own backward
//! pass.

use super::attention::softmax;
use super::gemm::{Matrix, Threads, multiply};
use super::real::{Real, dot, vectorised};
use super::{Segments, for_real, has_kernel, output, slice, values};
use candle_core::{CpuStorage, CustomOp2, D, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;
use std::sync::Mutex;

/// Attention over queries, keys and values that lie side by side, `[rows, 3 · dims]`; returns `[rows, dims]`. Every row
/// attends to the rows of its own segment.
///
/// `distances` `[2 · reach - 1, 3 · dims]` are embeddings projected as rows are: row `reach - 1 + key - query` belongs
/// to a pair. No segment is longer than `reach`. `compared` says whether queries are compared with the keys of distances,
/// and keys with their queries. Scores are divided by the root of the number of comparisons too.
pub(crate) fn disentangled(
    projected: &Tensor,
    distances: &Tensor,
    segments: &Segments,
    heads: usize,
    compared: [bool; 2],
) -> Result<Tensor> {
    let (rows, width) = projected.dims2()?;
    let (columns, same) = distances.dims2()?;
    let longest = segments.lengths().iter().copied().max().unwrap_or(0);
    if heads == 0 || width % (3 * heads) != 0 || rows != segments.rows() {
        bail!("{rows} rows of {width} do not fit {heads} heads and {} rows of segments", segments.rows());
    }
    if same != width || columns % 2 == 0 || columns / 2 + 1 < longest {
        bail!("distances of {columns} by {same} do not fit rows of {width} and segments of {longest}");
    }
    if has_kernel(projected) {
        let kernel = Disentangled { segments: segments.clone(), heads, compared, weights: Mutex::new(None) };
        projected.contiguous()?.apply_op2(&distances.contiguous()?, kernel)
    } else {
        plain(projected, distances, segments, heads, compared)
    }
}

/// The factor of scores.
fn scale(each: usize, compared: [bool; 2]) -> f64 {
    let comparisons = 1 + compared.iter().filter(|&&compared| compared).count();
    1.0 / ((each * comparisons) as f64).sqrt()
}

fn plain(
    projected: &Tensor,
    distances: &Tensor,
    segments: &Segments,
    heads: usize,
    compared: [bool; 2],
) -> Result<Tensor> {
    let (dims, columns) = (projected.dim(1)? / 3, distances.dim(0)?);
    let each = dims / heads;
    let scale = scale(each, compared);
    // [heads, rows of the part, dims / heads]
    let by_head = |part: &Tensor, third: usize| -> Result<Tensor> {
        let rows = part.dim(0)?;
        part.narrow(1, third * dims, dims)?.reshape((rows, heads, each))?.transpose(0, 1)?.contiguous()
    };
    let mut out = Vec::new();
    for (first, length) in segments.ranges().filter(|&(_, length)| length > 0) {
        let part = projected.narrow(0, first, length)?;
        let near = distances.narrow(0, columns / 2 + 1 - length, 2 * length - 1)?;
        let product = |a: &Tensor, b: &Tensor| a.matmul(&b.transpose(1, 2)?.contiguous()?);
        let (query, key) = (by_head(&part, 0)?, by_head(&part, 1)?);
        let mut scores = product(&query, &key)?;
        // The column of each pair: [query][key], and [key][query].
        let columns = |column: &dyn Fn(usize, usize) -> usize| {
            let pairs = (0..heads * length * length).map(|at| (at / length % length, at % length));
            let columns: Vec<u32> = pairs.map(|(row, other)| column(row, other) as u32).collect();
            Tensor::from_vec(columns, (heads, length, length), projected.device())
        };
        if compared[0] {
            let to = product(&query, &by_head(&near, 1)?)?;
            scores = (scores + to.gather(&columns(&|query, key| length - 1 + key - query)?, 2)?)?;
        }
        if compared[1] {
            let from = product(&key, &by_head(&near, 0)?)?;
            let from = from.gather(&columns(&|key, query| length - 1 + key - query)?, 2)?;
            scores = (scores + from.transpose(1, 2)?.contiguous()?)?;
        }
        let weights = candle_nn::ops::softmax(&(scores * scale)?, D::Minus1)?;
        out.push(weights.matmul(&by_head(&part, 2)?)?.transpose(0, 1)?.reshape((length, dims))?);
    }
    Tensor::cat(&out, 0)
}

/// The attention weights of every segment, `[heads][row][row]`.
type Weights<T> = Vec<Vec<T>>;

struct Disentangled {
    segments: Segments,
    heads: usize,
    compared: [bool; 2],
    /// The attention weights of the forward pass, `Weights<f64>` or `Weights<f32>`; the backward pass takes them.
    weights: Mutex<Option<Box<dyn std::any::Any + Send>>>,
}

/// One segment: its rows and the distances within it, both `[.., 3 · dims]`.
#[derive(Clone, Copy)]
struct Part<'a, T> {
    rows: Matrix<'a, T>,
    near: Matrix<'a, T>,
    length: usize,
    dims: usize,
    each: usize,
}

impl<'a, T: Copy> Part<'a, T> {
    fn new(projected: &'a [T], distances: &'a [T], range: (usize, usize), dims: usize, heads: usize) -> Self {
        let ((first, length), width) = (range, 3 * dims);
        let near = distances.len() / width / 2 + 1 - length;
        Self {
            rows: Matrix::new(&projected[first * width..][..length * width], length, width),
            near: Matrix::new(&distances[near * width..][..(2 * length - 1) * width], 2 * length - 1, width),
            length,
            dims,
            each: dims / heads,
        }
    }

    /// The columns of a head in the queries (0), keys (1) or values (2) of the rows, and of the distances.
    fn of(&self, third: usize, head: usize) -> [Matrix<'a, T>; 2] {
        let columns = third * self.dims + head * self.each..third * self.dims + (head + 1) * self.each;
        [self.rows.window(0..self.length, columns.clone()), self.near.window(0..2 * self.length - 1, columns)]
    }
}

impl Disentangled {
    fn forward<T: Real>(&self, projected: &[T], distances: &[T], dims: usize) -> (Vec<T>, Weights<T>) {
        let each = dims / self.heads;
        let scale = T::from_f64(scale(each, self.compared));
        let one = |range: (usize, usize)| {
            let part = Part::new(projected, distances, range, dims, self.heads);
            let length = part.length;
            let mut weights = vec![T::zero(); self.heads * length * length];
            let mut near = vec![T::zero(); length * (2 * length - 1)];
            let mut seen = vec![T::zero(); length * each];
            let mut out = vec![T::zero(); length * dims];
            for head in 0..self.heads {
                let [[query, near_query], [key, near_key], [value, _]] = [0, 1, 2].map(|third| part.of(third, head));
                let weights = &mut weights[head * length * length..][..length * length];
                multiply(query, key.transposed(), weights, false, Threads::One);
                if self.compared[0] {
                    multiply(query, near_key.transposed(), &mut near, false, Threads::One);
                    for (at, row) in weights.chunks_exact_mut(length).enumerate() {
                        let near = &near[at * (2 * length - 1) + length - 1 - at..];
                        row.iter_mut().zip(near).for_each(|(score, &more)| *score += more);
                    }
                }
                if self.compared[1] {
                    multiply(key, near_query.transposed(), &mut near, false, Threads::One);
                    for (at, row) in weights.chunks_exact_mut(length).enumerate() {
                        let near = near[length - 1 - at..].iter().step_by(2 * length);
                        row.iter_mut().zip(near).for_each(|(score, &more)| *score += more);
                    }
                }
                vectorised(|| weights.chunks_exact_mut(length).for_each(|row| softmax(row, scale)));
                multiply(Matrix::new(weights, length, length), value, &mut seen, false, Threads::One);
                for (out, seen) in out.chunks_exact_mut(dims).zip(seen.chunks_exact(each)) {
                    out[head * each..][..each].copy_from_slice(seen);
                }
            }
            (out, weights)
        };
        let ranges: Vec<(usize, usize)> = self.segments.ranges().collect();
        let (out, weights): (Vec<Vec<T>>, Weights<T>) = ranges.into_par_iter().map(one).unzip();
        (out.concat(), weights)
    }

    /// The gradients of the projections and of the distances.
    fn backward<T: Real>(
        &self,
        projected: &[T],
        distances: &[T],
        weights: &Weights<T>,
        grad: &[T],
        dims: usize,
    ) -> (Vec<T>, Vec<T>) {
        let (each, width) = (dims / self.heads, 3 * dims);
        let scale = T::from_f64(scale(each, self.compared));
        let one = |(range, weights): ((usize, usize), &Vec<T>)| {
            let part = Part::new(projected, distances, range, dims, self.heads);
            let (length, all) = (part.length, 2 * part.length - 1);
            let grad = Matrix::new(&grad[range.0 * dims..][..length * dims], length, dims);
            let (mut d_rows, mut d_near) = (vec![T::zero(); length * width], vec![T::zero(); all * width]);
            let (mut d_scores, mut d_pairs) = (vec![T::zero(); length * length], vec![T::zero(); length * all]);
            let mut third = vec![T::zero(); all * each];
            for head in 0..self.heads {
                let [[query, near_query], [key, near_key], [value, _]] = [0, 1, 2].map(|third| part.of(third, head));
                let weights = &weights[head * length * length..][..length * length];
                let grad = grad.window(0..length, head * each..(head + 1) * each);
                // Adds a product to the columns of this head.
                let mut give = |to: &mut [T], at: usize, a: Matrix<T>, b: Matrix<T>| {
                    multiply(a, b, &mut third, false, Threads::One);
                    for (row, values) in to.chunks_exact_mut(width).zip(third.chunks_exact(each)) {
                        let row = &mut row[at * dims + head * each..][..each];
                        row.iter_mut().zip(values).for_each(|(sum, &value)| *sum += value);
                    }
                };
                give(&mut d_rows, 2, Matrix::new(weights, length, length).transposed(), grad);
                multiply(grad, value.transposed(), &mut d_scores, false, Threads::One);
                vectorised(|| {
                    for (d_row, row) in d_scores.chunks_exact_mut(length).zip(weights.chunks_exact(length)) {
                        let along = dot(d_row, row);
                        d_row.iter_mut().zip(row).for_each(|(d, &w)| *d = w * (*d - along) * scale);
                    }
                });
                let scores = Matrix::new(&d_scores, length, length);
                give(&mut d_rows, 0, scores, key);
                give(&mut d_rows, 1, scores.transposed(), query);
                if self.compared[0] {
                    d_pairs.fill(T::zero());
                    for (at, row) in d_scores.chunks_exact(length).enumerate() {
                        d_pairs[at * all + length - 1 - at..][..length].copy_from_slice(row);
                    }
                    let pairs = Matrix::new(&d_pairs, length, all);
                    give(&mut d_rows, 0, pairs, near_key);
                    give(&mut d_near, 1, pairs.transposed(), query);
                }
                if self.compared[1] {
                    d_pairs.fill(T::zero());
                    for (at, row) in d_scores.chunks_exact(length).enumerate() {
                        let pairs = d_pairs[length - 1 - at..].iter_mut().step_by(2 * length);
                        pairs.zip(row).for_each(|(pair, &d)| *pair = d);
                    }
                    let pairs = Matrix::new(&d_pairs, length, all);
                    give(&mut d_rows, 1, pairs, near_query);
                    give(&mut d_near, 0, pairs.transposed(), key);
                }
            }
            (d_rows, d_near)
        };
        let parts: Vec<_> = self.segments.ranges().zip(weights).collect();
        let (d_rows, d_near): (Vec<Vec<T>>, Vec<Vec<T>>) = parts.into_par_iter().map(one).unzip();
        // Segment by segment, so that sums do not depend on the number of threads.
        let mut d_distances = vec![T::zero(); distances.len()];
        for part in d_near {
            let first = (distances.len() - part.len()) / 2;
            d_distances[first..].iter_mut().zip(&part).for_each(|(sum, &d)| *sum += d);
        }
        (d_rows.concat(), d_distances)
    }
}

impl CustomOp2 for Disentangled {
    fn name(&self) -> &'static str {
        "disentangled-attention"
    }

    fn cpu_fwd(
        &self,
        projected: &CpuStorage,
        layout: &Layout,
        distances: &CpuStorage,
        distances_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (rows, width) = layout.shape().dims2()?;
        for_real!(candle_core::backend::BackendStorage::dtype(projected), T, {
            let (projected, distances) = (slice::<T>(projected, layout)?, slice::<T>(distances, distances_layout)?);
            let (out, weights) = self.forward(projected, distances, width / 3);
            if let Ok(mut slot) = self.weights.lock() {
                *slot = Some(Box::new(weights));
            }
            Ok(output(out, (rows, width / 3)))
        })
    }

    fn bwd(
        &self,
        projected: &Tensor,
        distances: &Tensor,
        _result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let weights = self.weights.lock().ok().and_then(|mut slot| slot.take());
        for_real!(grad.dtype(), T, {
            let Some(weights) = weights.as_ref().and_then(|weights| weights.downcast_ref::<Weights<T>>()) else {
                bail!("the backward pass of this attention has run already");
            };
            let (rows, near) = (values::<T>(projected)?, values::<T>(distances)?);
            let (d, d_distances) = self.backward(&rows, &near, weights, &values(grad)?, projected.dim(1)? / 3);
            let device = grad.device();
            Ok((
                Some(Tensor::from_vec(d, projected.shape(), device)?),
                Some(Tensor::from_vec(d_distances, distances.shape(), device)?),
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, assert_gradients, random_var};
    use super::*;

    #[test]
    fn kernel_and_gradients_match_plain_operations_on_three_unequal_segments() -> Result<()> {
        let segments = Segments::new(vec![3, 1, 4]);
        let (projected, distances) = (random_var(&[8, 12], 1)?, random_var(&[9, 12], 2)?);
        for compared in [[true, true], [true, false], [false, true]] {
            let expected = plain(&projected, &distances, &segments, 2, compared)?;
            assert_close(&disentangled(&projected, &distances, &segments, 2, compared)?, &expected, 1e-12)?;
            let run = |v: &[&Tensor]| disentangled(v[0], v[1], &segments, 2, compared);
            assert_gradients(&[&projected, &distances], run, 1e-6)?;
            let run = |v: &[&Tensor]| plain(v[0], v[1], &segments, 2, compared);
            assert_gradients(&[&projected, &distances], run, 1e-6)?;
        }
        Ok(())
    }

    #[test]
    fn without_comparisons_it_is_plain_attention() -> Result<()> {
        let segments = Segments::new(vec![3, 4]);
        let (projected, distances) = (random_var(&[7, 12], 1)?, random_var(&[9, 12], 2)?);
        let expected = super::super::attention::attention(&projected, None, &segments, 2)?;
        assert_close(&disentangled(&projected, &distances, &segments, 2, [false; 2])?, &expected, 1e-12)
    }

    #[test]
    fn input_that_does_not_fit_is_refused() -> Result<()> {
        let segments = Segments::new(vec![5]);
        let projected = random_var(&[5, 12], 1)?;
        for shape in [[7, 12], [10, 12], [9, 6]] {
            let distances = random_var(&shape, 2)?;
            assert!(disentangled(&projected, &distances, &segments, 2, [true; 2]).is_err());
        }
        Ok(())
    }
}
