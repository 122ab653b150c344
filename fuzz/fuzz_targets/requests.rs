//! Any request to the server, behind its connections: it is answered, and never by an error of ours.
#![no_main]

use std::cell::RefCell;
use std::net::TcpListener;
use std::path::Path;

use citree::internals::Direct;
use citree::serve::{Limits, Server};
use citree_fuzz::{alone, bundle, copy, folder};
use libfuzzer_sys::fuzz_target;

const TOKEN: &str = "a-token-for-fuzzing";
const AUTHORIZATION: &str = "Bearer a-token-for-fuzzing";

/// What takes a body, and what changes the evidence.
const POSTS: [(&str, &str); 8] = [
    ("POST", "/v1/parse"),
    ("POST", "/v1/explain"),
    ("POST", "/v1/neighbors"),
    ("POST", "/view/sentence"),
    ("POST", "/view/edge"),
    ("POST", "/v1/evidence"),
    ("DELETE", "/v1/evidence"),
    ("POST", "/v1/evidence/undo"),
];
const KINDS: [&str; 3] = ["application/json", "text/plain", "text/x-conllu"];
const ACCEPTED: [&str; 4] = ["*/*", "text/x-conllu", "text/html", "image/svg+xml"];
/// Changes after which the evidence is put back as it was.
const MOST_CHANGES: usize = 8;

/// A server, and the bundle that each one begins with.
struct Target {
    server: Option<Direct>,
    changes: usize,
    folder: tempfile::TempDir,
}

fn open(bundle: &Path) -> Direct {
    let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
    let limits = Limits::default();
    let server = Server::open(bundle, &listener, &[], limits, 1, &citree::Device::CPU).expect("a server");
    Direct::new(server.allow_changes(TOKEN).expect("a token")).expect("a server without connections")
}

impl Target {
    fn server(&mut self) -> &Direct {
        if self.server.is_none() || self.changes > MOST_CHANGES {
            self.server = None;
            let used = self.folder.path().join("used.citree");
            let _ = std::fs::remove_dir_all(&used);
            copy(&self.folder.path().join("en.citree"), &used);
            (self.server, self.changes) = (Some(open(&used)), 0);
        }
        self.server.as_ref().expect("a server")
    }
}

fn target() -> Target {
    alone();
    let folder = folder();
    bundle(folder.path());
    Target { server: None, changes: 0, folder }
}

// The input: a digit or letter for what is asked, one for the types of body and answer, then the body, or the path for others.
fuzz_target!(|data: &[u8]| {
    thread_local!(static TARGET: RefCell<Target> = RefCell::new(target()));
    let [which, kinds, rest @ ..] = data else { return };
    TARGET.with_borrow_mut(|target| {
        let headers = [
            ("host", "localhost"),
            ("content-type", KINDS[*kinds as usize % KINDS.len()]),
            ("accept", ACCEPTED[*kinds as usize / 4 % ACCEPTED.len()]),
            ("authorization", AUTHORIZATION),
        ];
        let post = POSTS.get((*which as usize).wrapping_sub(usize::from(b'0')));
        let (method, path, body) = match (post, std::str::from_utf8(rest)) {
            (Some(&(method, path)), _) => (method, path, rest),
            (None, Ok(path)) => ("GET", path, &[][..]),
            (None, Err(_)) => return,
        };
        let Some((status, body)) = target.server().answer(method, path, &headers, body) else { return };
        assert!(status < 500 || status == 503, "{status}: {}", String::from_utf8_lossy(&body));
        if status == 200 && path.starts_with("/v1/evidence") && method != "GET" {
            target.changes += 1;
        }
    });
});
