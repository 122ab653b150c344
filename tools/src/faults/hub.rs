//! A hub with one model, as `citree fetch encoder` asks for it, on this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

/// The name of the model, and its folder in a cache.
pub const MODEL: &str = "org/tiny";
pub const FOLDER: &str = "hub/models--org--tiny";
/// Its files.
pub const FILES: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
/// Each with the hash that git gives it, or SHA-256 for the weights.
const DESCRIPTION: &str = r#"{"id": "org/tiny", "sha": "0123456789abcdef0123456789abcdef01234567", "siblings": [
  {"rfilename": "config.json", "size": 22, "blobId": "46332c50668921e90868a1d44a2550bb60ffdb1d"},
  {"rfilename": "tokenizer.json", "size": 18, "blobId": "fdef94443aef6c464d438c4654540cb4245f8f1e"},
  {"rfilename": "model.safetensors", "size": 4096, "lfs": {"size": 4096, "pointerSize": 9,
    "sha256": "b2191f2bda70411ff11484be1f0b202b873187c24314594384ff95f2138f92b1"}}]}"#;

/// Starts it. Returns its address. It ends with the program.
pub fn start() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            let asked = head.next().unwrap_or_default();
            // Read to its end, so that the connection is not reset.
            head.for_each(drop);
            let asked = asked.split(' ').nth(1).unwrap_or_default().to_owned();
            let content = match asked.strip_prefix(&format!("/{MODEL}/resolve/{COMMIT}/")) {
                Some("config.json") => r#"{"model_type": "bert"}"#.to_owned(),
                Some("tokenizer.json") => r#"{"version": "1.0"}"#.to_owned(),
                Some(_) => "weights ".repeat(512),
                None => DESCRIPTION.to_owned(),
            };
            // A process that was killed does not read its answer.
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{content}",
                content.len()
            );
        }
    });
    Ok(address)
}
