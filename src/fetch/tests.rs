//! Tests of fetching from a local server that behaves well, badly, or not at all.

#![allow(clippy::unwrap_used)]

mod encoder;
mod resumed;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::download::Patience;
use super::*;

/// A server whose response is a function of the path and of the number of earlier requests for it.
struct Server {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answer: impl Fn(&str, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (log, all, answer) = (Arc::clone(&asked), Arc::clone(&heads), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (log, all, answer) = (Arc::clone(&log), Arc::clone(&all), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let head = read_request(&mut stream);
                    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                    all.lock().unwrap().push(head);
                    let before = {
                        let mut log = log.lock().unwrap();
                        log.push(path.clone());
                        log.iter().filter(|asked| **asked == path).count() - 1
                    };
                    match answer(&path, before) {
                        Answer::Bytes(bytes) => stream.write_all(&bytes).unwrap(),
                        Answer::Silence => std::thread::sleep(LONG),
                    }
                });
            }
        });
        Server { base, asked, heads }
    }

    /// The heads of all requests.
    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    fn count(&self, file: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|path| path.ends_with(file)).count()
    }
}

/// Longer than any response takes, even on a busy machine.
const LONG: Duration = Duration::from_secs(20);

enum Answer {
    Bytes(Vec<u8>),
    Silence,
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        request.push(byte[0]);
    }
    String::from_utf8(request).unwrap()
}

fn found(body: &str) -> Answer {
    let length = body.len();
    Answer::Bytes(
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").into_bytes(),
    )
}

fn status(line: &str) -> Answer {
    Answer::Bytes(format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes())
}

fn ewt() -> Release {
    Release::new("UD_English-EWT", "2.7", None).unwrap()
}

/// Fetches with almost no pause between attempts, and without any proxy from the environment.
fn fetch_quickly(base: &str, into: &Path, observe: &mut dyn FnMut(Event)) -> Result<Fetched> {
    fetch_within(LONG, base, into, observe)
}

fn fetch_within(silence: Duration, base: &str, into: &Path, observe: &mut dyn FnMut(Event)) -> Result<Fetched> {
    let patience = Patience { silence, first_wait: Duration::from_millis(1) };
    fetch_with(&Client::with(patience, None), &ewt(), base, into, observe)
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_splits_and_the_licence_are_written_to_their_own_folder() {
    let server = Server::start(|path, _| found(path));
    let into = tempfile::tempdir().unwrap();
    let mut received = 0;
    let fetched = fetch_quickly(&format!("{}/", server.base), into.path(), &mut |event| {
        if let Event::Received { bytes } = event {
            received = bytes;
        }
    });
    let folder = into.path().join("UD_English-EWT-r2.7");
    let files = ["en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu", "LICENSE.txt"];
    let written = files.map(|file| folder.join(file)).to_vec();
    assert_eq!(fetched.unwrap(), Fetched { written, ..Fetched::default() });
    for file in files {
        let url = format!("/UD_English-EWT/r2.7/{file}");
        assert_eq!(std::fs::read_to_string(folder.join(file)).unwrap(), url);
    }
    assert_eq!(names(&folder).len(), 4, "nothing half-made stays behind");
    assert_eq!(received, "/UD_English-EWT/r2.7/LICENSE.txt".len() as u64);
}

#[test]
fn an_existing_file_is_neither_requested_nor_changed() {
    let server = Server::start(|_, _| found("new"));
    let into = tempfile::tempdir().unwrap();
    let folder = into.path().join(ewt().folder());
    std::fs::create_dir_all(&folder).unwrap();
    let dev = folder.join("en_ewt-ud-dev.conllu");
    std::fs::write(&dev, "old").unwrap();
    let fetched = fetch_quickly(&server.base, into.path(), &mut |_| {}).unwrap();
    assert_eq!(std::fs::read_to_string(&dev).unwrap(), "old");
    assert_eq!((fetched.present, fetched.written.len()), (vec![dev], 3));
    assert_eq!(server.count("dev.conllu"), 0);
}

#[test]
fn a_missing_split_is_reported_and_not_requested_again() {
    let server = Server::start(|path, _| if path.contains("train") { status("404 Not Found") } else { found("x") });
    let into = tempfile::tempdir().unwrap();
    let fetched = fetch_quickly(&server.base, into.path(), &mut |_| {}).unwrap();
    assert_eq!((fetched.missing, fetched.written.len()), (vec!["en_ewt-ud-train.conllu".to_owned()], 3));
    assert_eq!(server.count("train.conllu"), 1);
}

#[test]
fn a_release_without_any_split_is_an_error_that_leaves_no_folder() {
    let server = Server::start(|path, _| if path.contains("LICENSE") { found("x") } else { status("404 Not Found") });
    let into = tempfile::tempdir().unwrap();
    let message = fetch_quickly(&server.base, into.path(), &mut |_| {}).unwrap_err().to_string();
    assert!(message.contains("https://github.com/UniversalDependencies/UD_English-EWT/tree/r2.7"), "{message}");
    assert_eq!(names(into.path()), [""; 0]);
}

#[test]
fn an_overloaded_server_is_retried_after_growing_pauses() {
    let server = Server::start(|_, before| if before < 2 { status("503 Service Unavailable") } else { found("x") });
    let into = tempfile::tempdir().unwrap();
    let mut waits = Vec::new();
    let fetched = fetch_quickly(&server.base, into.path(), &mut |event| {
        if let Event::Retrying { wait, .. } = event {
            waits.push(wait.as_millis());
        }
    });
    assert_eq!(fetched.unwrap().written.len(), 4);
    assert_eq!(waits, [1, 2].repeat(4));
}

#[test]
fn a_server_that_stays_overloaded_is_an_error() {
    let server = Server::start(|_, _| status("503 Service Unavailable"));
    let into = tempfile::tempdir().unwrap();
    let message = fetch_quickly(&server.base, into.path(), &mut |_| {}).unwrap_err().to_string();
    assert!(message.contains("503") && message.contains("4 times"), "{message}");
    assert_eq!(server.count("train.conllu"), 4);
}

#[test]
fn a_refusal_is_not_retried() {
    let server = Server::start(|_, _| status("403 Forbidden"));
    let into = tempfile::tempdir().unwrap();
    let message = fetch_quickly(&server.base, into.path(), &mut |_| {}).unwrap_err().to_string();
    assert!(message.contains("403"), "{message}");
    assert_eq!(server.count("train.conllu"), 1);
}

#[test]
fn a_partial_file_is_never_kept() {
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nhalf";
    let server = Server::start(|_, _| Answer::Bytes(half.to_vec()));
    let into = tempfile::tempdir().unwrap();
    let message = fetch_quickly(&server.base, into.path(), &mut |_| {}).unwrap_err().to_string();
    assert!(message.contains("ended early"), "{message}");
    assert_eq!(server.count("train.conllu"), 4, "it may be whole the next time");
    assert_eq!(names(&into.path().join(ewt().folder())), [""; 0]);
}

#[test]
fn a_silent_server_is_retried() {
    let server =
        Server::start(|path, before| if path.contains("train") && before == 0 { Answer::Silence } else { found("x") });
    let into = tempfile::tempdir().unwrap();
    let mut reasons = Vec::new();
    let fetched = fetch_within(Duration::from_millis(300), &server.base, into.path(), &mut |event| {
        if let Event::Retrying { reason, .. } = event {
            reasons.push(reason.to_owned());
        }
    });
    assert_eq!(fetched.unwrap().written.len(), 4);
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| reason.contains("in time")), "{reasons:?}");
}

#[test]
fn without_a_connection_the_error_names_the_url_and_the_target() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let into = tempfile::tempdir().unwrap();
    let message = fetch_quickly(&format!("http://{closed}"), into.path(), &mut |_| {}).unwrap_err().to_string();
    let path = into.path().join("UD_English-EWT-r2.7").join("en_ewt-ud-train.conllu");
    assert!(message.contains(&format!("http://{closed}/UD_English-EWT/r2.7/en_ewt-ud-train.conllu")), "{message}");
    assert!(message.contains(&format!("save it as {}", path.display())), "{message}");
}

#[test]
fn file_names_follow_from_the_name_of_the_treebank() {
    let file = |treebank, code| Release::new(treebank, "2.7", code).unwrap().split_file("dev");
    assert_eq!(file("UD_English-EWT", None), "en_ewt-ud-dev.conllu");
    assert_eq!(file("UD_Ancient_Greek-PROIEL", None), "grc_proiel-ud-dev.conllu");
    assert_eq!(file("UD_English", None), "en-ud-dev.conllu", "as in releases up to 2.0");
    assert_eq!(file("UD_Klingon-TNG", Some("tlh_tng")), "tlh_tng-ud-dev.conllu");
    assert_eq!(file("UD_English-EWT", Some("other")), "other-ud-dev.conllu");
}

#[test]
fn an_unknown_language_is_an_error_that_suggests_code() {
    let message = Release::new("UD_Klingon-TNG", "2.7", None).unwrap_err().to_string();
    assert!(message.contains("UD_Klingon-TNG") && message.contains("--code"), "{message}");
}

#[test]
fn names_that_could_escape_the_path_are_refused() {
    for name in
        ["", "UD_", "UD_English-", "EWT", "UD_../x-EWT", "UD_English-E/T", "UD_English-E\\T", "UD_English-EWT?x"]
    {
        assert!(Release::new(name, "2.7", Some("en_ewt")).is_err(), "{name}");
    }
    for number in ["", ".", "2.", "../2", "2.7/..", "r2.7", "two"] {
        assert!(Release::new("UD_English-EWT", number, None).is_err(), "{number}");
    }
    for code in ["", "../en", "en/ewt", "en ewt", "C:"] {
        assert!(Release::new("UD_English-EWT", "2.7", Some(code)).is_err(), "{code}");
    }
}
