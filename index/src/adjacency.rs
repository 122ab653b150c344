//! The graph over all rows of a space, for programs that write it in a format of their own.

use std::{path::Path, sync::Arc};

use crate::{
    contrasts::{ContrastWriter, SegmentContrasts},
    error::{Error, Result},
    meta::Metric,
    rows::{NONE, nodes},
    segment_space::SegmentSpace,
    space::Space,
    space_writer::{GraphSpec, Phase, SpaceSpec},
};

/// A graph over all rows of a space, by the numbers of their records. Only the first of several equal rows is a node.
#[derive(Debug)]
pub struct Adjacency {
    space: Arc<SegmentSpace>,
    nodes: Vec<u32>,
}

impl Space {
    /// The graph over all rows: that of the index, if it has one over exactly these rows. Otherwise a graph is built, with
    /// files in `scratch`, an empty folder. Remove it when the result is dropped. Building is deterministic.
    ///
    /// # Errors
    /// [`Error::Input`] if the rows are compared by dot products, or there are none, or some cannot be reached from the
    /// others. An I/O error if the graph cannot be written.
    pub fn adjacency(
        &self,
        scratch: &Path,
        spec: GraphSpec,
        progress: &(dyn Fn(Phase, u64, u64) + Sync),
    ) -> Result<Adjacency> {
        let metric = self.parts().first().map_or(Metric::Cosine, |part| part.space.metric());
        if metric != Metric::Cosine {
            return Err(Error::input("the metric of a graph", "cosine", "the dot product"));
        }
        let space = match self.parts() {
            [part] if self.numbers.removed(0).is_empty() && part.space.graph.is_some() => part.space.clone(),
            _ => self.gathered(scratch, GraphSpec { least: 1, ..spec }, progress)?,
        };
        if space.graph.is_none() {
            let expected = "some, each within reach of the others";
            return Err(Error::input("the rows of a graph", expected, format!("{} rows", self.count())));
        }
        let nodes = nodes(&space.rows.twins);
        // All links are read from here on.
        space.graph.iter().for_each(|graph| graph.base.compare(0..graph.base.len()));
        space.file.intact()?;
        Ok(Adjacency { space, nodes })
    }

    /// All rows in one segment with a graph, by the same numbers.
    fn gathered(
        &self,
        scratch: &Path,
        graph: GraphSpec,
        progress: &(dyn Fn(Phase, u64, u64) + Sync),
    ) -> Result<Arc<SegmentSpace>> {
        // Contrast records are rows with neither classes nor groups, which a graph does not need.
        let spec = SpaceSpec { dims: self.dims(), metric: Metric::Cosine };
        let mut writer = ContrastWriter::create(scratch, self.count() as u64, spec)?;
        for number in 0..self.count() as u32 {
            writer.add(0, [0, 0], self.row(number).unwrap_or_default())?;
        }
        self.intact()?;
        let tell = |phase, done, total| {
            progress(phase, done, total);
            Ok(())
        };
        let facts = writer.finish(graph, 1, &tell)?;
        Ok(SegmentContrasts::open(scratch, &facts, &facts.space)?.space)
    }
}

impl Adjacency {
    /// The nodes, ascending.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The rows that are equal to a node's, the node itself first.
    pub fn twins(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        self.space.rows.chain(node)
    }

    /// The node where every search begins. It is in all layers.
    pub fn entry(&self) -> u32 {
        self.space.graph.as_ref().map_or(NONE, |graph| graph.entry)
    }

    /// Most links of a node in the upper layers. The base layer allows twice as many.
    pub fn degree(&self) -> usize {
        self.space.graph.as_ref().map_or(0, |graph| graph.degree)
    }

    /// The number of layers, the base included, which is layer 0.
    pub fn layers(&self) -> usize {
        self.space.graph.as_ref().map_or(0, |graph| graph.ranges.len() + 1)
    }

    /// The nodes that a node has links to in a layer. `None` if it is not in this layer.
    pub fn links(&self, layer: usize, node: u32) -> Option<&[u32]> {
        let layer = self.space.graph.as_ref().filter(|_| layer < self.layers())?.layer(layer);
        let links = layer.contains(node).then(|| layer.links(node))?;
        Some(&links[..links.iter().position(|link| *link == NONE).unwrap_or(links.len())])
    }
}
