//! Layer normalisation of a sum, as transformers use it, with its own backward pass. candle's layer norm cuts the gradient on
//! contiguous input. Fusing the addition saves a pass over memory.

use super::real::{Real, dot, vectorised};
use super::{for_real, has_kernel, output, slice, values};
use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

/// Rows per tile. The size is fixed, so that sums do not depend on the number of threads.
const TILE: usize = 64;

/// Normalises each row of `x + more` `[rows, dims]` to mean 0 and variance 1, multiplies by `scale` `[dims]` and adds
/// `shift` `[dims]`.
pub(crate) fn layer_norm(x: &Tensor, more: &Tensor, scale: &Tensor, shift: &Tensor, epsilon: f64) -> Result<Tensor> {
    if has_kernel(x) {
        // Scale and shift are concatenated because a candle operation takes at most three tensors.
        let both = Tensor::cat(&[scale, shift], 0)?;
        x.contiguous()?.apply_op3(&more.contiguous()?, &both, LayerNorm { epsilon })
    } else {
        plain(x, more, scale, shift, epsilon)
    }
}

fn plain(x: &Tensor, more: &Tensor, scale: &Tensor, shift: &Tensor, epsilon: f64) -> Result<Tensor> {
    let x = (x + more)?;
    let centred = x.broadcast_sub(&x.mean_keepdim(1)?)?;
    let deviation = (centred.sqr()?.mean_keepdim(1)? + epsilon)?.sqrt()?;
    centred.broadcast_div(&deviation)?.broadcast_mul(scale)?.broadcast_add(shift)
}

struct LayerNorm {
    epsilon: f64,
}

impl LayerNorm {
    /// Mean and reciprocal standard deviation of a row.
    #[inline(always)]
    fn moments<T: Real>(&self, row: &[T]) -> (T, T) {
        let count = T::from_f64(row.len() as f64);
        let mean = lane_sum(row, |v| v) / count;
        let variance = lane_sum(row, |v| (v - mean) * (v - mean)) / count;
        (mean, T::one() / (variance + T::from_f64(self.epsilon)).square_root())
    }

    /// `x + more` for the rows of a tile.
    #[inline(always)]
    fn sums<T: Real>(x: &[T], more: &[T]) -> Vec<T> {
        x.iter().zip(more).map(|(&x, &more)| x + more).collect()
    }

    fn forward<T: Real>(&self, x: &[T], more: &[T], both: &[T]) -> Vec<T> {
        let (scale, shift) = both.split_at(both.len() / 2);
        let dims = scale.len().max(1);
        let mut out = vec![T::zero(); x.len()];
        let inputs = x.par_chunks(TILE * dims).zip(more.par_chunks(TILE * dims));
        out.par_chunks_mut(TILE * dims).zip(inputs).for_each(|(out, (x, more))| {
            vectorised(|| {
                for (k, out) in out.iter_mut().enumerate() {
                    *out = x[k] + more[k];
                }
                for row in out.chunks_exact_mut(dims) {
                    let (mean, reciprocal) = self.moments(row);
                    for k in 0..dims {
                        row[k] = (row[k] - mean) * reciprocal * scale[k] + shift[k];
                    }
                }
            });
        });
        out
    }

    fn backward<T: Real>(&self, x: &[T], more: &[T], both: &[T], grad: &[T]) -> [Vec<T>; 2] {
        let scale = &both[..both.len() / 2];
        let dims = scale.len().max(1);
        let count = T::from_f64(dims as f64);
        let mut d_x = vec![T::zero(); x.len()];
        let inputs = x.par_chunks(TILE * dims).zip(more.par_chunks(TILE * dims));
        let tiles = d_x.par_chunks_mut(TILE * dims).zip(inputs).zip(grad.par_chunks(TILE * dims));
        let parts: Vec<(Vec<T>, Vec<T>)> = tiles
            .map(|((d_x, (x, more)), grad)| {
                let x = vectorised(|| Self::sums(x, more));
                let (mut d_scale, mut d_shift) = (vec![T::zero(); dims], vec![T::zero(); dims]);
                let (mut standard, mut scaled) = (vec![T::zero(); dims], vec![T::zero(); dims]);
                vectorised(|| {
                    let rows = x.chunks_exact(dims).zip(grad.chunks_exact(dims)).zip(d_x.chunks_exact_mut(dims));
                    for ((row, grad), d_x) in rows {
                        let (mean, reciprocal) = self.moments(row);
                        for k in 0..dims {
                            standard[k] = (row[k] - mean) * reciprocal;
                            scaled[k] = grad[k] * scale[k];
                            d_scale[k] += grad[k] * standard[k];
                            d_shift[k] += grad[k];
                        }
                        let along_mean = lane_sum(&scaled, |v| v) / count;
                        let along_row = dot(&scaled, &standard) / count;
                        for k in 0..dims {
                            d_x[k] = (scaled[k] - along_mean - standard[k] * along_row) * reciprocal;
                        }
                    }
                });
                (d_scale, d_shift)
            })
            .collect();
        let (mut d_scale, mut d_shift) = (vec![T::zero(); dims], vec![T::zero(); dims]);
        for (scales, shifts) in parts {
            d_scale.iter_mut().zip(scales).for_each(|(sum, value)| *sum += value);
            d_shift.iter_mut().zip(shifts).for_each(|(sum, value)| *sum += value);
        }
        d_scale.append(&mut d_shift);
        [d_x, d_scale]
    }
}

/// Sums a function of every value in 32 independent lanes: this vectorises, and the order of additions is fixed.
#[inline(always)]
fn lane_sum<T: Real>(row: &[T], value: impl Fn(T) -> T) -> T {
    const LANES: usize = 32;
    let mut sums = [T::zero(); LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += value(chunk[lane]);
        }
    }
    sums.into_iter().sum::<T>() + rest.iter().map(|&v| value(v)).sum::<T>()
}

impl CustomOp3 for LayerNorm {
    fn name(&self) -> &'static str {
        "layer-norm"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        more: &CpuStorage,
        more_layout: &Layout,
        both: &CpuStorage,
        both_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        for_real!(candle_core::backend::BackendStorage::dtype(x), T, {
            let (x, more) = (slice::<T>(x, x_layout)?, slice::<T>(more, more_layout)?);
            Ok(output(self.forward(x, more, slice::<T>(both, both_layout)?), x_layout.shape()))
        })
    }

    fn bwd(
        &self,
        x: &Tensor,
        more: &Tensor,
        both: &Tensor,
        _result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        for_real!(grad.dtype(), T, {
            let [d_x, d_both] = self.backward::<T>(&values(x)?, &values(more)?, &values(both)?, &values(grad)?);
            let d_x = Tensor::from_vec(d_x, x.shape(), x.device())?;
            Ok((Some(d_x.clone()), Some(d_x), Some(Tensor::from_vec(d_both, both.shape(), x.device())?)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, assert_gradients, random_var};
    use super::*;

    #[test]
    fn kernel_and_gradients_match_plain_operations() -> Result<()> {
        let (x, more) = (random_var(&[5, 7], 1)?, random_var(&[5, 7], 4)?);
        let (scale, shift) = (random_var(&[7], 2)?, random_var(&[7], 3)?);
        let expected = plain(&x, &more, &scale, &shift, 1e-5)?;
        assert_close(&layer_norm(&x, &more, &scale, &shift, 1e-5)?, &expected, 1e-12)?;
        assert_gradients(&[&x, &more, &scale, &shift], |v| layer_norm(v[0], v[1], v[2], v[3], 1e-5), 1e-6)
    }

    #[test]
    fn rows_beyond_one_tile_are_normalised_and_their_gradients_are_summed() -> Result<()> {
        let (x, more) = (random_var(&[TILE + 3, 2], 4)?, random_var(&[TILE + 3, 2], 7)?);
        let (scale, shift) = (random_var(&[2], 5)?, random_var(&[2], 6)?);
        let expected = plain(&x, &more, &scale, &shift, 0.1)?;
        assert_close(&layer_norm(&x, &more, &scale, &shift, 0.1)?, &expected, 1e-12)?;
        assert_gradients(&[&scale, &shift], |v| layer_norm(&x, &more, v[0], v[1], 0.1), 1e-6)
    }
}
