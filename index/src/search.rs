//! Asking a space for the edges nearest to a row.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    error::Result,
    exact::{Wanted, scan},
    graph::Graph,
    rows::{Hit, Rows, comparable},
    simd::prefetch,
    space::Space,
    walk::{Scratch, descend, walk},
};

/// A question to a [`Space`]: which edges are nearest to a row?
#[derive(Clone, Copy)]
#[must_use = "nothing is searched until `run`"]
pub struct Nearest<'a> {
    space: &'a Space,
    row: &'a [f32],
    count: usize,
    label: Option<u32>,
    sentence: Option<u32>,
    filter: Option<&'a (dyn Fn(u32) -> bool + Sync)>,
    effort: Option<usize>,
    exact: bool,
}

/// The edges that were found, most similar first, equal similarities by number.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The edges; fewer than asked for where fewer pass the filters.
    pub hits: Vec<Hit>,
    /// Whether these are the nearest for certain, by a scan; otherwise the graph proposed them.
    pub exact: bool,
}

/// Rows that are as fast to scan as to walk to.
const FEW: usize = 2000;
/// Queries that share a pass over the rows.
const TOGETHER: usize = 32;

impl<'a> Nearest<'a> {
    pub(crate) fn new(space: &'a Space, row: &'a [f32]) -> Self {
        Self { space, row, count: 10, label: None, sentence: None, filter: None, effort: None, exact: false }
    }

    /// How many edges; 10 unless this says otherwise.
    pub fn count(self, count: usize) -> Self {
        Self { count, ..self }
    }

    /// Only edges with this label.
    pub fn label(self, label: u32) -> Self {
        Self { label: Some(label), ..self }
    }

    /// No edges of this sentence.
    pub fn except_sentence(self, sentence: u32) -> Self {
        Self { sentence: Some(sentence), ..self }
    }

    /// Only edges for whose number this is true.
    pub fn filter(self, filter: &'a (dyn Fn(u32) -> bool + Sync)) -> Self {
        Self { filter: Some(filter), ..self }
    }

    /// How many candidates the walk keeps: more find more and take longer. The index has measured a good default.
    pub fn effort(self, effort: usize) -> Self {
        Self { effort: Some(effort), ..self }
    }

    /// Searches without the graph: the nearest for certain.
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// Answers the question.
    ///
    /// # Errors
    /// If the row does not fit the space.
    pub fn run(self) -> Result<Answer> {
        comparable(self.row, self.space.dims())?;
        Ok(self.by_walk().unwrap_or_else(|| self.by_scan()))
    }

    /// The answer from the graph; `None` where a scan is right or cheaper.
    fn by_walk(&self) -> Option<Answer> {
        let graph = self.space.graph.as_ref().filter(|_| !self.exact && !self.scan_is_cheaper())?;
        let filtered = self.label.is_some() || self.sentence.is_some() || self.filter.is_some();
        let passes = |edge| !filtered || self.passes(edge);
        let effort = self.effort.unwrap_or(self.space.effort);
        self.space
            .with_scratch(|scratch| propose(&self.space.rows, graph, self.row, self.count, effort, &passes, scratch))
            .map(|hits| Answer { hits, exact: false })
    }

    fn by_scan(&self) -> Answer {
        let passes = |edge| self.passes(edge);
        let wanted = Wanted { row: self.row, count: self.count, passes: &passes };
        let hits = scan(&self.space.rows, self.range(), &[wanted]).pop().unwrap_or_default();
        Answer { hits, exact: true }
    }

    /// A scan of few rows takes no longer than a walk. A walk for rows that are rare where it leads is given up for one.
    fn scan_is_cheaper(&self) -> bool {
        self.label.is_some() && self.range().len() < FEW || self.count > self.space.count() / 8
    }

    fn range(&self) -> Range<usize> {
        self.label.map_or(0..self.space.count(), |label| self.space.edges.range(label))
    }

    fn passes(&self, edge: u32) -> bool {
        let record = || self.space.edges.get(edge);
        self.label.is_none_or(|label| self.space.edges.range(label).contains(&(edge as usize)))
            && self.sentence.is_none_or(|sentence| record().is_some_and(|record| record.sentence != sentence))
            && self.filter.is_none_or(|filter| filter(edge))
    }
}

/// Answers many questions in parallel; exact ones share passes over the rows.
pub(crate) fn run_many(searches: Vec<Nearest<'_>>) -> Result<Vec<Answer>> {
    searches.par_iter().try_for_each(|search| comparable(search.row, search.space.dims()).map(drop))?;
    let groups: Vec<&[Nearest<'_>]> = searches
        .chunk_by(|a, b| a.exact == b.exact && a.label == b.label)
        .flat_map(|same| same.chunks(TOGETHER))
        .collect();
    let answers = groups.into_par_iter().with_max_len(1).flat_map_iter(|group| {
        let answers: Vec<Option<Answer>> = group.iter().map(Nearest::by_walk).collect();
        let left: Vec<&Nearest<'_>> = group.iter().zip(&answers).filter(|(_, a)| a.is_none()).map(|(s, _)| s).collect();
        let passes: Vec<_> = left.iter().map(|search| |edge| search.passes(edge)).collect();
        let wanted: Vec<Wanted<'_>> = left
            .iter()
            .zip(&passes)
            .map(|(search, passes)| Wanted { row: search.row, count: search.count, passes })
            .collect();
        let range = group[0].range();
        let space = group[0].space;
        let mut scanned = if wanted.is_empty() { Vec::new() } else { scan(&space.rows, range, &wanted) }.into_iter();
        let fill = |answer: Option<Answer>| {
            answer.unwrap_or_else(|| Answer { hits: scanned.next().unwrap_or_default(), exact: true })
        };
        answers.into_iter().map(fill).collect::<Vec<_>>()
    });
    Ok(answers.collect())
}

/// Walks the graph and computes the similarity of those rows that may be among the best.
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
            // The full bound holds for the worst rounding of all; a quarter of it is some five times the usual error.
            let most = candidate.estimate + 0.25 * rows.compact.bound(&query, candidate.id);
            if hits.last().is_none_or(|last| most < last.similarity) {
                break;
            }
        }
        let similarity = rows.similarity(row, candidate.id);
        for edge in rows.chain(candidate.id).filter(|edge| passes(*edge)) {
            let hit = Hit { edge, similarity };
            let place = hits.partition_point(|other| other.order(&hit).is_lt());
            if place < count {
                hits.insert(place, hit);
                hits.truncate(count);
            }
        }
    }
    Some(hits)
}
