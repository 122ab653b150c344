//! What the driver asks of every library.

use std::time::Instant;

/// Neighbours that every search asks for.
pub const COUNT: usize = 10;
/// Links of a node in the upper layers of every graph; twice as many in the base layer.
pub const DEGREE: usize = 16;
/// Candidates that are kept while a graph is built.
pub const BUILD_EFFORT: usize = 200;
/// What is not a row, in the place of a neighbour that was not found.
pub const NO_ROW: u32 = u32::MAX;

/// A library that has built its index.
pub trait Library {
    /// Name in tables and plots.
    fn name(&self) -> &str;
    /// What building took.
    fn built(&self) -> Built;
    /// Searches for the queries from one number up to another.
    fn search(&mut self, from: usize, to: usize, how: How) -> anyhow::Result<Found>;
}

/// Seconds that a build took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Built {
    /// Until it can be searched.
    pub ready: f64,
    /// For saving it; 0 where that was not tried.
    pub saving: f64,
}

/// A way to search.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// One query after another on one thread.
    OneByOne { effort: usize },
    /// As the library does many queries at once.
    Bulk { effort: usize, threads: usize },
    /// Without a graph, all queries at once.
    Exact { threads: usize },
}

/// What a search found, and the seconds it took.
pub struct Found {
    pub seconds: f64,
    /// [`COUNT`] rows for each query, filled up with [`NO_ROW`].
    pub ids: Vec<u32>,
}

/// Runs something and says how long that took.
pub fn timed<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let started = Instant::now();
    let answer = run();
    (started.elapsed().as_secs_f64(), answer)
}

/// Answers of any length as [`COUNT`] rows each.
pub fn filled(answers: impl Iterator<Item = impl Iterator<Item = u32>>) -> Vec<u32> {
    answers.flat_map(|ids| ids.chain(std::iter::repeat(NO_ROW)).take(COUNT)).collect()
}

/// A pool of so many threads, for what runs on rayon.
pub fn pool(threads: usize) -> anyhow::Result<rayon::ThreadPool> {
    Ok(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?)
}
