//! Requests that must be refused, and misbehaving clients, each on its own connection.

use super::tally::Outcome;
use crate::serve::client::{Broken, Connection};
use crate::serve::requests::{get, head, post, with_body};
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;

const PATH: &str = "/v1/explain";
const JSON: &str = "application/json";
/// Twice the default limit of a body.
const TOO_LONG: usize = 2 << 20;
/// The size of a chunk, and of a header that is too long.
const PIECE: usize = 64 << 10;
/// How long a client that stops half way keeps its connection open.
const LINGER: Duration = Duration::from_secs(1);

/// What a client does after sending.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    Read,
    /// Close without reading.
    Leave,
    /// Wait, as if more would follow, then close.
    Linger,
}

/// A kind of misbehaviour.
pub struct Bad {
    pub name: &'static str,
    bytes: Vec<u8>,
    then: Then,
}

impl Bad {
    /// Misbehaves once.
    pub fn send(&self, address: SocketAddr) -> Outcome {
        let Ok(mut connection) = Connection::open(address) else { return Outcome::Unanswered };
        // The server can refuse and close before it has read everything. Its response is available nevertheless.
        let sent = connection.send(&self.bytes);
        match self.then {
            Then::Read => match connection.answer() {
                Ok(answer) => Outcome::Status(answer.status),
                Err(Broken::Unanswered(_)) => Outcome::Unanswered,
                Err(Broken::Half(_)) => Outcome::Half,
            },
            Then::Leave | Then::Linger if sent.is_err() => Outcome::Unanswered,
            Then::Leave => Outcome::NotAwaited,
            Then::Linger => {
                std::thread::sleep(LINGER);
                Outcome::NotAwaited
            }
        }
    }
}

/// All kinds of misbehaviour, with the words of a valid sentence.
pub fn all(address: SocketAddr, words: &[String]) -> Vec<Bad> {
    let json_body = |body: &[u8]| with_body(address, PATH, JSON, body);
    let good = post(address, PATH, &json!({ "words": words }));
    let long = json!({ "text": "a".repeat(TOO_LONG) }).to_string();
    let (half_head, half_body) = (&good[..good.len().min(30)], &good[..good.len() - 10]);
    let path = get(address, "/v1/nothing/here");
    let read = |name, bytes: Vec<u8>| Bad { name, bytes, then: Then::Read };
    vec![
        read("malformed JSON", json_body(b"{\"words\": [\"a\", ")),
        read("an unknown field", post(address, PATH, &json!({ "words": words, "wrods": 1 }))),
        read("not UTF-8", json_body(b"{\"text\": \"\xff\xfe\"}")),
        read("a wrong content type", with_body(address, PATH, "application/xml", b"<words/>")),
        read("a body of 2 MiB", json_body(long.as_bytes())),
        read("a body of 2 MiB in chunks", chunked(address, long.as_bytes())),
        read("a count too large", post(address, PATH, &json!({ "words": words, "count": 1_000_000 }))),
        read("a sentence of 5000 words", post(address, PATH, &json!({ "words": vec!["word"; 5000] }))),
        read("not HTTP", b"\x16\x03\x01\x02\x00 this is no request\r\n\r\n".to_vec()),
        Bad { name: "a header that never ends", bytes: half_head.to_vec(), then: Then::Linger },
        Bad { name: "a body that stops half way", bytes: half_body.to_vec(), then: Then::Linger },
        Bad { name: "a client that leaves", bytes: good.clone(), then: Then::Leave },
        read("an unknown path", path),
        read("a header of 64 KiB", long_header(address)),
    ]
}

/// A request with a chunked body, whose length is not known in advance.
fn chunked(address: SocketAddr, body: &[u8]) -> Vec<u8> {
    let mut request = head(address, PATH, JSON, "transfer-encoding: chunked");
    for piece in body.chunks(PIECE) {
        request.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        request.extend_from_slice(piece);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"0\r\n\r\n");
    request
}

fn long_header(address: SocketAddr) -> Vec<u8> {
    format!("GET /livez HTTP/1.1\r\nhost: {address}\r\nx-long: {}\r\n\r\n", "a".repeat(PIECE)).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const ADDRESS: ([u8; 4], u16) = ([127, 0, 0, 1], 80);

    fn every() -> Vec<Bad> {
        all(SocketAddr::from(ADDRESS), &["She", "reads", "old", "letters"].map(str::to_string))
    }

    fn bytes(name: &str) -> Vec<u8> {
        every().into_iter().find(|bad| bad.name == name).expect("a bad request").bytes
    }

    #[test]
    fn each_has_a_distinct_name_and_bytes_to_send() {
        let all = every();
        assert_eq!(all.len(), 14);
        assert_eq!(all.iter().map(|bad| bad.name).collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.iter().all(|bad| !bad.bytes.is_empty()));
    }

    #[test]
    fn truncated_requests_are_prefixes_of_a_good_one() {
        let whole = bytes("a client that leaves");
        let (head, body) = (bytes("a header that never ends"), bytes("a body that stops half way"));
        assert!(whole.starts_with(&head) && !head.windows(4).any(|four| four == b"\r\n\r\n"));
        assert!(whole.starts_with(&body) && body.windows(4).any(|four| four == b"\r\n\r\n"));
        assert_eq!(body.len() + 10, whole.len());
    }

    #[test]
    fn chunks_carry_their_length_and_end_with_an_empty_one() {
        let text = String::from_utf8(chunked(SocketAddr::from(ADDRESS), &vec![b'x'; PIECE + 3])).expect("text");
        let (_, body) = text.split_once("\r\n\r\n").expect("a head");
        assert!(body.starts_with("10000\r\nxxx"), "{}", &body[..20]);
        assert!(body.ends_with("x\r\n3\r\nxxx\r\n0\r\n\r\n"));
    }
}
