//! Measuring libraries in turns, so that what else the machine does meets all of them alike.

use super::library::{How, Library};
use super::truth::Truth;
use crate::train::median;
use std::io::Write;
use std::time::Duration;

/// Candidates that a search keeps, for every library.
pub const EFFORTS: [usize; 17] = [10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 200, 256, 320, 400];
/// The recall at which speeds are compared.
pub const WANTED: f64 = 0.99;
/// Threads of OpenMP wait actively for some 200 ms after they have worked, which must not slow down whoever comes next.
const REST: Duration = Duration::from_millis(300);

/// The libraries of a run.
pub type Libraries<'a> = Vec<Box<dyn Library + 'a>>;

/// A library at one effort.
#[derive(Clone, Debug)]
pub struct Point {
    pub effort: usize,
    pub recall: f64,
    /// Queries a second in each round.
    pub speeds: Vec<f64>,
}

impl Point {
    /// Queries a second: the median of the rounds.
    pub fn speed(&self) -> f64 {
        median(self.speeds.clone())
    }
}

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How many queries there are.
    pub queries: usize,
    /// How many of them a round takes.
    pub slice: usize,
    pub rounds: usize,
}

impl Plan {
    /// The queries of a round, from one number up to another: the next ones, from the first again when all have been taken.
    fn slice(&self, round: usize) -> (usize, usize) {
        let slice = self.slice.min(self.queries);
        let from = (round * slice) % (self.queries - slice + 1);
        (from, from + slice)
    }
}

/// Every library at every effort on one thread, one query at a time. In a round all search for the same queries.
pub fn curves(libraries: &mut Libraries, truth: &Truth, plan: &Plan) -> anyhow::Result<Vec<Vec<Point>>> {
    let point = |effort: &usize| Point { effort: *effort, recall: 0.0, speeds: Vec::new() };
    let mut curves = vec![EFFORTS.iter().map(point).collect::<Vec<_>>(); libraries.len()];
    let (from, to) = plan.slice(0);
    for library in libraries.iter_mut() {
        library.search(from, to, How::OneByOne { effort: EFFORTS[EFFORTS.len() / 2] })?;
    }
    for round in 0..plan.rounds {
        writeln!(std::io::stderr(), "single-thread search, round {} of {}", round + 1, plan.rounds)?;
        let (from, to) = plan.slice(round);
        for (place, effort) in EFFORTS.into_iter().enumerate() {
            for (library, curve) in libraries.iter_mut().zip(&mut curves) {
                let found = library.search(from, to, How::OneByOne { effort })?;
                let point = &mut curve[place];
                point.speeds.push((to - from) as f64 / found.seconds);
                // The slices of all rounds are of one size, so that the recall of all is the mean.
                point.recall += truth.recall(from, &found.ids) / plan.rounds as f64;
            }
        }
    }
    Ok(curves)
}

/// The fastest point that reaches the wanted recall, or if none does the one that comes nearest to it.
pub fn best(curve: &[Point]) -> Option<&Point> {
    let reached = curve.iter().filter(|point| point.recall >= WANTED);
    let fastest = reached.max_by(|a, b| a.speed().total_cmp(&b.speed()));
    fastest.or_else(|| curve.iter().max_by(|a, b| a.recall.total_cmp(&b.recall)))
}

/// Each library on the first queries, all at once and in its own way.
pub fn together(
    libraries: &mut [&mut dyn Library],
    ways: &[How],
    truth: &Truth,
    plan: &Plan,
) -> anyhow::Result<Vec<Point>> {
    let mut points: Vec<Point> =
        ways.iter().map(|way| Point { effort: effort(*way), recall: 0.0, speeds: Vec::new() }).collect();
    for round in 0..plan.rounds {
        writeln!(std::io::stderr(), "many queries at once, round {} of {}", round + 1, plan.rounds)?;
        for ((library, way), point) in libraries.iter_mut().zip(ways).zip(&mut points) {
            std::thread::sleep(REST);
            let found = library.search(0, plan.slice.min(plan.queries), *way)?;
            point.speeds.push(plan.slice.min(plan.queries) as f64 / found.seconds);
            point.recall = truth.recall(0, &found.ids);
        }
    }
    Ok(points)
}

fn effort(how: How) -> usize {
    match how {
        How::OneByOne { effort } | How::Bulk { effort, .. } => effort,
        How::Exact { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_go_through_the_queries_and_begin_again() {
        let plan = Plan { queries: 10, slice: 4, rounds: 4 };
        assert_eq!([0, 1, 2].map(|round| plan.slice(round)), [(0, 4), (4, 8), (1, 5)]);
        assert_eq!(Plan { queries: 3, ..plan }.slice(2), (0, 3));
    }

    #[test]
    fn the_best_point_is_the_fastest_of_those_with_enough_recall_or_else_the_most_exact() {
        let point = |effort, recall, speed| Point { effort, recall, speeds: vec![speed] };
        let curve = [point(10, 0.98, 900.0), point(20, 0.99, 500.0), point(40, 0.995, 600.0), point(80, 1.0, 100.0)];
        assert_eq!(best(&curve).map(|point| point.effort), Some(40));
        assert_eq!(best(&curve[..1]).map(|point| point.effort), Some(10));
    }
}
