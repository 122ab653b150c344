//! Measures the throughput for one client and for many, with and without batching.

use super::Options;
use super::load::{Load, Plan, load};
use super::process::Process;
use super::requests::{Kind, WORDS};
use crate::search::say;
use crate::train::median;
use std::fmt::Write as _;
use std::time::Duration;

const KINDS: [Kind; 2] = [Kind::Explain, Kind::Parse];
const WARM_UP: Duration = Duration::from_secs(2);

/// A variant: one or many clients, and whether the server may batch their requests.
struct Way {
    many: bool,
    together: bool,
}

/// The variants, called (a) to (d) in the report.
const WAYS: [Way; 4] = [
    Way { many: false, together: false },
    Way { many: true, together: false },
    Way { many: false, together: true },
    Way { many: true, together: true },
];

/// The results of all variants in one round.
type Round = [Load; 4];

/// Measures all variants in turns, so that other load on the machine affects all equally. Both servers run all the
/// time, but only one is under load.
pub fn throughput(options: &Options, sentences: &[Vec<String>]) -> anyhow::Result<String> {
    let mut alone = Process::start(&options.bundle, &["--max-batch", "1"])?;
    let mut together = Process::start(&options.bundle, &[])?;
    let mut measured = KINDS.map(|kind| (kind, Vec::new()));
    for round in 1..=options.rounds {
        for (kind, rounds) in &mut measured {
            say(&format!("throughput: round {round} of {}, {}", options.rounds, kind.name()))?;
            let measure = |way: &Way| {
                let server = if way.together { &together } else { &alone };
                let requests = kind.requests(server.address, sentences);
                let clients = if way.many { options.clients } else { 1 };
                load(server, Plan { requests: &requests, clients, warm_up: WARM_UP, time: options.time })
            };
            let [a, b, c, d] = &WAYS;
            rounds.push([measure(a)?, measure(b)?, measure(c)?, measure(d)?]);
        }
    }
    alone.stop()?;
    together.stop()?;
    let mut out = format!(
        "Requests a second, each one sentence of {WORDS} words ({} sentences), {} s each way after {} s to warm up, \
         {} rounds in turns; each request by itself is `--max-batch 1`:\n",
        sentences.len(),
        options.time.as_secs(),
        WARM_UP.as_secs(),
        options.rounds
    );
    for (kind, rounds) in &measured {
        let _ = write!(out, "\n{}", table(kind.name(), options.clients, rounds));
    }
    Ok(out)
}

/// The medians of the rounds, and each round.
fn table(name: &str, clients: usize, rounds: &[Round]) -> String {
    let mut out = format!("| {name} | median | in each round |\n|---|---:|---|\n");
    let mut line = |name: &str, digits: usize, value: &dyn Fn(&Round) -> f64| {
        let values: Vec<f64> = rounds.iter().map(value).collect();
        let each: Vec<String> = values.iter().map(|value| format!("{value:.digits$}")).collect();
        let _ = writeln!(out, "| {name} | {:.digits$} | {} |", median(values), each.join(", "));
    };
    for (place, (letter, way)) in "abcd".chars().zip(&WAYS).enumerate() {
        let clients = if way.many { clients } else { 1 };
        let who = if clients == 1 { "1 client".to_string() } else { format!("{clients} clients") };
        let how = if way.together { "together where possible" } else { "each request by itself" };
        line(&format!("({letter}) {who}, {how}"), 1, &|round| round[place].per_second);
    }
    line("(b) / (a)", 2, &|round| round[1].per_second / round[0].per_second);
    line("(d) / (a)", 2, &|round| round[3].per_second / round[0].per_second);
    line("requests worked on together in (d), mean", 2, &|round| round[3].together);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_each_variant_and_its_ratio_to_the_first() {
        let load = |per_second: f64| Load { seconds: Vec::new(), per_second, together: per_second / 10.0 };
        let round = |speeds: [f64; 4]| speeds.map(load);
        let rounds =
            [round([10.0, 20.0, 10.0, 40.0]), round([20.0, 20.0, 10.0, 30.0]), round([10.0, 15.0, 10.0, 20.0])];
        let table = table("parse", 16, &rounds);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[2], "| (a) 1 client, each request by itself | 10.0 | 10.0, 20.0, 10.0 |");
        assert_eq!(lines[5], "| (d) 16 clients, together where possible | 30.0 | 40.0, 30.0, 20.0 |");
        assert_eq!(lines[6], "| (b) / (a) | 1.50 | 2.00, 1.00, 1.50 |");
        assert_eq!(lines[7], "| (d) / (a) | 2.00 | 4.00, 1.50, 2.00 |");
        assert_eq!(lines[8], "| requests worked on together in (d), mean | 3.00 | 4.00, 3.00, 2.00 |");
    }
}
