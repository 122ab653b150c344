//! `x · W + b` as one operation, so that the bias needs neither a separate pass nor a broadcast in the backward pass.

use super::gemm::{Matrix, Threads, multiply};
use super::real::{Real, vectorised};
use super::{for_real, has_kernel, output, slice, values};
use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor};

/// `x` `[rows, in]` times `weight` `[in, out]`, plus `bias` `[out]`.
pub(crate) fn linear(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    if has_kernel(x) {
        x.contiguous()?.apply_op3(&weight.contiguous()?, &bias.contiguous()?, Linear)
    } else {
        plain(x, weight, bias)
    }
}

fn plain(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    x.matmul(weight)?.broadcast_add(bias)
}

struct Linear;

impl CustomOp3 for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (rows, _) = x_layout.shape().dims2()?;
        let (inputs, outputs) = weight_layout.shape().dims2()?;
        for_real!(candle_core::backend::BackendStorage::dtype(x), T, {
            let bias = slice::<T>(bias, bias_layout)?;
            let mut out = Vec::with_capacity(rows * outputs);
            (0..rows).for_each(|_| out.extend_from_slice(bias));
            let x = Matrix::new(slice::<T>(x, x_layout)?, rows, inputs);
            multiply(x, Matrix::new(slice(weight, weight_layout)?, inputs, outputs), &mut out, true, Threads::All);
            Ok(output(out, (rows, outputs)))
        })
    }

    fn bwd(
        &self,
        x: &Tensor,
        weight: &Tensor,
        _bias: &Tensor,
        _result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        let d_x = if x.track_op() { Some(grad.matmul(&weight.t()?)?) } else { None };
        let d_weight = x.t()?.matmul(&grad)?;
        let d_bias = for_real!(grad.dtype(), T, {
            let (_, outputs) = grad.dims2()?;
            Tensor::from_vec(column_sums::<T>(&values(&grad)?, outputs), outputs, grad.device())?
        });
        Ok((d_x, Some(d_weight), Some(d_bias)))
    }
}

fn column_sums<T: Real>(rows: &[T], columns: usize) -> Vec<T> {
    let mut sums = vec![T::zero(); columns];
    vectorised(|| {
        for row in rows.chunks_exact(columns.max(1)) {
            sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += value);
        }
    });
    sums
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, assert_gradients, random_var};
    use super::*;

    #[test]
    fn kernel_and_gradients_match_plain_operations() -> Result<()> {
        let (x, w, b) = (random_var(&[7, 4], 1)?, random_var(&[4, 5], 2)?, random_var(&[5], 3)?);
        assert_close(&linear(&x, &w, &b)?, &plain(&x, &w, &b)?, 1e-12)?;
        assert_gradients(&[&x, &w, &b], |v| linear(v[0], v[1], v[2]), 1e-6)
    }
}
