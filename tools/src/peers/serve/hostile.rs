//! Good clients beside hostile ones: what the good ones get, whether the server stays well, and what the others get.

mod attack;
mod options;
mod report;

pub use options::{Options, USAGE};

use super::client::Connection;
use super::process::Process;
use super::requests::{self, Kind};
use crate::search::say;
use anyhow::Context;
use citree::treebank::read_trees;
use report::{Good, Report};
use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time of good clients alone, at most.
const IDLE: Duration = Duration::from_secs(60);
/// The time before the first measurement, for caches and memory to fill.
const WARM_UP: Duration = Duration::from_secs(5);
/// The time after the attack, before memory is measured again.
const CALM: Duration = Duration::from_secs(5);
/// The pause of a good client between two requests, and of the client that asks whether the server lives.
const PAUSE: Duration = Duration::from_millis(20);
/// The words of a short request.
const SHORT: usize = 5;

/// Runs both phases and prints a table. Fails if a goal was missed.
pub fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let sentences = requests::sentences(&read_trees(&options.dev)?, &options.dev)?;
    let mut server = Process::start(&options.bundle, &[])?;
    let address = server.address;
    let short: Vec<Vec<String>> = sentences.iter().map(|words| words[..SHORT].to_vec()).collect();
    let good = [
        ("explain 5 words", Kind::Explain.requests(address, &short)),
        ("explain 20 words", Kind::Explain.requests(address, &sentences)),
        ("parse 20 words", Kind::Parse.requests(address, &sentences)),
    ];
    phase(address, &good, WARM_UP, &[])?;
    say("hostile: good clients alone")?;
    let idle = phase(address, &good, IDLE.min(options.time), &[])?;
    let before = server.resident()?;
    say("hostile: all clients")?;
    let attacks = attack::all(address, &sentences);
    let loaded = phase(address, &good, options.time, &attacks)?;
    std::thread::sleep(CALM);
    let ended = server.ended()?;
    let memory = [before, server.resident().unwrap_or(f64::NAN)];
    let report = Report { time: options.time, idle, loaded, memory, ended: ended.map(|status| status.to_string()) };
    if ended.is_none() {
        server.stop()?;
    }
    let mut out = std::io::stdout().lock();
    let build = if cfg!(debug_assertions) { " (debug build)" } else { "" };
    writeln!(out, "`cargo xtask hostile {}`{build}\n\n{report}", options.given)?;
    if !report.missed().is_empty() {
        say(&format!("the server said:\n{}", server.said()))?;
    }
    Ok(if report.missed().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was seen in one phase.
#[derive(Debug, Default)]
struct Phase {
    good: Vec<Good>,
    /// The slowest answer of `/livez` in seconds, and the number of requests that were not answered with 200.
    live: (f64, u64),
    /// How often which kind of hostile client got which status, or none.
    others: attack::Seen,
}

fn phase(
    address: SocketAddr,
    good: &[(&'static str, Vec<Vec<u8>>)],
    time: Duration,
    attacks: &[attack::Attack],
) -> anyhow::Result<Phase> {
    let (over, seen) = (AtomicBool::new(false), Mutex::new(attack::Seen::new()));
    std::thread::scope(|scope| {
        for attack in attacks {
            for number in 0..attack.clients {
                let (over, seen) = (&over, &seen);
                scope.spawn(move || attack.run(address, number, over, seen));
            }
        }
        if !attacks.is_empty() {
            // The attack is under way before anything is measured.
            std::thread::sleep(WARM_UP);
        }
        let end = Instant::now() + time;
        let clients: Vec<_> = good
            .iter()
            .map(|(name, requests)| scope.spawn(move || good_client(address, name, requests, end)))
            .collect();
        let live = scope.spawn(move || alive(address, end));
        let good = clients.into_iter().map(|client| client.join().ok().context("a client panicked"));
        let good = good.collect::<anyhow::Result<Vec<Good>>>();
        let live = live.join().ok().context("a client panicked");
        // The others must end in any case.
        over.store(true, Ordering::SeqCst);
        Ok::<_, anyhow::Error>((good?, live?))
    })
    .map(|(good, live)| {
        let others = seen.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        Phase { good, live, others }
    })
}

/// Sends good requests one after the other, as a program does that keeps its connection and tries again if that ended.
fn good_client(address: SocketAddr, name: &'static str, requests: &[Vec<u8>], end: Instant) -> Good {
    let mut good = Good { name, seconds: Vec::new(), refused: 0, failed: 0 };
    let mut connection = None;
    for request in requests.iter().cycle() {
        if Instant::now() >= end {
            break;
        }
        let start = Instant::now();
        let mut ask = || {
            let mut own = connection.take().or_else(|| Connection::open(address).ok())?;
            let answer = own.ask(request).ok()?;
            connection = (!answer.closes).then_some(own);
            Some(answer.status)
        };
        match ask().or_else(ask) {
            Some(200) => good.seconds.push(start.elapsed().as_secs_f64()),
            Some(503) => good.refused += 1,
            _ => good.failed += 1,
        }
        std::thread::sleep(PAUSE);
    }
    good
}

/// Asks whether the server lives, each time on a new connection. Returns the slowest answer and the number of failures.
fn alive(address: SocketAddr, end: Instant) -> (f64, u64) {
    let (mut slowest, mut failed) = (0.0f64, 0);
    while Instant::now() < end {
        let start = Instant::now();
        let answer = Connection::open(address).ok().and_then(|mut own| own.ask(&requests::get(address, "/livez")).ok());
        slowest = slowest.max(start.elapsed().as_secs_f64());
        failed += u64::from(answer.is_none_or(|answer| answer.status != 200));
        std::thread::sleep(PAUSE);
    }
    (slowest, failed)
}
