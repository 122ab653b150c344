//! Clients that hold connections, slowly or half open, and what is left for others.

use crate::sandbox::{Sandbox, stderr};
use crate::serve_under_load::{TEXT, head, served};
use crate::server::{eventually, rest};
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[test]
fn clients_that_stop_sending_are_cut_off() {
    let (_sandbox, server) = served(&["--timeout", "1"]);
    // Headers that never end, even if more bytes keep coming.
    let mut stream = server.connect();
    stream.write_all(b"POST /v1/parse HTTP/1.1\r\nhost: local").unwrap();
    trickle(&stream, b"h");
    assert!(!rest(&mut stream).contains("200 OK"));
    // A body that never ends.
    let mut stream = server.connect();
    stream.write_all(head("POST", "/v1/parse", "content-length: 1000\r\n\r\n{\"text\": \"").as_bytes()).unwrap();
    trickle(&stream, b"a");
    let answer = rest(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("did not come within 1 s"), "{answer}");
    // A connection without another request.
    let mut stream = server.connect();
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert!(rest(&mut stream).starts_with("HTTP/1.1 200"));
    let mut silent = server.connect();
    assert_eq!(rest(&mut silent), "");
    assert_eq!(server.get("/livez").status, 200);
}

/// Sends a byte at intervals while the connection accepts it.
fn trickle(stream: &TcpStream, byte: &'static [u8]) {
    let mut stream = stream.try_clone().unwrap();
    std::thread::spawn(move || {
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(200));
            if stream.write_all(byte).is_err() {
                return;
            }
        }
    });
}

#[test]
fn beyond_the_limit_busy_connections_stay_others_get_503_and_health_is_answered() {
    let (_sandbox, server) = served(&["--max-connections", "2", "--threads", "1"]);
    let post = |text: &str| {
        let body = json!({ "text": text, "lines": true, "count": 1 }).to_string();
        head("POST", "/v1/explain", &format!("connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
    };
    let long = post(&format!("{}\n", vec!["word"; 390].join(" ")).repeat(2));
    // The two requests can be answered already when the others are sent, or not be read yet, so it is tried again.
    eventually("503 while two requests are computed", || {
        let busy = [0, 1].map(|_| {
            let mut stream = server.connect();
            stream.write_all(long.as_bytes()).unwrap();
            stream
        });
        std::thread::sleep(Duration::from_millis(100));
        let refused = server.raw(post(TEXT).as_bytes());
        let [live, ready] =
            ["/livez", "/readyz"].map(|path| server.raw(head("GET", path, "connection: close\r\n\r\n").as_bytes()));
        let whole = busy.into_iter().all(|mut stream| rest(&mut stream).starts_with("HTTP/1.1 200"));
        let refused = refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 1");
        (whole && refused && live.starts_with("HTTP/1.1 200") && ready.starts_with("HTTP/1.1 200")).then_some(())
    });
}

#[test]
fn half_open_connections_of_one_client_take_no_place_from_requests() {
    let (_sandbox, server) = served(&[]);
    let mut half_open = Vec::new();
    for wave in 0..3 {
        for _ in 0..280 {
            let mut stream = server.connect();
            stream.write_all(b"POST /v1/parse HTTP/1.1\r\nhost: local").unwrap();
            half_open.push(stream);
        }
        for path in ["/livez", "/readyz"] {
            let start = Instant::now();
            assert_eq!(server.get(path).status, 200, "{path} beside wave {wave}");
            assert!(start.elapsed() < Duration::from_secs(2), "{path} took {:?}", start.elapsed());
        }
        // When the connections are older than a moment, they end to make room.
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(server.post("/v1/explain", &json!({ "text": TEXT })).status, 200, "beside wave {wave}");
        // The oldest have ended. Else we have too many files open.
        half_open.drain(..half_open.len().saturating_sub(280));
    }
    assert!(server.get("/metrics").body.contains("citree_connections_turned_away_total"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_gets_no_thread_says_so_and_ends() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    // Stacks take 2 MiB of addresses each, so the limit is reached among the threads of citree or of its server. Once in a
    // while it is reached by an allocation of another thread instead, which aborts any Rust program: then it is tried again.
    for limit in [500_000, 2_000_000] {
        let program = env!("CARGO_BIN_EXE_citree");
        let serve = format!("ulimit -v {limit}; exec {program} serve t.citree --listen 127.0.0.1:0 --threads 400");
        let run = || {
            let mut command = std::process::Command::new("sh");
            command.args(["-c", &serve]).current_dir(sandbox.path("")).output().unwrap()
        };
        let output = (0..5).map(|_| run()).find(|output| output.status.code().is_some()).unwrap_or_else(run);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = stderr(&output);
        assert!(said.contains("a thread does not start") && said.contains("--threads"), "{limit}: {said}");
        assert!(!said.contains("panicked"), "{limit}: {said}");
    }
}
