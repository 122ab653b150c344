//! Tests of files fetched by their URL.

use super::super::resumed::fetch_with as fetch_file_with;
use super::*;

const TEXT: &str = "a bundle, packed";

fn fetch_pack(server: &Server, into: &Path) -> Result<PathBuf> {
    let client = Client::with(Patience { silence: LONG, first_wait: Duration::from_millis(1) }, None);
    fetch_file_with(&client, &format!("{}/x/en.citree.tar.zst?download=1", server.base), into, &mut |_| {})
}

fn cut_after(count: usize) -> Answer {
    let (length, part) = (TEXT.len(), &TEXT[..count]);
    Answer::Bytes(
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{part}").into_bytes(),
    )
}

fn rest_from(start: usize) -> Answer {
    let (last, length, part) = (TEXT.len() - 1, TEXT.len(), &TEXT[start..]);
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {start}-{last}/{length}\r\nContent-Length: {}\r\nConnection: close",
        part.len()
    );
    Answer::Bytes(format!("{head}\r\n\r\n{part}").into_bytes())
}

#[test]
fn an_interrupted_download_goes_on_where_it_stopped() {
    let server = Server::start(|_, before| if before == 0 { cut_after(5) } else { rest_from(5) });
    let into = tempfile::tempdir().unwrap();
    let path = fetch_pack(&server, into.path()).unwrap();
    assert_eq!(path, into.path().join("en.citree.tar.zst"));
    assert_eq!(std::fs::read_to_string(path).unwrap(), TEXT);
    assert!(server.heads()[1].to_lowercase().contains("range: bytes=5-"), "{}", server.heads()[1]);
    assert_eq!(names(into.path()), ["en.citree.tar.zst"]);
}

#[test]
fn another_run_goes_on_and_a_server_without_ranges_starts_again() {
    for ranges in [true, false] {
        let server = Server::start(move |_, _| if ranges { rest_from(5) } else { found(TEXT) });
        let into = tempfile::tempdir().unwrap();
        std::fs::write(into.path().join("en.citree.tar.zst.incomplete"), &TEXT[..5]).unwrap();
        let path = fetch_pack(&server, into.path()).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), TEXT);
    }
}

#[test]
fn another_part_than_asked_for_is_not_taken() {
    let server = Server::start(|_, before| if before == 0 { rest_from(7) } else { found(TEXT) });
    let into = tempfile::tempdir().unwrap();
    std::fs::write(into.path().join("en.citree.tar.zst.incomplete"), &TEXT[..5]).unwrap();
    assert_eq!(std::fs::read_to_string(fetch_pack(&server, into.path()).unwrap()).unwrap(), TEXT);
}

#[test]
fn a_file_that_does_not_exist_is_an_error() {
    let server = Server::start(|_, _| status("404 Not Found"));
    let into = tempfile::tempdir().unwrap();
    assert!(fetch_pack(&server, into.path()).unwrap_err().to_string().contains("404"));
}
