//! Writing a space: rows to their places as they come, then everything that is computed from them.

use std::path::PathBuf;

use rayon::prelude::*;

use crate::{
    compact::{Compact, encode, stride},
    container::Writer,
    error::{Error, Result},
    format::FACTS,
    graph::{Graph, LAYERS},
    groups::Groups,
    grow::Growing,
    meta::{GraphFacts, Metric, SpaceFacts},
    recall::{held_out, least_effort},
    rows::{Rows, fits, nodes, twins},
    space::{BASE, COMPACT, COUNTS, GROUP_SUMS, KIND, MEAN, MEMBERS, MOST_DIMS, ROWS, SIZES, SUMS, TWINS, UPPER},
};

/// What a space will hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpaceSpec {
    /// Dimensions of a row.
    pub dims: usize,
    /// How rows are compared.
    pub metric: Metric,
}

/// How a graph is grown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphSpec {
    /// Links of a node in the upper layers (2 to 512); twice as many in the base layer.
    pub degree: usize,
    /// Candidates kept while inserting a node.
    pub effort: usize,
    /// Spaces with fewer distinct rows get no graph: a scan of so few is as fast, and exact.
    pub least: usize,
}

impl Default for GraphSpec {
    fn default() -> Self {
        Self { degree: 16, effort: 200, least: 2000 }
    }
}

/// A step of building a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Adding up the rows of each label.
    Sums,
    /// Adding up the rows of each group; counted in groups of all groupings.
    Groups,
    /// Writing compact rows.
    Compact,
    /// Looking for equal rows.
    Twins,
    /// Growing the graph; counted in nodes.
    Graph,
    /// Measuring what the graph finds.
    Recall,
    /// Checksums, and everything to the disk.
    Save,
}

/// Told how far a phase is: phase, done, of how many.
pub(crate) type Tell<'a> = &'a (dyn Fn(Phase, u64, u64) + Sync);

/// Writes a space.
#[derive(Debug)]
pub(crate) struct SpaceWriter {
    file: Writer,
    spec: SpaceSpec,
    rows: u64,
    starts: Vec<u64>,
}

impl SpaceWriter {
    pub(crate) fn create(path: PathBuf, spec: SpaceSpec, starts: &[u64]) -> Result<Self> {
        if spec.dims == 0 || spec.dims as u64 > MOST_DIMS {
            return Err(Error::input("the number of dimensions", format!("1 to {MOST_DIMS}"), spec.dims));
        }
        let mut file = Writer::create(path, KIND)?;
        let count = starts.last().copied().unwrap_or_default();
        let rows = file.reserve::<f32>(ROWS, count * spec.dims as u64)?;
        Ok(Self { file, spec, rows, starts: starts.to_vec() })
    }

    pub(crate) fn fits(&self, row: &[f32]) -> Result<()> {
        fits(row, self.spec.dims, self.spec.metric)
    }

    pub(crate) fn put(&mut self, place: u64, row: &[f32]) -> Result<()> {
        self.file.write_at(self.rows + place * 4 * self.spec.dims as u64, row)
    }

    /// Computes and writes the rest from the rows, which are mapped, not loaded.
    pub(crate) fn finish(mut self, spec: GraphSpec, groups: &Groups, tell: Tell<'_>) -> Result<SpaceFacts> {
        let dims = self.spec.dims;
        let values = self.file.view::<f32>(ROWS)?;
        let count = values.len() / dims;
        tell(Phase::Sums, 0, 1);
        let sums = label_sums(&values, dims, &self.starts);
        let counts: Vec<u64> = self.starts.windows(2).map(|ends| ends[1] - ends[0]).chain([count as u64]).collect();
        self.file.section(SUMS, &sums)?;
        self.file.section(COUNTS, &counts)?;
        let mean: Vec<f32> = sums[sums.len() - dims..].iter().map(|sum| (sum / count.max(1) as f64) as f32).collect();
        self.file.section(MEAN, &mean)?;
        let group_count = self.write_group_sums(groups, &values, tell)?;

        self.file.start::<i8>(COMPACT)?;
        for (i, part) in values.chunks(4096 * dims).enumerate() {
            tell(Phase::Compact, i as u64 * 4096, count as u64);
            let mut rounded = vec![0i8; part.len() / dims * stride(dims)];
            let rows = part.par_chunks(dims).zip(rounded.par_chunks_mut(stride(dims)));
            rows.for_each(|(row, out)| encode(row, &mean, out));
            self.file.push(&rounded)?;
        }
        tell(Phase::Twins, 0, 1);
        self.file.section(TWINS, &twins(&values, dims))?;
        let compact = Compact::new(self.file.view(COMPACT)?, self.file.view(MEAN)?);
        let rows = Rows { values, dims, compact, twins: self.file.view(TWINS)? };
        let nodes = nodes(&rows.twins);
        let grown = (self.spec.metric == Metric::Cosine && nodes.len() >= spec.least.max(1))
            .then(|| grow(&rows, &nodes, spec, tell))
            .flatten();
        let mut facts = [0; FACTS];
        facts[..3].copy_from_slice(&[dims as u64, count as u64, self.starts.len() as u64 - 1]);
        facts[5] = group_count;
        if let Some((graph, _)) = &grown {
            facts[3..5].copy_from_slice(&[graph.degree as u64, u64::from(graph.entry)]);
            self.write(graph)?;
        }
        tell(Phase::Save, 0, 1);
        self.file.finish(facts)?;
        let graph = grown.map(|(_, facts)| facts);
        Ok(SpaceFacts { dims: dims as u32, metric: self.spec.metric, distinct: nodes.len() as u64, graph })
    }

    /// Writes the sums of all groups, one grouping at a time; returns how many groups there are.
    fn write_group_sums(&mut self, groups: &Groups, values: &[f32], tell: Tell<'_>) -> Result<u64> {
        let dims = self.spec.dims;
        let total = groups.counts().iter().copied().map(u64::from).sum();
        let mut done = 0;
        self.file.start::<f32>(GROUP_SUMS)?;
        for grouping in 0..groups.counts().len() {
            groups.sums(grouping, values, dims, |_, sums| {
                tell(Phase::Groups, done, total);
                done += (sums.len() / dims) as u64;
                self.file.push(sums)
            })?;
        }
        Ok(total)
    }

    fn write(&mut self, graph: &Graph<Vec<u32>>) -> Result<()> {
        let mut sizes = [0u64; LAYERS];
        sizes.iter_mut().zip(&graph.ranges).for_each(|(size, range)| *size = range.len() as u64);
        self.file.section(SIZES, &sizes)?;
        self.file.section(BASE, &graph.base)?;
        self.file.section(MEMBERS, &graph.members)?;
        self.file.section(UPPER, &graph.upper)
    }
}

/// Grows the graph, measuring before the last nodes go in what it finds of their neighbours; `None` if it is unfit.
fn grow(rows: &Rows, nodes: &[u32], spec: GraphSpec, tell: Tell<'_>) -> Option<(Graph<Vec<u32>>, GraphFacts)> {
    let total = nodes.len() as u64;
    let progress = |done| tell(Phase::Graph, done, total);
    let mut growing = Growing::new(&rows.compact, nodes, spec.degree, spec.effort);
    growing.grow(nodes.len() - held_out(nodes.len()), &progress);
    tell(Phase::Recall, 0, 1);
    let (effort, recall) = least_effort(rows, &growing.graph, growing.rest());
    let held_out = growing.rest().len() as u32;
    growing.grow(nodes.len(), &progress);
    let facts = GraphFacts {
        degree: spec.degree as u32,
        build_effort: spec.effort as u32,
        effort: effort as u32,
        recall,
        held_out,
    };
    growing.mend().then_some((growing.graph, facts))
}

/// The sums of each label's rows, then the sum of these; in f64 and in a fixed order, so always to the same bits.
pub(crate) fn label_sums(values: &[f32], dims: usize, starts: &[u64]) -> Vec<f64> {
    let labels: Vec<Vec<f64>> = starts
        .par_windows(2)
        .map(|ends| {
            let mut sum = vec![0f64; dims];
            for row in values[ends[0] as usize * dims..ends[1] as usize * dims].chunks_exact(dims) {
                sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
            }
            sum
        })
        .collect();
    let mut total = vec![0f64; dims];
    labels.iter().for_each(|sum| total.iter_mut().zip(sum).for_each(|(total, sum)| *total += sum));
    labels.into_iter().flatten().chain(total).collect()
}
