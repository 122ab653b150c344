//! A space: the rows of one model with sums, compact rows and graph, mapped.

use std::{
    ops::Range,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use crate::{
    Sums,
    compact::{Compact, stride},
    container::Sections,
    edges::Edges,
    error::Result,
    graph::{Graph, LAYERS},
    groups,
    map::View,
    meta::{Metric, SpaceFacts},
    rows::{Rows, comparable},
    search::{Answer, Nearest, run_many},
    similarities::similarities,
    walk::Scratch,
};

pub(crate) const KIND: u32 = 2;
pub(crate) const ROWS: u32 = 1;
pub(crate) const SUMS: u32 = 2;
pub(crate) const COUNTS: u32 = 3;
pub(crate) const MEAN: u32 = 4;
pub(crate) const COMPACT: u32 = 5;
pub(crate) const TWINS: u32 = 6;
pub(crate) const BASE: u32 = 7;
pub(crate) const MEMBERS: u32 = 8;
pub(crate) const UPPER: u32 = 9;
/// Most dimensions of a row: integer products of more could overflow.
pub(crate) const MOST_DIMS: u64 = 16_384;
/// Number of members of each upper layer, lowest first, then zeros.
pub(crate) const SIZES: u32 = 10;
pub(crate) const GROUP_SUMS: u32 = 11;

/// The edge vectors of one model, ordered by label.
#[derive(Debug)]
pub struct Space {
    pub(crate) file: Sections,
    pub(crate) edges: Arc<Edges>,
    pub(crate) rows: Rows,
    pub(crate) graph: Option<Graph<View<u32>>>,
    pub(crate) effort: usize,
    pub(crate) sums: View<f64>,
    pub(crate) counts: View<u64>,
    group_sums: View<f32>,
    metric: Metric,
    scratch: Mutex<Vec<Scratch>>,
}

impl Space {
    pub(crate) fn open(path: PathBuf, edges: Arc<Edges>, facts: &SpaceFacts) -> Result<Self> {
        let file = Sections::open(path, KIND)?;
        let [dims, count, labels, degree, entry, groups, ..] = file.facts();
        if dims == 0 || dims > MOST_DIMS || dims != u64::from(facts.dims) {
            return Err(file.damaged("the number of dimensions", facts.dims, dims));
        }
        if (count, labels) != (edges.count() as u64, edges.labels() as u64) {
            let expected = format!("{} and {}", edges.count(), edges.labels());
            return Err(file.damaged("the number of rows and labels", expected, format!("{count} and {labels}")));
        }
        let wanted = groups::total(edges.groups.counts()).unwrap_or_default();
        if groups != wanted {
            return Err(file.damaged("the number of groups", wanted, groups));
        }
        let wanted = facts.graph.map_or(0, |graph| u64::from(graph.degree));
        if degree != wanted || degree > 1024 {
            return Err(file.damaged("the degree of the graph", wanted, degree));
        }
        let compact = file.view(COMPACT, &[count, stride(dims as usize) as u64])?;
        let rows = Rows {
            values: file.view(ROWS, &[count, dims])?,
            dims: dims as usize,
            compact: Compact::new(compact, file.view(MEAN, &[dims])?),
            twins: file.view(TWINS, &[count])?,
        };
        let graph = if degree == 0 { None } else { Some(graph(&file, count, degree, entry)?) };
        let (sums, counts) = (file.view(SUMS, &[labels + 1, dims])?, file.view(COUNTS, &[labels + 1])?);
        let group_sums = file.view(GROUP_SUMS, &[groups, dims])?;
        let effort = facts.graph.map_or(0, |graph| graph.effort as usize);
        let (metric, scratch) = (facts.metric, Mutex::default());
        Ok(Self { file, edges, rows, graph, effort, sums, counts, group_sums, metric, scratch })
    }

    /// Asks for the edges nearest to a row, which may be any finite vector of length up to 10¹⁵.
    ///
    /// The graph of a cosine space is made, and its effort measured, for rows of unit length. Any other vector, such as the
    /// difference of two rows, is answered less well over it: ask such a question with [`Nearest::exact`].
    pub fn nearest<'a>(&'a self, row: &'a [f32]) -> Nearest<'a> {
        Nearest::new(self, row)
    }

    /// Answers many questions at once, on all threads: `rows` one after another, each question as `ask` completes it
    /// (`|i, nearest| nearest.count(20).except_sentence(own[i])`). Exact questions share passes over the rows.
    ///
    /// # Errors
    /// If a row does not fit the space.
    pub fn nearest_many<'a>(
        &'a self,
        rows: &'a [f32],
        ask: impl Fn(usize, Nearest<'a>) -> Nearest<'a>,
    ) -> Result<Vec<Answer>> {
        let dims = self.dims();
        self.whole(rows)?;
        run_many(rows.chunks_exact(dims).enumerate().map(|(i, row)| ask(i, self.nearest(row))).collect())
    }

    /// The similarity of a row with that of an edge, as [`crate::Hit::similarity`] has it; `None` where there is no such edge
    /// or the row has another number of dimensions.
    pub fn similarity(&self, row: &[f32], edge: u32) -> Option<f32> {
        (row.len() == self.dims() && (edge as usize) < self.count()).then(|| self.rows.similarity(row, edge))
    }

    /// The similarities of `rows`, one after another, with every edge of `range` (as far as there are such edges): all of
    /// the first row, then all of the second and so on. Each is that of [`Space::similarity`] to the bit.
    ///
    /// # Errors
    /// If a row does not fit the space, or there is no memory for so many numbers.
    pub fn similarities(&self, rows: &[f32], range: Range<u32>) -> Result<Vec<f32>> {
        self.whole(rows)?;
        rows.chunks_exact(self.dims()).try_for_each(|row| comparable(row, self.dims()).map(drop))?;
        let end = self.count().min(range.end as usize);
        similarities(&self.rows, rows, end.min(range.start as usize)..end)
    }

    /// Refuses rows one after another of which the last is not whole.
    fn whole(&self, rows: &[f32]) -> Result<()> {
        let rest = rows.chunks_exact(self.dims()).remainder();
        if rest.is_empty() { Ok(()) } else { comparable(rest, self.dims()).map(drop) }
    }

    /// The row of an edge.
    pub fn row(&self, edge: u32) -> Option<&[f32]> {
        self.rows.get(edge)
    }

    /// Number of rows, which is the number of edges.
    pub fn count(&self) -> usize {
        self.rows.count()
    }

    /// Dimensions of a row.
    pub fn dims(&self) -> usize {
        self.rows.dims
    }

    /// How rows are compared.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Sums and counts of the rows of each label.
    pub fn sums(&self) -> Sums {
        let labels = self.counts.len() - 1;
        let (sums, counts) = (self.sums[..labels * self.dims()].to_vec(), self.counts[..labels].to_vec());
        Sums::from_parts(self.dims(), sums, counts).unwrap_or_else(|| Sums::new(labels, self.dims()))
    }

    /// The sum of all rows.
    pub fn total(&self) -> &[f64] {
        &self.sums[(self.counts.len() - 1) * self.dims()..]
    }

    /// The sum of the rows of each group of a grouping, group after group; empty where there is no such grouping.
    pub fn group_sums(&self, grouping: usize) -> &[f32] {
        let range = self.edges.groups.range(grouping).unwrap_or_default();
        self.group_sums.get(range.start * self.dims()..range.end * self.dims()).unwrap_or_default()
    }

    /// Runs a search with memory of an earlier one, or with new memory if all is in use.
    pub(crate) fn with_scratch<T>(&self, run: impl FnOnce(&mut Scratch) -> T) -> T {
        let pool = || self.scratch.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut scratch = pool().pop().unwrap_or_default();
        let answer = run(&mut scratch);
        pool().push(scratch);
        answer
    }
}

fn graph(file: &Sections, count: u64, degree: u64, entry: u64) -> Result<Graph<View<u32>>> {
    let sizes = file.view::<u64>(SIZES, &[LAYERS as u64])?;
    let (mut ranges, mut total) = (Vec::new(), 0u64);
    for size in sizes.iter().copied().take_while(|size| *size > 0) {
        total = total.saturating_add(size);
        if size > count || entry >= count {
            return Err(file.damaged("a layer of the graph", format!("at most {count} rows"), size));
        }
        ranges.push((total - size) as usize..total as usize);
    }
    if sizes[ranges.len()..].iter().any(|size| *size > 0) || ranges.is_empty() && entry >= count {
        return Err(file.damaged("the layers of the graph", "without gaps", "with a gap"));
    }
    Ok(Graph {
        degree: degree as usize,
        entry: entry as u32,
        base: file.view(BASE, &[count, 2 * degree])?,
        members: file.view(MEMBERS, &[total])?,
        upper: file.view(UPPER, &[total, degree])?,
        ranges,
    })
}
