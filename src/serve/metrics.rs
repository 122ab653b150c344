//! The metrics of the server, for Prometheus.

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::time::Duration;

/// The upper bounds of the histogram buckets, in seconds and in requests.
const SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
const BATCH_SIZES: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Route {
    route: String,
}

/// The counters, gauges and histograms of one server.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    answers: Family<Answered, Counter>,
    seconds: Family<Route, Histogram, fn() -> Histogram>,
    together: Histogram,
    words: Counter,
    waiting: Gauge,
    panics: Counter,
    generation: Gauge,
    connections: Gauge,
    turned_away: Counter,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("citree");
        let answers = Family::default();
        registry.register("http_requests", "Requests answered, by route and status", answers.clone());
        let seconds: Family<Route, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(SECONDS));
        registry.register_with_unit(
            "http_request_duration",
            "Time from the end of the request headers to the start of the response",
            Unit::Seconds,
            seconds.clone(),
        );
        let together = Histogram::new(BATCH_SIZES);
        registry.register("batch_requests", "Requests in a batch", together.clone());
        let words = Counter::default();
        registry.register("words", "Words parsed", words.clone());
        let waiting = Gauge::default();
        registry.register("waiting_words", "Cost of the queued requests, in words", waiting.clone());
        let panics = Counter::default();
        registry.register("panics", "Requests that ended in a panic", panics.clone());
        let generation = Gauge::default();
        registry.register("index_generation", "The generation of the index that is served", generation.clone());
        let connections = Gauge::default();
        registry.register("connections", "Open connections", connections.clone());
        let turned_away = Counter::default();
        registry.register(
            "connections_turned_away",
            "Connections refused because too many were open",
            turned_away.clone(),
        );
        Self { registry, answers, seconds, together, words, waiting, panics, generation, connections, turned_away }
    }

    pub(super) fn answered(&self, route: &str, status: u16, took: Duration) {
        let route = route.to_string();
        self.seconds.get_or_create(&Route { route: route.clone() }).observe(took.as_secs_f64());
        self.answers.get_or_create(&Answered { route, status }).inc();
    }

    pub(super) fn taken(&self, requests: usize) {
        self.together.observe(requests as f64);
    }

    pub(super) fn waits(&self, words: usize) {
        self.waiting.set(words as i64);
    }

    pub(super) fn turned_away(&self) {
        self.turned_away.inc();
    }

    pub(super) fn parsed(&self, words: usize) {
        self.words.inc_by(words as u64);
    }

    pub(super) fn panicked(&self) {
        self.panics.inc();
    }

    pub(super) fn serving(&self, generation: u64) {
        self.generation.set(generation as i64);
    }

    pub(super) fn connections(&self, open: i64) {
        self.connections.set(open);
    }

    /// All metrics in the OpenMetrics text format.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(_) => String::new(),
        }
    }
}
