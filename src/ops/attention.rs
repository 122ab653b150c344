//! Multi-head attention within segments of rows, without padding or masks, and with its own backward pass. Scores can
//! get a bias that depends on the distance from query to key.

use super::gemm::{Matrix, Threads, multiply};
use super::real::{Real, dot, vectorised};
use super::{Segments, for_real, has_kernel, output, slice, values};
use candle_core::{CpuStorage, CustomOp1, CustomOp2, D, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;
use std::sync::Mutex;

/// Attention over queries, keys and values that lie side by side, `[rows, 3 · dims]`; returns `[rows, dims]`. Every row
/// attends to the rows of its own segment. Each of the `heads` uses an equal share of the dimensions.
///
/// A `bias` `[heads, 2 · reach - 1]` is added to the scaled scores: column `reach - 1 + key - query` for each pair. No
/// segment is longer than `reach`.
pub(crate) fn attention(
    projected: &Tensor,
    bias: Option<&Tensor>,
    segments: &Segments,
    heads: usize,
) -> Result<Tensor> {
    let (rows, width) = projected.dims2()?;
    if heads == 0 || width % (3 * heads) != 0 || rows != segments.rows() {
        bail!("{rows} rows of {width} do not fit {heads} heads and {} rows of segments", segments.rows());
    }
    if let Some(bias) = bias {
        let longest = segments.lengths().iter().copied().max().unwrap_or(0);
        let (for_heads, columns) = bias.dims2()?;
        if for_heads != heads || columns % 2 == 0 || columns / 2 + 1 < longest {
            bail!("a bias of {for_heads} by {columns} does not fit {heads} heads and segments of {longest}");
        }
    }
    if has_kernel(projected) {
        let kernel = Attention { segments: segments.clone(), heads, weights: Mutex::new(None) };
        match bias {
            None => projected.contiguous()?.apply_op1(kernel),
            Some(bias) => projected.contiguous()?.apply_op2(&bias.contiguous()?, kernel),
        }
    } else {
        plain(projected, bias, segments, heads)
    }
}

fn plain(projected: &Tensor, bias: Option<&Tensor>, segments: &Segments, heads: usize) -> Result<Tensor> {
    let dims = projected.dim(1)? / 3;
    let mut out = Vec::new();
    for (first, length) in segments.ranges().filter(|&(_, length)| length > 0) {
        let part = projected.narrow(0, first, length)?;
        // [heads, length, dims / heads]
        let third = |at: usize| -> Result<Tensor> {
            part.narrow(1, at * dims, dims)?.reshape((length, heads, dims / heads))?.transpose(0, 1)?.contiguous()
        };
        let scores = third(0)?.matmul(&third(1)?.transpose(1, 2)?.contiguous()?)?;
        let scale = 1.0 / ((dims / heads) as f64).sqrt();
        let scores = (scores * scale)?;
        let scores = match bias {
            None => scores,
            Some(bias) => {
                let reach = bias.dim(1)? / 2 + 1;
                let column = |pair: usize| (reach - 1 + pair % length - pair / length) as u32;
                let columns: Vec<u32> = (0..length * length).map(column).collect();
                let columns = Tensor::from_vec(columns, length * length, bias.device())?;
                (scores + bias.index_select(&columns, 1)?.reshape((heads, length, length))?)?
            }
        };
        let weights = candle_nn::ops::softmax(&scores, D::Minus1)?;
        out.push(weights.matmul(&third(2)?)?.transpose(0, 1)?.reshape((length, dims))?);
    }
    Tensor::cat(&out, 0)
}

/// The attention weights of every segment, `[heads][row][row]`.
type Weights<T> = Vec<Vec<T>>;

struct Attention {
    segments: Segments,
    heads: usize,
    /// The attention weights of the forward pass, `Weights<f64>` or `Weights<f32>`; the backward pass takes them.
    weights: Mutex<Option<Box<dyn std::any::Any + Send>>>,
}

/// The columns of one segment that belong to one head.
struct Head<'a, T> {
    query: Matrix<'a, T>,
    key: Matrix<'a, T>,
    value: Matrix<'a, T>,
}

impl Attention {
    fn head<'a, T: Copy>(&self, part: &'a [T], length: usize, dims: usize, head: usize) -> Head<'a, T> {
        let each = dims / self.heads;
        let matrix = Matrix::new(part, length, 3 * dims);
        let columns = |third: usize| third * dims + head * each..third * dims + (head + 1) * each;
        let [query, key, value] = [0, 1, 2].map(|third| matrix.window(0..length, columns(third)));
        Head { query, key, value }
    }

    /// Splits rows `[rows, width]` into one slice per segment.
    fn parts<'a, T>(&self, mut rows: &'a mut [T], width: usize) -> Vec<&'a mut [T]> {
        let mut parts = Vec::with_capacity(self.segments.lengths().len());
        for &length in self.segments.lengths() {
            let (part, rest) = rows.split_at_mut(length * width);
            parts.push(part);
            rows = rest;
        }
        parts
    }

    fn forward<T: Real>(&self, projected: &[T], bias: Option<&[T]>, dims: usize) -> (Vec<T>, Weights<T>) {
        let each = dims / self.heads;
        let scale = T::from_f64(1.0 / (each as f64).sqrt());
        let mut out = vec![T::zero(); projected.len() / 3];
        let ranges: Vec<(usize, usize)> = self.segments.ranges().collect();
        let one = |(out, (first, length)): (&mut [T], (usize, usize))| {
            let part = &projected[first * 3 * dims..][..length * 3 * dims];
            let mut weights = vec![T::zero(); self.heads * length * length];
            let mut seen = vec![T::zero(); length * each];
            for head in 0..self.heads {
                let Head { query, key, value } = self.head(part, length, dims, head);
                let weights = &mut weights[head * length * length..][..length * length];
                multiply(query, key.transposed(), weights, false, Threads::One);
                let rows = weights.chunks_exact_mut(length.max(1));
                match bias {
                    None => vectorised(|| rows.for_each(|row| softmax(row, scale))),
                    Some(bias) => vectorised(|| {
                        for (query, row) in rows.enumerate() {
                            let bias = self.biases(bias, head, query);
                            row.iter_mut().zip(bias).for_each(|(score, &bias)| *score = *score * scale + bias);
                            softmax(row, T::one());
                        }
                    }),
                }
                multiply(Matrix::new(weights, length, length), value, &mut seen, false, Threads::One);
                for (out, seen) in out.chunks_exact_mut(dims).zip(seen.chunks_exact(each)) {
                    out[head * each..][..each].copy_from_slice(seen);
                }
            }
            weights
        };
        let weights = self.parts(&mut out, dims).into_par_iter().zip(ranges).map(one).collect();
        (out, weights)
    }

    /// The biases of one query for the keys from the first on.
    fn biases<'a, T>(&self, bias: &'a [T], head: usize, query: usize) -> &'a [T] {
        let columns = bias.len() / self.heads;
        &bias[head * columns + columns / 2 - query..]
    }

    /// The gradients of the projections, and of a bias with so many columns; it is empty for none.
    fn backward<T: Real>(
        &self,
        projected: &[T],
        weights: &Weights<T>,
        grad: &[T],
        dims: usize,
        columns: usize,
    ) -> (Vec<T>, Vec<T>) {
        let each = dims / self.heads;
        let scale = T::from_f64(1.0 / (each as f64).sqrt());
        let mut d_projected = vec![T::zero(); projected.len()];
        let one = |(d_part, (range, weights)): (&mut [T], (_, &Vec<T>))| {
            let (first, length): (usize, usize) = range;
            let part = &projected[first * 3 * dims..][..length * 3 * dims];
            let grad = Matrix::new(&grad[first * dims..][..length * dims], length, dims);
            let mut d_scores = vec![T::zero(); length * length];
            let mut third = vec![T::zero(); length * each];
            // Columns around the middle, as far as this segment reaches.
            let near = if columns == 0 { 0 } else { 2 * length - 1 };
            let mut d_bias = vec![T::zero(); self.heads * near];
            for head in 0..self.heads {
                let Head { query, key, value } = self.head(part, length, dims, head);
                let weights = &weights[head * length * length..][..length * length];
                let grad = grad.window(0..length, head * each..(head + 1) * each);
                let mut give = |at: usize, a: Matrix<T>, b: Matrix<T>| {
                    multiply(a, b, &mut third, false, Threads::One);
                    for (row, values) in d_part.chunks_exact_mut(3 * dims).zip(third.chunks_exact(each)) {
                        row[at * dims + head * each..][..each].copy_from_slice(values);
                    }
                };
                give(2, Matrix::new(weights, length, length).transposed(), grad);
                multiply(grad, value.transposed(), &mut d_scores, false, Threads::One);
                vectorised(|| {
                    let rows = d_scores.chunks_exact_mut(length.max(1)).zip(weights.chunks_exact(length.max(1)));
                    for (query, (d_row, row)) in rows.enumerate() {
                        let along = dot(d_row, row);
                        if columns > 0 {
                            let d_bias = &mut d_bias[head * near + length - 1 - query..];
                            let pairs = d_bias.iter_mut().zip(&*d_row).zip(row);
                            pairs.for_each(|((sum, &d), &w)| *sum += w * (d - along));
                        }
                        d_row.iter_mut().zip(row).for_each(|(d, &w)| *d = w * (*d - along) * scale);
                    }
                });
                let d_scores = Matrix::new(&d_scores, length, length);
                give(0, d_scores, key);
                give(1, d_scores.transposed(), query);
            }
            d_bias
        };
        let others: Vec<_> = self.segments.ranges().zip(weights).collect();
        let biases: Vec<Vec<T>> = self.parts(&mut d_projected, 3 * dims).into_par_iter().zip(others).map(one).collect();
        // Segment by segment, so that sums do not depend on the number of threads.
        let mut d_bias = vec![T::zero(); self.heads * columns];
        for part in biases.iter().filter(|part| !part.is_empty()) {
            let near = part.len() / self.heads;
            for (sums, part) in d_bias.chunks_exact_mut(columns).zip(part.chunks_exact(near)) {
                sums[columns / 2 - near / 2..].iter_mut().zip(part).for_each(|(sum, &d)| *sum += d);
            }
        }
        (d_projected, d_bias)
    }

    /// Runs the forward pass and stores the attention weights.
    fn run<T: Real>(&self, projected: &[T], bias: Option<&[T]>, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, width) = layout.shape().dims2()?;
        let (out, weights) = self.forward(projected, bias, width / 3);
        if let Ok(mut slot) = self.weights.lock() {
            *slot = Some(Box::new(weights));
        }
        Ok(output(out, (rows, width / 3)))
    }

    /// Runs the backward pass for a bias with so many columns.
    fn differentiate(&self, projected: &Tensor, grad: &Tensor, columns: usize) -> Result<(Tensor, Tensor)> {
        let weights = self.weights.lock().ok().and_then(|mut slot| slot.take());
        for_real!(grad.dtype(), T, {
            let Some(weights) = weights.as_ref().and_then(|weights| weights.downcast_ref::<Weights<T>>()) else {
                bail!("the backward pass of this attention has run already");
            };
            let dims = projected.dim(1)? / 3;
            let (d, d_bias) = self.backward::<T>(&values(projected)?, weights, &values(grad)?, dims, columns);
            let device = grad.device();
            Ok((
                Tensor::from_vec(d, projected.shape(), device)?,
                Tensor::from_vec(d_bias, (self.heads, columns), device)?,
            ))
        })
    }
}

/// Replaces scores by their softmax: weights that sum to 1.
#[inline(always)]
pub(super) fn softmax<T: Real>(row: &mut [T], scale: T) {
    let largest = row.iter().fold(row[0], |largest, &score| if score > largest { score } else { largest });
    row.iter_mut().for_each(|score| *score = ((*score - largest) * scale).quick_exponential());
    let total = T::one() / row.iter().copied().sum::<T>();
    row.iter_mut().for_each(|weight| *weight *= total);
}

impl CustomOp1 for Attention {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn cpu_fwd(&self, projected: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        for_real!(candle_core::backend::BackendStorage::dtype(projected), T, {
            self.run::<T>(slice(projected, layout)?, None, layout)
        })
    }

    fn bwd(&self, projected: &Tensor, _result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(self.differentiate(projected, grad, 0)?.0))
    }
}

impl CustomOp2 for Attention {
    fn name(&self) -> &'static str {
        "attention-with-bias"
    }

    fn cpu_fwd(
        &self,
        projected: &CpuStorage,
        layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        for_real!(candle_core::backend::BackendStorage::dtype(projected), T, {
            self.run::<T>(slice(projected, layout)?, Some(slice(bias, bias_layout)?), layout)
        })
    }

    fn bwd(
        &self,
        projected: &Tensor,
        bias: &Tensor,
        _result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (d, d_bias) = self.differentiate(projected, grad, bias.dim(1)?)?;
        Ok((Some(d), Some(d_bias)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, assert_gradients, random_var};
    use super::*;
    use candle_core::DType;

    #[test]
    fn kernel_and_gradient_match_plain_operations_on_three_unequal_segments() -> Result<()> {
        let segments = Segments::new(vec![3, 1, 4]);
        let projected = random_var(&[8, 12], 1)?;
        assert_close(&attention(&projected, None, &segments, 2)?, &plain(&projected, None, &segments, 2)?, 1e-12)?;
        assert_gradients(&[&projected], |v| attention(v[0], None, &segments, 2), 1e-6)
    }

    #[test]
    fn a_bias_by_distance_and_its_gradient_match_plain_operations() -> Result<()> {
        let segments = Segments::new(vec![3, 1, 4]);
        let (projected, bias) = (random_var(&[8, 12], 1)?, random_var(&[2, 9], 3)?);
        let expected = plain(&projected, Some(&bias), &segments, 2)?;
        assert_close(&attention(&projected, Some(&bias), &segments, 2)?, &expected, 1e-12)?;
        assert_gradients(&[&projected, &bias], |v| attention(v[0], Some(v[1]), &segments, 2), 1e-6)?;
        assert_gradients(&[&projected, &bias], |v| plain(v[0], Some(v[1]), &segments, 2), 1e-6)
    }

    #[test]
    fn single_precision_is_close_to_double() -> Result<()> {
        let segments = Segments::new(vec![40, 7]);
        let projected = random_var(&[47, 48], 2)?;
        let single = attention(&projected.to_dtype(DType::F32)?, None, &segments, 4)?;
        assert_close(&single, &attention(&projected, None, &segments, 4)?, 2e-6)
    }

    #[test]
    fn rows_that_do_not_fit_the_segments_or_the_heads_are_refused() -> Result<()> {
        let projected = random_var(&[8, 12], 1)?;
        assert!(attention(&projected, None, &Segments::new(vec![3, 4]), 2).is_err());
        assert!(attention(&projected, None, &Segments::new(vec![8]), 3).is_err());
        assert!(attention(&projected, None, &Segments::new(vec![8]), 0).is_err());
        for shape in [[2, 13], [2, 16], [3, 15]] {
            let bias = random_var(&shape, 2)?;
            assert!(attention(&projected, Some(&bias), &Segments::new(vec![8]), 2).is_err());
        }
        Ok(())
    }
}
