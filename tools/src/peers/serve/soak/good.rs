//! Good requests, which must be answered.

use crate::serve::client::{Answer, Broken, Connection};
use crate::serve::requests::{Kind, get, post};
use anyhow::{Context, ensure};
use rand::Rng;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Connections idle for longer are not reused: the server closes them soon, and a request at that moment would seem to
/// fail.
const IDLE: Duration = Duration::from_secs(5);

/// All good requests.
pub struct Good {
    address: SocketAddr,
    /// Requests about sentences, by kind.
    made: [(Kind, Vec<Vec<u8>>); 3],
    /// The sizes of the index.
    edges: usize,
    sentences: usize,
}

impl Good {
    /// `ready` is the response of `/readyz`.
    pub fn new(address: SocketAddr, sentences: &[Vec<String>], ready: &Value) -> anyhow::Result<Self> {
        let count = |name: &str| {
            let count = ready[name].as_u64().with_context(|| format!("/readyz has no number of {name}"))?;
            ensure!(count > 0, "the index has no {name}");
            Ok(count as usize)
        };
        let made = [Kind::Explain, Kind::ExplainOne, Kind::Parse].map(|kind| (kind, kind.requests(address, sentences)));
        Ok(Self { address, made, edges: count("edges")?, sentences: count("sentences")? })
    }

    /// Draws a request at random, each kind with equal probability.
    pub fn draw(&self, random: &mut impl Rng) -> (&'static str, Cow<'_, [u8]>) {
        let (edge, sentence) = (random.random_range(0..self.edges), random.random_range(0..self.sentences));
        match random.random_range(0..6) {
            3 => ("show a training sentence", get(self.address, &format!("/v1/sentences/{sentence}")).into()),
            4 => ("show a training edge", get(self.address, &format!("/v1/edges/{edge}")).into()),
            5 => {
                let body = json!({ "edge": edge, "count": 10 });
                ("neighbours of a training edge", post(self.address, "/v1/neighbors", &body).into())
            }
            kind => {
                let (kind, requests) = &self.made[kind];
                (kind.name(), requests[random.random_range(0..requests.len())].as_slice().into())
            }
        }
    }
}

/// A client's connection, reopened if it was closed.
pub struct Line {
    address: SocketAddr,
    open: Option<Connection>,
    used: Instant,
}

impl Line {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, open: None, used: Instant::now() }
    }

    /// Sends a request and reads its response.
    pub fn ask(&mut self, request: &[u8]) -> Result<Answer, Broken> {
        let kept = self.open.take().filter(|_| self.used.elapsed() < IDLE);
        let mut connection = match kept {
            Some(connection) => connection,
            None => Connection::open(self.address).map_err(|error| Broken::Unanswered(error.to_string()))?,
        };
        let answer = connection.ask(request)?;
        self.used = Instant::now();
        self.open = (!answer.closes).then_some(connection);
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use std::collections::BTreeMap;

    #[test]
    fn every_kind_is_drawn_and_numbers_stay_within_the_index() {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        let ready = json!({ "edges": 2, "sentences": 1 });
        let good = Good::new(address, &[vec!["a".to_string()]], &ready).expect("requests");
        let mut random = StdRng::seed_from_u64(1);
        let mut drawn = BTreeMap::new();
        for _ in 0..300 {
            let (name, request) = good.draw(&mut random);
            let line = String::from_utf8_lossy(&request).lines().next().unwrap_or_default().to_string();
            drawn.entry(name).or_insert_with(std::collections::BTreeSet::new).insert(line);
        }
        assert_eq!(drawn.len(), 6);
        let edges: Vec<&str> = drawn["show a training edge"].iter().map(String::as_str).collect();
        assert_eq!(edges, ["GET /v1/edges/0 HTTP/1.1", "GET /v1/edges/1 HTTP/1.1"]);
        assert_eq!(drawn["show a training sentence"].len(), 1);
    }

    #[test]
    fn an_index_without_edges_is_refused() {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        let refused = Good::new(address, &[], &json!({ "edges": 0, "sentences": 1 })).err().expect("refused");
        assert!(refused.to_string().contains("no edges"), "{refused}");
    }
}
