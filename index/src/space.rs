//! A space: rows with their sums, compact rows and graph, mapped.

use std::{
    ops::Range,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use crate::{
    compact::{Compact, stride},
    container::{Sections, View},
    densities::{Asked, Density, densities},
    error::{REMEDIES, Result},
    graph::{Graph, LAYERS},
    groups,
    meta::{Metric, SpaceFacts},
    records::Records,
    rows::{Rows, comparable},
    search::{Answer, Nearest, run_many},
    similarities::similarities,
    sums::Sums,
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
/// Number of members of each upper layer, lowest first, then zeros.
pub(crate) const SIZES: u32 = 10;
pub(crate) const GROUP_SUMS: u32 = 11;

/// Most dimensions of a row: integer products of more could overflow.
pub(crate) const MOST_DIMS: u64 = 16_384;

/// One row per record, ordered by class.
#[derive(Debug)]
pub struct Space {
    pub(crate) file: Sections,
    pub(crate) records: Arc<Records>,
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
    pub(crate) fn open(path: PathBuf, records: Arc<Records>, facts: &SpaceFacts) -> Result<Self> {
        let file = Sections::open_with(path, KIND, REMEDIES)?;
        let [dims, count, classes, degree, entry, groups, ..] = file.facts();
        if dims == 0 || dims > MOST_DIMS || dims != u64::from(facts.dims) {
            return Err(file.damaged("the number of dimensions", facts.dims, dims));
        }
        if (count, classes) != (records.count() as u64, records.classes() as u64) {
            let expected = format!("{} and {}", records.count(), records.classes());
            return Err(file.damaged("the number of rows and classes", expected, format!("{count} and {classes}")));
        }
        let wanted = groups::total(records.groups.counts()).unwrap_or_default();
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
        let (sums, counts) = (file.view(SUMS, &[classes + 1, dims])?, file.view(COUNTS, &[classes + 1])?);
        let group_sums = file.view(GROUP_SUMS, &[groups, dims])?;
        let effort = facts.graph.map_or(0, |graph| graph.effort as usize);
        let (metric, scratch) = (facts.metric, Mutex::default());
        Ok(Self { file, records, rows, graph, effort, sums, counts, group_sums, metric, scratch })
    }

    /// Begins a search for the records whose rows are nearest to `row`. [`Nearest::run`] runs it.
    ///
    /// The row can be any finite vector with a norm of at most 10¹⁵. The graph of a cosine space is built and its recall
    /// measured for unit vectors. For other vectors, such as the difference of two rows, its recall is lower: use
    /// [`Nearest::exact`] for these.
    ///
    /// ```
    #[doc = include_str!("../doc/small_index.md")]
    /// let index = Index::open(folder)?;
    /// let space = &index.spaces()[0];
    /// let answer = space.nearest(&[0.8, 0.6]).count(2).run()?;
    /// let [first, second] = answer.hits[..] else { panic!("two hits") };
    /// assert_eq!((first.record, second.record), (1, 0), "most similar first");
    /// assert!((first.similarity - 0.96).abs() < 1e-6);
    ///
    /// let of_class = space.nearest(&[0.8, 0.6]).class(0).exact().run()?;
    /// assert_eq!(of_class.hits, [second]);
    /// # Ok::<(), citree_index::Error>(())
    /// ```
    pub fn nearest<'a>(&'a self, row: &'a [f32]) -> Nearest<'a> {
        Nearest::new(self, row)
    }

    /// Runs many searches on all threads. `rows` holds the query rows one after another, and `ask` sets the options of
    /// each search. Exact searches share passes over the rows.
    ///
    /// ```
    #[doc = include_str!("../doc/small_index.md")]
    /// let index = Index::open(folder)?;
    /// // Two queries, each of which must not find records of its own source.
    /// let (rows, own) = ([1.0, 0.0, 0.6, 0.8], [0, 1]);
    /// let answers = index.spaces()[0].nearest_many(&rows, |i, nearest| nearest.count(1).except_source(own[i]))?;
    /// let found: Vec<u32> = answers.iter().map(|answer| answer.hits[0].record).collect();
    /// assert_eq!(found, [1, 2]);
    /// # Ok::<(), citree_index::Error>(())
    /// ```
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

    /// The similarity of a row with the row of a record, equal to that of a [`Hit`](crate::Hit). `None` if there is no
    /// such record or the row has another number of dimensions.
    pub fn similarity(&self, row: &[f32], record: u32) -> Option<f32> {
        (row.len() == self.dims() && (record as usize) < self.count()).then(|| self.rows.similarity(row, record))
    }

    /// The similarities of `rows` (one after another) with every record of `range` that exists: those of the first row,
    /// then those of the second, and so on. Each has the same bits as [`Space::similarity`].
    ///
    /// # Errors
    /// If a row does not fit the space, or the numbers do not fit into memory.
    pub fn similarities(&self, rows: &[f32], range: Range<u32>) -> Result<Vec<f32>> {
        self.whole(rows)?;
        rows.chunks_exact(self.dims()).try_for_each(|row| comparable(row, self.dims()).map(drop))?;
        let end = self.count().min(range.end as usize);
        similarities(&self.rows, rows, end.min(range.start as usize)..end)
    }

    /// For each of `rows` (one after another), the density of each class around it: the sum of
    /// exp(temperature · (similarity − 1)) over the records of the class. The records nearest to a row count exactly, the
    /// others by estimates from compact rows; [`Density`] has the bounds of the true sum.
    ///
    /// # Errors
    /// If a row does not fit the space.
    pub fn densities(&self, rows: &[f32], temperature: f32) -> Result<Vec<Vec<Density>>> {
        /// Records that count exactly.
        const NEAR: usize = 64;
        let answers = self.nearest_many(rows, |_, nearest| nearest.count(NEAR))?;
        let asked: Vec<Asked<'_>> = rows
            .chunks_exact(self.dims())
            .zip(answers)
            .map(|(row, answer)| {
                let mut near = answer.hits;
                near.sort_unstable_by_key(|hit| hit.record);
                Asked { row, near }
            })
            .collect();
        let classes: Vec<Range<usize>> =
            (0..self.records.classes() as u32).map(|class| self.records.range(class)).collect();
        Ok(densities(&self.rows, &asked, &classes, temperature))
    }

    /// Refuses consecutive rows of which the last is incomplete.
    fn whole(&self, rows: &[f32]) -> Result<()> {
        let rest = rows.chunks_exact(self.dims()).remainder();
        if rest.is_empty() { Ok(()) } else { comparable(rest, self.dims()).map(drop) }
    }

    /// The row of a record.
    pub fn row(&self, record: u32) -> Option<&[f32]> {
        self.rows.get(record)
    }

    /// Number of rows, which is the number of records.
    pub fn count(&self) -> usize {
        self.rows.count()
    }

    /// Dimensions of a row.
    pub fn dims(&self) -> usize {
        self.rows.dims
    }

    /// How rows are compared.
    pub(crate) fn metric(&self) -> Metric {
        self.metric
    }

    /// Sums and counts of the rows of each class.
    pub fn sums(&self) -> Sums {
        let classes = self.counts.len() - 1;
        let (sums, counts) = (self.sums[..classes * self.dims()].to_vec(), self.counts[..classes].to_vec());
        Sums::from_parts(self.dims(), sums, counts).unwrap_or_else(|| Sums::new(classes, self.dims()))
    }

    /// The sum of all rows.
    pub fn total(&self) -> &[f64] {
        &self.sums[(self.counts.len() - 1) * self.dims()..]
    }

    /// The sums of the rows of each group of a grouping, group after group. Empty if there is no such grouping.
    pub fn group_sums(&self, grouping: usize) -> &[f32] {
        let range = self.records.groups.range(grouping).unwrap_or_default();
        self.group_sums.get(range.start * self.dims()..range.end * self.dims()).unwrap_or_default()
    }

    /// Runs a search with the buffers of an earlier one, or with new buffers if all are in use.
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
