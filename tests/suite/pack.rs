//! `citree pack` and `citree fetch` of a packed bundle.

use crate::frozen::thawed;
use crate::sandbox::{Sandbox, stderr, stdout};
use std::io::{Read, Write};
use std::net::TcpListener;

fn packed(sandbox: &Sandbox) -> String {
    let output = sandbox.citree(&[
        "pack",
        "en.citree",
        "en.citree.tar.zst",
        "--treebank",
        "UD_Small-Test",
        "--release",
        "2.7",
        "--license",
        "CC0-1.0",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

/// Serves a file once, then ends.
fn served(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).unwrap();
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len()).unwrap();
        stream.write_all(&bytes).unwrap();
    });
    format!("http://{address}/en.citree.tar.zst")
}

#[test]
fn a_packed_bundle_parses_elsewhere_as_it_did() {
    let sandbox = thawed();
    let printed = packed(&sandbox);
    let hash = printed.split("  ").next().unwrap();
    assert_eq!((hash.len(), printed.ends_with("  en.citree.tar.zst\n")), (64, true), "{printed}");
    let output = sandbox.citree(&["fetch", "en.citree.tar.zst", "--into", "elsewhere", "--sha256", hash]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output).trim(), "elsewhere/en.citree");
    assert!(stderr(&output).contains("treebank: UD_Small-Test 2.7; licence: CC0-1.0"), "{}", stderr(&output));
    let parse = |bundle| stdout(&sandbox.citree(&["parse", bundle, "one.txt", "--lines", "--scores"]));
    assert_eq!(parse("en.citree"), parse("elsewhere/en.citree"));
    assert_eq!(sandbox.citree(&["verify", "elsewhere/en.citree"]).status.code(), Some(0));
    assert!(sandbox.path("en.citree.tar.zst").exists(), "a file of the user stays");
    let again = sandbox.citree(&["fetch", "en.citree.tar.zst", "--into", "elsewhere"]);
    assert!(stderr(&again).contains("there already"), "{}", stderr(&again));
}

#[test]
fn a_packed_bundle_is_fetched_by_its_url_and_only_the_bundle_stays() {
    let sandbox = thawed();
    packed(&sandbox);
    let url = served(std::fs::read(sandbox.path("en.citree.tar.zst")).unwrap());
    let fetch = |url: &str| {
        let mut command = sandbox.command(&["fetch", url, "--into", "web"]);
        ["http_proxy", "https_proxy", "all_proxy"].iter().for_each(|name| {
            command.env_remove(name).env_remove(name.to_uppercase());
        });
        command.output().unwrap()
    };
    let output = fetch(&url);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let names: Vec<_> = std::fs::read_dir(sandbox.path("web")).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(names, ["en.citree"]);
    // Without a download.
    let there = fetch("http://127.0.0.1:1/en.citree.tar.zst");
    assert!(stderr(&there).contains("there already"), "{}", stderr(&there));
}

#[test]
fn a_treebank_still_needs_its_release() {
    let sandbox = Sandbox::new();
    let output = sandbox.citree(&["fetch", "UD_English-EWT"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--release 2.7"), "{}", stderr(&output));
}
