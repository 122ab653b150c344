//! Dropout with masks from our own seeded generator; candle's generator cannot be seeded on the CPU.

use super::{for_real, has_kernel, output, slice, values};
use crate::random::Random;
use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};

/// Sets each value to 0 with probability `rate` and scales the others so that the expected mean is unchanged.
pub(crate) fn dropout(x: &Tensor, rate: f32, random: &mut Random) -> Result<Tensor> {
    if rate <= 0.0 {
        return Ok(x.clone());
    }
    let mask = draw(x.elem_count(), rate, random);
    if has_kernel(x) {
        x.contiguous()?.apply_op1(Dropout { mask, scale: scale(rate) })
    } else {
        let mask: Vec<f32> = mask.iter().map(|&kept| if kept { scale(rate) as f32 } else { 0.0 }).collect();
        x * Tensor::from_vec(mask, x.shape(), x.device())?.to_dtype(x.dtype())?
    }
}

fn scale(rate: f32) -> f64 {
    1.0 / (1.0 - f64::from(rate))
}

/// Draws a mask, four values from each 64 random bits. `true` means that the value stays.
fn draw(count: usize, rate: f32, random: &mut Random) -> Vec<bool> {
    let threshold = (f64::from(rate) * 65_536.0) as u16;
    let mut mask = Vec::with_capacity(count + 3);
    while mask.len() < count {
        let bits = random.bits();
        mask.extend([bits, bits >> 16, bits >> 32, bits >> 48].map(|b| b as u16 >= threshold));
    }
    mask.truncate(count);
    mask
}

struct Dropout {
    mask: Vec<bool>,
    scale: f64,
}

impl Dropout {
    fn apply<T: super::real::Real>(&self, x: &[T]) -> Vec<T> {
        let scale = T::from_f64(self.scale);
        x.iter().zip(&self.mask).map(|(&x, &kept)| if kept { x * scale } else { T::zero() }).collect()
    }
}

impl CustomOp1 for Dropout {
    fn name(&self) -> &'static str {
        "dropout"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        for_real!(candle_core::backend::BackendStorage::dtype(x), T, {
            Ok(output(self.apply(slice::<T>(x, layout)?), layout.shape()))
        })
    }

    fn bwd(&self, x: &Tensor, _result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        for_real!(grad.dtype(), T, {
            Ok(Some(Tensor::from_vec(self.apply(&values::<T>(grad)?), x.shape(), x.device())?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_gradients, random_var};
    use super::*;

    #[test]
    fn the_gradient_is_right() -> Result<()> {
        let x = random_var(&[3, 7], 1)?;
        assert_gradients(&[&x], |v| dropout(v[0], 0.4, &mut Random::new(5)), 1e-6)
    }

    #[test]
    fn the_share_of_zeros_is_the_rate_and_the_mean_stays() -> Result<()> {
        let x = Tensor::ones(100_000, candle_core::DType::F32, &candle_core::Device::Cpu)?;
        let kept = dropout(&x, 0.3, &mut Random::new(6))?.to_vec1::<f32>()?;
        let zeros = kept.iter().filter(|&&v| v == 0.0).count() as f64 / 1e5;
        let mean = kept.iter().sum::<f32>() / 1e5;
        assert!((zeros - 0.3).abs() < 0.01 && (mean - 1.0).abs() < 0.02, "{zeros} {mean}");
        Ok(())
    }
}
