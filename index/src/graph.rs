//! The graph: layers of links between rows, each layer a sparser copy of the one below, as they lie in the file.
//!
//! The base layer has a block of links for every row, so that a row's number is its address. An upper layer has the
//! sorted numbers of its members and a block for each. A block is filled up with [`NONE`]. Rows that are equal to an earlier
//! one have an empty block: the earlier one stands for them.

use std::ops::{Deref, Range};

use crate::rows::NONE;

/// Most layers above the base.
pub(crate) const LAYERS: usize = 8;

/// A graph; `S` is where its numbers lie, a file or memory.
#[derive(Clone, Debug)]
pub(crate) struct Graph<S> {
    /// Links of a node in the upper layers; the base layer has twice as many.
    pub(crate) degree: usize,
    /// Where every walk begins: a member of all layers.
    pub(crate) entry: u32,
    pub(crate) base: S,
    pub(crate) members: S,
    pub(crate) upper: S,
    /// The part of `members` of each upper layer, lowest first.
    pub(crate) ranges: Vec<Range<usize>>,
}

/// One layer of a graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer<'a> {
    members: Option<&'a [u32]>,
    links: &'a [u32],
    degree: usize,
}

impl<S: Deref<Target = [u32]>> Graph<S> {
    pub(crate) fn layer(&self, level: usize) -> Layer<'_> {
        if level == 0 {
            return Layer { members: None, links: &self.base, degree: 2 * self.degree };
        }
        let range = self.ranges.get(level - 1).cloned().unwrap_or_default();
        let links = self.upper.get(range.start * self.degree..range.end * self.degree).unwrap_or_default();
        Layer { members: Some(self.members.get(range).unwrap_or_default()), links, degree: self.degree }
    }

    /// Whether a walk over the base layer from the entry can come to each of these rows; those it cannot come to.
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
    /// The block of a row; empty for a row that is not in this layer.
    #[inline]
    pub(crate) fn links(&self, place: u32) -> &'a [u32] {
        self.block(place).and_then(|block| self.links.get(block)).unwrap_or_default()
    }

    /// Where the block of a row lies.
    #[inline]
    pub(crate) fn block(&self, place: u32) -> Option<Range<usize>> {
        let index = match self.members {
            None => place as usize,
            Some(members) => members.binary_search(&place).ok()?,
        };
        Some(index * self.degree..(index + 1) * self.degree)
    }

    /// The rows of this layer that have a block, each with it.
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

/// How many layers above the base a node is in: drawn from its number, so that every build draws the same.
pub(crate) fn height(place: u32, degree: usize) -> usize {
    let uniform = ((crate::hash::mix(u64::from(place) ^ 0x6c61_7965_7273) >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
    ((-uniform.ln() / (degree.max(2) as f64).ln()) as usize).min(LAYERS)
}
