//! Limits on requests and connections, so that no client can block the others.

use std::time::Duration;

/// Limits on requests and connections. A request beyond one is refused with a message that names the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes in a request body.
    pub body: usize,
    /// The most sentences in a request.
    pub sentences: usize,
    /// The most words in a request.
    pub words: usize,
    /// The most words in a sentence: its candidate edges grow with the square.
    pub sentence_words: usize,
    /// The most words in a request that compares with every training edge (the rule nca, knn with dot products,
    /// or `exact`). Also the most edges times roll-ups other than by label.
    pub compared_words: usize,
    /// The most citations per decision, or neighbours per edge.
    pub count: usize,
    /// The most citations or neighbours in one response.
    pub citations: usize,
    /// The most alternatives in one request.
    pub why_not: usize,
    /// The most sentences of several requests in one batch; 1 encodes each request separately.
    pub batch: usize,
    /// The most cost of a batch of several requests, in words.
    pub batch_words: usize,
    /// The most cost of a short request, in words. Short requests have threads of their own.
    pub short_words: usize,
    /// The most words in the queue, of short requests and again of others. Beyond it, requests get a 503. The requests of one
    /// address can have half of each.
    pub waiting_words: usize,
    /// The most open connections. Beyond it, one that does nothing ends, or the new one gets a 503.
    pub connections: usize,
    /// The most open connections of one address.
    pub address_connections: usize,
    /// The time for a client to send its request line and headers, and to start the next request on an open connection.
    pub header_time: Duration,
    /// The time for a client to send its body.
    pub body_time: Duration,
    /// The longest time without progress in sending a response.
    pub write_time: Duration,
    /// The longest time that a request waits in the queue before it gets a 503.
    pub waiting_time: Duration,
    /// The time for open requests to finish after the server is stopped.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 1 << 20,
            sentences: 64,
            words: 4000,
            sentence_words: 400,
            compared_words: 100,
            count: 100,
            citations: 20_000,
            why_not: 8,
            batch: 64,
            batch_words: 250,
            short_words: 100,
            waiting_words: 40_000,
            connections: 512,
            address_connections: 256,
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(20),
            write_time: Duration::from_secs(20),
            waiting_time: Duration::from_secs(15),
            grace: Duration::from_secs(20),
        }
    }
}
