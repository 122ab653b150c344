//! Best-first search in a layer of the graph, by estimates from compact rows.

use crate::{
    compact::{Compact, Query},
    graph::{Graph, Layer, Stored},
    simd::prefetch,
};

/// A row that the walk has reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) estimate: f32,
    pub(crate) id: u32,
    /// Whether its links have been followed.
    followed: bool,
    /// Whether it passes the filter. The walk follows the links of the others too.
    pub(crate) passes: bool,
}

/// Buffers of a walk, reused by the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// One bit per row. `touched` lists the set bits, so clearing takes no longer than the walk.
    seen: Vec<u64>,
    touched: Vec<u32>,
    /// The best rows so far, most similar first.
    pub(crate) pool: Vec<Candidate>,
    fresh: Vec<u32>,
    /// The rows whose compact form was read since this was emptied, and the nodes of the base whose links were followed.
    pub(crate) read: Vec<u32>,
    pub(crate) followed: Vec<u32>,
    products: Vec<i32>,
    estimates: Vec<f32>,
}

/// Rows in the pool that the filter can reject before a scan is cheaper.
const MOST_REJECTED: usize = 1024;

impl Scratch {
    fn reset(&mut self, count: usize) {
        self.touched.drain(..).for_each(|id| self.seen[id as usize / 64] = 0);
        self.seen.resize(count.div_ceil(64), 0);
        self.pool.clear();
    }

    /// Estimates for the rows in `fresh`.
    fn estimate(&mut self, compact: &Compact, query: &Query) {
        self.read.extend_from_slice(&self.fresh);
        self.products.resize(self.fresh.len(), 0);
        self.estimates.resize(self.fresh.len(), 0.0);
        compact.estimates(query, &self.fresh, &mut self.products, &mut self.estimates);
    }

    /// Puts the links that were not seen before into `fresh`.
    #[inline]
    fn take(&mut self, links: &[u32], count: usize) {
        self.fresh.resize(links.len(), 0);
        let mut count_fresh = 0;
        for &id in links {
            // The end mark is larger than any row number, so one comparison ends the list and rejects damaged links.
            if id as usize >= count {
                break;
            }
            // No branch on whether the row was seen: it would be unpredictable.
            let word = &mut self.seen[id as usize / 64];
            let fresh = !(*word >> (id % 64)) & 1;
            *word |= 1 << (id % 64);
            self.fresh[count_fresh] = id;
            count_fresh += fresh as usize;
        }
        self.fresh.truncate(count_fresh);
        self.touched.extend_from_slice(&self.fresh);
    }
}

/// Descends greedily from the top layer to the one above `level`. Returns the most similar row it reaches.
pub(crate) fn descend(
    graph: &Graph<impl Stored>,
    compact: &Compact,
    query: &Query,
    level: usize,
    scratch: &mut Scratch,
) -> u32 {
    scratch.read.clear();
    scratch.read.push(graph.entry);
    let mut best = graph.entry;
    let mut products = [0];
    let mut highest = [f32::NEG_INFINITY];
    compact.estimates(query, &[best], &mut products, &mut highest);
    for layer in (level + 1..=graph.ranges.len()).rev().map(|level| graph.layer(level)) {
        loop {
            let links = layer.links(best);
            let end = links.iter().position(|id| *id as usize >= compact.count()).unwrap_or(links.len());
            scratch.fresh.clear();
            scratch.fresh.extend_from_slice(&links[..end]);
            scratch.estimate(compact, query);
            let before = best;
            for (id, estimate) in scratch.fresh.iter().zip(&scratch.estimates) {
                if *estimate > highest[0] {
                    (highest[0], best) = (*estimate, *id);
                }
            }
            // Ends, because estimates strictly increase. The estimate of a damaged row can be NaN, which no comparison passes.
            if best == before {
                break;
            }
        }
    }
    best
}

/// Walks a layer from `starts`. Leaves the best `effort` rows that pass the filter in the pool, among others that do not.
/// Returns false if the filter rejects so many rows that a scan is cheaper.
pub(crate) fn walk(
    layer: Layer<'_>,
    compact: &Compact,
    query: &Query,
    starts: &[u32],
    effort: usize,
    passes: impl Fn(u32) -> bool,
    scratch: &mut Scratch,
) -> bool {
    let count = compact.count();
    scratch.reset(count);
    scratch.followed.clear();
    scratch.take(starts, count);
    let (mut passing, mut next) = (0, 0);
    loop {
        scratch.estimate(compact, query);
        for i in 0..scratch.fresh.len() {
            let (id, estimate) = (scratch.fresh[i], scratch.estimates[i]);
            let pool = &mut scratch.pool;
            if passing >= effort && pool.last().is_some_and(|last| estimate <= last.estimate) {
                continue;
            }
            let passes = passes(id);
            let place = pool.partition_point(|other| other.estimate >= estimate);
            pool.insert(place, Candidate { estimate, id, followed: false, passes });
            next = next.min(place);
            passing += usize::from(passes);
            while passing > effort {
                passing -= usize::from(pool.pop().is_some_and(|last| last.passes));
            }
        }
        if scratch.pool.len() > effort + MOST_REJECTED {
            return false;
        }
        while scratch.pool.get(next).is_some_and(|candidate| candidate.followed) {
            next += 1;
        }
        let Some(candidate) = scratch.pool.get_mut(next) else { return true };
        candidate.followed = true;
        scratch.followed.push(candidate.id);
        let links = layer.links(candidate.id);
        if let Some(second) = scratch.pool.get(next + 1) {
            prefetch(layer.links(second.id));
        }
        scratch.take(links, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compact::tests::stored,
        grow::Growing,
        testing::{Random, cone},
    };

    #[test]
    fn the_pool_holds_effort_rows_that_pass_and_a_strict_filter_ends_the_walk() {
        let rows = cone(&mut Random::new(4), 3000, 12, 10, 0.9);
        let compact = stored(&rows, 12);
        let mut growing = Growing::new(&compact, &(0..3000).collect::<Vec<_>>(), 8, 40);
        growing.grow(3000, &|_| Ok(())).expect("a graph");
        let (layer, query) = (growing.graph.layer(0), compact.query(&rows[..12]));
        let mut scratch = Scratch::default();
        for filter in [1, 2, 5] {
            assert!(walk(layer, &compact, &query, &[7], 30, |id| id % filter == 0, &mut scratch));
            let passing = scratch.pool.iter().filter(|candidate| candidate.passes);
            assert_eq!(passing.clone().count(), 30);
            assert!(passing.clone().all(|candidate| candidate.id % filter == 0));
            assert!(scratch.pool.is_sorted_by(|a, b| a.estimate >= b.estimate));
            assert!(scratch.pool.last().is_some_and(|last| last.passes || filter > 1));
        }
        assert!(!walk(layer, &compact, &query, &[7], 30, |_| false, &mut scratch));
    }
}
