//! Measures the latency of one client without other load.

use super::Options;
use super::load::{Plan, load};
use super::numbers::percentile;
use super::process::Process;
use super::requests::{Kind, WORDS};
use crate::search::say;
use std::fmt::Write as _;
use std::time::Duration;

const KINDS: [Kind; 3] = [Kind::Explain, Kind::ExplainOne, Kind::Parse];
const WARM_UP: Duration = Duration::from_secs(3);

/// Measures each kind of request on its own connection.
pub fn latency(options: &Options, sentences: &[Vec<String>]) -> anyhow::Result<String> {
    let mut server = Process::start(&options.bundle, &[])?;
    let mut measured = Vec::new();
    for kind in KINDS {
        say(&format!("latency: {}", kind.name()))?;
        let requests = kind.requests(server.address, sentences);
        let plan = Plan { requests: &requests, clients: 1, warm_up: WARM_UP, time: options.time };
        measured.push((kind.name(), load(&server, plan)?.seconds));
    }
    server.stop()?;
    Ok(format!(
        "One client, one connection, one sentence of {WORDS} words after the other ({} sentences), {} s each after \
         {} s to warm up:\n\n{}",
        sentences.len(),
        options.time.as_secs(),
        WARM_UP.as_secs(),
        table(measured)
    ))
}

fn table(measured: Vec<(&str, Vec<f64>)>) -> String {
    let mut out = "| request | count | p50, ms | p90, ms | p99, ms |\n|---|---:|---:|---:|---:|\n".to_string();
    for (name, mut seconds) in measured {
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|share| 1e3 * percentile(&mut seconds, share));
        let _ = writeln!(out, "| {name} | {} | {p50:.2} | {p90:.2} | {p99:.2} |", seconds.len());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_percentiles_in_milliseconds() {
        let table = table(vec![("parse", (1..=100).map(|ms| f64::from(ms) / 1e3).collect())]);
        assert_eq!(table.lines().nth(2), Some("| parse | 100 | 50.00 | 90.00 | 99.00 |"));
    }
}
