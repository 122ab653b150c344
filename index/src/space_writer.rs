//! Writing a space: rows at their places as they arrive, then everything that is computed from them.

use std::path::PathBuf;

use rayon::prelude::*;

use crate::{
    compact::{Compact, encode, stride},
    container::{FACTS, Section, Writer},
    error::{Error, Result},
    graph::{Graph, LAYERS},
    groups::Groups,
    grow::Growing,
    meta::{GraphFacts, Metric, SpaceFacts},
    recall::{held_out, least_effort},
    rows::{Rows, fits, nodes, twins},
    segment_space::{
        BASE, COMPACT, COUNTS, GROUP_SUMS, KIND, MEAN, MEMBERS, MOST_DIMS, ROWS, SIZES, SUMS, TWINS, UPPER,
    },
    simd::Kernel,
};

/// The rows that a space will hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpaceSpec {
    /// Dimensions of a row.
    pub dims: usize,
    /// How rows are compared.
    pub metric: Metric,
}

/// How a graph is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphSpec {
    /// Most links of a node in the upper layers (2 to 512). The base layer allows twice as many.
    pub degree: usize,
    /// Candidates that the search for a new node's neighbours keeps.
    pub effort: usize,
    /// A space with fewer distinct rows gets no graph: an exact scan of so few rows is as fast.
    pub least: usize,
}

impl Default for GraphSpec {
    fn default() -> Self {
        Self { degree: 16, effort: 200, least: 2000 }
    }
}

/// A phase of building a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Adding up the rows of each class.
    Sums,
    /// Adding up the rows of each group. Counted in groups, over all groupings.
    Groups,
    /// Writing compact rows.
    Compact,
    /// Finding equal rows.
    Twins,
    /// Building the graph. Counted in nodes.
    Graph,
    /// Measuring the recall of the graph.
    Recall,
    /// Computing checksums and syncing to the disk.
    Save,
}

/// Receives progress: the phase, how much is done, and how much there is to do. Its error ends the build.
pub(crate) type Tell<'a> = &'a (dyn Fn(Phase, u64, u64) -> Result<()> + Sync);

/// Writes a space.
#[derive(Debug)]
pub(crate) struct SpaceWriter {
    file: Writer,
    spec: SpaceSpec,
    rows: Section<f32>,
    starts: Vec<u64>,
}

impl SpaceWriter {
    pub(crate) fn create(path: PathBuf, spec: SpaceSpec, starts: &[u64]) -> Result<Self> {
        if spec.dims == 0 || spec.dims as u64 > MOST_DIMS {
            return Err(Error::input("the number of dimensions", format!("1 to {MOST_DIMS}"), spec.dims));
        }
        let mut file = Writer::create(path, KIND)?;
        let count = starts.last().copied().unwrap_or_default();
        let rows = file.reserve(ROWS, count * spec.dims as u64)?;
        Ok(Self { file, spec, rows, starts: starts.to_vec() })
    }

    pub(crate) fn fits(&self, row: &[f32]) -> Result<()> {
        fits(row, self.spec.dims, self.spec.metric)
    }

    pub(crate) fn put(&mut self, place: u64, row: &[f32]) -> Result<()> {
        self.file.write_at(&self.rows, place * self.spec.dims as u64, row)
    }

    /// Computes the rest from the rows and writes it. The rows are mapped, not loaded.
    pub(crate) fn finish(self, graph: GraphSpec, groups: &Groups, tell: Tell<'_>) -> Result<SpaceFacts> {
        let Self { mut file, spec: SpaceSpec { dims, metric }, rows, starts } = self;
        let values = file.seal(rows)?;
        let count = values.len() / dims;
        tell(Phase::Sums, 0, 1)?;
        let sums = class_sums(&values, dims, &starts);
        let counts: Vec<u64> = starts.windows(2).map(|ends| ends[1] - ends[0]).chain([count as u64]).collect();
        file.section(SUMS, &sums)?;
        file.section(COUNTS, &counts)?;
        let mean: Vec<f32> = sums[sums.len() - dims..].iter().map(|sum| (sum / count.max(1) as f64) as f32).collect();
        let stored_mean = file.section(MEAN, &mean)?;
        let group_count = write_group_sums(&mut file, groups, &values, dims, tell)?;

        let (compact, kernel) = (file.start::<i8>(COMPACT)?, Kernel::best());
        for (i, part) in values.chunks(4096 * dims).enumerate() {
            tell(Phase::Compact, i as u64 * 4096, count as u64)?;
            let mut rounded = vec![0i8; part.len() / dims * stride(dims)];
            let rows = part.par_chunks(dims).zip(rounded.par_chunks_mut(stride(dims)));
            rows.for_each(|(row, out)| encode(kernel, row, &mean, out));
            file.push(&compact, &rounded)?;
        }
        tell(Phase::Twins, 0, 1)?;
        let twins = file.section(TWINS, &twins(&values, dims))?;
        let compact = Compact::new(file.seal(compact)?, file.seal(stored_mean)?);
        let rows = Rows { values, dims, compact, twins: file.seal(twins)? };
        let nodes = nodes(&rows.twins);
        let grown = (metric == Metric::Cosine && nodes.len() >= graph.least.max(1))
            .then(|| grow(&rows, &nodes, graph, tell))
            .transpose()?
            .flatten();
        let mut facts = [0; FACTS];
        facts[..3].copy_from_slice(&[dims as u64, count as u64, starts.len() as u64 - 1]);
        facts[5] = group_count;
        if let Some((graph, _)) = &grown {
            facts[3..5].copy_from_slice(&[graph.degree as u64, u64::from(graph.entry)]);
            write_graph(&mut file, graph)?;
        }
        tell(Phase::Save, 0, 1)?;
        file.finish(facts)?;
        let graph = grown.map(|(_, facts)| facts);
        Ok(SpaceFacts { dims: dims as u32, metric, distinct: nodes.len() as u64, graph })
    }
}

/// Writes the sums of all groups, one grouping at a time. Returns how many groups there are.
fn write_group_sums(file: &mut Writer, groups: &Groups, values: &[f32], dims: usize, tell: Tell<'_>) -> Result<u64> {
    let mut done = 0;
    let section = file.start::<f32>(GROUP_SUMS)?;
    let total = groups.counts().iter().copied().map(u64::from).sum();
    for grouping in 0..groups.counts().len() {
        groups.sums(grouping, values, dims, |_, sums| {
            tell(Phase::Groups, done, total)?;
            done += (sums.len() / dims) as u64;
            file.push(&section, sums)
        })?;
    }
    Ok(total)
}

fn write_graph(file: &mut Writer, graph: &Graph<Vec<u32>>) -> Result<()> {
    let mut sizes = [0u64; LAYERS];
    sizes.iter_mut().zip(&graph.ranges).for_each(|(size, range)| *size = range.len() as u64);
    file.section(SIZES, &sizes)?;
    file.section(BASE, &graph.base)?;
    file.section(MEMBERS, &graph.members)?;
    file.section(UPPER, &graph.upper).map(drop)
}

/// Builds the graph. Before the last nodes are inserted, they serve as queries to measure the recall. `None` if some
/// nodes cannot be made reachable.
fn grow(rows: &Rows, nodes: &[u32], spec: GraphSpec, tell: Tell<'_>) -> Result<Option<(Graph<Vec<u32>>, GraphFacts)>> {
    let total = nodes.len() as u64;
    let progress = |done| tell(Phase::Graph, done, total);
    let mut growing = Growing::new(&rows.compact, nodes, spec.degree, spec.effort);
    growing.grow(nodes.len() - held_out(nodes.len()), &progress)?;
    tell(Phase::Recall, 0, 1)?;
    let (effort, recall) = least_effort(rows, &growing.graph, growing.rest());
    let held_out = growing.rest().len() as u32;
    growing.grow(nodes.len(), &progress)?;
    let facts = GraphFacts {
        degree: spec.degree as u32,
        build_effort: spec.effort as u32,
        effort: effort as u32,
        recall,
        held_out,
    };
    Ok(growing.mend().then_some((growing.graph, facts)))
}

/// The sum of the rows of each class, then the sum of these sums. In f64 and in a fixed order, so the bits are always the
/// same.
pub(crate) fn class_sums(values: &[f32], dims: usize, starts: &[u64]) -> Vec<f64> {
    let classes: Vec<Vec<f64>> = starts
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
    classes.iter().for_each(|sum| total.iter_mut().zip(sum).for_each(|(total, sum)| *total += sum));
    classes.into_iter().flatten().chain(total).collect()
}
