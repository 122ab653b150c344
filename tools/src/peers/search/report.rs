//! The tables of a run in Markdown.

use super::library::Built;
use super::measure::{Point, WANTED};
use super::start::Start;
use crate::train::median;
use std::fmt::Write;

/// A library with its build times and its point at the wanted recall.
pub struct Entry {
    pub name: String,
    pub built: Built,
    pub best: Point,
}

/// Build times, and single-thread search at the wanted recall. The first entry is ours.
pub fn graphs(entries: &[Entry], threads: usize) -> String {
    let mut out = format!(
        "Built with {threads} threads; searched on one, one query at a time, at the fastest effort with recall ≥ {WANTED}:\n\n\
         | library | build, s | and saved, s | ours builds faster by | effort | recall | queries/s | ours is faster by | in each round |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---|\n"
    );
    for entry in entries {
        let Built { ready, saving } = entry.built;
        let saved = if saving > 0.0 { format!("{:.1}", ready + saving) } else { "–".to_string() };
        let building = ready / entries[0].built.ready;
        let found = searched(&entry.best, &entries[0].best);
        let _ = writeln!(out, "| {} | {ready:.1} | {saved} | {building:.2} | {found} |", entry.name);
    }
    out + "\nBuild: from the first row to a searchable index in memory. Ours also writes its rows to a file in that time. \
           Measuring its own recall, checksums and flushing to disk count as saving. Its second space is minimal: one \
           value per row, no graph.\n"
}

/// Bulk search. The first entry is ours.
pub fn bulk(names: &[String], points: &[Point], queries: usize, threads: usize) -> String {
    let mut out = format!(
        "{queries} queries at once with {threads} threads, each at the least effort with recall ≥ {WANTED}:\n\n\
         | library | effort | recall | queries/s | ours is faster by | in each round |\n|---|---:|---:|---:|---:|---|\n"
    );
    for (name, point) in names.iter().zip(points) {
        let _ = writeln!(out, "| {name} | {} |", searched(point, &points[0]));
    }
    out
}

/// Exact search with one number of threads: names and points, ours first.
pub struct Exact {
    pub threads: usize,
    pub points: Vec<(String, Point)>,
}

/// Exact search, for each number of threads.
pub fn exact(measured: &[Exact], queries: usize) -> String {
    let mut out = format!(
        "Exact search, {queries} queries at once:\n\n\
         | library | threads | recall | queries/s | ours is faster by | in each round |\n|---|---:|---:|---:|---:|---|\n"
    );
    for Exact { threads, points } in measured {
        for (name, point) in points {
            let ((median, each), recall, speed) = (ratios(&points[0].1, point), point.recall, point.speed());
            let _ = writeln!(out, "| {name} | {threads} | {recall:.5} | {speed:.0} | {median:.2} | {each} |");
        }
    }
    out
}

/// Times to the first answer; ours with the number of rows of each index.
pub fn start(ours: &[(usize, Start)], peers: &[(String, f64)]) -> String {
    let mut out = "Start to first answer, fresh processes, files in memory, medians of 20:\n\n\
                   | library | rows | from opening to answer, ms | whole process, ms |\n|---|---:|---:|---:|\n"
        .to_string();
    for (rows, start) in ours {
        let (inside, process) = (start.inside * 1e3, start.process * 1e3);
        let _ = writeln!(out, "| citree | {rows} | {inside:.2} | {process:.2} |");
    }
    let most = ours.iter().map(|(rows, _)| *rows).max().unwrap_or_default();
    for (name, seconds) in peers {
        let _ = writeln!(out, "| {name} | {most} | {:.2} | not counted: Python |", seconds * 1e3);
    }
    for pair in ours.windows(2) {
        let ((few, before), (many, after)) = (&pair[0], &pair[1]);
        let times = *many as f64 / (*few).max(1) as f64;
        let (inside, process) = (after.inside / before.inside, after.process / before.process);
        let _ = writeln!(
            out,
            "\n{times:.1} times the rows: {inside:.2} of the time to answer, {process:.2} of the process."
        );
    }
    out
}

fn searched(point: &Point, ours: &Point) -> String {
    let (median, each) = ratios(ours, point);
    let short = if point.recall < WANTED { " (below)" } else { "" };
    format!("{} | {:.4}{short} | {:.0} | {median:.2} | {each}", point.effort, point.recall, point.speed())
}

/// How much faster ours was: the median, and the range over rounds.
fn ratios(ours: &Point, theirs: &Point) -> (f64, String) {
    let mut each: Vec<f64> = ours.speeds.iter().zip(&theirs.speeds).map(|(ours, theirs)| ours / theirs).collect();
    each.sort_by(f64::total_cmp);
    let range = format!("{:.2} to {:.2}", each.first().unwrap_or(&f64::NAN), each.last().unwrap_or(&f64::NAN));
    (median(each), range)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(recall: f64, speeds: &[f64]) -> Point {
        Point { effort: 40, recall, speeds: speeds.to_vec() }
    }

    #[test]
    fn ratios_are_per_round_and_low_recall_is_marked() {
        let names = ["citree".to_string(), "peer".to_string()];
        let table = bulk(&names, &[point(0.995, &[300.0, 100.0, 400.0]), point(0.9, &[100.0, 100.0, 100.0])], 7, 2);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[4], "| citree | 40 | 0.9950 | 300 | 1.00 | 1.00 to 1.00 |");
        assert_eq!(lines[5], "| peer | 40 | 0.9000 (below) | 100 | 3.00 | 1.00 to 4.00 |");
    }

    #[test]
    fn larger_indexes_are_compared_with_smaller_ones() {
        let start = |inside| Start { inside, process: 0.01 };
        let text = super::start(&[(10, start(0.001)), (100, start(0.002))], &[("peer".to_string(), 0.5)]);
        assert!(
            text.contains("| peer | 100 | 500.00 |") && text.contains("10.0 times the rows: 2.00 of the time"),
            "{text}"
        );
    }
}
