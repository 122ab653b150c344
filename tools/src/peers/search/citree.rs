//! Our own index as one of the libraries.

use super::library::{BUILD_EFFORT, Built, COUNT, DEGREE, Found, How, Library, filled, pool, timed};
use super::rows::Rows;
use anyhow::Context;
use citree_index::{Answer, Builder, GraphSpec, Index, Metric, Phase, Progress, Record, SpaceSpec, Spec};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// An index of citree with the rows in its first space.
pub struct Citree<'a> {
    index: Index,
    queries: &'a Rows,
    built: Built,
}

impl<'a> Citree<'a> {
    /// Builds it in this folder.
    pub fn build(folder: &Path, base: &Rows, queries: &'a Rows, threads: usize) -> anyhow::Result<Self> {
        let built = pool(threads)?.install(|| build(folder, base))?;
        Ok(Self { index: Index::open(folder)?, queries, built })
    }
}

impl Library for Citree<'_> {
    fn name(&self) -> &str {
        "citree"
    }

    fn built(&self) -> Built {
        self.built
    }

    fn search(&mut self, from: usize, to: usize, how: How) -> anyhow::Result<Found> {
        let space = &self.index.spaces()[0];
        let part = self.queries.part(from, to);
        let (seconds, answers) = match how {
            How::OneByOne { effort } => timed(|| {
                let rows = part.chunks_exact(self.queries.dims);
                rows.map(|row| space.nearest(row).count(COUNT).effort(effort).run()).collect::<Result<Vec<_>, _>>()
            }),
            How::Bulk { effort, threads } => pool(threads)?
                .install(|| timed(|| space.nearest_many(part, |_, nearest| nearest.count(COUNT).effort(effort)))),
            How::Exact { threads } => {
                pool(threads)?.install(|| timed(|| space.nearest_many(part, |_, nearest| nearest.count(COUNT).exact())))
            }
        };
        Ok(Found { seconds, ids: ids(&answers?) })
    }
}

fn ids(answers: &[Answer]) -> Vec<u32> {
    filled(answers.iter().map(|answer| answer.hits.iter().map(|hit| hit.record)))
}

/// Builds an index with a minimal second space. Separates the time of steps that peers also do (adding rows, building
/// the graph) from recall measurement, which they do not do, and from saving (checksums, disk).
fn build(folder: &Path, base: &Rows) -> anyhow::Result<Built> {
    let spec = Spec {
        spaces: [SpaceSpec { dims: base.dims, metric: Metric::Cosine }, SpaceSpec { dims: 1, metric: Metric::Dot }],
        class_counts: vec![base.count() as u64],
        groupings: Vec::new(),
        contrasts: 0,
        attachment: Vec::new(),
        model: Vec::new(),
        content: Vec::new(),
        graph: GraphSpec { degree: DEGREE, effort: BUILD_EFFORT, ..GraphSpec::default() },
    };
    let started = Instant::now();
    let mut builder = Builder::create(folder, spec)?;
    let source = builder.add_source(b"")?;
    for row in base.values.chunks_exact(base.dims) {
        builder.add(Record { source, class: 0, payload: [0, 0] }, &[], [row, &[0.0]])?;
    }
    let clock = Mutex::new(Clock { changed: started, phase: None, aside: 0.0, ready: None });
    builder.finish(&|progress| {
        clock.lock().unwrap_or_else(PoisonError::into_inner).hear(progress);
        std::ops::ControlFlow::Continue(())
    })?;
    let all = started.elapsed().as_secs_f64();
    let clock = clock.into_inner().unwrap_or_else(PoisonError::into_inner);
    let ready = clock.ready.context("the build did not report its saving phase")?;
    let ready = ready.duration_since(started).as_secs_f64() - clock.aside;
    Ok(Built { ready, saving: all - ready })
}

/// Records the times of the phases of a build.
struct Clock {
    changed: Instant,
    phase: Option<Phase>,
    /// Seconds spent on measuring recall.
    aside: f64,
    /// When the first space was complete but not yet saved.
    ready: Option<Instant>,
}

impl Clock {
    fn hear(&mut self, progress: Progress) {
        if progress.space != 0 || self.phase == Some(progress.phase) {
            return;
        }
        if self.phase == Some(Phase::Recall) {
            self.aside += self.changed.elapsed().as_secs_f64();
        }
        if progress.phase == Phase::Save {
            self.ready = Some(Instant::now());
        }
        (self.changed, self.phase) = (Instant::now(), Some(progress.phase));
    }
}

/// Opens an index and answers the first query of a file. Returns the seconds from opening to the answer. The driver
/// runs this in a separate process.
pub fn first_answer(folder: &Path, queries: &Path, dims: usize) -> anyhow::Result<f64> {
    let query = Rows::read_first(queries, dims)?;
    let (seconds, answer) = timed(|| Index::open(folder)?.spaces()[0].nearest(query.row(0)).count(COUNT).run());
    anyhow::ensure!(answer?.hits.len() == COUNT, "too few neighbours in {}", folder.display());
    Ok(seconds)
}
