//! Sums over all training edges, which are most of the work, written so that the compiler vectorises them.

/// The temperatures of NCA: a higher one gives near edges more weight. Each is twice the previous one, so that its
/// exponentials are the squares of the previous ones.
pub(super) const TEMPERATURES: [f32; 5] = [64.0, 128.0, 256.0, 512.0, 1024.0];

/// The number of exponentials computed at a time; they fit the first-level CPU cache.
const BLOCK: usize = 1024;
/// Values added in parallel.
const LANES: usize = 16;
/// Terms below e to this power count as 0, next to the 1 of the nearest edge.
const NOTHING: f32 = -30.0;

/// The sum of exp(T · (similarity − highest)) for each temperature.
pub(super) fn densities(similarities: &[f32], highest: f32) -> [f64; TEMPERATURES.len()] {
    let mut sums = [0.0; TEMPERATURES.len()];
    let mut values = [0.0; BLOCK];
    let (nothing, root) = (NOTHING.exp(), (NOTHING / 2.0).exp());
    for some in similarities.chunks(BLOCK) {
        let values = &mut values[..some.len()];
        for (value, similarity) in values.iter_mut().zip(some) {
            let power = exp(TEMPERATURES[0] * (similarity - highest));
            *value = if power < nothing { 0.0 } else { power };
        }
        for sum in &mut sums {
            *sum += f64::from(total(values));
            // Values that would vanish at the next temperature become 0 first, because subnormal numbers are slow.
            values.iter_mut().for_each(|value| *value = if *value < root { 0.0 } else { *value * *value });
        }
    }
    sums
}

/// The sum of all values: blocks in f32, the total in f64.
pub(super) fn sum(values: &[f32]) -> f64 {
    values.chunks(BLOCK).map(|some| f64::from(total(some))).sum()
}

fn total(values: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest: f32 = chunks.remainder().iter().sum();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, value)| *lane += value);
    }
    rest + lanes.iter().sum::<f32>()
}

/// e to a power of at most 0, to the last bits of f32. Results below e⁻³⁰ can be any value below e⁻³⁰. The standard
/// library's function does not vectorise.
fn exp(power: f32) -> f32 {
    /// Adding this to a small number rounds it to an integer, which is then in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 in two parts. The first has so few bits that its products are exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    /// The coefficients of a polynomial for (eʳ − 1 − r) ÷ r², highest power first, after Cephes.
    const POLYNOMIAL: [f32; 6] = [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];
    let power = if power > NOTHING - 1.0 { power } else { NOTHING - 1.0 };
    let rounded = power * std::f32::consts::LOG2_E + ROUND;
    let twos = rounded - ROUND;
    let rest = power - twos * LN_2[0] - twos * LN_2[1];
    let polynomial = POLYNOMIAL.iter().fold(0.0, |sum, factor| sum * rest + factor);
    let power_of_two = f32::from_bits(rounded.to_bits().wrapping_add(127) << 23);
    (polynomial * rest * rest + rest + 1.0) * power_of_two
}

/// The highest values, in descending order.
pub(super) fn highest(values: &[f32], count: usize) -> Vec<f32> {
    let order = |a: &f32, b: &f32| b.total_cmp(a);
    let mut kept: Vec<f32> = Vec::with_capacity(2 * count + BLOCK);
    let mut least = f32::NEG_INFINITY;
    for some in values.chunks(4 * LANES) {
        // Almost always there is none, and checking takes only a few instructions.
        if !some.iter().fold(false, |any, value| any | (*value > least)) {
            continue;
        }
        kept.extend(some.iter().filter(|value| **value > least));
        if kept.len() >= 2 * count {
            kept.select_nth_unstable_by(count - 1, order);
            kept.truncate(count);
            least = kept[count - 1];
        }
    }
    kept.sort_unstable_by(order);
    kept.truncate(count);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn densities_match_their_definition() {
        let mut random = Random::new(3);
        let similarities: Vec<f32> = (0..5000).map(|_| (0.3 * random.normal()).clamp(-1.0, 1.0)).collect();
        let highest = highest(&similarities, 1)[0];
        for (temperature, found) in TEMPERATURES.iter().zip(densities(&similarities, highest)) {
            let power = |value: &f32| f64::from(*temperature) * f64::from(value - highest);
            let wanted: f64 = similarities.iter().map(|value| power(value).exp()).sum();
            assert!((found / wanted - 1.0).abs() < 1e-5, "{temperature}: {found} instead of {wanted}");
        }
    }

    #[test]
    fn highest_values_match_sorting() {
        let mut random = Random::new(5);
        let values: Vec<f32> = (0..3000).map(|_| random.normal()).collect();
        let mut sorted = values.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        assert_eq!(highest(&values, 100), sorted[..100]);
        assert_eq!(highest(&values[..7], 100).len(), 7);
        assert!((sum(&values) - values.iter().map(|value| f64::from(*value)).sum::<f64>()).abs() < 1e-3);
    }
}
