//! Clients that send one request after the other, as fast as they are answered.

use super::client::Connection;
use super::process::Process;
use anyhow::{Context, ensure};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Most requests of one client, so that a server that answers at once cannot fill our memory.
const MOST: usize = 10_000_000;

/// What was measured of some clients together.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Seconds that each request took, as its client saw it.
    pub seconds: Vec<f64>,
    /// Answers a second.
    pub per_second: f64,
    /// How many requests the server worked on together, on average; not a number where it worked on none.
    pub together: f64,
}

/// The requests and how long they are sent.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    pub requests: &'a [Vec<u8>],
    pub clients: usize,
    /// Sent, but not counted.
    pub warm_up: Duration,
    pub time: Duration,
}

/// Has clients send requests to a server, each on one connection and each beginning elsewhere among them.
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

/// One client: the seconds of its requests that were answered between `start` and `end`.
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
        // A refusal is quick; it must not count as speed.
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

/// How often the server has begun to work, and on how many requests in all.
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

    /// A server for one connection that answers every four bytes with these.
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
    fn only_what_is_answered_within_the_time_counts() {
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
    fn a_refusal_is_no_measurement() {
        let address = server(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy");
        let now = Instant::now();
        let refused = one_after_the_other(address, &[b"ping".to_vec()], 0, now, now + Duration::from_secs(5));
        let message = refused.expect_err("refused").to_string();
        assert!(message.contains("503") && message.contains("busy"), "{message}");
    }
}
