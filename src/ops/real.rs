//! The two element types of the kernels, and their activation functions in a form that compilers vectorise.

use candle_core::WithDType;
use std::ops::Neg;

/// The element type of a kernel: `f32` in use, `f64` in gradient checks.
pub(crate) trait Real: WithDType + Neg<Output = Self> + std::iter::Sum {
    /// `1 / (1 + exp(-x))`.
    fn sigmoid(self) -> Self;
    /// Hyperbolic tangent.
    fn hyperbolic_tangent(self) -> Self;
    /// Square root.
    fn square_root(self) -> Self;
    /// Natural exponential; for `f32` it vectorises and is within 2 units in the last place.
    fn quick_exponential(self) -> Self;
    /// Distribution function and density of the standard normal.
    fn normal(self) -> (Self, Self);
}

impl Real for f32 {
    #[inline(always)]
    fn sigmoid(self) -> f32 {
        1.0 / (1.0 + fast_exp(-self))
    }
    #[inline(always)]
    fn hyperbolic_tangent(self) -> f32 {
        1.0 - 2.0 / (1.0 + fast_exp(2.0 * self))
    }
    #[inline(always)]
    fn square_root(self) -> f32 {
        self.sqrt()
    }
    #[inline(always)]
    fn quick_exponential(self) -> f32 {
        fast_exp(self)
    }
    #[inline(always)]
    fn normal(self) -> (f32, f32) {
        // The error function by a five-term polynomial (Abramowitz and Stegun 7.1.26), within 1.5e-7.
        let t = 1.0 / (1.0 + 0.327_591_1 * std::f32::consts::FRAC_1_SQRT_2 * self.abs());
        let p = 1.061_405_4;
        let p = p * t - 1.453_152_1;
        let p = p * t + 1.421_413_8;
        let p = p * t - 0.284_496_72;
        let p = p * t + 0.254_829_6;
        let bell = fast_exp(-0.5 * self * self);
        let tail = 0.5 * p * t * bell;
        (if self < 0.0 { tail } else { 1.0 - tail }, 0.398_942_3 * bell)
    }
}

impl Real for f64 {
    fn sigmoid(self) -> f64 {
        1.0 / (1.0 + (-self).exp())
    }
    fn hyperbolic_tangent(self) -> f64 {
        self.tanh()
    }
    fn square_root(self) -> f64 {
        self.sqrt()
    }
    fn quick_exponential(self) -> f64 {
        self.exp()
    }
    fn normal(self) -> (f64, f64) {
        let distribution = 0.5 * (1.0 + candle_core::cpu::erf::erf_f64(self * std::f64::consts::FRAC_1_SQRT_2));
        (distribution, (-0.5 * self * self).exp() / (2.0 * std::f64::consts::PI).sqrt())
    }
}

/// Runs a closure compiled for the widest vector unit of the machine, so that its loops vectorise.
#[inline(always)]
pub(crate) fn vectorised<R>(closure: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(closure)
}

/// A dot product in 32 independent running sums: this vectorises, and the order of additions is fixed.
#[inline(always)]
pub(crate) fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    const LANES: usize = 32;
    let mut sums = [T::zero(); LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let rest: T = a_rest.iter().zip(b_rest).map(|(&x, &y)| x * y).sum();
    sums.iter().copied().sum::<T>() + rest
}

/// `exp` by range reduction and a polynomial, within 2 units in the last place, without branches or calls.
#[inline(always)]
fn fast_exp(x: f32) -> f32 {
    // Adding 1.5 · 2^23 rounds to an integer and leaves its bits at the low end of the sum.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let p = p * r * r + r + 1.0;
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activation_functions_agree_with_the_standard_library_over_their_whole_range() {
        for step in -20_000..=20_000 {
            let x = step as f32 * 0.005;
            let sigmoid = 1.0 / (1.0 + (-f64::from(x)).exp());
            assert!((f64::from(Real::sigmoid(x)) - sigmoid).abs() < 2e-7, "sigmoid({x})");
            assert!((f64::from(x.hyperbolic_tangent()) - f64::from(x).tanh()).abs() < 3e-7, "tanh({x})");
        }
    }

    #[test]
    fn dot_products_cover_every_element_whatever_the_length() {
        for n in 0..80 {
            let a: Vec<f64> = (0..n).map(|i| i as f64 + 1.0).collect();
            let expected: f64 = a.iter().map(|x| x * 2.0).sum();
            assert_eq!(dot(&a, &vec![2.0; n]), expected);
        }
    }
}
