//! Counts the outcomes of requests.

use crate::serve::client::{Answer, Broken};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The most distinct failures that are counted separately. Some messages contain numbers.
const MOST_FAILURES: usize = 50;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Status(u16),
    /// The response was incomplete.
    Half,
    /// The server closed the connection or did not accept it.
    Unanswered,
    /// The client did not wait for a response.
    NotAwaited,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(status) => write!(f, "{status}"),
            Self::Half => write!(f, "half an answer"),
            Self::Unanswered => write!(f, "no answer"),
            Self::NotAwaited => write!(f, "not awaited"),
        }
    }
}

/// The kind of a request, and whether it is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    pub bad: bool,
    pub name: &'static str,
}

/// The outcomes of one or more clients.
#[derive(Debug, Default)]
pub struct Tally {
    pub counts: BTreeMap<Asked, BTreeMap<Outcome, u64>>,
    /// The seconds of successful good requests.
    pub seconds: Vec<f64>,
    pub failures: BTreeMap<String, u64>,
    /// Good requests that were open when the server was asked to stop.
    pub open_answered: u64,
    pub open_unanswered: u64,
}

impl Tally {
    /// Counts a response to a good request. It must succeed, unless the server is overloaded.
    pub fn good(&mut self, name: &'static str, answer: &Answer, took: Duration) {
        self.count(Asked { bad: false, name }, Outcome::Status(answer.status));
        match answer.status {
            // A correct length alone does not show that the body is complete.
            200 if serde_json::from_slice::<Value>(&answer.body).is_err() => self.failed(format!("{name}: not JSON")),
            200 => self.seconds.push(took.as_secs_f64()),
            503 => {}
            status => self.failed(format!("{name}: {status}")),
        }
    }

    /// Counts a good request without a response.
    pub fn broken(&mut self, name: &'static str, broken: &Broken) {
        let outcome = match broken {
            Broken::Unanswered(_) => Outcome::Unanswered,
            Broken::Half(_) => Outcome::Half,
        };
        self.count(Asked { bad: false, name }, outcome);
        self.failed(format!("{name}: {broken}"));
    }

    /// Counts a bad request. It may be refused in any way except by a server error.
    pub fn bad(&mut self, name: &'static str, outcome: Outcome) {
        self.count(Asked { bad: true, name }, outcome);
        if let Outcome::Status(status @ 500..) = outcome
            && status != 503
        {
            self.failed(format!("{name}: {status}"));
        }
    }

    /// Adds the counts of another client.
    pub fn add(&mut self, other: Self) {
        for (asked, outcomes) in other.counts {
            for (outcome, count) in outcomes {
                *self.counts.entry(asked).or_default().entry(outcome).or_default() += count;
            }
        }
        for (failure, count) in other.failures {
            *self.failures.entry(failure).or_default() += count;
        }
        self.seconds.extend(other.seconds);
        self.open_answered += other.open_answered;
        self.open_unanswered += other.open_unanswered;
    }

    /// The number of bad requests, or of good ones.
    pub fn total(&self, bad: bool) -> u64 {
        let some = self.counts.iter().filter(|(asked, _)| asked.bad == bad);
        some.flat_map(|(_, outcomes)| outcomes.values()).sum()
    }

    /// The number of requests with each outcome.
    pub fn outcomes(&self) -> BTreeMap<Outcome, u64> {
        let mut all = BTreeMap::new();
        for (outcome, count) in self.counts.values().flatten() {
            *all.entry(*outcome).or_default() += count;
        }
        all
    }

    fn count(&mut self, asked: Asked, outcome: Outcome) {
        *self.counts.entry(asked).or_default().entry(outcome).or_default() += 1;
    }

    fn failed(&mut self, what: String) {
        let room = self.failures.len() < MOST_FAILURES || self.failures.contains_key(&what);
        *self.failures.entry(if room { what } else { "others".to_string() }).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, body: body.as_bytes().to_vec(), closes: false }
    }

    #[test]
    fn a_good_request_fails_unless_it_succeeds_or_the_server_is_overloaded() {
        let mut tally = Tally::default();
        let took = Duration::from_millis(5);
        tally.good("parse", &answer(200, "{}"), took);
        tally.good("parse", &answer(503, ""), took);
        assert!(tally.failures.is_empty());
        tally.good("parse", &answer(200, "{\"a\":"), took);
        tally.good("parse", &answer(404, "{}"), took);
        tally.good("parse", &answer(500, "{}"), took);
        tally.broken("parse", &Broken::Unanswered("reset".to_string()));
        let failures: Vec<&str> = tally.failures.keys().map(String::as_str).collect();
        assert_eq!(failures, ["parse: 404", "parse: 500", "parse: no answer: reset", "parse: not JSON"]);
        assert_eq!((tally.total(false), tally.total(true), tally.seconds.len()), (6, 0, 1));
    }

    #[test]
    fn a_bad_request_fails_only_by_a_server_error() {
        let mut tally = Tally::default();
        for outcome in [Outcome::Status(400), Outcome::Status(503), Outcome::Unanswered, Outcome::NotAwaited] {
            tally.bad("not HTTP", outcome);
        }
        assert!(tally.failures.is_empty());
        tally.bad("not HTTP", Outcome::Status(500));
        assert_eq!(tally.failures.keys().collect::<Vec<_>>(), ["not HTTP: 500"]);
    }

    #[test]
    fn tallies_add_up() {
        let (mut one, mut other) = (Tally::default(), Tally::default());
        one.bad("not HTTP", Outcome::Status(500));
        other.bad("not HTTP", Outcome::Status(500));
        other.good("parse", &answer(200, "{}"), Duration::from_secs(1));
        one.add(other);
        assert_eq!(one.outcomes(), BTreeMap::from([(Outcome::Status(200), 1), (Outcome::Status(500), 2)]));
        assert_eq!((one.failures["not HTTP: 500"], one.seconds.as_slice()), (2, &[1.0][..]));
    }

    #[test]
    fn distinct_failures_are_bounded() {
        let mut tally = Tally::default();
        (0..10 * MOST_FAILURES).for_each(|number| tally.failed(number.to_string()));
        assert_eq!(tally.failures.len(), MOST_FAILURES + 1);
        assert_eq!(tally.failures["others"], 9 * MOST_FAILURES as u64);
    }
}
