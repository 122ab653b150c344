//! Searching a space for the rows nearest to a query.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    error::Result,
    exact::{Search, scan},
    graph::Graph,
    rows::{Hit, Rows, comparable},
    simd::prefetch,
    space::Space,
    walk::{Scratch, descend, walk},
};

/// A search for the records nearest to a row. [`Space::nearest`] begins it, the methods set options.
#[derive(Clone, Copy)]
#[must_use = "the search runs when `run` is called"]
pub struct Nearest<'a> {
    space: &'a Space,
    row: &'a [f32],
    count: usize,
    class: Option<u32>,
    source: Option<u32>,
    filter: Option<&'a (dyn Fn(u32) -> bool + Sync)>,
    effort: Option<usize>,
    exact: bool,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The records found, most similar first, ties by number. Fewer than requested if fewer pass the filters.
    pub hits: Vec<Hit>,
    /// Whether a scan found them, so that they are certainly the nearest. Otherwise the graph found them.
    pub exact: bool,
}

/// Scanning fewer rows than this is as fast as walking the graph.
const FEW: usize = 2000;
/// Exact searches that share a pass over the rows.
const BATCH: usize = 32;

impl<'a> Nearest<'a> {
    pub(crate) fn new(space: &'a Space, row: &'a [f32]) -> Self {
        Self { space, row, count: 10, class: None, source: None, filter: None, effort: None, exact: false }
    }

    /// How many records to find. 10 by default.
    pub fn count(self, count: usize) -> Self {
        Self { count, ..self }
    }

    /// Finds only records of this class.
    pub fn class(self, class: u32) -> Self {
        Self { class: Some(class), ..self }
    }

    /// Finds no records of this source.
    pub fn except_source(self, source: u32) -> Self {
        Self { source: Some(source), ..self }
    }

    /// Finds only records for whose number this is true.
    pub fn filter(self, filter: &'a (dyn Fn(u32) -> bool + Sync)) -> Self {
        Self { filter: Some(filter), ..self }
    }

    /// How many candidates the walk over the graph keeps. More give better recall and take longer. The default was measured
    /// when the index was built.
    pub fn effort(self, effort: usize) -> Self {
        Self { effort: Some(effort), ..self }
    }

    /// Searches without the graph: the result is certainly the nearest records.
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// Runs the search.
    ///
    /// # Errors
    /// If the row does not fit the space.
    pub fn run(self) -> Result<Answer> {
        comparable(self.row, self.space.dims())?;
        Ok(self.by_walk().unwrap_or_else(|| self.by_scan()))
    }

    /// Searches the graph. `None` if a scan is required or cheaper.
    fn by_walk(&self) -> Option<Answer> {
        let graph = self.space.graph.as_ref().filter(|_| !self.exact && !self.scan_is_cheaper())?;
        let filtered = self.class.is_some() || self.source.is_some() || self.filter.is_some();
        let passes = |record| !filtered || self.passes(record);
        let effort = self.effort.unwrap_or(self.space.effort);
        self.space
            .with_scratch(|scratch| propose(&self.space.rows, graph, self.row, self.count, effort, &passes, scratch))
            .map(|hits| Answer { hits, exact: false })
    }

    fn by_scan(&self) -> Answer {
        let passes = |record| self.passes(record);
        let search = Search { row: self.row, count: self.count, passes: &passes };
        let hits = scan(&self.space.rows, self.range(), &[search]).pop().unwrap_or_default();
        Answer { hits, exact: true }
    }

    /// Whether a scan is certainly as fast as a walk. A walk can still be abandoned for a scan when few rows pass.
    fn scan_is_cheaper(&self) -> bool {
        self.class.is_some() && self.range().len() < FEW || self.count > self.space.count() / 8
    }

    fn range(&self) -> Range<usize> {
        self.class.map_or(0..self.space.count(), |class| self.space.records.range(class))
    }

    fn passes(&self, number: u32) -> bool {
        let record = || self.space.records.get(number);
        self.class.is_none_or(|class| self.space.records.range(class).contains(&(number as usize)))
            && self.source.is_none_or(|source| record().is_some_and(|record| record.source != source))
            && self.filter.is_none_or(|filter| filter(number))
    }
}

/// Runs many searches in parallel. Exact ones share passes over the rows.
pub(crate) fn run_many(searches: Vec<Nearest<'_>>) -> Result<Vec<Answer>> {
    searches.par_iter().try_for_each(|search| comparable(search.row, search.space.dims()).map(drop))?;
    let groups: Vec<&[Nearest<'_>]> = searches
        .chunk_by(|a, b| a.exact == b.exact && a.class == b.class)
        .flat_map(|same| same.chunks(BATCH))
        .collect();
    let answers = groups.into_par_iter().with_max_len(1).flat_map_iter(|group| {
        let answers: Vec<Option<Answer>> = group.iter().map(Nearest::by_walk).collect();
        let left: Vec<&Nearest<'_>> = group.iter().zip(&answers).filter(|(_, a)| a.is_none()).map(|(s, _)| s).collect();
        let passes: Vec<_> = left.iter().map(|search| |record| search.passes(record)).collect();
        let scans: Vec<Search<'_>> = left
            .iter()
            .zip(&passes)
            .map(|(search, passes)| Search { row: search.row, count: search.count, passes })
            .collect();
        let range = group[0].range();
        let space = group[0].space;
        let mut scanned = if scans.is_empty() { Vec::new() } else { scan(&space.rows, range, &scans) }.into_iter();
        let fill = |answer: Option<Answer>| {
            answer.unwrap_or_else(|| Answer { hits: scanned.next().unwrap_or_default(), exact: true })
        };
        answers.into_iter().map(fill).collect::<Vec<_>>()
    });
    Ok(answers.collect())
}

/// Walks the graph, then computes the similarities of the rows that can be among the best. `None` if the filter rejects so
/// many rows that a scan is cheaper.
pub(crate) fn propose(
    rows: &Rows,
    graph: &Graph<impl std::ops::Deref<Target = [u32]>>,
    row: &[f32],
    count: usize,
    effort: usize,
    passes: &impl Fn(u32) -> bool,
    scratch: &mut Scratch,
) -> Option<Vec<Hit>> {
    let query = rows.compact.query(row);
    let start = descend(graph, &rows.compact, &query, 0, scratch);
    let effort = effort.max(count + count / 2);
    let any = |node| rows.chain(node).any(passes);
    walk(graph.layer(0), &rows.compact, &query, &[start], effort, any, scratch).then_some(())?;
    let mut hits: Vec<Hit> = Vec::with_capacity(count + 1);
    let candidates = || scratch.pool.iter().filter(|candidate| candidate.passes);
    candidates().take(count).for_each(|candidate| prefetch(rows.get(candidate.id).unwrap_or_default()));
    for candidate in candidates() {
        if hits.len() >= count {
            // The full bound covers the worst rounding. A quarter of it is about five times the typical error.
            let most = candidate.estimate + 0.25 * rows.compact.bound(&query, candidate.id);
            if hits.last().is_none_or(|last| most < last.similarity) {
                break;
            }
        }
        let similarity = rows.similarity(row, candidate.id);
        for record in rows.chain(candidate.id).filter(|record| passes(*record)) {
            let hit = Hit { record, similarity };
            let place = hits.partition_point(|other| other.order(&hit).is_lt());
            if place < count {
                hits.insert(place, hit);
                hits.truncate(count);
            }
        }
    }
    Some(hits)
}
