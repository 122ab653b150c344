//! The activation functions of transformers, vectorised: GELU in both its forms, ReLU and SiLU.

use super::real::{Real, vectorised};
use super::{for_real, has_kernel, output, slice, values};
use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

const TILE: usize = 16_384;
/// `sqrt(2 / π)`, and the weight of the cube in the approximation of GELU.
const SLOPE: f64 = 0.797_884_560_802_865_4;
const CUBE: f64 = 0.044_715;

/// A function of every value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    /// `x Φ(x)` with the standard normal distribution function Φ.
    Gelu,
    /// GELU approximated by a hyperbolic tangent.
    GeluTanh,
    /// `max(x, 0)`.
    Relu,
    /// `x / (1 + exp(-x))`.
    Silu,
}

impl Activation {
    /// The names of Hugging Face's configurations, and what they stand for.
    pub(crate) const NAMES: [(&'static str, Self); 6] = [
        ("gelu", Self::Gelu),
        ("gelu_new", Self::GeluTanh),
        ("gelu_pytorch_tanh", Self::GeluTanh),
        ("relu", Self::Relu),
        ("silu", Self::Silu),
        ("swish", Self::Silu),
    ];

    /// Applies the function.
    pub(crate) fn apply(self, x: &Tensor) -> Result<Tensor> {
        if has_kernel(x) { x.contiguous()?.apply_op1(self) } else { self.plain(x) }
    }

    fn plain(self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Gelu => x.gelu_erf(),
            Self::GeluTanh => x.gelu(),
            Self::Relu => x.relu(),
            Self::Silu => x.silu(),
        }
    }

    fn forward<T: Real>(self, x: &[T]) -> Vec<T> {
        match self {
            Self::Gelu => map(x, |x| x * x.normal().0),
            Self::GeluTanh => map(x, |x| x * gate(x).0),
            Self::Relu => map(x, |x| if x > T::zero() { x } else { T::zero() }),
            Self::Silu => map(x, |x| x * x.sigmoid()),
        }
    }

    fn backward<T: Real>(self, x: &[T], grad: Vec<T>) -> Vec<T> {
        match self {
            Self::Gelu => scale(x, grad, |x| {
                let (distribution, density) = x.normal();
                distribution + x * density
            }),
            Self::GeluTanh => scale(x, grad, |x| {
                let (gate, slope) = gate(x);
                gate + x * gate * (T::one() - gate) * slope
            }),
            Self::Relu => scale(x, grad, |x| if x > T::zero() { T::one() } else { T::zero() }),
            Self::Silu => scale(x, grad, |x| {
                let gate = x.sigmoid();
                gate + x * gate * (T::one() - gate)
            }),
        }
    }
}

/// The factor of `x` in the approximation of GELU, and the slope of its argument. `(1 + tanh u) / 2` is the sigmoid of
/// `2u`.
#[inline(always)]
fn gate<T: Real>(x: T) -> (T, T) {
    let (slope, cube) = (T::from_f64(2.0 * SLOPE), T::from_f64(2.0 * SLOPE * CUBE));
    let square = x * x;
    ((x * (slope + cube * square)).sigmoid(), slope + T::from_f64(3.0) * cube * square)
}

#[inline(always)]
fn map<T: Real>(x: &[T], f: impl Fn(T) -> T + Sync) -> Vec<T> {
    let mut out = x.to_vec();
    out.par_chunks_mut(TILE).for_each(|out| vectorised(|| out.iter_mut().for_each(|x| *x = f(*x))));
    out
}

/// Multiplies the gradients by the slopes of the function.
#[inline(always)]
fn scale<T: Real>(x: &[T], mut grad: Vec<T>, slope: impl Fn(T) -> T + Sync) -> Vec<T> {
    grad.par_chunks_mut(TILE).zip(x.par_chunks(TILE)).for_each(|(grad, x)| {
        vectorised(|| grad.iter_mut().zip(x).for_each(|(grad, &x)| *grad *= slope(x)));
    });
    grad
}

impl CustomOp1 for Activation {
    fn name(&self) -> &'static str {
        "activation"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        for_real!(candle_core::backend::BackendStorage::dtype(x), T, {
            Ok(output(self.forward(slice::<T>(x, layout)?), layout.shape()))
        })
    }

    fn bwd(&self, x: &Tensor, _result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        for_real!(grad.dtype(), T, {
            Ok(Some(Tensor::from_vec(self.backward::<T>(&values(x)?, values(grad)?), x.shape(), x.device())?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, assert_gradients, random_var};
    use super::*;
    use candle_core::{DType, Device};

    #[test]
    fn kernels_and_gradients_match_candle() -> Result<()> {
        for (_, activation) in Activation::NAMES {
            let x = (random_var(&[3, 50], 1)?.as_tensor() * 2.0)?;
            assert_close(&activation.apply(&x)?, &activation.plain(&x)?, 1e-12)?;
            assert_gradients(&[&random_var(&[3, 7], 2)?], |v| activation.apply(v[0]), 1e-6)?;
            assert_gradients(&[&random_var(&[3, 7], 2)?], |v| activation.plain(v[0]), 1e-6)?;
        }
        Ok(())
    }

    #[test]
    fn single_precision_is_close_to_double() -> Result<()> {
        let x = Tensor::arange(-9.0, 9.0, &Device::Cpu)?;
        let x = x.broadcast_add(&Tensor::rand(0.0, 1.0, (500, 1), &Device::Cpu)?)?;
        for (_, activation) in Activation::NAMES {
            assert_close(&activation.apply(&x.to_dtype(DType::F32)?)?, &activation.apply(&x)?, 2e-6)?;
        }
        Ok(())
    }
}
