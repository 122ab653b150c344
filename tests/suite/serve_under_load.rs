//! The server under load: clients that ask for too much, too slowly or all at once, a stop, and a new index.

use crate::sandbox::{Sandbox, stderr};
use crate::server::{Server, eventually, rest};
use citree::serve::{Limits, Server as InProcess};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub const TEXT: &str = "Anna didn't find the old letters in the kitchen.";

pub fn served(more: &[&str]) -> (Sandbox, Server) {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let server = Server::start(&sandbox, "t.citree", more);
    (sandbox, server)
}

pub fn head(method: &str, path: &str, more: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{more}")
}

#[test]
fn bodies_words_sentences_and_counts_have_limits_that_are_named() {
    let (_sandbox, server) = served(&["--max-body", "20000", "--max-words", "500", "--max-count", "20"]);
    let words = |count: usize| vec!["word"; count].join(" ");
    for (path, body, status, detail) in [
        ("/v1/parse", json!({ "text": "x ".repeat(15_000) }), 413, "20000 bytes"),
        ("/v1/parse", json!({ "text": words(450) }), 422, "at most 400"),
        (
            "/v1/parse",
            json!({ "text": format!("{}\n{}", words(300), words(300)), "lines": true }),
            422,
            "at most 500 words",
        ),
        ("/v1/parse", json!({ "text": "a\n".repeat(65), "lines": true }), 422, "at most 64 sentences"),
        ("/v1/explain", json!({ "text": TEXT, "count": 21 }), 422, "at most 20"),
        ("/v1/explain", json!({ "text": TEXT, "why_not": vec!["1:2"; 9] }), 422, "at most 8"),
        ("/v1/explain", json!({ "text": words(250), "rule": { "name": "nca" } }), 422, "at most 100"),
        (
            "/v1/explain",
            json!({ "text": format!("{TEXT}\n").repeat(3), "lines": true, "why_not": vec!["1:2"; 3] }),
            422,
            "9 contrasts",
        ),
        ("/v1/explain", json!({ "text": words(60), "by": ["head", "dependent"] }), 422, "takes too long"),
        ("/v1/explain", json!({ "text": words(2), "by": vec!["label"; 2_000] }), 422, "at most 16 splits"),
        ("/v1/explain", json!({ "text": TEXT, "edges": vec![1; 500], "count": 0 }), 422, "at most 400"),
        ("/v1/explain", json!({ "text": TEXT, "rule": { "name": "knn", "neighbors": 1001 } }), 422, "at most 1000"),
        ("/v1/explain", json!({ "text": TEXT, "rule": { "name": "nca", "temperature": 1e30 } }), 422, "at most 1024"),
        ("/v1/parse", json!({ "words": ["x".repeat(401)] }), 422, "401 characters"),
        ("/v1/parse", json!({ "words": vec!["x"; 401] }), 422, "401 words"),
        ("/v1/parse", json!({ "text": ".,".repeat(9000), "lines": true }), 422, "too long for one sentence"),
        ("/v1/parse", json!({ "conllu": "x\n".repeat(1001) }), 422, "too many lines"),
        ("/v1/neighbors", json!({ "text": TEXT, "count": 21 }), 422, "at most 20"),
        ("/v1/neighbors", json!({ "text": words(250), "exact": true }), 422, "at most 100"),
    ] {
        let answer = server.post(path, &body);
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(answer.json()["detail"].as_str().unwrap().contains(detail), "{answer:?}");
    }
    assert_eq!(server.post("/v1/explain", &json!({ "text": words(400), "count": 20 })).status, 200);
    // Without a length, the size is known only at the end.
    let chunk = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
    let chunked =
        format!("{}{}0\r\n\r\n", head("POST", "/v1/parse", "transfer-encoding: chunked\r\n\r\n"), chunk.repeat(4));
    assert!(server.raw(chunked.as_bytes()).starts_with("HTTP/1.1 413"));
    assert!(
        server
            .raw(format!("GET /livez HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(40_000)).as_bytes())
            .starts_with("HTTP/1.1 431")
    );
    assert!(server.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n").starts_with("HTTP/1.1 400"));
    assert_eq!(server.get("/livez").status, 200);
}

#[test]
fn an_answer_has_a_limit_too() {
    let (_sandbox, server) = served(&[]);
    let sentence = vec!["word"; 300].join(" ");
    let refused = server.post("/v1/explain", &json!({ "text": sentence, "count": 100 }));
    assert_eq!(refused.status, 422);
    assert!(refused.body.contains("at most 20000"), "{}", refused.body);
    assert_eq!(server.post("/v1/explain", &json!({ "text": sentence, "count": 100, "edges": [1, 2] })).status, 200);
}

#[test]
fn an_overloaded_server_answers_503_to_some_requests_and_answers_the_rest() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let limits = Limits { waiting_words: 1, ..Limits::default() };
    let server = InProcess::open(&sandbox.path("t.citree"), &listener, &[], limits, 1, &citree::Device::CPU).unwrap();
    let stop = server.stop();
    let running = std::thread::spawn(move || server.run(listener, |_| {}));
    let body = json!({ "text": format!("{}\n", vec!["word"; 300].join(" ")).repeat(3), "lines": true }).to_string();
    let clients: Vec<_> = (0..24)
        .map(|_| {
            let body = body.clone();
            std::thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                let more = format!("content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
                stream.write_all(head("POST", "/v1/explain", &more).as_bytes()).unwrap();
                let answer = rest(&mut stream);
                if answer.starts_with("HTTP/1.1 503") {
                    assert!(answer.contains("retry-after: 1") && answer.contains("try again"), "{answer}");
                }
                answer[9..12].to_string()
            })
        })
        .collect();
    let statuses: Vec<String> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    assert_eq!(statuses.iter().cloned().collect::<HashSet<_>>(), HashSet::from(["200".to_string(), "503".to_string()]));
    stop.stop();
    running.join().unwrap().unwrap();
}

#[test]
fn simultaneous_requests_get_the_same_answers_as_single_ones() {
    let (sandbox, server) = served(&[]);
    let sentences = citree::treebank::read_all(&sandbox.path("train.conllu")).unwrap();
    let bodies: Vec<Value> = sentences
        .iter()
        .zip(["sum", "sum", "nca", "sum", "knn"].iter().cycle())
        .map(|(sentence, rule)| {
            json!({ "words": sentence.forms().collect::<Vec<_>>(), "rule": { "name": rule }, "count": 3 })
        })
        .collect();
    let ask = |body: &Value| server.post("/v1/explain", body).json()["sentences"][0].clone();
    let alone: Vec<Value> = bodies.iter().map(ask).collect();
    // Results can differ in the last digits between batch sizes, so a tie can be decided differently.
    let (mut words, mut other) = (0, 0);
    for _ in 0..2 {
        let together: Vec<Value> = std::thread::scope(|scope| {
            let asking: Vec<_> = bodies.iter().map(|body| scope.spawn(move || ask(body))).collect();
            asking.into_iter().map(|asking| asking.join().unwrap()).collect()
        });
        for (alone, together) in alone.iter().zip(&together) {
            assert_eq!((&alone["words"], &alone["rule"]), (&together["words"], &together["rule"]));
            for (word, probabilities) in alone["probabilities"].as_array().unwrap().iter().enumerate() {
                let edge = |answer: &Value| (answer["heads"][word].clone(), answer["labels"][word].clone());
                let same = edge(alone) == edge(together)
                    && (0..2).all(|at| {
                        let both =
                            [&probabilities[at], &together["probabilities"][word][at]].map(|p| p.as_f64().unwrap());
                        (both[0] - both[1]).abs() < 1e-2
                    });
                words += 1;
                other += usize::from(!same);
            }
        }
    }
    assert!(words > 1000 && other <= 3, "{other} of {words} words differ");
    let metrics = server.get("/metrics").body;
    for expected in [
        "citree_http_requests_total{route=\"/v1/explain\",status=\"200\"} 180",
        "citree_index_generation 1",
        "citree_batch_requests_bucket",
        "# EOF",
    ] {
        assert!(metrics.contains(expected), "no {expected} in\n{metrics}");
    }
}

#[test]
fn sigterm_finishes_open_requests_and_exits_with_0() {
    let (sandbox, mut server) = served(&[]);
    let body = json!({ "text": TEXT }).to_string();
    let (first, second) = body.split_at(10);
    let mut open = server.connect();
    let more = format!("content-length: {}\r\n\r\n{first}", body.len());
    open.write_all(head("POST", "/v1/explain", &more).as_bytes()).unwrap();
    // Other clients send requests all the time. Each answer they get is complete, until the server ends.
    let going = Arc::new(AtomicBool::new(true));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (address, going) = (server.address.clone(), going.clone());
            std::thread::spawn(move || {
                let mut whole = 0;
                while going.load(Ordering::SeqCst) {
                    let Ok(mut stream) = TcpStream::connect(&address) else { break };
                    let body = json!({ "text": TEXT }).to_string();
                    let more = format!("content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
                    let _ = stream.write_all(head("POST", "/v1/explain", &more).as_bytes());
                    let answer = rest(&mut stream);
                    assert!(
                        answer.is_empty() || answer.starts_with("HTTP/1.1 200") && answer.ends_with("]}"),
                        "{answer}"
                    );
                    whole += usize::from(!answer.is_empty());
                }
                whole
            })
        })
        .collect();
    eventually("some answers", || {
        server.get("/metrics").body.contains("route=\"/v1/explain\",status=\"200\"").then_some(())
    });
    server.signal("-TERM");
    eventually("no new connections", || TcpStream::connect(&server.address).is_err().then_some(()));
    assert!(server.process.try_wait().unwrap().is_none(), "one request is still open");
    open.write_all(second.as_bytes()).unwrap();
    let answer = rest(&mut open);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("]}"), "{answer}");
    assert_eq!(server.wait(), Some(0));
    going.store(false, Ordering::SeqCst);
    assert!(clients.into_iter().map(|client| client.join().unwrap()).sum::<usize>() > 0);
    let said = std::fs::read_to_string(sandbox.path("stderr")).unwrap();
    assert!(said.contains("finishing open requests"), "{said}");
}

#[test]
fn a_new_index_is_served_without_a_restart_and_without_a_failed_request() {
    let (sandbox, server) = served(&[]);
    let server = Arc::new(server);
    assert_eq!(server.get("/readyz").json()["generation"], 1);
    let going = Arc::new(AtomicBool::new(true));
    let seen = Arc::new(AtomicU64::new(0));
    let client = std::thread::spawn({
        let (server, going, seen) = (server.clone(), going.clone(), seen.clone());
        move || {
            while going.load(Ordering::SeqCst) {
                let answer = server.post("/v1/explain", &json!({ "text": TEXT, "count": 5 }));
                assert_eq!(answer.status, 200, "{answer:?}");
                seen.store(answer.json()["generation"].as_u64().unwrap(), Ordering::SeqCst);
            }
        }
    });
    let output = sandbox.citree(&["index", "t.citree", "--treebank", "dev.conllu"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    eventually("generation 2", || (server.get("/readyz").json()["generation"] == 2).then_some(()));
    let names: HashSet<String> = citree::treebank::read_all(&sandbox.path("dev.conllu"))
        .unwrap()
        .iter()
        .map(|sentence| sentence.sent_id().unwrap().to_string())
        .collect();
    let answer = server.post("/v1/explain", &json!({ "text": TEXT })).json();
    for edge in answer["sentences"][0]["edges"].as_array().unwrap() {
        for citation in edge["attachment"]["citations"].as_array().unwrap() {
            assert!(names.contains(citation["sent_id"].as_str().unwrap()), "{citation}");
        }
    }
    eventually("a client of the old one sees the new one", || (seen.load(Ordering::SeqCst) == 2).then_some(()));
    going.store(false, Ordering::SeqCst);
    client.join().unwrap();
    assert_eq!(server.get("/v1/edges/1?generation=1").status, 409);
    assert_eq!(server.get("/readyz").json()["sentences"], 20);

    // A generation that cannot be opened is reported and not served.
    std::fs::write(sandbox.path("t.citree/index/CURRENT"), "gen-000009\n").unwrap();
    eventually("a word about it", || {
        std::fs::read_to_string(sandbox.path("stderr"))
            .unwrap()
            .contains("generation 9 of the index cannot be served")
            .then_some(())
    });
    assert_eq!(server.get("/readyz").json()["generation"], 2);
    assert_eq!(server.post("/v1/explain", &json!({ "text": TEXT })).status, 200);
}

#[test]
fn a_bundle_renamed_into_the_place_of_the_served_one_is_served_without_a_restart() {
    let (sandbox, server) = served(&[]);
    sandbox.trained_with("other.citree", &["--seed", "5"]);
    let before = server.get("/readyz").json();
    std::fs::rename(sandbox.path("t.citree"), sandbox.path("old.citree")).unwrap();
    std::fs::rename(sandbox.path("other.citree"), sandbox.path("t.citree")).unwrap();
    let after = eventually("the other model", || {
        let after = server.get("/readyz").json();
        (after["fingerprint"] != before["fingerprint"]).then_some(after)
    });
    assert_eq!(after["generation"], before["generation"]);
    assert_eq!(server.post("/v1/explain", &json!({ "text": TEXT })).status, 200);
}

#[test]
fn a_generation_that_could_not_be_opened_is_served_once_it_can_be() {
    let (sandbox, server) = served(&[]);
    crate::trained::copy_all(&sandbox.path("t.citree"), &sandbox.path("copy.citree"));
    let output = sandbox.citree(&["index", "copy.citree", "--treebank", "dev.conllu"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    std::fs::rename(sandbox.path("copy.citree/index/CURRENT"), sandbox.path("t.citree/index/CURRENT")).unwrap();
    let said = || std::fs::read_to_string(sandbox.path("stderr")).unwrap();
    eventually("a word about it", || said().contains("generation 2 of the index cannot be served").then_some(()));
    let generation = "index/gen-000002";
    std::fs::rename(sandbox.path("copy.citree").join(generation), sandbox.path("t.citree").join(generation)).unwrap();
    eventually("generation 2", || (server.get("/readyz").json()["generation"] == 2).then_some(()));
}

#[test]
fn every_answer_has_security_headers_and_other_sites_are_refused() {
    let (_sandbox, server) = served(&["--host", "parser.example"]);
    for path in ["/", "/page.js", "/readyz", "/nothing", "/v1/parse"] {
        let answer = server.get(path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
    let status = |headers: &[(&str, &str)]| server.send("GET", "/readyz", headers, None).status;
    assert_eq!(status(&[("host", "evil.example")]), 421, "a name that leads here is not ours");
    assert_eq!(status(&[("host", "parser.example")]), 200);
    assert_eq!(status(&[("host", "localhost:1")]), 200);
    let both = server.raw(b"GET /livez HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
    assert!(both.starts_with("HTTP/1.1 400") && both.contains("two Host headers"), "{both}");
    assert_eq!(status(&[("origin", "http://evil.example")]), 403);
    assert_eq!(status(&[("origin", "https://parser.example")]), 200, "behind a proxy that has our name");
    assert_eq!(status(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]), 403);
    assert_eq!(
        status(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]),
        200,
        "a link may lead here"
    );
    assert_eq!(status(&[("origin", &format!("http://{}", server.address))]), 200);
    let tag = server.get("/page.js").header("etag").unwrap().to_string();
    assert_eq!(server.send("GET", "/page.js", &[("if-none-match", &tag)], None).status, 304);
}

#[test]
fn problems_of_the_bundle_or_the_address_are_reported_at_the_start() {
    let sandbox = Sandbox::new();
    let missing = sandbox.citree(&["serve", "no.citree", "--listen", "127.0.0.1:0"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("citree train"), "{}", stderr(&missing));
    sandbox.trained("t.citree");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = sandbox.citree(&["serve", "t.citree", "--listen", &address]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("choose another port"), "{}", stderr(&output));
    let output = sandbox.citree(&["serve", "t.citree", "--listen", "nonsense"]);
    assert!(stderr(&output).contains("127.0.0.1:8080"), "{}", stderr(&output));
    std::fs::remove_dir_all(sandbox.path("t.citree/index")).unwrap();
    let output = sandbox.citree(&["serve", "t.citree", "--listen", "127.0.0.1:0"]);
    assert!(stderr(&output).contains("citree index"), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
}
