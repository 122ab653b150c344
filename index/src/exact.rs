//! Exact search: integer products bound the similarity of every row, and only rows that can be among the best are compared
//! in full.
//!
//! Several queries share each pass over the rows, as blocks of a matrix product. The result equals that of a plain scan of
//! all f32 rows, with a quarter of the memory traffic.

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

use crate::{
    compact::{Query, Tails},
    rows::{Hit, Rows},
};

/// One search of a scan.
pub(crate) struct Search<'a> {
    pub(crate) row: &'a [f32],
    pub(crate) count: usize,
    /// Rows that are less similar than this are of no interest.
    pub(crate) floor: f32,
    /// The filter. It is called only for rows that can be among the best.
    pub(crate) passes: &'a (dyn Fn(u32) -> bool + Sync),
}

/// Rows of a block. Their compact form stays in the second-level cache while all queries pass over it.
const BLOCK: usize = 512;

/// The best rows of a range for each query.
pub(crate) fn scan(rows: &Rows, range: Range<usize>, searches: &[Search<'_>]) -> Vec<Vec<Hit>> {
    let queries: Vec<Query> = searches.iter().map(|search| rows.compact.query(search.row)).collect();
    let queries: Vec<&Query> = queries.iter().collect();
    let mut best: Vec<Best> = searches.iter().map(Best::new).collect();
    let mut products = vec![0; searches.len() * BLOCK];
    let mut tails = Tails::default();
    let mut upper = [0f32; BLOCK];
    for start in range.clone().step_by(BLOCK) {
        let block = start..range.end.min(start + BLOCK);
        rows.compact.block(&queries, block.clone(), &mut products);
        rows.compact.tails(block.clone(), &mut tails);
        let upper = &mut upper[..block.len()];
        for (((best, search), query), products) in
            best.iter_mut().zip(searches).zip(&queries).zip(products.chunks(block.len()))
        {
            query.upper_bounds(&tails, products, upper);
            // Few rows can be among the best, so most groups of 16 are skipped after one comparison.
            for (group, uppers) in upper.chunks(16).enumerate() {
                if !uppers.iter().fold(false, |any, upper| any | (*upper >= best.floor)) {
                    continue;
                }
                for i in group * 16..group * 16 + uppers.len() {
                    let place = (start + i) as u32;
                    if upper[i] >= best.floor && (search.passes)(place) {
                        let (estimate, bound) = query.estimate(&tails.get(i), products[i]);
                        best.add(place, estimate, bound);
                    }
                }
            }
        }
    }
    best.into_iter().zip(searches).map(|(best, search)| best.finish(rows, search)).collect()
}

/// The rows seen so far that can still be among the best.
struct Best {
    count: usize,
    /// The `count` highest lower bounds, as ordered bits. The lowest of them is the floor.
    lower: BinaryHeap<Reverse<i32>>,
    floor: f32,
    left: Vec<(f32, u32)>,
}

impl Best {
    fn new(search: &Search<'_>) -> Self {
        let count = search.count;
        let floor = if count == 0 { f32::INFINITY } else { search.floor };
        Self { count, lower: BinaryHeap::new(), floor, left: Vec::new() }
    }

    fn add(&mut self, place: u32, estimate: f32, bound: f32) {
        self.left.push((estimate + bound, place));
        self.lower.push(Reverse(ordered(estimate - bound)));
        if self.lower.len() > self.count {
            self.lower.pop();
        }
        if self.lower.len() == self.count {
            self.floor = self.lower.peek().map_or(self.floor, |least| self.floor.max(float(least.0)));
        }
        if self.left.len() >= 1024 && self.left.len() >= 16 * self.count && self.left.len().is_power_of_two() {
            let floor = self.floor;
            self.left.retain(|(upper, _)| *upper >= floor);
        }
    }

    fn finish(self, rows: &Rows, search: &Search<'_>) -> Vec<Hit> {
        let left = self.left.into_iter().filter(|(upper, _)| *upper >= self.floor);
        let mut hits: Vec<Hit> =
            left.map(|(_, record)| Hit { record, similarity: rows.similarity(search.row, record) }).collect();
        hits.sort_unstable_by(Hit::order);
        hits.truncate(self.count);
        hits
    }
}

/// Bits whose order as integers is the order of the floats.
fn ordered(value: f32) -> i32 {
    let bits = value.to_bits() as i32;
    bits ^ (((bits >> 31) as u32) >> 1) as i32
}

/// The float of ordered bits.
fn float(ordered: i32) -> f32 {
    f32::from_bits((ordered ^ (((ordered >> 31) as u32) >> 1) as i32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_bits_have_the_order_of_their_floats() {
        let numbers = [f32::NEG_INFINITY, -2.5, -1e-9, 0.0, 1e-9, 3.0, f32::INFINITY];
        assert!(numbers.is_sorted_by_key(|value| ordered(*value)));
        assert!(numbers.iter().all(|value| float(ordered(*value)) == *value));
    }
}
