//! GELU, the activation of BERT: `x Φ(x)` with the standard normal distribution function Φ, vectorised.

use super::real::{Real, vectorised};
use super::{for_real, has_kernel, output, slice, values};
use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

const TILE: usize = 16_384;

/// Applies `x Φ(x)` to every value.
pub(crate) fn gelu(x: &Tensor) -> Result<Tensor> {
    if has_kernel(x) { x.contiguous()?.apply_op1(Gelu) } else { x.gelu_erf() }
}

struct Gelu;

impl CustomOp1 for Gelu {
    fn name(&self) -> &'static str {
        "gelu"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        for_real!(candle_core::backend::BackendStorage::dtype(x), T, {
            Ok(output(forward(slice::<T>(x, layout)?), layout.shape()))
        })
    }

    fn bwd(&self, x: &Tensor, _result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        for_real!(grad.dtype(), T, {
            Ok(Some(Tensor::from_vec(backward::<T>(&values(x)?, values(grad)?), x.shape(), x.device())?))
        })
    }
}

fn forward<T: Real>(x: &[T]) -> Vec<T> {
    let mut out = x.to_vec();
    out.par_chunks_mut(TILE).for_each(|out| {
        vectorised(|| out.iter_mut().for_each(|x| *x *= x.normal().0));
    });
    out
}

fn backward<T: Real>(x: &[T], mut grad: Vec<T>) -> Vec<T> {
    grad.par_chunks_mut(TILE).zip(x.par_chunks(TILE)).for_each(|(grad, x)| {
        vectorised(|| {
            for (grad, &x) in grad.iter_mut().zip(x) {
                let (distribution, density) = x.normal();
                *grad *= distribution + x * density;
            }
        });
    });
    grad
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, assert_gradients, random_var};
    use super::*;
    use candle_core::{DType, Device};

    #[test]
    fn kernel_and_gradient_match_candle() -> Result<()> {
        let x = (random_var(&[3, 50], 1)?.as_tensor() * 2.0)?;
        assert_close(&gelu(&x)?, &x.gelu_erf()?, 1e-12)?;
        assert_gradients(&[&random_var(&[3, 7], 2)?], |v| gelu(v[0]), 1e-6)
    }

    #[test]
    fn single_precision_is_close_to_double() -> Result<()> {
        let x = Tensor::arange(-9.0, 9.0, &Device::Cpu)?;
        let x = x.broadcast_add(&Tensor::rand(0.0, 1.0, (500, 1), &Device::Cpu)?)?;
        assert_close(&gelu(&x.to_dtype(DType::F32)?)?, &gelu(&x)?, 2e-6)
    }
}
