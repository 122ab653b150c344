//! Building a graph: rows are inserted in batches.
//!
//! The rows of a batch search the graph in parallel and are linked in a fixed order, so the graph is the same for any number
//! of threads. Rows of one batch do not find each other. A batch is small compared with the graph, so this hardly matters.

use rayon::prelude::*;

use crate::{
    compact::{Compact, Query},
    error::Result,
    graph::{Graph, Layer, height},
    rows::NONE,
    walk::{Scratch, descend, walk},
};

/// A graph under construction.
pub(crate) struct Growing<'a> {
    pub(crate) graph: Graph<Vec<u32>>,
    compact: &'a Compact,
    effort: usize,
    /// Nodes in the order of insertion: those in most layers first, otherwise in a random but fixed order.
    order: Vec<u32>,
    grown: usize,
}

/// A link to add: from, to.
type Link = (u32, u32);

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

    /// The nodes that are not inserted yet. The last ones are in the base layer only.
    pub(crate) fn rest(&self) -> &[u32] {
        &self.order[self.grown..]
    }

    /// Inserts nodes until the graph has `until` of them. An error of `progress` ends it.
    pub(crate) fn grow(&mut self, until: usize, progress: &(dyn Fn(u64) -> Result<()> + Sync)) -> Result<()> {
        while self.grown < until.min(self.order.len()) {
            let batch = (self.grown / 24).clamp(1, 1024).min(until - self.grown);
            let nodes = &self.order[self.grown..self.grown + batch];
            let (graph, compact, effort, first) = (&self.graph, self.compact, self.effort, self.grown == 0);
            let added: Vec<Vec<Vec<Link>>> = nodes
                .par_iter()
                .with_max_len(16)
                .map_init(Buffers::default, |buffers, &node| {
                    if first { Vec::new() } else { buffers.place(graph, compact, node, effort) }
                })
                .collect();
            for level in 0..=self.graph.ranges.len() {
                let added = added.iter().filter_map(|levels| levels.get(level)).flatten().copied().collect();
                self.link(level, added);
            }
            self.grown += batch;
            progress(self.grown as u64)?;
        }
        Ok(())
    }

    /// Makes every node reachable from the entry. Returns false if some nodes stay unreachable.
    pub(crate) fn mend(&mut self) -> bool {
        for _ in 0..32 {
            let lost = self.graph.unreachable(&self.order);
            if lost.is_empty() {
                return true;
            }
            let mut buffers = Buffers::default();
            for node in lost {
                let near = buffers.near(&self.graph, self.compact, node, self.effort);
                let layer = self.graph.layer(0);
                let free = near.iter().find(|other| layer.links(**other).last() == Some(&NONE)).or(near.first());
                let Some(block) = free.and_then(|other| layer.block(*other)) else { continue };
                let block = &mut self.graph.base[block];
                // If no near node has a free place, the last link is replaced. The next round checks again.
                let place = block.iter().position(|link| *link == NONE).unwrap_or(block.len() - 1);
                block[place] = node;
            }
        }
        false
    }

    /// Adds links to a layer. If a node gets more links than fit, it selects the best again.
    fn link(&mut self, level: usize, mut added: Vec<Link>) {
        added.sort_unstable();
        let (layer, compact) = (self.graph.layer(level), self.compact);
        let lists: Vec<(std::ops::Range<usize>, Vec<u32>)> = added
            .chunk_by(|a, b| a.0 == b.0)
            .collect::<Vec<_>>()
            .into_par_iter()
            .with_max_len(64)
            .map_init(Buffers::default, |buffers, added| {
                let node = added[0].0;
                let mut all: Vec<u32> = layer.links(node).iter().copied().take_while(|link| *link != NONE).collect();
                all.extend(added.iter().map(|link| link.1));
                if all.len() > layer.degree() {
                    let near = buffers.compare(compact, node, &all);
                    all = buffers.select(compact, near, layer.degree());
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

/// Buffers of one thread.
#[derive(Default)]
struct Buffers {
    scratch: Scratch,
    query: Query,
    other: Query,
    products: Vec<i32>,
    estimates: Vec<f32>,
}

impl Buffers {
    /// The links of a new node, in both directions, for each of its layers.
    fn place(&mut self, graph: &Graph<Vec<u32>>, compact: &Compact, node: u32, effort: usize) -> Vec<Vec<Link>> {
        let height = height(node, graph.degree).min(graph.ranges.len());
        compact.load(node, &mut self.query);
        let mut starts = vec![descend(graph, compact, &self.query, height, &mut self.scratch)];
        let mut added = vec![Vec::new(); height + 1];
        for level in (0..=height).rev() {
            let near = self.search(graph.layer(level), compact, &starts, effort);
            starts.clear();
            starts.extend(near.iter().map(|(_, id)| *id));
            let chosen = self.select(compact, near, graph.degree);
            added[level] = chosen.into_iter().flat_map(|other| [(node, other), (other, node)]).collect();
        }
        added
    }

    /// Nodes near this one that a search in the base layer finds.
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

    /// Selects up to `most` of a node's neighbours (given most similar first): those that are nearer to the node than to
    /// any neighbour selected before them.
    fn select(&mut self, compact: &Compact, near: Vec<(f32, u32)>, most: usize) -> Vec<u32> {
        let mut chosen: Vec<u32> = Vec::with_capacity(most);
        for (similarity, id) in near {
            if chosen.len() == most {
                break;
            }
            compact.load(id, &mut self.other);
            // In small groups, because one of the first neighbours decides most rejections.
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
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{
        compact::tests::stored,
        testing::{Random, cone},
    };

    #[test]
    fn mending_makes_every_node_reachable_again() {
        let rows = cone(&mut Random::new(1), 600, 12, 10, 0.9);
        let compact = stored(&rows, 12);
        let nodes: Vec<u32> = (0..600).collect();
        let mut growing = Growing::new(&compact, &nodes, 4, 30);
        growing.grow(600, &|_| Ok(())).unwrap();
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
    fn a_block_has_links_to_nodes_of_its_layer_and_then_end_marks() {
        let rows = cone(&mut Random::new(2), 900, 12, 10, 0.9);
        let compact = stored(&rows, 12);
        let nodes: Vec<u32> = (0..900).filter(|node| node % 3 > 0).collect();
        let mut growing = Growing::new(&compact, &nodes, 4, 30);
        growing.grow(600, &|_| Ok(())).unwrap();
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
