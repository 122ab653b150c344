//! Rounding a row to i8. Plain loops over slices, so that the compiler vectorises them for each kernel; the bits are the
//! same on every machine.

/// Independent sums, added in a fixed order. A single sum would wait for each addition.
const LANES: usize = 8;

/// What rounding a row gives beside the rounded values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rounded {
    /// A rounded value times this is about the value.
    pub(crate) scale: f32,
    /// The norm of the error, rounded up.
    pub(crate) error: f32,
    /// The norm of the rounded row, rounded up.
    pub(crate) norm: f32,
}

/// Rounds values to i8, and writes them to the beginning of `out`.
#[inline(always)]
pub(crate) fn round(values: &[f32], out: &mut [i8]) -> Rounded {
    let scale = largest(values) / 127.0;
    // Zero if the scale is (almost) zero: the row then equals the mean, but for the error.
    let inverse = if scale > f32::MIN_POSITIVE { scale.recip() } else { 0.0 };
    let mut sums = ([0f64; LANES], [0f64; LANES]);
    let ((eights, rest), (outs, out_rest)) = (values.as_chunks::<LANES>(), out.as_chunks_mut::<LANES>());
    let whole = eights.len();
    for (values, out) in eights.iter().zip(&mut *outs) {
        round_lanes(values, out, (scale, inverse), &mut sums);
    }
    round_lanes(rest, outs.get_mut(whole).map_or(out_rest, |out| out), (scale, inverse), &mut sums);
    let (error, norm) = sums;
    Rounded { scale, error: up(error.iter().sum::<f64>().sqrt()), norm: up(norm.iter().sum::<f64>().sqrt()) }
}

/// Rounds up to [`LANES`] values, and adds the squares of their errors and of what they stand for.
#[inline(always)]
fn round_lanes(
    values: &[f32],
    out: &mut [i8],
    (scale, inverse): (f32, f32),
    (error, norm): &mut ([f64; LANES], [f64; LANES]),
) {
    for (((value, out), error), norm) in values.iter().zip(out).zip(error).zip(norm) {
        // Rounds half away from zero: the cast drops the fraction.
        *out = (value * inverse + 0.5f32.copysign(*value)).clamp(-127.0, 127.0) as i8;
        let rounded = f64::from(scale) * f64::from(*out);
        *error += (f64::from(*value) - rounded).powi(2);
        *norm += rounded.powi(2);
    }
}

/// The largest absolute value.
#[inline(always)]
fn largest(values: &[f32]) -> f32 {
    let mut lanes = [0f32; 16];
    let larger = |lane: &mut f32, value: &f32| *lane = if value.abs() > *lane { value.abs() } else { *lane };
    let (chunks, rest) = values.as_chunks::<16>();
    chunks.iter().for_each(|chunk| lanes.iter_mut().zip(chunk).for_each(|(lane, value)| larger(lane, value)));
    lanes.iter_mut().zip(rest).for_each(|(lane, value)| larger(lane, value));
    lanes.iter().fold(0f32, |largest, lane| largest.max(*lane))
}

fn up(value: f64) -> f32 {
    (value as f32) * (1.0 + 1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{simd::Kernel, testing::Random};

    /// Value by value, as the format says.
    fn plainly(values: &[f32]) -> (Vec<i8>, Rounded) {
        let scale = values.iter().fold(0f32, |largest, value| largest.max(value.abs())) / 127.0;
        let inverse = if scale > f32::MIN_POSITIVE { scale.recip() } else { 0.0 };
        let rounded: Vec<i8> =
            values.iter().map(|value| (value * inverse).round().clamp(-127.0, 127.0) as i8).collect();
        let (mut error, mut norm) = ([0f64; 8], [0f64; 8]);
        for (i, (value, rounded)) in values.iter().zip(&rounded).enumerate() {
            let stands_for = f64::from(scale) * f64::from(*rounded);
            error[i % 8] += (f64::from(*value) - stands_for).powi(2);
            norm[i % 8] += stands_for.powi(2);
        }
        let norm_of = |sums: [f64; 8]| (sums.iter().sum::<f64>().sqrt() as f32) * (1.0 + 1e-6);
        (rounded, Rounded { scale, error: norm_of(error), norm: norm_of(norm) })
    }

    #[test]
    fn every_kernel_rounds_as_value_by_value() {
        let mut random = Random::new(5);
        for dims in [1, 7, 8, 9, 63, 64, 75, 300] {
            for size in [1.0, 1e-3, 1e-38, 0.0] {
                let values: Vec<f32> = (0..dims).map(|_| size * random.normal()).collect();
                let (expected, rounded) = plainly(&values);
                for kernel in Kernel::available() {
                    let mut out = vec![0; dims + 16];
                    assert_eq!(kernel.round(&values, &mut out), rounded, "{kernel:?}, {dims} dimensions of {size}");
                    assert_eq!(out[..dims], expected, "{kernel:?}, {dims} dimensions of {size}");
                    assert!(out[dims..].iter().all(|value| *value == 0), "values after the last dimension");
                }
            }
        }
    }
}
