//! The graph (HNSW): layers of links between rows, in the layout of the file. Each layer has fewer nodes than the one
//! below it.
//!
//! The base layer has a block of links for every row, so the number of a row gives the position of its block. An upper layer
//! has the sorted numbers of its members and a block for each. [`NONE`] fills the rest of a block. Only the first of several
//! equal rows is a node of the graph. The blocks of the others are empty.

use std::ops::{Deref, Range};

use crate::{container::View, rows::NONE};

/// Most layers above the base.
pub(crate) const LAYERS: usize = 8;

/// A graph. `S` stores its numbers: a mapped file or memory.
#[derive(Clone, Debug)]
pub(crate) struct Graph<S> {
    /// Most links of a node in the upper layers. The base layer allows twice as many.
    pub(crate) degree: usize,
    /// The node where every walk begins. It is in all layers.
    pub(crate) entry: u32,
    pub(crate) base: S,
    pub(crate) members: S,
    pub(crate) upper: S,
    /// The part of `members` of each upper layer, lowest first.
    pub(crate) ranges: Vec<Range<usize>>,
}

/// Where a graph has its numbers.
pub(crate) trait Stored: Deref<Target = [u32]> {
    /// All numbers, compared with no checksum.
    fn raw(&self) -> &[u32] {
        self
    }

    /// Compares numbers that were read with their checksums.
    fn compare(&self, _: Range<usize>) {}
}

impl Stored for Vec<u32> {}

impl Stored for View<u32> {
    fn raw(&self) -> &[u32] {
        self.raw()
    }

    fn compare(&self, range: Range<usize>) {
        self.compare(range);
    }
}

/// One layer of a graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer<'a> {
    members: Option<&'a [u32]>,
    links: &'a [u32],
    degree: usize,
}

impl<S: Stored> Graph<S> {
    /// A layer. The base is large, so whoever follows links in it calls [`Graph::compare`] after that.
    pub(crate) fn layer(&self, level: usize) -> Layer<'_> {
        if level == 0 {
            return Layer { members: None, links: self.base.raw(), degree: 2 * self.degree };
        }
        let range = self.ranges.get(level - 1).cloned().unwrap_or_default();
        let links = self.upper.get(range.start * self.degree..range.end * self.degree).unwrap_or_default();
        Layer { members: Some(self.members.get(range).unwrap_or_default()), links, degree: self.degree }
    }

    /// Compares the links of nodes in the base layer with their checksums.
    pub(crate) fn compare(&self, nodes: &[u32]) {
        let blocks = nodes.iter().filter_map(|node| self.layer(0).block(*node));
        blocks.for_each(|block| self.base.compare(block));
    }

    /// Those of `nodes` that no path from the entry reaches in the base layer.
    pub(crate) fn unreachable(&self, nodes: &[u32]) -> Vec<u32> {
        let base = self.layer(0);
        let mut seen = vec![false; self.base.len() / base.degree.max(1)];
        let mut open = vec![self.entry];
        while let Some(node) = open.pop() {
            if let Some(seen) = seen.get_mut(node as usize).filter(|seen| !**seen) {
                *seen = true;
                open.extend(base.links(node).iter().take_while(|link| **link != NONE));
            }
        }
        nodes.iter().copied().filter(|node| !seen.get(*node as usize).copied().unwrap_or(false)).collect()
    }
}

impl<'a> Layer<'a> {
    /// The block of a row. Empty for a row that is not in this layer.
    #[inline]
    pub(crate) fn links(&self, place: u32) -> &'a [u32] {
        self.block(place).and_then(|block| self.links.get(block)).unwrap_or_default()
    }

    /// The position of a row's block.
    #[inline]
    pub(crate) fn block(&self, place: u32) -> Option<Range<usize>> {
        let index = match self.members {
            None => place as usize,
            Some(members) => members.binary_search(&place).ok()?,
        };
        Some(index * self.degree..(index + 1) * self.degree)
    }

    /// The rows of this layer with their blocks.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u32, &'a [u32])> + '_ {
        let place = |i: usize| self.members.map_or(Some(i as u32), |members| members.get(i).copied()).unwrap_or(NONE);
        self.links.chunks_exact(self.degree.max(1)).enumerate().map(move |(i, block)| (place(i), block))
    }

    pub(crate) fn contains(&self, place: u32) -> bool {
        self.members.is_none_or(|members| members.binary_search(&place).is_ok())
    }

    pub(crate) fn degree(&self) -> usize {
        self.degree
    }
}

/// How many layers above the base a node is in. A hash of its number decides, so every build gives the same layers.
pub(crate) fn height(place: u32, degree: usize) -> usize {
    let uniform = ((crate::hash::mix(u64::from(place) ^ 0x6c61_7965_7273) >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
    ((-uniform.ln() / (degree.max(2) as f64).ln()) as usize).min(LAYERS)
}
