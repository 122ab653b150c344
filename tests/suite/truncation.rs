//! Files of a bundle that are truncated while a server or a command has them mapped. Before, both ended by SIGBUS, without
//! a word. Only on Linux is there anything better.

#![cfg(target_os = "linux")]

use crate::sandbox::{Sandbox, stderr};
use crate::server::{Server, eventually};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

const TEXT: &str = "Anna didn't find the old letters in the kitchen.";

/// The files of the first generation of an index.
fn files(sandbox: &Sandbox) -> Vec<PathBuf> {
    let folder = sandbox.path("t.citree/index/gen-000001");
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn truncate(path: &PathBuf, length: u64) {
    std::fs::File::options().write(true).open(path).unwrap().set_len(length).unwrap();
}

#[test]
fn a_server_whose_index_is_truncated_answers_503_until_there_is_a_whole_one() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let mut server = Server::start(&sandbox, "t.citree", &[]);
    let ask = |server: &Server| server.post("/v1/explain", &json!({ "text": TEXT }));
    assert_eq!(ask(&server).status, 200);
    let heads = sandbox.path("t.citree/index/gen-000001/heads");
    let whole = std::fs::read(&heads).unwrap();
    for length in [0, 1500, whole.len() as u64 - 1] {
        truncate(&heads, length);
        let refused = ask(&server);
        assert_eq!(refused.status, 503, "{refused:?}");
        assert!(refused.body.contains("truncated"), "{refused:?}");
        assert!(refused.header("retry-after").is_some());
        assert_eq!((server.get("/livez").status, server.get("/readyz").status), (200, 503));
        eventually("the operator is told which file", || {
            std::fs::read_to_string(sandbox.path("stderr")).unwrap().contains("gen-000001/heads").then_some(())
        });
        // Restored in place, and opened again.
        std::fs::write(&heads, &whole).unwrap();
        eventually("answers again", || (ask(&server).status == 200).then_some(()));
        assert_eq!(server.get("/readyz").status, 200);
    }
    files(&sandbox).iter().for_each(|file| truncate(file, 0));
    assert_eq!(ask(&server).status, 503);
    let built = sandbox.citree(&["index", "t.citree", "--treebank", "train.conllu"]);
    assert_eq!(built.status.code(), Some(0), "{}", stderr(&built));
    eventually("a new generation", || (ask(&server).status == 200).then_some(()));
    server.signal("-TERM");
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn a_server_survives_truncation_at_any_moment() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let server = Server::start(&sandbox, "t.citree", &[]);
    let copies: Vec<(PathBuf, Vec<u8>)> =
        files(&sandbox).into_iter().map(|file| (file.clone(), std::fs::read(file).unwrap())).collect();
    let expected = server.post("/v1/explain", &json!({ "text": TEXT, "rule": "sum" })).body;
    let mut refused = 0;
    for round in 0..12 {
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| server.post("/v1/explain", &json!({ "text": TEXT, "rule": "sum" })));
            std::thread::sleep(std::time::Duration::from_micros(250 * round));
            copies.iter().for_each(|(file, _)| truncate(file, 0));
            let answer = asked.join().unwrap();
            match answer.status {
                200 => assert_eq!(answer.body, expected, "wrong in silence"),
                503 => refused += 1,
                _ => panic!("{answer:?}"),
            }
        });
        copies.iter().for_each(|(file, whole)| std::fs::write(file, whole).unwrap());
        eventually("answers again", || (server.get("/readyz").status == 200).then_some(()));
    }
    assert!(refused > 0, "no file was truncated in time");
}

#[test]
fn a_command_whose_index_is_truncated_says_so() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let mut command = sandbox.command(&["explain", "t.citree", "--text", "-"]);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the index is mapped", || {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", process.id())).unwrap();
        maps.contains("gen-000001/heads").then_some(())
    });
    files(&sandbox).iter().for_each(|file| truncate(file, 0));
    writeln!(process.stdin.take().unwrap(), "{TEXT}").unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("truncated while it was in use"), "{}", stderr(&output));
}

#[test]
fn a_server_whose_rows_are_damaged_answers_503_until_they_are_restored() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let heads = sandbox.path("t.citree/index/gen-000001/heads");
    let whole = std::fs::read(&heads).unwrap();
    let mut damaged = whole.clone();
    damaged[1024 + 3] ^= 0x80;
    std::fs::write(&heads, &damaged).unwrap();
    let server = Server::start(&sandbox, "t.citree", &[]);
    let ask = || server.post("/v1/explain", &json!({ "text": TEXT, "rule": "knn" }));
    for _ in 0..2 {
        let refused = ask();
        assert_eq!(refused.status, 503, "{refused:?}");
        assert!(refused.body.contains("damaged"), "{refused:?}");
        eventually("the operator is told which file", || {
            std::fs::read_to_string(sandbox.path("stderr")).unwrap().contains("gen-000001/heads").then_some(())
        });
    }
    std::fs::write(&heads, &whole).unwrap();
    eventually("answers again", || (ask().status == 200).then_some(()));
}
