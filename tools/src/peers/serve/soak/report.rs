//! The report of a soak test in Markdown.

use super::tally::{Outcome, Tally};
use crate::serve::numbers::{percentile, slope};
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter, Result as Fmt};
use std::process::ExitStatus;
use std::time::Duration;

/// The memory of the server at a time since the clients started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub minutes: f64,
    pub mib: f64,
}

/// How the server ended.
#[derive(Debug)]
pub struct End {
    /// The exit status as text.
    status: String,
    /// What went wrong.
    failures: Vec<String>,
    /// The panics and the open connections just before the stop.
    counted: Option<(u64, u64)>,
}

impl End {
    /// The server ended without being asked to.
    pub fn by_itself(status: ExitStatus) -> Self {
        Self {
            status: status.to_string(),
            failures: vec![format!("the server ended by itself: {status}")],
            counted: None,
        }
    }

    /// The server was asked to stop; `after` is how long that took, and `counted` are its metrics before.
    pub fn stopped(status: anyhow::Result<ExitStatus>, after: Duration, counted: anyhow::Result<(u64, u64)>) -> Self {
        let mut failures = Vec::new();
        let status = match status {
            Ok(status) if status.success() => format!("{status}, {:.1} s after SIGTERM", after.as_secs_f64()),
            Ok(status) => {
                failures.push(format!("the server did not end well: {status}"));
                status.to_string()
            }
            Err(error) => {
                failures.push(format!("the server did not end: {error:#}"));
                "none".to_string()
            }
        };
        match &counted {
            Ok((0, _)) => {}
            Ok((panics, _)) => failures.push(format!("{panics} requests ended in a panic")),
            Err(error) => failures.push(format!("/metrics before the end: {error:#}")),
        }
        Self { status, failures, counted: counted.ok() }
    }
}

/// The results of a soak test.
#[derive(Debug)]
pub struct Report {
    pub clients: usize,
    pub time: Duration,
    pub tally: Tally,
    pub samples: Vec<Sample>,
    pub end: End,
}

impl Report {
    /// Whether the server failed in any way.
    pub fn failed(&self) -> bool {
        !self.tally.failures.is_empty() || !self.end.failures.is_empty()
    }

    fn failures(&self) -> u64 {
        self.tally.failures.values().sum::<u64>() + self.end.failures.len() as u64
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> Fmt {
        let (tally, minutes) = (&self.tally, self.time.as_secs() / 60);
        writeln!(f, "{} clients for {minutes} min, one request in {} bad:\n", self.clients, super::BAD)?;
        let mut seconds = tally.seconds.clone();
        let [p50, p99] = [0.5, 0.99].map(|share| 1e3 * percentile(&mut seconds, share));
        let (good, bad) = (tally.total(false), tally.total(true));
        writeln!(f, "| | |\n|---|---:|")?;
        writeln!(f, "| requests | {} |\n| good ones | {good} |\n| bad ones | {bad} |", good + bad)?;
        for (class, count) in classes(&tally.outcomes()) {
            writeln!(f, "| {class} | {count} |")?;
        }
        writeln!(f, "| failures | {} |", self.failures())?;
        writeln!(f, "| p50 of good requests, ms | {p50:.1} |\n| p99 of good requests, ms | {p99:.1} |")?;
        writeln!(f, "| open when SIGTERM came, answered whole | {} |", tally.open_answered)?;
        writeln!(f, "| open when SIGTERM came, closed without an answer | {} |", tally.open_unanswered)?;
        if let Some((panics, connections)) = self.end.counted {
            writeln!(f, "| panics | {panics} |\n| open connections before SIGTERM | {connections} |")?;
        }
        if let Some(slope) = slope(&last_half(&self.samples)) {
            writeln!(f, "| growth of memory in the last half, MiB/min | {slope:+.3} |")?;
        }
        writeln!(f, "| end | {} |", self.end.status)?;
        write!(f, "\n{}\n{}", requests(tally), memory(&self.samples))?;
        if self.failed() {
            writeln!(f, "\n| failure | times |\n|---|---:|")?;
            for (what, count) in &tally.failures {
                writeln!(f, "| {} | {count} |", what.replace('|', "\\|"))?;
            }
            for what in &self.end.failures {
                writeln!(f, "| {} | 1 |", what.replace('|', "\\|"))?;
            }
        }
        Ok(())
    }
}

/// Outcomes with statuses grouped by their first digit.
fn classes(outcomes: &BTreeMap<Outcome, u64>) -> BTreeMap<String, u64> {
    let mut classes = BTreeMap::new();
    for (outcome, count) in outcomes {
        let class = match outcome {
            Outcome::Status(status) => format!("{}xx", status / 100),
            other => other.to_string(),
        };
        *classes.entry(class).or_default() += count;
    }
    classes
}

/// One row per kind of request, one column per outcome.
fn requests(tally: &Tally) -> String {
    let columns: Vec<Outcome> = tally.outcomes().into_keys().collect();
    let names: Vec<String> = columns.iter().map(Outcome::to_string).collect();
    let mut out = format!("| request | {} |\n|---|{}\n", names.join(" | "), "---:|".repeat(columns.len()));
    for (asked, outcomes) in &tally.counts {
        let count = |column: &Outcome| outcomes.get(column).map_or_else(String::new, u64::to_string);
        let counts: Vec<String> = columns.iter().map(count).collect();
        let quality = if asked.bad { "bad" } else { "good" };
        out += &format!("| {quality}: {} | {} |\n", asked.name, counts.join(" | "));
    }
    out
}

/// The first sample, one per minute, and the last.
fn memory(samples: &[Sample]) -> String {
    let mut out = "| minute | resident, MiB |\n|---:|---:|\n".to_string();
    for (place, sample) in samples.iter().enumerate() {
        let at_end = place == 0 || place + 1 == samples.len();
        if at_end || sample.minutes.fract() == 0.0 {
            out += &format!("| {:.1} | {:.1} |\n", sample.minutes, sample.mib);
        }
    }
    out
}

fn last_half(samples: &[Sample]) -> Vec<(f64, f64)> {
    let half = samples.last().map_or(0.0, |last| last.minutes / 2.0);
    samples.iter().filter(|sample| sample.minutes >= half).map(|sample| (sample.minutes, sample.mib)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(failures: Vec<String>) -> Report {
        let sample = |tens: u32| Sample { minutes: f64::from(10 * tens) / 60.0, mib: 100.0 + f64::from(tens) };
        let mut tally = Tally::default();
        tally.bad("not HTTP", Outcome::Status(400));
        tally.bad("not HTTP", Outcome::Status(408));
        tally.bad("a client that leaves", Outcome::NotAwaited);
        let end = End { status: "exit status: 0".to_string(), failures, counted: Some((0, 16)) };
        let samples = (3..=12).map(sample).collect();
        Report { clients: 16, time: Duration::from_secs(120), tally, samples, end }
    }

    #[test]
    fn requests_are_listed_by_kind_and_status_and_memory_by_minute() {
        let text = report(Vec::new()).to_string();
        for line in [
            "| 4xx | 2 |",
            "| not awaited | 1 |",
            "| failures | 0 |",
            "| open connections before SIGTERM | 16 |",
            "| growth of memory in the last half, MiB/min | +6.000 |",
            "| request | 400 | 408 | not awaited |",
            "| bad: a client that leaves |  |  | 1 |",
            "| bad: not HTTP | 1 | 1 |  |",
            "| 0.5 | 103.0 |\n| 1.0 | 106.0 |\n| 2.0 | 112.0 |",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("| failure | times |"));
    }

    #[test]
    fn a_bad_exit_fails_even_if_every_request_succeeded() {
        assert!(!report(Vec::new()).failed());
        let report = report(vec!["the server ended by itself".to_string()]);
        assert!(report.failed() && report.to_string().contains("| the server ended by itself | 1 |"));
        let late = End::stopped(Err(anyhow::anyhow!("too late")), Duration::ZERO, Ok((0, 0)));
        let panicked = End::stopped(Ok(ExitStatus::default()), Duration::ZERO, Ok((2, 0)));
        assert_eq!((late.failures.len(), panicked.failures.len()), (1, 1));
        assert!(End::stopped(Ok(ExitStatus::default()), Duration::ZERO, Ok((0, 9))).failures.is_empty());
    }
}
