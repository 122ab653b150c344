//! Exact search: integer products of every row bound its similarity, and only rows that could be among the best are
//! computed in full.
//!
//! Several queries share each pass over the rows, as blocks of a matrix product. The answer is that of a plain scan of
//! all f32 rows, for a quarter of the memory traffic.

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

use crate::{
    compact::{Query, Tails},
    rows::{Hit, Rows},
};

/// One query of a scan.
pub(crate) struct Wanted<'a> {
    pub(crate) row: &'a [f32],
    pub(crate) count: usize,
    /// Which rows count; asked only of those that could be among the best.
    pub(crate) passes: &'a (dyn Fn(u32) -> bool + Sync),
}

/// Rows of one block: their compact form stays in the second-level cache while all queries pass over it.
const BLOCK: usize = 512;

/// The best rows of a range for each query.
pub(crate) fn scan(rows: &Rows, range: Range<usize>, wanted: &[Wanted<'_>]) -> Vec<Vec<Hit>> {
    let queries: Vec<Query> = wanted.iter().map(|wanted| rows.compact.query(wanted.row)).collect();
    let queries: Vec<&Query> = queries.iter().collect();
    let mut best: Vec<Best> = wanted.iter().map(|wanted| Best::new(wanted.count)).collect();
    let mut products = vec![0; wanted.len() * BLOCK];
    let mut tails = Tails::default();
    let mut upper = [0f32; BLOCK];
    for start in range.clone().step_by(BLOCK) {
        let block = start..range.end.min(start + BLOCK);
        rows.compact.block(&queries, block.clone(), &mut products);
        rows.compact.tails(block.clone(), &mut tails);
        let upper = &mut upper[..block.len()];
        for (((best, wanted), query), products) in
            best.iter_mut().zip(wanted).zip(&queries).zip(products.chunks(block.len()))
        {
            query.upper_bounds(&tails, products, upper);
            // Few rows can be among the best: most groups are passed over after one look.
            for (group, uppers) in upper.chunks(16).enumerate() {
                if !uppers.iter().fold(false, |any, upper| any | (*upper >= best.floor)) {
                    continue;
                }
                for i in group * 16..group * 16 + uppers.len() {
                    let place = (start + i) as u32;
                    if upper[i] >= best.floor && (wanted.passes)(place) {
                        let (estimate, bound) = query.estimate(&tails.get(i), products[i]);
                        best.add(place, estimate, bound);
                    }
                }
            }
        }
    }
    best.into_iter().zip(wanted).map(|(best, wanted)| best.finish(rows, wanted)).collect()
}

/// What is left of the rows seen so far: those that may still be among the best.
struct Best {
    count: usize,
    /// The `count` highest lower bounds, as ordered bits; the least of them is the floor.
    lower: BinaryHeap<Reverse<i32>>,
    floor: f32,
    left: Vec<(f32, u32)>,
}

impl Best {
    fn new(count: usize) -> Self {
        let floor = if count == 0 { f32::INFINITY } else { f32::NEG_INFINITY };
        Self { count, lower: BinaryHeap::new(), floor, left: Vec::new() }
    }

    fn add(&mut self, place: u32, estimate: f32, bound: f32) {
        self.left.push((estimate + bound, place));
        self.lower.push(Reverse(ordered(estimate - bound)));
        if self.lower.len() > self.count {
            self.lower.pop();
        }
        if self.lower.len() == self.count {
            self.floor = self.lower.peek().map_or(self.floor, |least| number(least.0));
        }
        if self.left.len() >= 1024 && self.left.len() >= 16 * self.count && self.left.len().is_power_of_two() {
            let floor = self.floor;
            self.left.retain(|(upper, _)| *upper >= floor);
        }
    }

    fn finish(self, rows: &Rows, wanted: &Wanted<'_>) -> Vec<Hit> {
        let left = self.left.into_iter().filter(|(upper, _)| *upper >= self.floor);
        let mut hits: Vec<Hit> =
            left.map(|(_, edge)| Hit { edge, similarity: rows.similarity(wanted.row, edge) }).collect();
        hits.sort_unstable_by(Hit::order);
        hits.truncate(self.count);
        hits
    }
}

/// Bits that compare as integers as the floats do.
fn ordered(value: f32) -> i32 {
    let bits = value.to_bits() as i32;
    bits ^ (((bits >> 31) as u32) >> 1) as i32
}

fn number(ordered: i32) -> f32 {
    f32::from_bits((ordered ^ (((ordered >> 31) as u32) >> 1) as i32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_bits_order_as_their_numbers() {
        let numbers = [f32::NEG_INFINITY, -2.5, -1e-9, 0.0, 1e-9, 3.0, f32::INFINITY];
        assert!(numbers.is_sorted_by_key(|value| ordered(*value)));
        assert!(numbers.iter().all(|value| number(ordered(*value)) == *value));
    }
}
