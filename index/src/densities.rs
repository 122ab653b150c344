//! Sums of exponentials of similarities over all rows of a class: those of near rows exact, those of far rows from
//! integer products, with a bound of the error.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    compact::{Query, Tails},
    exponentials::{NOTHING, total},
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

/// A query with its near rows, which are compared exactly.
pub(crate) struct Asked<'a> {
    pub(crate) row: &'a [f32],
    /// By their places in the segment, in this order.
    pub(crate) near: Vec<Hit>,
}

/// For each query, the density of each class in a segment. `classes` are the ranges of the classes, `removed` the places
/// of rows that do not count.
pub(crate) fn densities(
    rows: &Rows,
    asked: &[Asked<'_>],
    classes: &[Range<usize>],
    removed: &[u32],
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
    let parts: Vec<Vec<Scaled>> = pieces
        .par_iter()
        .map(|(class, range)| match classes[*class].len() < FEW {
            true => exact(rows, asked, range.clone(), removed, temperature),
            false => estimated(rows, asked, &queries, range.clone(), removed, temperature),
        })
        .collect();
    let mut sums = vec![vec![Scaled::default(); classes.len()]; asked.len()];
    for ((class, _), part) in pieces.iter().zip(parts) {
        sums.iter_mut().zip(part).for_each(|(sums, part)| sums[*class].add(part));
    }
    let unscaled = |sum: Scaled| sum.density.times((sum.reference - f64::from(temperature)).exp());
    sums.into_iter().map(|sums| sums.into_iter().map(unscaled).collect()).collect()
}

impl std::iter::Sum for Density {
    fn sum<I: Iterator<Item = Self>>(densities: I) -> Self {
        densities.fold(Self::default(), Self::plus)
    }
}

impl Density {
    fn exact(sum: f64) -> Self {
        // The last digits of an f32 product are not certain either.
        Self { sum, low: sum * (1.0 - 1e-6), high: sum * (1.0 + 1e-6) }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, low: self.low + other.low, high: self.high + other.high }
    }

    fn times(self, factor: f64) -> Self {
        Self { sum: self.sum * factor, low: self.low * factor, high: self.high * factor }
    }
}

/// A density divided by exp(reference). Each part has the reference of its own nearest row, so that far classes keep their
/// digits.
#[derive(Clone, Copy, Debug)]
struct Scaled {
    reference: f64,
    density: Density,
}

impl Default for Scaled {
    fn default() -> Self {
        Self { reference: f64::NEG_INFINITY, density: Density::default() }
    }
}

impl Scaled {
    fn add(&mut self, other: Self) {
        let (low, high) = if self.reference < other.reference { (*self, other) } else { (other, *self) };
        // Nothing was added yet to a sum without a reference.
        let low = match low.reference == f64::NEG_INFINITY {
            true => Density::default(),
            false => low.density.times((low.reference - high.reference).exp()),
        };
        *self = Self { reference: high.reference, density: high.density.plus(low) };
    }
}

fn exact(rows: &Rows, asked: &[Asked<'_>], range: Range<usize>, removed: &[u32], temperature: f32) -> Vec<Scaled> {
    let removed = inside(removed, &range);
    let sum = |asked: &Asked<'_>| {
        let power = |row: u32| f64::from(temperature) * f64::from(rows.similarity(asked.row, row));
        let counted = range.clone().map(|row| row as u32).filter(|row| removed.binary_search(row).is_err());
        let powers: Vec<f64> = counted.map(power).collect();
        let reference = powers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Scaled { reference, density: Density::exact(powers.iter().map(|power| (power - reference).exp()).sum()) }
    };
    asked.iter().map(sum).collect()
}

fn estimated(
    rows: &Rows,
    asked: &[Asked<'_>],
    queries: &[Query],
    range: Range<usize>,
    removed: &[u32],
    temperature: f32,
) -> Vec<Scaled> {
    let queries: Vec<&Query> = queries.iter().collect();
    let mut sums = vec![Scaled::default(); asked.len()];
    let (mut products, mut tails) = (vec![0; queries.len() * BLOCK], Tails::default());
    let mut values = [0f32; BLOCK];
    for start in range.clone().step_by(BLOCK) {
        let block = start..range.end.min(start + BLOCK);
        rows.compact.block(&queries, block.clone(), &mut products);
        rows.compact.tails(block.clone(), &mut tails);
        let gone = inside(removed, &block);
        if gone.len() == block.len() {
            continue;
        }
        gone.iter().for_each(|row| tails.hide(*row as usize - block.start));
        let values = &mut values[..block.len()];
        for (at, (query, products)) in queries.iter().zip(products.chunks(block.len())).enumerate() {
            let reference = f64::from(query.exponentials(rows.compact.kernel, &tails, products, temperature, values));
            gone.iter().for_each(|row| values[*row as usize - block.start] = 0.0);
            let near = &asked[at].near;
            let first = near.partition_point(|hit| (hit.record as usize) < block.start);
            let mut known = 0.0;
            for hit in near[first..].iter().take_while(|hit| (hit.record as usize) < block.end) {
                values[hit.record as usize - block.start] = 0.0;
                known += (f64::from(temperature) * f64::from(hit.similarity) - reference).exp();
            }
            let far = f64::from(total(values));
            // The true similarity lies within the bound of its estimate. Terms that count as 0 are below e⁻³⁰ each.
            let bound = f64::from(query.largest_bound(&tails));
            let most = (f64::from(temperature) * bound).exp() * (1.0 + 1e-5);
            let nothing = values.len() as f64 * f64::from(NOTHING).exp();
            let far = Density { sum: far, low: far / most, high: (far + nothing) * most };
            sums[at].add(Scaled { reference, density: Density::exact(known).plus(far) });
        }
    }
    sums
}

/// Those of sorted places that are in a range.
fn inside<'a>(places: &'a [u32], range: &Range<usize>) -> &'a [u32] {
    let before = |end: usize| places.partition_point(|place| (*place as usize) < end);
    &places[before(range.start)..before(range.end)]
}
