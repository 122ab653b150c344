//! Clients that send one request after the other, each as soon as the previous one is answered.

use super::client::Connection;
use super::process::Process;
use anyhow::{Context, ensure};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The most requests of one client; bounds our memory.
const MOST: usize = 10_000_000;

/// The measurements of some clients together.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The seconds of each request, as its client saw it.
    pub seconds: Vec<f64>,
    /// Responses per second.
    pub per_second: f64,
    /// The mean number of requests in a batch of the server; NaN if there was no batch.
    pub together: f64,
}

/// The requests, and how long they are sent.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    pub requests: &'a [Vec<u8>],
    pub clients: usize,
    /// The time before counting starts.
    pub warm_up: Duration,
    pub time: Duration,
}

/// Runs clients that send requests to a server. Each has one connection and starts at another request.
pub fn load(server: &Process, plan: Plan<'_>) -> anyhow::Result<Load> {
    let start = Instant::now() + plan.warm_up;
    let (address, end) = (server.address, start + plan.time);
    std::thread::scope(|scope| {
        let client = |number: usize| {
            let first = number * plan.requests.len() / plan.clients;
            scope.spawn(move || one_after_the_other(address, plan.requests, first, start, end))
        };
        let clients: Vec<_> = (0..plan.clients).map(client).collect();
        sleep_until(start);
        let before = taken(server);
        sleep_until(end);
        let after = taken(server);
        let mut seconds = Vec::new();
        for client in clients {
            seconds.extend(client.join().ok().context("a client panicked")??);
        }
        let (before, after) = (before?, after?);
        let together = (after.requests - before.requests) / (after.times - before.times);
        ensure!(!seconds.is_empty(), "nothing was answered within {:?}", plan.time);
        Ok(Load { per_second: seconds.len() as f64 / plan.time.as_secs_f64(), seconds, together })
    })
}

/// Runs one client. Returns the seconds of its requests that were answered between `start` and `end`.
fn one_after_the_other(
    address: SocketAddr,
    requests: &[Vec<u8>],
    first: usize,
    start: Instant,
    end: Instant,
) -> anyhow::Result<Vec<f64>> {
    let mut connection = Connection::open(address)?;
    let mut seconds = Vec::new();
    for request in requests.iter().cycle().skip(first).take(MOST) {
        let sent = Instant::now();
        if sent >= end {
            break;
        }
        let answer = connection.ask(request)?;
        let answered = Instant::now();
        // A refusal is fast and must not count as throughput.
        ensure!(answer.status == 200, "answered {}: {}", answer.status, String::from_utf8_lossy(&answer.body));
        if answer.closes {
            connection = Connection::open(address)?;
        }
        if (start..end).contains(&answered) {
            seconds.push((answered - sent).as_secs_f64());
        }
    }
    Ok(seconds)
}

fn sleep_until(moment: Instant) {
    std::thread::sleep(moment.saturating_duration_since(Instant::now()));
}

/// The number of batches that the server has processed, and of the requests in them.
struct Taken {
    requests: f64,
    times: f64,
}

fn taken(server: &Process) -> anyhow::Result<Taken> {
    let metrics = server.metrics()?;
    Ok(Taken {
        requests: metrics.value("citree_batch_requests_sum")?,
        times: metrics.value("citree_batch_requests_count")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// A server for one connection that answers every four bytes with these bytes.
    fn server(answer: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("port");
        let address = listener.local_addr().expect("address");
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("client");
            while stream.read_exact(&mut [0; 4]).is_ok() && stream.write_all(answer).is_ok() {}
        });
        address
    }

    #[test]
    fn only_responses_within_the_time_count() {
        let address = server(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        let now = Instant::now();
        let requests = [b"ping".to_vec()];
        let end = now + Duration::from_millis(50);
        assert!(!one_after_the_other(address, &requests, 3, now, end).expect("answers").is_empty());
        let address = server(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        let end = Instant::now() + Duration::from_millis(50);
        assert!(one_after_the_other(address, &requests, 0, end, end).expect("answers").is_empty());
    }

    #[test]
    fn a_refusal_is_an_error() {
        let address = server(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy");
        let now = Instant::now();
        let refused = one_after_the_other(address, &[b"ping".to_vec()], 0, now, now + Duration::from_secs(5));
        let message = refused.expect_err("refused").to_string();
        assert!(message.contains("503") && message.contains("busy"), "{message}");
    }
}
