//! Small indexes.

use std::path::Path;

use citree_index::{Builder, Edge, Error, GraphSpec, Index, Metric, SpaceSpec, Spec};

use crate::random::{Random, cone};

/// Edges with the rows that an index is built from.
#[derive(Clone)]
pub struct Treebank {
    pub dims: usize,
    pub labels: usize,
    pub edges: Vec<Edge>,
    pub heads: Vec<f32>,
    pub label_rows: Vec<f32>,
    pub metric: Metric,
    pub graph: GraphSpec,
}

impl Treebank {
    /// The one whose index is frozen for every version of the format; it must never change.
    pub fn to_freeze() -> Self {
        Self { graph: GraphSpec { degree: 4, effort: 20, least: 10 }, ..Self::new(1, 60, 6) }
    }

    /// A small one that is built in milliseconds.
    pub fn small(seed: u64) -> Self {
        Self { graph: GraphSpec { degree: 4, effort: 20, least: 10 }, ..Self::new(seed, 200, 9) }
    }

    /// Clustered rows in a narrow cone, ten edges a sentence.
    pub fn new(seed: u64, count: usize, dims: usize) -> Self {
        let mut random = Random::new(seed);
        let (labels, clusters) = (7, (count / 50).max(4));
        let heads = cone(&mut random, count, dims, clusters, 0.95);
        let label_rows = cone(&mut random, count, dims, clusters, 0.95);
        let edge = |i: usize| Edge {
            sentence: i as u32 / 10,
            dependent: i as u32 % 10 + 1,
            head: random.below(10) as u32,
            label: random.below(labels) as u32,
        };
        let edges = (0..count).map(edge).collect();
        Self { dims, labels, edges, heads, label_rows, metric: Metric::Cosine, graph: GraphSpec::default() }
    }

    pub fn spec(&self) -> Spec {
        let space = SpaceSpec { dims: self.dims, metric: self.metric };
        let count = |label: usize| self.edges.iter().filter(|edge| edge.label as usize == label).count() as u64;
        Spec {
            heads: space,
            labels: space,
            label_counts: (0..self.labels).map(count).collect(),
            model: b"a model".to_vec(),
            treebank: b"a treebank".to_vec(),
            groupings: vec![self.sentences(), 7],
            attachment: b"names of groups".to_vec(),
            graph: self.graph,
        }
    }

    /// A builder that has all edges.
    pub fn filled(&self, folder: &Path) -> Result<Builder, Error> {
        let mut builder = Builder::create(folder, self.spec())?;
        for sentence in 0..self.sentences() {
            assert_eq!(builder.add_sentence(format!("sentence {sentence}").as_bytes())?, sentence);
        }
        for (i, edge) in self.edges.iter().enumerate() {
            builder.add_edge(*edge, &self.groups(i), self.head(i), &self.label_rows[i * self.dims..][..self.dims])?;
        }
        Ok(builder)
    }

    pub fn build(&self, folder: &Path) -> Index {
        self.filled(folder).unwrap().finish(&|_| {}).unwrap();
        Index::open(folder).unwrap()
    }

    fn sentences(&self) -> u32 {
        self.edges.last().map_or(0, |edge| edge.sentence + 1)
    }

    /// The groups of the edge that came at this place: its sentence, and one of seven.
    pub fn groups(&self, i: usize) -> [u32; 2] {
        [self.edges[i].sentence, i as u32 % 7]
    }

    pub fn head(&self, i: usize) -> &[f32] {
        &self.heads[i * self.dims..][..self.dims]
    }

    /// The order in which an index numbers the edges: by label, then as they came.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.edges.len()).collect();
        order.sort_by_key(|i| self.edges[*i].label);
        order
    }

    /// The numbers of the nearest edges by plain arithmetic in f64, with their similarities.
    pub fn nearest(&self, row: &[f32], count: usize, passes: impl Fn(usize, &Edge) -> bool) -> Vec<(u32, f64)> {
        let all = self.order().into_iter().enumerate().filter(|(number, i)| passes(*number, &self.edges[*i]));
        let mut all: Vec<(u32, f64)> = all
            .map(|(number, i)| {
                let pairs = row.iter().zip(self.head(i));
                (number as u32, pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum())
            })
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(count);
        all
    }
}
