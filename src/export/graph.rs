//! The graph as a dump that the crate `hnsw_rs` (0.3) loads: its own format, written from our graph.
//!
//! A dump is two files, `edges.hnsw.graph` and `edges.hnsw.data`, of native numbers, which are little-endian with 64-bit
//! sizes on every machine that citree runs on. Both list points layer by layer, each in the highest layer that it is in.
//!
//! Rows have unit length, so the Euclidean distance orders them as their cosine does: cosine = 1 − distance² / 2.
//! `hnsw_rs` has a distance of dot products too (`DistDot`), but without its SIMD feature that one panics where rounding
//! makes the product of two equal rows larger than 1.

use super::{Export, Output, npy, refused, write_to};
use crate::error::{Error, Result};
use crate::files::Unpublished;
use citree_index::container::sync_folder;
use citree_index::{Adjacency, GraphSpec, Metric, Phase};
use std::fs::File;
use std::path::Path;

// The numbers of hnsw_rs' format (its `hnswio.rs`).
const DESCRIPTION: u32 = 0x002a_6779;
const LAYER: u32 = 0x000a_676f;
const POINT: u32 = 0x000a_678f;
const DATA: u32 = 0xa67f_0000;
/// Layers that every dump has, most of them empty.
const LAYERS: u8 = 16;
/// Links are stored with the layer and the rank of their points.
const FULL: u8 = 1;

/// A node's place in the dump: its layer, and its rank there.
type Place = (u8, i32);

impl Export<'_> {
    /// Writes a folder with the dump, and a table that gives every edge its id and its point. The folder must not exist.
    pub(crate) fn graph_as_hnsw_rs(&self, folder: &Path, tell: &(dyn Fn(Phase, u64, u64) + Sync)) -> Result<()> {
        if self.metric != Metric::Cosine {
            let how = "export the rows, and compare with all of them";
            return Err(refused(&format!("a graph over dot products misses too many of the nearest edges; {how}")));
        }
        if folder.exists() {
            let how = "remove it, or give another name";
            return Err(refused(&format!("{} is there already; {how}", folder.display())));
        }
        let new = Unpublished::folder(folder)?;
        let scratch = new.path().join("scratch");
        std::fs::create_dir(&scratch).map_err(Error::io(&scratch))?;
        let spec = GraphSpec::default();
        let graph = self.space.adjacency(&scratch, spec, tell)?;
        let dump = Dump::new(self, &graph, spec.effort);
        let file = |name: &str, write: &dyn Fn(Output<'_>) -> Result<()>| {
            let path = new.path().join(name);
            write_to(&path, File::create(&path).map_err(Error::io(&path))?, write)
        };
        file("edges.hnsw.graph", &|out| dump.graph(out))?;
        file("edges.hnsw.data", &|out| dump.data(out))?;
        file("points.npy", &|out| dump.points(out))?;
        drop(graph);
        std::fs::remove_dir_all(&scratch).map_err(Error::io(&scratch))?;
        sync_folder(new.path())?;
        new.publish()
    }
}

struct Dump<'a> {
    export: &'a Export<'a>,
    graph: &'a Adjacency,
    /// Candidates that the build kept.
    effort: usize,
    /// The nodes whose highest layer is this one.
    layers: Vec<Vec<u32>>,
    /// The place of each node, by its number.
    places: Vec<Place>,
}

impl<'a> Dump<'a> {
    fn new(export: &'a Export<'a>, graph: &'a Adjacency, effort: usize) -> Self {
        let mut layers = vec![Vec::new(); usize::from(LAYERS)];
        let mut places = vec![(0, 0); export.count() as usize];
        for node in graph.nodes() {
            let layer = (1..graph.layers()).take_while(|layer| graph.links(*layer, *node).is_some()).count();
            places[*node as usize] = (layer as u8, layers[layer].len() as i32);
            layers[layer].push(*node);
        }
        Self { export, graph, effort, layers, places }
    }

    /// The graph file: a description, the points with their links in all layers, and where a search enters.
    fn graph(&self, mut out: Output<'_>) -> Result<()> {
        out.write(&self.description())?;
        let (mut done, total) = (0, self.graph.nodes().len() as u64);
        for nodes in &self.layers {
            out.write(&LAYER.to_le_bytes())?;
            out.write(&(nodes.len() as u64).to_le_bytes())?;
            for node in nodes {
                out.write(&self.point(*node)?)?;
                done += 1;
                if done % 1024 == 0 {
                    (self.export.tell)(done, total);
                }
            }
        }
        let mut entry = Vec::new();
        self.push_name(&mut entry, self.graph.entry());
        out.write(&entry)
    }

    fn description(&self) -> Vec<u8> {
        let mut bytes = DESCRIPTION.to_le_bytes().to_vec();
        bytes.push(FULL);
        bytes.push(self.graph.degree().min(255) as u8);
        // The scale of the layers of points that are inserted later, as a multiple of the usual one.
        bytes.extend(1f64.to_le_bytes());
        bytes.push(LAYERS);
        for size in [self.effort, self.graph.nodes().len(), self.export.space.dims()] {
            bytes.extend((size as u64).to_le_bytes());
        }
        for name in ["anndists::dist::distances::DistL2", "f32"] {
            bytes.extend((name.len() as u64).to_le_bytes());
            bytes.extend(name.as_bytes());
        }
        bytes.push(LAYERS);
        bytes
    }

    fn point(&self, node: u32) -> Result<Vec<u8>> {
        let row = self.export.row(node)?;
        let length = distance(row, &vec![0.0; row.len()]);
        if (length - 1.0).abs() > 1e-3 {
            return Err(refused(&format!(
                "the row of edge {node} has the length {length}, not 1; `citree verify` checks"
            )));
        }
        let mut bytes = POINT.to_le_bytes().to_vec();
        self.push_name(&mut bytes, node);
        for layer in 0..usize::from(LAYERS) {
            let links = self.graph.links(layer, node).unwrap_or_default();
            bytes.extend((links.len() as u64).to_le_bytes());
            for link in links {
                self.push_name(&mut bytes, *link);
                bytes.extend(distance(row, self.export.row(*link)?).to_le_bytes());
            }
        }
        Ok(bytes)
    }

    /// A point by its number and its place.
    fn push_name(&self, bytes: &mut Vec<u8>, node: u32) {
        let (layer, rank) = self.places.get(node as usize).copied().unwrap_or_default();
        bytes.extend(u64::from(node).to_le_bytes());
        bytes.push(layer);
        bytes.extend(rank.to_le_bytes());
    }

    /// The data file: the rows of the points in the same order.
    fn data(&self, mut out: Output<'_>) -> Result<()> {
        out.write(&DATA.to_le_bytes())?;
        out.write(&(self.export.space.dims() as u64).to_le_bytes())?;
        for node in self.layers.iter().flatten() {
            let row = self.export.row(*node)?;
            let mut bytes = DATA.to_le_bytes().to_vec();
            bytes.extend(u64::from(*node).to_le_bytes());
            bytes.extend((size_of_val(row) as u64).to_le_bytes());
            bytes.extend(row.iter().flat_map(|value| value.to_le_bytes()));
            out.write(&bytes)?;
        }
        Ok(())
    }

    /// For every edge its id and its point: the first edge with an equal row.
    fn points(&self, mut out: Output<'_>) -> Result<()> {
        let mut points = vec![0u64; self.export.count() as usize];
        for node in self.graph.nodes() {
            for twin in self.graph.twins(*node) {
                points.get_mut(twin as usize).into_iter().for_each(|point| *point = u64::from(*node));
            }
        }
        out.write(&npy::header(&[("id", "<u8", None), ("point", "<u8", None)], points.len() as u64))?;
        for (number, point) in (0..).zip(points) {
            out.write(&[self.export.id(number)?.to_le_bytes(), point.to_le_bytes()].concat())?;
        }
        Ok(())
    }
}

fn distance(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt() as f32
}
