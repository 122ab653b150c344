//! Sums of exponentials of similarities over all rows of a class: those of near rows exact, those of far rows from
//! integer products, with a bound of the error.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    compact::{Query, Tails},
    rows::{Hit, Rows},
};

/// The sum of exp(temperature · (similarity − 1)) over some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Density {
    /// The sum. Near rows count exactly, far rows by estimates of their similarity.
    pub sum: f64,
    /// The true sum is at least this.
    pub low: f64,
    /// The true sum is at most this.
    pub high: f64,
}

/// Rows of a block. Their compact form stays in the second-level cache while all queries pass over it.
const BLOCK: usize = 512;
/// Blocks that a thread takes at a time. Fixed, so that the order of additions does not depend on the threads.
const BLOCKS: usize = 16;
/// Classes of fewer rows are summed exactly: a single estimate may be some percent off, a sum of many is not.
const FEW: usize = 512;
/// Terms below e to this power, relative to the nearest row, count as 0.
const NOTHING: f32 = -30.0;

/// A query with its near rows, which are compared exactly.
pub(crate) struct Asked<'a> {
    pub(crate) row: &'a [f32],
    /// In the order of their numbers.
    pub(crate) near: Vec<Hit>,
}

/// For each query, the density of each class. `classes` are the ranges of the classes.
pub(crate) fn densities(
    rows: &Rows,
    asked: &[Asked<'_>],
    classes: &[Range<usize>],
    temperature: f32,
) -> Vec<Vec<Density>> {
    let queries: Vec<Query> = asked.iter().map(|asked| rows.compact.query(asked.row)).collect();
    let pieces: Vec<(usize, Range<usize>)> = classes
        .iter()
        .enumerate()
        .flat_map(|(class, range)| {
            let end = range.end;
            range.clone().step_by(BLOCK * BLOCKS).map(move |start| (class, start..end.min(start + BLOCK * BLOCKS)))
        })
        .collect();
    let nearest: Vec<f32> = asked.iter().map(|asked| nearest(&asked.near)).collect();
    let parts: Vec<Vec<Density>> = pieces
        .par_iter()
        .map(|(class, range)| match classes[*class].len() < FEW {
            true => exact(rows, asked, range.clone(), temperature, &nearest),
            false => estimated(rows, asked, &queries, range.clone(), temperature, &nearest),
        })
        .collect();
    let mut sums = vec![vec![Density::default(); classes.len()]; asked.len()];
    for ((class, _), part) in pieces.iter().zip(parts) {
        sums.iter_mut().zip(part).for_each(|(sums, part)| sums[*class].add(part));
    }
    // A class so far away that its estimates count as 0 is summed exactly.
    for (at, sums) in sums.iter_mut().enumerate() {
        for (density, range) in
            sums.iter_mut().zip(classes).filter(|(density, range)| density.sum == 0.0 && !range.is_empty())
        {
            let exact = exact(rows, &asked[at..=at], range.clone(), temperature, &nearest[at..=at]);
            exact.into_iter().for_each(|exact| *density = exact);
        }
    }
    // So far relative to the nearest row, so that nothing vanishes.
    for (sums, nearest) in sums.iter_mut().zip(&nearest) {
        let factor = (f64::from(temperature) * (f64::from(*nearest) - 1.0)).exp();
        sums.iter_mut().for_each(|density| density.scale(factor));
    }
    sums
}

impl Density {
    fn add(&mut self, other: Self) {
        self.sum += other.sum;
        self.low += other.low;
        self.high += other.high;
    }

    fn scale(&mut self, factor: f64) {
        self.sum *= factor;
        self.low *= factor;
        self.high *= factor;
    }

    fn exact(sum: f64) -> Self {
        // The last digits of an f32 product are not certain either.
        Self { sum, low: sum * (1.0 - 1e-6), high: sum * (1.0 + 1e-6) }
    }
}

/// The highest similarity of a near row; 1 if there is none.
fn nearest(near: &[Hit]) -> f32 {
    near.iter().map(|hit| hit.similarity).reduce(f32::max).unwrap_or(1.0)
}

fn weight(similarity: f32, nearest: f32, temperature: f32) -> f64 {
    (f64::from(temperature) * (f64::from(similarity) - f64::from(nearest))).exp()
}

fn exact(rows: &Rows, asked: &[Asked<'_>], range: Range<usize>, temperature: f32, nearest: &[f32]) -> Vec<Density> {
    let sum = |(asked, nearest): (&Asked<'_>, &f32)| {
        let weights = range.clone().map(|row| weight(rows.similarity(asked.row, row as u32), *nearest, temperature));
        Density::exact(weights.sum())
    };
    asked.iter().zip(nearest).map(sum).collect()
}

fn estimated(
    rows: &Rows,
    asked: &[Asked<'_>],
    queries: &[Query],
    range: Range<usize>,
    temperature: f32,
    nearest: &[f32],
) -> Vec<Density> {
    let queries: Vec<&Query> = queries.iter().collect();
    let mut sums = vec![Density::default(); asked.len()];
    let (mut products, mut tails) = (vec![0; queries.len() * BLOCK], Tails::default());
    let mut values = [0f32; BLOCK];
    for start in range.clone().step_by(BLOCK) {
        let block = start..range.end.min(start + BLOCK);
        rows.compact.block(&queries, block.clone(), &mut products);
        rows.compact.tails(block.clone(), &mut tails);
        let values = &mut values[..block.len()];
        for (at, (query, products)) in queries.iter().zip(products.chunks(block.len())).enumerate() {
            let bound = query.exponents(&tails, products, temperature, nearest[at], values);
            values.iter_mut().for_each(|value| *value = exp(*value));
            let near = &asked[at].near;
            let first = near.partition_point(|hit| (hit.record as usize) < block.start);
            let mut known = 0.0;
            for hit in near[first..].iter().take_while(|hit| (hit.record as usize) < block.end) {
                values[hit.record as usize - block.start] = 0.0;
                known += weight(hit.similarity, nearest[at], temperature);
            }
            sums[at].add(Density::exact(known));
            let far = f64::from(total(values));
            // The true similarity lies within the bound of its estimate. Terms that count as 0 are below e⁻³⁰ each.
            let most = (f64::from(temperature) * f64::from(bound)).exp() * (1.0 + 1e-5);
            let nothing = values.len() as f64 * f64::from(NOTHING).exp();
            sums[at].add(Density { sum: far, low: far / most, high: (far + nothing) * most });
        }
    }
    sums
}

/// The sum of a block, in independent lanes that vectorise.
fn total(values: &[f32]) -> f32 {
    let mut lanes = [0f32; 16];
    let (chunks, rest) = values.as_chunks::<16>();
    chunks.iter().for_each(|chunk| lanes.iter_mut().zip(chunk).for_each(|(lane, value)| *lane += value));
    lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

/// e to a power, to the last bits of f32; 0 for powers below [`NOTHING`]. The standard library's function does not
/// vectorise.
fn exp(power: f32) -> f32 {
    /// Adding this to a small number rounds it to an integer, which is then in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 in two parts. The first has so few bits that its products are exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    /// The coefficients of a polynomial for (eʳ − 1 − r) ÷ r², highest power first, after Cephes.
    const POLYNOMIAL: [f32; 6] = [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];
    let bounded = power.clamp(NOTHING - 1.0, 80.0);
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
        for step in -3000..300 {
            let power = step as f32 / 100.0;
            assert!((exp(power) / power.exp() - 1.0).abs() < 1e-6, "{power}: {}", exp(power));
        }
        assert_eq!(exp(-31.0), 0.0);
    }
}
