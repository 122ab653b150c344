//! Growing a graph: rows are inserted in batches, each batch searching the graph as the last one left it.
//!
//! A batch is searched in parallel and linked in a fixed order, so that the graph is the same for any number of threads.
//! It is never more than a small part of what is there, so that what its rows miss of each other does not matter.

use rayon::prelude::*;

use crate::{
    compact::{Compact, Query},
    graph::{Graph, Layer, height},
    rows::NONE,
    walk::{Scratch, descend, walk},
};

/// A graph in the making.
pub(crate) struct Growing<'a> {
    pub(crate) graph: Graph<Vec<u32>>,
    compact: &'a Compact,
    effort: usize,
    /// Nodes from the tallest to the lowest, in each height in a mixed order.
    order: Vec<u32>,
    grown: usize,
}

/// A link that a batch asks for: from, to.
type Wish = (u32, u32);

impl<'a> Growing<'a> {
    pub(crate) fn new(compact: &'a Compact, nodes: &[u32], degree: usize, effort: usize) -> Self {
        let mut order = nodes.to_vec();
        order.sort_by_cached_key(|node| {
            (std::cmp::Reverse(height(*node, degree)), crate::hash::mix(u64::from(*node)), *node)
        });
        let entry = order.first().copied().unwrap_or(NONE);
        let top = if nodes.is_empty() { 0 } else { height(entry, degree) };
        let (mut members, mut ranges) = (Vec::new(), Vec::new());
        for level in 1..=top {
            let start = members.len();
            members.extend(nodes.iter().filter(|node| height(**node, degree) >= level));
            ranges.push(start..members.len());
        }
        let base = vec![NONE; compact.count() * 2 * degree];
        let upper = vec![NONE; members.len() * degree];
        Self { graph: Graph { degree, entry, base, members, upper, ranges }, compact, effort, order, grown: 0 }
    }

    /// The nodes that have not been inserted yet, which are those of the base layer alone once few are left.
    pub(crate) fn rest(&self) -> &[u32] {
        &self.order[self.grown..]
    }

    /// Inserts nodes until this many are in.
    pub(crate) fn grow(&mut self, until: usize, progress: &(dyn Fn(u64) + Sync)) {
        while self.grown < until.min(self.order.len()) {
            let batch = (self.grown / 24).clamp(1, 1024).min(until - self.grown);
            let nodes = &self.order[self.grown..self.grown + batch];
            let (graph, compact, effort, first) = (&self.graph, self.compact, self.effort, self.grown == 0);
            let wishes: Vec<Vec<Vec<Wish>>> =
                nodes
                    .par_iter()
                    .with_max_len(16)
                    .map_init(Memory::default, |memory, &node| {
                        if first { Vec::new() } else { memory.place(graph, compact, node, effort) }
                    })
                    .collect();
            for level in 0..=self.graph.ranges.len() {
                let wishes = wishes.iter().filter_map(|levels| levels.get(level)).flatten().copied().collect();
                self.link(level, wishes);
            }
            self.grown += batch;
            progress(self.grown as u64);
        }
    }

    /// Makes every node reachable from the entry; false if that did not succeed, which leaves the graph unfit.
    pub(crate) fn mend(&mut self) -> bool {
        for _ in 0..32 {
            let lost = self.graph.unreachable(&self.order);
            if lost.is_empty() {
                return true;
            }
            let mut memory = Memory::default();
            for node in lost {
                let near = memory.near(&self.graph, self.compact, node, self.effort);
                let layer = self.graph.layer(0);
                let free = near.iter().find(|other| layer.links(**other).last() == Some(&NONE)).or(near.first());
                let Some(block) = free.and_then(|other| layer.block(*other)) else { continue };
                let block = &mut self.graph.base[block];
                // Without a free place among all those near, the farthest link makes room; the next round looks again.
                let place = block.iter().position(|link| *link == NONE).unwrap_or(block.len() - 1);
                block[place] = node;
            }
        }
        false
    }

    /// Adds links to a layer; where a node has more than fit, the selection is made anew.
    fn link(&mut self, level: usize, mut wishes: Vec<Wish>) {
        wishes.sort_unstable();
        let (layer, compact) = (self.graph.layer(level), self.compact);
        let lists: Vec<(std::ops::Range<usize>, Vec<u32>)> = wishes
            .chunk_by(|a, b| a.0 == b.0)
            .collect::<Vec<_>>()
            .into_par_iter()
            .with_max_len(64)
            .map_init(Memory::default, |memory, wishes| {
                let node = wishes[0].0;
                let mut all: Vec<u32> = layer.links(node).iter().copied().take_while(|link| *link != NONE).collect();
                all.extend(wishes.iter().map(|wish| wish.1));
                if all.len() > layer.degree() {
                    let near = memory.compare(compact, node, &all);
                    all = memory.select(compact, near, layer.degree());
                }
                (layer.block(node).unwrap_or_default(), all)
            })
            .collect();
        let links = if level == 0 { &mut self.graph.base[..] } else { self.upper(level) };
        for (block, list) in lists {
            links[block]
                .iter_mut()
                .zip(list.into_iter().chain(std::iter::repeat(NONE)))
                .for_each(|(link, id)| *link = id);
        }
    }

    fn upper(&mut self, level: usize) -> &mut [u32] {
        let (range, degree) = (&self.graph.ranges[level - 1], self.graph.degree);
        &mut self.graph.upper[range.start * degree..range.end * degree]
    }
}

/// What one thread keeps between nodes.
#[derive(Default)]
struct Memory {
    scratch: Scratch,
    query: Query,
    other: Query,
    products: Vec<i32>,
    estimates: Vec<f32>,
}

impl Memory {
    /// The links that a new node should have, in both directions, for each of its layers.
    fn place(&mut self, graph: &Graph<Vec<u32>>, compact: &Compact, node: u32, effort: usize) -> Vec<Vec<Wish>> {
        let height = height(node, graph.degree).min(graph.ranges.len());
        compact.load(node, &mut self.query);
        let mut starts = vec![descend(graph, compact, &self.query, height, &mut self.scratch)];
        let mut wishes = vec![Vec::new(); height + 1];
        for level in (0..=height).rev() {
            let near = self.search(graph.layer(level), compact, &starts, effort);
            starts.clear();
            starts.extend(near.iter().map(|(_, id)| *id));
            let chosen = self.select(compact, near, graph.degree);
            wishes[level] = chosen.into_iter().flat_map(|other| [(node, other), (other, node)]).collect();
        }
        wishes
    }

    /// Nodes near this one that the base layer leads to.
    fn near(&mut self, graph: &Graph<Vec<u32>>, compact: &Compact, node: u32, effort: usize) -> Vec<u32> {
        compact.load(node, &mut self.query);
        let start = descend(graph, compact, &self.query, 0, &mut self.scratch);
        let near = self.search(graph.layer(0), compact, &[start], effort);
        near.into_iter().map(|(_, id)| id).filter(|id| *id != node).collect()
    }

    fn search(&mut self, layer: Layer<'_>, compact: &Compact, starts: &[u32], effort: usize) -> Vec<(f32, u32)> {
        walk(layer, compact, &self.query, starts, effort, |_| true, &mut self.scratch);
        self.scratch.pool.iter().map(|candidate| (candidate.estimate, candidate.id)).collect()
    }

    /// The similarity of a node with others, most similar first.
    fn compare(&mut self, compact: &Compact, node: u32, others: &[u32]) -> Vec<(f32, u32)> {
        compact.load(node, &mut self.query);
        self.products.resize(others.len(), 0);
        self.estimates.resize(others.len(), 0.0);
        compact.estimates(&self.query, others, &mut self.products, &mut self.estimates);
        let mut near: Vec<(f32, u32)> = self.estimates.iter().copied().zip(others.iter().copied()).collect();
        near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        near
    }

    /// Of nodes near another, most similar first: those that are nearer to it than to any that was chosen before them.
    fn select(&mut self, compact: &Compact, near: Vec<(f32, u32)>, most: usize) -> Vec<u32> {
        let mut chosen: Vec<u32> = Vec::with_capacity(most);
        for (similarity, id) in near {
            if chosen.len() == most {
                break;
            }
            compact.load(id, &mut self.other);
            // In small groups, since most of those that are turned away are so by one of the first.
            let apart = chosen.chunks(8).all(|group| {
                let (mut products, mut estimates) = ([0; 8], [f32::NEG_INFINITY; 8]);
                compact.estimates(&self.other, group, &mut products, &mut estimates);
                estimates.iter().all(|estimate| *estimate < similarity)
            });
            if apart {
                chosen.push(id);
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compact::tests::stored,
        testing::{Random, cone},
    };

    #[test]
    fn every_node_can_be_reached_even_after_all_links_to_it_are_lost() {
        let rows = cone(&mut Random::new(1), 600, 12, 10, 0.9);
        let compact = stored(&rows, 12);
        let nodes: Vec<u32> = (0..600).collect();
        let mut growing = Growing::new(&compact, &nodes, 4, 30);
        growing.grow(600, &|_| {});
        assert!(growing.mend());
        let lost: Vec<u32> =
            nodes.iter().copied().filter(|node| node % 50 == 3 && *node != growing.graph.entry).collect();
        for block in growing.graph.base.chunks_mut(8) {
            let kept: Vec<u32> = block.iter().copied().filter(|link| !lost.contains(link)).collect();
            block.fill(NONE);
            block[..kept.len()].copy_from_slice(&kept);
        }
        assert_eq!(growing.graph.unreachable(&nodes), lost);
        assert!(growing.mend());
        assert!(growing.graph.unreachable(&nodes).is_empty());
    }

    #[test]
    fn a_block_is_links_to_others_of_its_layer_and_then_nothing() {
        let rows = cone(&mut Random::new(2), 900, 12, 10, 0.9);
        let compact = stored(&rows, 12);
        let nodes: Vec<u32> = (0..900).filter(|node| node % 3 > 0).collect();
        let mut growing = Growing::new(&compact, &nodes, 4, 30);
        growing.grow(600, &|_| {});
        assert!(growing.graph.ranges.len() > 1, "a graph with layers");
        for level in 0..=growing.graph.ranges.len() {
            let layer = growing.graph.layer(level);
            for (place, block) in layer.blocks() {
                let end = block.iter().position(|link| *link == NONE).unwrap_or(block.len());
                assert!(block[end..].iter().all(|link| *link == NONE));
                assert!(level > 0 || (end > 0) == (place % 3 > 0), "only nodes have links, and every node has");
                assert!(block[..end].iter().all(|link| *link != place && link % 3 > 0 && layer.contains(*link)));
            }
        }
    }
}
