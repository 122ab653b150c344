//! Measures libraries in turns, so that other load on the machine affects all of them equally.

use super::library::{How, Library};
use super::truth::Truth;
use crate::train::median;
use std::io::Write;
use std::time::Duration;

/// The search efforts (ef) measured for every library.
pub const EFFORTS: [usize; 17] = [10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 200, 256, 320, 400];
/// The recall at which speeds are compared.
pub const WANTED: f64 = 0.99;
/// The tolerance within which a lower recall counts as equal.
const AS_GOOD: f64 = 0.001;
/// A pause between measurements. OpenMP threads busy-wait for about 200 ms after work and would slow down the next
/// library.
const REST: Duration = Duration::from_millis(300);

/// The libraries of a run.
pub type Libraries<'a> = Vec<Box<dyn Library + 'a>>;

/// A library at one effort.
#[derive(Clone, Debug)]
pub struct Point {
    pub effort: usize,
    pub recall: f64,
    /// Queries per second in each round.
    pub speeds: Vec<f64>,
}

impl Point {
    /// Queries per second: the median of the rounds.
    pub fn speed(&self) -> f64 {
        median(self.speeds.clone())
    }
}

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The number of queries.
    pub queries: usize,
    /// The number of queries per round.
    pub slice: usize,
    pub rounds: usize,
}

impl Plan {
    /// The range of queries of a round. Rounds go through the queries and start again at the end.
    fn slice(&self, round: usize) -> (usize, usize) {
        let slice = self.slice.min(self.queries);
        let from = (round * slice) % (self.queries - slice + 1);
        (from, from + slice)
    }
}

/// Measures every library at every effort on one thread, one query at a time. All use the same queries in a round.
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
                // All slices have the same size, so the total recall is the mean.
                point.recall += truth.recall(from, &found.ids) / plan.rounds as f64;
            }
        }
    }
    Ok(curves)
}

/// The fastest point with the wanted recall, or else that of [`least`].
pub fn fastest(curve: &[Point]) -> Option<&Point> {
    let reached = curve.iter().filter(|point| point.recall >= WANTED);
    reached.max_by(|a, b| a.speed().total_cmp(&b.speed())).or_else(|| least(curve))
}

/// The point of least effort with the wanted recall. If none has it, the point of least effort within `AS_GOOD` of
/// the library's best recall: rounded rows set a limit that more effort does not lift.
pub fn least(curve: &[Point]) -> Option<&Point> {
    let most = curve.iter().map(|point| point.recall).fold(0.0, f64::max);
    let enough = if most >= WANTED { WANTED } else { most - AS_GOOD };
    curve.iter().find(|point| point.recall >= enough)
}

/// Measures each library on the first queries, all at once, in its own mode.
pub fn together(
    what: &str,
    libraries: &mut [&mut dyn Library],
    ways: &[How],
    truth: &Truth,
    plan: &Plan,
) -> anyhow::Result<Vec<Point>> {
    let mut points: Vec<Point> =
        ways.iter().map(|way| Point { effort: effort(*way), recall: 0.0, speeds: Vec::new() }).collect();
    for round in 0..plan.rounds {
        writeln!(std::io::stderr(), "{what}, round {} of {}", round + 1, plan.rounds)?;
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
    fn slices_go_through_the_queries_and_start_again() {
        let plan = Plan { queries: 10, slice: 4, rounds: 4 };
        assert_eq!([0, 1, 2].map(|round| plan.slice(round)), [(0, 4), (4, 8), (1, 5)]);
        assert_eq!(Plan { queries: 3, ..plan }.slice(2), (0, 3));
    }

    #[test]
    fn points_are_chosen_by_recall_then_by_speed_or_effort() {
        let point = |effort, recall, speed| Point { effort, recall, speeds: vec![speed] };
        let efforts = |curve: &[Point]| [fastest(curve), least(curve)].map(|point| point.map(|point| point.effort));
        let curve = [point(10, 0.98, 900.0), point(20, 0.99, 500.0), point(40, 0.995, 600.0), point(80, 1.0, 100.0)];
        assert_eq!(efforts(&curve), [Some(40), Some(20)]);
        assert_eq!(efforts(&[point(10, 0.9899, 900.0), point(20, 0.9901, 500.0)]), [Some(20), Some(20)]);
        let limited = [point(10, 0.8, 900.0), point(20, 0.9, 500.0), point(40, 0.9005, 650.0)];
        assert_eq!(efforts(&limited), [Some(20), Some(20)]);
    }
}
