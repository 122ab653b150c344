//! The common interface of the libraries.

use std::time::Instant;

/// Neighbours per query.
pub const COUNT: usize = 10;
/// Links of a node in the upper layers of every graph; twice as many in the base layer.
pub const DEGREE: usize = 16;
/// The build effort (efConstruction) of every graph.
pub const BUILD_EFFORT: usize = 200;
/// Marks a missing neighbour.
pub const NO_ROW: u32 = u32::MAX;

/// A library with a built index.
pub trait Library {
    /// The name in tables and plots.
    fn name(&self) -> &str;
    /// The build times.
    fn built(&self) -> Built;
    /// Searches for the queries from number `from` to before `to`.
    fn search(&mut self, from: usize, to: usize, how: How) -> anyhow::Result<Found>;
}

/// The build times in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Built {
    /// Until it can be searched.
    pub ready: f64,
    /// For saving; 0 if it is not saved.
    pub saving: f64,
}

/// A search mode.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// One query after another on one thread.
    OneByOne { effort: usize },
    /// The library's own bulk search.
    Bulk { effort: usize, threads: usize },
    /// Without a graph, all queries at once.
    Exact { threads: usize },
}

/// The result of a search, with the seconds it took.
pub struct Found {
    pub seconds: f64,
    /// [`COUNT`] rows per query, padded with [`NO_ROW`].
    pub ids: Vec<u32>,
}

/// Runs a closure and measures its time.
pub fn timed<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let started = Instant::now();
    let answer = run();
    (started.elapsed().as_secs_f64(), answer)
}

/// Pads or truncates each answer to [`COUNT`] rows.
pub fn filled(answers: impl Iterator<Item = impl Iterator<Item = u32>>) -> Vec<u32> {
    answers.flat_map(|ids| ids.chain(std::iter::repeat(NO_ROW)).take(COUNT)).collect()
}

/// A rayon pool with this number of threads.
pub fn pool(threads: usize) -> anyhow::Result<rayon::ThreadPool> {
    Ok(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?)
}
