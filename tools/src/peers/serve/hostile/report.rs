//! The table of a run, and the goals that it missed.

use super::Phase;
use crate::serve::numbers::percentile;
use std::fmt;
use std::time::Duration;

/// Good clients may be slower beside hostile ones by this factor.
const SLOWER: f64 = 5.0;
/// The most seconds of an explanation of five words, and of `/livez`, beside hostile clients.
const MOST_SHORT: f64 = 0.25;
const MOST_LIVE: f64 = 0.1;
/// The most growth of memory, as a factor.
const GROWTH: f64 = 1.5;

/// What a good client got.
#[derive(Debug)]
pub struct Good {
    pub name: &'static str,
    /// The seconds of its successful requests.
    pub seconds: Vec<f64>,
    /// Requests that got 503.
    pub refused: u64,
    /// Requests that got anything else, or nothing.
    pub failed: u64,
}

impl Good {
    /// p50 and p99, in seconds.
    fn percentiles(&self) -> [f64; 2] {
        let mut seconds = self.seconds.clone();
        [0.5, 0.99].map(|share| percentile(&mut seconds, share))
    }
}

/// A whole run.
#[derive(Debug)]
pub struct Report {
    pub time: Duration,
    pub idle: Phase,
    pub loaded: Phase,
    /// Resident memory in MiB, before and after the attack.
    pub memory: [f64; 2],
    /// How the server ended, if it did by itself.
    pub ended: Option<String>,
}

impl Report {
    /// The goals that were missed, in words.
    pub fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        for (at, (idle, loaded)) in self.idle.good.iter().zip(&self.loaded.good).enumerate() {
            let ([_, before], [_, after]) = (idle.percentiles(), loaded.percentiles());
            if over(after, SLOWER * before) {
                missed.push(format!("{}: p99 is {:.1} times that of an idle server", loaded.name, after / before));
            }
            if at == 0 && over(after, MOST_SHORT) {
                missed.push(format!("{}: p99 is over {} ms", loaded.name, 1e3 * MOST_SHORT));
            }
            let failed = idle.failed + loaded.failed;
            if failed > 0 {
                missed.push(format!("{}: {failed} requests failed", loaded.name));
            }
        }
        let (slowest, failed) = self.loaded.live;
        if slowest > MOST_LIVE || failed > 0 {
            missed.push(format!("/livez took up to {:.0} ms, and failed {failed} times", 1e3 * slowest));
        }
        if over(self.memory[1], GROWTH * self.memory[0]) {
            missed.push("memory grew".to_string());
        }
        let errors = self.loaded.others.keys().filter(|(_, status)| matches!(status, Some(500..=502 | 504..)));
        missed.extend(errors.map(|(name, status)| format!("{name}: {}", status.unwrap_or_default())));
        missed.extend(self.ended.as_ref().map(|status| format!("the server ended: {status}")));
        missed
    }
}

/// Whether a value is too large, or was not measured at all.
fn over(value: f64, most: f64) -> bool {
    value > most || value.is_nan()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Good clients alone, then for {} min beside hostile ones:\n", self.time.as_secs() / 60)?;
        writeln!(f, "| good client | idle p50, ms | idle p99, ms | p50, ms | p99, ms | answered | 503 | failed |")?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|---:|---:|")?;
        for (idle, loaded) in self.idle.good.iter().zip(&self.loaded.good) {
            let ([a, b], [c, d]) =
                (idle.percentiles().map(|seconds| 1e3 * seconds), loaded.percentiles().map(|seconds| 1e3 * seconds));
            let Good { name, seconds, refused, failed } = loaded;
            writeln!(f, "| {name} | {a:.1} | {b:.1} | {c:.1} | {d:.1} | {} | {refused} | {failed} |", seconds.len())?;
        }
        let live = |phase: &Phase| format!("{:.1} ms at most, {} failed", 1e3 * phase.live.0, phase.live.1);
        writeln!(f, "\n`/livez`: idle {}; beside hostile clients {}.", live(&self.idle), live(&self.loaded))?;
        writeln!(f, "Resident memory: {:.0} MiB before, {:.0} MiB after.\n", self.memory[0], self.memory[1])?;
        writeln!(f, "| hostile client | status | times |\n|---|---:|---:|")?;
        for ((name, status), times) in &self.loaded.others {
            let status = status.map_or_else(|| "none".to_string(), |status| status.to_string());
            writeln!(f, "| {name} | {status} | {times} |")?;
        }
        let missed = self.missed();
        let missed = if missed.is_empty() { "none".to_string() } else { missed.join("; ") };
        write!(f, "\nGoals missed: {missed}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn phase(seconds: f64, slowest: f64) -> Phase {
        let good = vec![Good { name: "explain", seconds: vec![seconds; 10], refused: 0, failed: 0 }];
        Phase { good, live: (slowest, 0), others: BTreeMap::new() }
    }

    fn report(loaded: Phase) -> Report {
        Report { time: Duration::from_secs(60), idle: phase(0.01, 0.001), loaded, memory: [100.0, 110.0], ended: None }
    }

    #[test]
    fn a_run_within_all_goals_misses_none() {
        let report = report(phase(0.04, 0.05));
        assert_eq!(report.missed(), Vec::<String>::new());
        assert!(report.to_string().contains("| explain | 10.0 | 10.0 | 40.0 | 40.0 | 10 | 0 | 0 |"), "{report}");
    }

    #[test]
    fn each_goal_can_be_missed() {
        let count = |report: &Report| report.missed().len();
        assert_eq!(count(&report(phase(0.06, 0.05))), 1, "six times slower");
        assert_eq!(count(&report(phase(0.3, 0.05))), 2, "and too slow for five words");
        assert_eq!(count(&report(phase(0.04, 0.2))), 1, "/livez");
        assert_eq!(count(&Report { memory: [100.0, 300.0], ..report(phase(0.04, 0.05)) }), 1);
        assert_eq!(count(&Report { ended: Some("signal 7".to_string()), ..report(phase(0.04, 0.05)) }), 1);
        for (status, missed) in
            [(Some(200), 0), (Some(503), 0), (Some(413), 0), (None, 0), (Some(500), 1), (Some(504), 1)]
        {
            let others = BTreeMap::from([(("many", status), 1)]);
            assert_eq!(count(&report(Phase { others, ..phase(0.04, 0.05) })), missed, "{status:?}");
        }
        let nothing =
            Phase { good: vec![Good { name: "explain", seconds: vec![], refused: 9, failed: 0 }], ..phase(0.0, 0.0) };
        assert_eq!(count(&report(nothing)), 2, "no answer at all");
    }
}
