//! Searching a space for the rows nearest to a query.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    error::Result,
    exact::{Search, scan},
    graph::{Graph, Stored},
    rows::{Hit, NONE, Rows, comparable},
    segment_space::SegmentSpace,
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
    among: Option<&'a [Among]>,
    effort: Option<usize>,
    exact: bool,
}

/// What a filter lets pass of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// All records.
    All,
    /// Those that the filter is true for.
    Some,
    /// No record.
    None,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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
        Self { space, row, count: 10, class: None, source: None, filter: None, among: None, effort: None, exact: false }
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

    /// What is known of the filter, for each segment in the order of [`Index::segments`](crate::Index::segments). Where it
    /// lets all pass it is not called, and where it lets none pass nothing is searched.
    pub fn among(self, segments: &'a [Among]) -> Self {
        Self { among: Some(segments), ..self }
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
    /// If the row does not fit the space, or the index is damaged where the search read it.
    pub fn run(self) -> Result<Answer> {
        comparable(self.row, self.space.dims())?;
        let mut all = Answer::none();
        for at in 0..self.space.parts().len() {
            let search = InPart::new(&self, at, all.floor(self.count));
            let found = search.globally(search.by_walk().unwrap_or_else(|| search.by_scan()));
            all = merged(all, found, self.count);
        }
        self.space.intact()?;
        Ok(all)
    }
}

impl Answer {
    fn none() -> Self {
        Self { hits: Vec::new(), exact: true }
    }

    /// The similarity that a record of another segment needs to be among the best.
    fn floor(&self, count: usize) -> f32 {
        let last = count.checked_sub(1).and_then(|last| self.hits.get(last));
        last.map_or(f32::NEG_INFINITY, |last| last.similarity)
    }
}

/// The answers of two segments as one.
fn merged(mut answer: Answer, other: Answer, count: usize) -> Answer {
    answer.hits.extend(other.hits);
    answer.hits.sort_unstable_by(Hit::order);
    answer.hits.truncate(count);
    Answer { exact: answer.exact && other.exact, ..answer }
}

/// A search in one segment, by the places of its rows.
struct InPart<'s, 'a> {
    asked: &'s Nearest<'a>,
    at: usize,
    space: &'a SegmentSpace,
    removed: &'a [u32],
    /// The place of the source in this segment whose records are not to be found. `None` if it is in another.
    source: Option<u32>,
    /// What other segments have found is at least as similar as this.
    floor: f32,
    among: Among,
}

impl<'s, 'a> InPart<'s, 'a> {
    fn new(asked: &'s Nearest<'a>, at: usize, floor: f32) -> Self {
        let part = &asked.space.parts()[at];
        let source = asked.source.and_then(|source| asked.space.sources.locate(source));
        let source = source.filter(|(segment, _)| *segment == part.segment).map(|(_, place)| place);
        let known = asked.among.and_then(|segments| segments.get(part.segment)).copied();
        let among = known.unwrap_or(if asked.filter.is_some() { Among::Some } else { Among::All });
        Self { asked, at, space: &part.space, removed: asked.space.numbers.removed(at), source, floor, among }
    }

    /// Searches the graph. `None` if a scan is required or cheaper.
    fn by_walk(&self) -> Option<Answer> {
        let asked = self.asked;
        if self.among == Among::None {
            return Some(Answer::none());
        }
        let graph = self.space.graph.as_ref().filter(|_| !asked.exact && !self.scan_is_cheaper())?;
        let filtered = asked.class.is_some() || self.source.is_some() || self.among == Among::Some;
        let filtered = filtered || !self.removed.is_empty();
        let passes = |place| !filtered || self.passes(place);
        let effort = asked.effort.unwrap_or(self.space.effort);
        self.space
            .with_scratch(|scratch| propose(&self.space.rows, graph, asked.row, asked.count, effort, &passes, scratch))
            .map(|hits| Answer { hits, exact: false })
    }

    fn by_scan(&self) -> Answer {
        let passes = |place| self.passes(place);
        let search = Search { row: self.asked.row, count: self.asked.count, floor: self.floor, passes: &passes };
        let hits = scan(&self.space.rows, self.range(), &[search]).pop().unwrap_or_default();
        Answer { hits, exact: true }
    }

    /// Whether a scan is certainly as fast as a walk. A walk can still be abandoned for a scan when few rows pass.
    fn scan_is_cheaper(&self) -> bool {
        self.asked.class.is_some() && self.range().len() < FEW || self.asked.count > self.space.count() / 8
    }

    fn range(&self) -> Range<usize> {
        self.asked.class.map_or(0..self.space.count(), |class| self.space.records.range(class))
    }

    fn passes(&self, place: u32) -> bool {
        let record = || self.space.records.get(place);
        let number = || self.asked.space.numbers.number(self.at, place);
        self.asked.class.is_none_or(|class| self.space.records.range(class).contains(&(place as usize)))
            && self.source.is_none_or(|source| record().is_some_and(|record| record.source != source))
            && self.removed.binary_search(&place).is_err()
            && self.filter().is_none_or(|filter| number().is_some_and(filter))
    }

    /// The filter, if it has to be called here.
    fn filter(&self) -> Option<&'a (dyn Fn(u32) -> bool + Sync)> {
        self.asked.filter.filter(|_| self.among == Among::Some)
    }

    /// The answer with the numbers of the index instead of places.
    fn globally(&self, mut answer: Answer) -> Answer {
        let number = |place| self.asked.space.numbers.number(self.at, place);
        answer.hits.iter_mut().for_each(|hit| hit.record = number(hit.record).unwrap_or(NONE));
        answer
    }
}

/// Runs many searches of a space in parallel. Exact ones share passes over the rows.
pub(crate) fn run_many(space: &Space, searches: Vec<Nearest<'_>>) -> Result<Vec<Answer>> {
    let mut all: Vec<Answer> = searches.iter().map(|_| Answer::none()).collect();
    for at in 0..space.parts().len() {
        let floors: Vec<f32> = all.iter().zip(&searches).map(|(answer, search)| answer.floor(search.count)).collect();
        let answers = run_part(space, at, &searches, &floors)?;
        for (((all, found), search), floor) in all.iter_mut().zip(answers).zip(&searches).zip(floors) {
            let found = InPart::new(search, at, floor).globally(found);
            *all = merged(std::mem::replace(all, Answer::none()), found, search.count);
        }
    }
    Ok(all)
}

/// Runs many searches in one part of a space. Hits have places in this part instead of numbers. Those below the floor of a
/// search can be missing.
pub(crate) fn run_part(space: &Space, at: usize, searches: &[Nearest<'_>], floors: &[f32]) -> Result<Vec<Answer>> {
    searches.par_iter().try_for_each(|search| comparable(search.row, space.dims()).map(drop))?;
    let searches: Vec<InPart<'_, '_>> =
        searches.iter().zip(floors).map(|(search, floor)| InPart::new(search, at, *floor)).collect();
    let groups: Vec<&[InPart<'_, '_>]> = searches
        .chunk_by(|a, b| a.asked.exact == b.asked.exact && a.asked.class == b.asked.class)
        .flat_map(|same| same.chunks(BATCH))
        .collect();
    let answers = groups.into_par_iter().with_max_len(1).flat_map_iter(|group| {
        let answers: Vec<Option<Answer>> = group.iter().map(InPart::by_walk).collect();
        let left: Vec<&InPart<'_, '_>> =
            group.iter().zip(&answers).filter(|(_, a)| a.is_none()).map(|(s, _)| s).collect();
        let passes: Vec<_> = left.iter().map(|search| |place| search.passes(place)).collect();
        let scans: Vec<Search<'_>> = left
            .iter()
            .zip(&passes)
            .map(|(search, passes)| {
                let Nearest { row, count, .. } = *search.asked;
                Search { row, count, floor: search.floor, passes }
            })
            .collect();
        let (space, range) = (group[0].space, group[0].range());
        let mut scanned = if scans.is_empty() { Vec::new() } else { scan(&space.rows, range, &scans) }.into_iter();
        let fill = |answer: Option<Answer>| {
            answer.unwrap_or_else(|| Answer { hits: scanned.next().unwrap_or_default(), exact: true })
        };
        answers.into_iter().map(fill).collect::<Vec<_>>()
    });
    let answers = answers.collect();
    space.intact()?;
    Ok(answers)
}

/// Walks the graph, then computes the similarities of the rows that can be among the best. `None` if the filter rejects so
/// many rows that a scan is cheaper.
pub(crate) fn propose(
    rows: &Rows,
    graph: &Graph<impl Stored>,
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
    // After the walk, whose inner loop is too short for it.
    rows.compact.compare(&scratch.read);
    graph.compare(&scratch.followed);
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
