//! The kinds of hostile clients.

use crate::serve::client::{Broken, Connection};
use crate::serve::requests::{get, head, post, with_body};
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PATH: &str = "/v1/explain";
const JSON: &str = "application/json";
/// The words of an expensive request.
const LONG: usize = 400;
/// The connections that a client of the half-open, slow and unread kinds holds.
const HELD: usize = 75;
/// The pause of a client that got no answer or was refused. An attacker need not keep to Retry-After.
const PAUSE: Duration = Duration::from_millis(50);

/// How often which kind of client got which status; `None` for no answer.
pub type Seen = BTreeMap<(&'static str, Option<u16>), u64>;

/// What clients of a kind do again and again.
enum Does {
    /// Ask on one connection, in turn.
    Ask(Vec<Vec<u8>>),
    /// Ask on a new connection each time.
    AskAnew(Vec<Vec<u8>>),
    /// Send a beginning on ever more connections and keep the last ones open, with another byte now and then.
    Hold(Vec<u8>),
}

/// A kind of hostile client.
pub struct Attack {
    name: &'static str,
    pub clients: usize,
    /// Each kind has an address of its own, as attackers do.
    own: Ipv4Addr,
    does: Does,
}

/// All kinds.
pub fn all(address: SocketAddr, sentences: &[Vec<String>]) -> Vec<Attack> {
    let long: Vec<&String> = sentences.iter().flatten().cycle().take(LONG).collect();
    let ask = |body: serde_json::Value| post(address, PATH, &body);
    let line = long[..300].iter().map(|word| word.as_str()).collect::<Vec<_>>().join(" ");
    let many = vec![line; 10].join("\n");
    let expensive = vec![ask(json!({ "words": long, "count": 5 }))];
    let dearest = vec![
        post(address, "/v1/parse", &json!({ "text": many })),
        ask(json!({ "words": long[..100], "rule": "nca" })),
        post(address, "/v1/neighbors", &json!({ "words": long[..100], "exact": true, "count": 100 })),
        get(address, "/v1/sentences?find=e&count=100"),
    ];
    let huge = vec![with_body(address, PATH, JSON, &vec![b'a'; 2 << 20]), ask(json!({ "by": vec!["label"; 68_000] }))];
    let malformed = vec![
        b"\x16\x03\x01\x02\x00 this is no request\r\n\r\n".to_vec(),
        with_body(address, PATH, JSON, b"{\"words\": [\"a\", "),
        with_body(address, PATH, JSON, b"{\"text\": \"\xff\xfe\"}"),
        with_body(address, PATH, JSON, "[".repeat(100_000).as_bytes()),
        head(address, PATH, JSON, "content-length: 5\r\ncontent-length: 6"),
        get(address, &format!("/{}", "x".repeat(20_000))),
    ];
    let half = ask(json!({ "words": long }));
    let attack = |(last, (name, clients, does))| Attack { name, clients, own: Ipv4Addr::new(127, 0, 1, last), does };
    let kinds = [
        ("expensive: explain 400 words", 50, Does::Ask(expensive)),
        ("expensive: 3000 words, NCA, exact, search", 4, Does::Ask(dearest)),
        ("half-open", 4, Does::Hold(half[..30].to_vec())),
        ("slow to send", 2, Does::Hold(half[..half.len() / 2].to_vec())),
        ("slow to read", 1, Does::Hold(half)),
        ("huge", 2, Does::AskAnew(huge)),
        ("malformed", 2, Does::AskAnew(malformed)),
        ("many", 8, Does::AskAnew(vec![get(address, "/"), ask(json!({ "words": &long[..3] }))])),
    ];
    (1..).zip(kinds).map(attack).collect()
}

impl Attack {
    /// Attacks until it is over.
    pub fn run(&self, address: SocketAddr, number: usize, over: &AtomicBool, seen: &Mutex<Seen>) {
        let mut seconds = (0..).map_while(|step: usize| (!over.load(Ordering::SeqCst)).then_some(number + step));
        let note = |status: Option<u16>| {
            let mut seen = seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            *seen.entry((self.name, status)).or_default() += 1;
            if status.is_none_or(|status| status == 503) {
                drop(seen);
                std::thread::sleep(PAUSE);
            }
        };
        match &self.does {
            Does::Ask(requests) | Does::AskAnew(requests) => {
                let mut kept = None;
                for step in seconds.by_ref() {
                    let anew = || Connection::open_from(self.own, address).ok();
                    let Some(mut connection) = kept.take().or_else(anew) else {
                        note(None);
                        continue;
                    };
                    let sent = connection.send(&requests[step % requests.len()]);
                    match connection.answer() {
                        Ok(answer) => {
                            note(Some(answer.status));
                            let keeps = matches!(self.does, Does::Ask(_)) && !answer.closes && sent.is_ok();
                            kept = keeps.then_some(connection);
                        }
                        Err(Broken::Unanswered(_) | Broken::Half(_)) => note(None),
                    }
                }
            }
            Does::Hold(bytes) => {
                let mut held: VecDeque<Connection> = VecDeque::new();
                for step in seconds.by_ref() {
                    if let Ok(mut connection) = Connection::open_from(self.own, address)
                        && connection.send(bytes).is_ok()
                    {
                        held.push_back(connection);
                    }
                    if held.len() > HELD {
                        held.pop_front();
                    }
                    let some = held.len().max(1);
                    if let Some(connection) = held.get_mut(step % some) {
                        let _ = connection.send(b"a");
                    }
                    std::thread::sleep(PAUSE / 10);
                }
            }
        }
    }
}
