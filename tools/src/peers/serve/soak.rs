//! Soak test: good and bad requests of many clients for a long time. Only bad requests may fail, memory must not grow,
//! and SIGTERM under load must end the server cleanly.

mod bad;
mod good;
mod report;
mod tally;

use super::Options;
use super::client::Broken;
use super::process::Process;
use crate::search::say;
use anyhow::Context;
use bad::Bad;
use good::{Good, Line};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use report::{End, Report, Sample};
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tally::{Outcome, Tally};

/// The seed of the requests: every run draws the same ones, as far as the clients get.
const SEED: u64 = 7;
/// One request in this many is bad.
const BAD: usize = 10;
/// The most requests of one client.
const MOST: usize = 10_000_000;
/// The interval of memory samples, and the time before the first one counts, because memory grows at first.
const SAMPLE: Duration = Duration::from_secs(10);
const WARM_UP: Duration = Duration::from_secs(30);
/// The pause after a failure, so that a server that has ended is not flooded with requests.
const PAUSE: Duration = Duration::from_millis(100);
/// The most lines of the server's output shown after a failure.
const SAID: usize = 40;

/// The state that all clients share.
struct Shared {
    address: SocketAddr,
    good: Good,
    bad: Vec<Bad>,
    /// When the server was asked to stop. Set before the signal is sent.
    stop: OnceLock<Instant>,
    /// Whether the server has ended.
    over: AtomicBool,
}

/// Runs clients against a server, stops it under load and reports.
pub fn soak(options: &Options, sentences: &[Vec<String>]) -> anyhow::Result<Report> {
    let mut server = Process::start(&options.bundle, &[])?;
    let ready = serde_json::from_slice(&server.get("/readyz")?.body).context("/readyz is not JSON")?;
    let address = server.address;
    let (good, bad) = (Good::new(address, sentences, &ready)?, bad::all(address, &sentences[0]));
    let shared = Shared { address, good, bad, stop: OnceLock::new(), over: AtomicBool::new(false) };
    let mut tally = Tally::default();
    let (samples, end) = std::thread::scope(|scope| {
        let shared = &shared;
        let clients: Vec<_> = (0..options.clients).map(|number| scope.spawn(move || client(shared, number))).collect();
        let watched = watch(&mut server, options.soak, &shared.stop);
        // The clients must end in any case.
        shared.over.store(true, Ordering::SeqCst);
        for client in clients {
            tally.add(client.join().ok().context("a client panicked")?);
        }
        watched
    })?;
    let report = Report { clients: options.clients, time: options.soak, tally, samples, end };
    if report.failed() {
        let said = server.said();
        let lines: Vec<&str> = said.lines().collect();
        say(&format!("the server said:\n{}", lines[lines.len().saturating_sub(SAID)..].join("\n")))?;
    }
    Ok(report)
}

/// Samples memory until the time is over, then stops the server under load.
fn watch(server: &mut Process, time: Duration, stop: &OnceLock<Instant>) -> anyhow::Result<(Vec<Sample>, End)> {
    let start = Instant::now();
    let mut samples = Vec::new();
    let mut next = SAMPLE;
    while next <= time {
        while let Some(left) = next.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
            std::thread::sleep(left.min(Duration::from_secs(1)));
            if let Some(status) = server.ended()? {
                return Ok((samples, End::by_itself(status)));
            }
        }
        // Reading fails if the server has just ended; the next iteration notices that.
        if let (true, Ok(mib)) = (next >= WARM_UP, server.resident()) {
            samples.push(Sample { minutes: next.as_secs_f64() / 60.0, mib });
            if next.as_secs().is_multiple_of(60) {
                say(&format!("soak: {} of {} min, {mib:.1} MiB", next.as_secs() / 60, time.as_secs() / 60))?;
            }
        }
        next += SAMPLE;
    }
    let counted = server.metrics().and_then(|metrics| {
        Ok((metrics.value("citree_panics_total")? as u64, metrics.value("citree_connections")? as u64))
    });
    let asked = Instant::now();
    stop.get_or_init(|| asked);
    let status = server.stop();
    Ok((samples, End::stopped(status, asked.elapsed(), counted)))
}

/// Runs one client until the server has ended.
fn client(shared: &Shared, number: usize) -> Tally {
    let mut random = StdRng::seed_from_u64(SEED + number as u64);
    let mut line = Line::new(shared.address);
    let mut tally = Tally::default();
    for _ in 0..MOST {
        if shared.over.load(Ordering::SeqCst) {
            break;
        }
        if random.random_range(0..BAD) == 0 {
            let bad = &shared.bad[random.random_range(0..shared.bad.len())];
            let outcome = bad.send(shared.address);
            if outcome == Outcome::Unanswered && shared.stop.get().is_some() {
                break;
            }
            tally.bad(bad.name, outcome);
            continue;
        }
        let (name, request) = shared.good.draw(&mut random);
        let sent = Instant::now();
        let answer = line.ask(&request);
        let took = sent.elapsed();
        let stop = shared.stop.get();
        // Requests that are open when the server is asked to stop must still be answered.
        let was_open = stop.is_some_and(|&stop| sent < stop);
        match answer {
            Ok(answer) => {
                tally.good(name, &answer, took);
                tally.open_answered += u64::from(was_open);
                if answer.status == 503 {
                    std::thread::sleep(PAUSE);
                }
            }
            // After the stop, connections may close between requests. That is not a failure.
            Err(Broken::Unanswered(_)) if stop.is_some() => {
                tally.open_unanswered += u64::from(was_open);
                break;
            }
            Err(broken) => {
                tally.broken(name, &broken);
                std::thread::sleep(PAUSE);
            }
        }
    }
    tally
}
