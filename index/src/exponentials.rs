//! Exponentials of the estimated similarities of a block of rows, relative to the highest of them. Plain loops over slices,
//! so that the compiler vectorises them for each kernel; the bits are the same on every machine.

/// Terms below e to this power, relative to the highest of their block, count as 0.
pub(crate) const NOTHING: f32 = -30.0;

const LANES: usize = 16;

/// The rows of a block and a query, as estimates need them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimates<'a> {
    /// The integer product of each row with the query.
    pub(crate) products: &'a [i32],
    /// The scale of each row.
    pub(crate) scales: &'a [f32],
    /// The product of each row with the mean.
    pub(crate) biases: &'a [f32],
    /// The query's own scale, its constant, and its factor of the mean.
    pub(crate) scale: f32,
    pub(crate) constant: f32,
    pub(crate) along: f32,
}

/// Writes exp(temperature · similarity − reference) of each row, where the reference is the highest temperature · similarity of
/// the block. Returns the reference.
#[inline(always)]
pub(crate) fn exponentials(estimates: Estimates<'_>, temperature: f32, out: &mut [f32]) -> f32 {
    let Estimates { products, scales, biases, scale, constant, along } = estimates;
    for ((out, product), (own, bias)) in out.iter_mut().zip(products).zip(scales.iter().zip(biases)) {
        *out = temperature * (constant + along * bias + scale * own * *product as f32);
    }
    let reference = highest(out);
    out.iter_mut().for_each(|value| *value = exp(*value - reference));
    reference
}

/// The sum of a block.
#[inline(always)]
pub(crate) fn total(values: &[f32]) -> f32 {
    let mut lanes = [0f32; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    chunks.iter().for_each(|chunk| lanes.iter_mut().zip(chunk).for_each(|(lane, value)| *lane += value));
    lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

#[inline(always)]
fn highest(values: &[f32]) -> f32 {
    let larger = |lane: &mut f32, value: &f32| *lane = if *value > *lane { *value } else { *lane };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    chunks.iter().for_each(|chunk| lanes.iter_mut().zip(chunk).for_each(|(lane, value)| larger(lane, value)));
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |highest, value| if *value > highest { *value } else { highest })
}

/// e to a power of at most 0, to the last bits of f32; 0 for powers below [`NOTHING`]. The standard library's function does not
/// vectorise.
#[inline(always)]
fn exp(power: f32) -> f32 {
    /// Adding this to a small number rounds it to an integer, which is then in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 in two parts. The first has so few bits that its products are exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    /// The coefficients of a polynomial for (eʳ − 1 − r) ÷ r², highest power first, after Cephes.
    const POLYNOMIAL: [f32; 6] = [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];
    let bounded = if power > NOTHING - 1.0 { power } else { NOTHING - 1.0 };
    let rounded = bounded * std::f32::consts::LOG2_E + ROUND;
    let twos = rounded - ROUND;
    let rest = bounded - twos * LN_2[0] - twos * LN_2[1];
    let polynomial = POLYNOMIAL.iter().fold(0.0, |sum, factor| sum * rest + factor);
    let power_of_two = f32::from_bits(rounded.to_bits().wrapping_add(127) << 23);
    let value = (polynomial * rest * rest + rest + 1.0) * power_of_two;
    if power < NOTHING { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_equals_that_of_the_standard_library() {
        for step in -3000..=0 {
            let power = step as f32 / 100.0;
            assert!((exp(power) / power.exp() - 1.0).abs() < 1e-6, "{power}: {}", exp(power));
        }
        assert_eq!(exp(-31.0), 0.0);
    }

    #[test]
    fn the_highest_value_is_found_in_chunks_and_in_the_rest() {
        let mut values = [-5.0; 35];
        for place in [0, 17, 34] {
            values[place] = place as f32 - 4.0;
            assert_eq!(highest(&values), values[place]);
        }
    }
}
