//! A running `citree serve` on a free local port. It ends with its test in any case.

use crate::sandbox::Sandbox;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time limit of every operation, far more than any needs.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Server {
    pub process: Child,
    pub address: String,
    agent: ureq::Agent,
}

/// A complete answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub kind: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

impl Server {
    /// Serves a bundle of a sandbox.
    pub fn start(sandbox: &Sandbox, bundle: &str, more: &[&str]) -> Self {
        let arguments = [&["serve", bundle, "--listen", "127.0.0.1:0"], more].concat();
        let stderr = std::fs::File::create(sandbox.path("stderr")).unwrap();
        let mut process = sandbox.command(&arguments).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_string();
        assert!(address.starts_with("127.0.0.1:"), "{line:?}: {:?}", std::fs::read_to_string(sandbox.path("stderr")));
        Self { process, address, agent: agent() }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], None)
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("content-type", "application/json")], Some(&body.to_string()))
    }

    /// Posts and accepts another format than JSON.
    pub fn post_for(&self, path: &str, accept: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("content-type", "application/json"), ("accept", accept)], Some(&body.to_string()))
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Answer {
        let mut request = ureq::http::Request::builder().method(method).uri(self.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = match body {
            Some(body) => self.agent.run(request.body(body.to_string()).unwrap()),
            None => self.agent.run(request.body(()).unwrap()),
        };
        let mut response = sent.unwrap();
        let headers: Vec<(String, String)> = response
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_string()))
            .collect();
        let kind = headers.iter().find(|(name, _)| name == "content-type").map(|(_, kind)| kind.clone());
        Answer {
            status: response.status().as_u16(),
            kind: kind.unwrap_or_default(),
            headers,
            body: response.body_mut().with_config().limit(256 << 20).read_to_string().unwrap(),
        }
    }

    /// A raw connection.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends raw bytes and returns everything until the server closes the connection.
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The server can close the connection before it has read everything.
        let _ = stream.write_all(bytes);
        rest(&mut stream)
    }

    pub fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.process.id().to_string()]).status().unwrap().success());
    }

    /// Waits until the process ends, and returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the server does not end");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Everything until the connection is closed. Fails if it stays open.
pub fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        // Unread bytes are discarded with the connection.
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error}; so far {:?}", String::from_utf8_lossy(&bytes)),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Repeats a check until it succeeds.
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(answer) = ask() {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what}: not in {PATIENCE:?}");
}

fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().proxy(None).http_status_as_error(false);
    config.timeout_global(Some(PATIENCE)).build().into()
}
