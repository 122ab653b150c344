//! The space of one segment: rows with their sums, compact rows and graph, mapped.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use crate::{
    compact::{Compact, stride},
    container::{Sections, View},
    error::{REMEDIES, Result},
    graph::{Graph, LAYERS},
    groups,
    meta::{Metric, SpaceFacts},
    records::Records,
    rows::Rows,
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
pub(crate) struct SegmentSpace {
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

impl SegmentSpace {
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

    /// Number of rows, which is the number of records.
    pub(crate) fn count(&self) -> usize {
        self.rows.count()
    }

    /// Dimensions of a row.
    pub(crate) fn dims(&self) -> usize {
        self.rows.dims
    }

    /// How rows are compared.
    pub(crate) fn metric(&self) -> Metric {
        self.metric
    }

    /// The sum of the rows of a class, and their number. `None` for a class that the segment does not know.
    pub(crate) fn sum(&self, class: usize) -> Option<(&[f64], u64)> {
        let classes = self.counts.len() - 1;
        let sum = || self.sums.get(class * self.dims()..(class + 1) * self.dims());
        if class < classes { Some((sum()?, *self.counts.get(class)?)) } else { None }
    }

    /// The sums of the rows of each group of a grouping, group after group. Empty if there is no such grouping.
    pub(crate) fn group_sums(&self, grouping: usize) -> &[f32] {
        let range = self.records.groups.range(grouping).unwrap_or_default();
        self.group_sums.part(range.start * self.dims()..range.end * self.dims()).unwrap_or_default()
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
