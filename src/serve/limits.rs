//! What one client may ask for, and how long it may take: so that no request can take the server from the others.

use std::time::Duration;

/// Bounds on requests and connections. What exceeds one is refused with a message that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body: usize,
    /// Sentences of a request.
    pub sentences: usize,
    /// Words of a request.
    pub words: usize,
    /// Words of a sentence: its candidate edges grow with the square.
    pub sentence_words: usize,
    /// Words of a request by a rule that compares with every training edge (nca, knn).
    pub compared_words: usize,
    /// Training edges cited for a decision, or neighbours of an edge.
    pub count: usize,
    /// Citations or neighbours in one answer.
    pub citations: usize,
    /// Alternatives asked about in one request.
    pub why_not: usize,
    /// Sentences of several requests that are encoded together; 1 encodes each request by itself.
    pub batch: usize,
    /// Words that may wait to be worked on; beyond, requests are turned away with 503.
    pub waiting_words: usize,
    /// Open connections; beyond, new ones are turned away with 503.
    pub connections: usize,
    /// For a client to send its request line and headers, and to begin the next request on an open connection.
    pub header_time: Duration,
    /// For a client to send its body.
    pub body_time: Duration,
    /// Without any progress in sending an answer.
    pub write_time: Duration,
    /// That a request waits to be worked on before it is turned away with 503.
    pub waiting_time: Duration,
    /// For open requests to finish after the server was asked to stop.
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
            waiting_words: 20_000,
            connections: 512,
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(20),
            write_time: Duration::from_secs(20),
            waiting_time: Duration::from_secs(15),
            grace: Duration::from_secs(20),
        }
    }
}
