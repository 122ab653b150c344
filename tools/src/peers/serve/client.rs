//! A small HTTP client over plain sockets, because an HTTP library cannot send invalid requests.

use anyhow::{Context, bail, ensure};
use socket2::{Domain, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The time limit for one response, and for one write of a request.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most bytes in the head of a response and in a whole response; bounds our memory.
const MOST_HEAD: usize = 64 << 10;
const MOST_BYTES: usize = 256 << 20;

/// A response of the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// Whether the server closes this connection.
    pub closes: bool,
}

/// The reason for a missing response.
#[derive(Debug)]
pub enum Broken {
    /// The connection ended before any byte was received.
    Unanswered(String),
    /// The response was incomplete, or it was not HTTP.
    Half(String),
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unanswered(why) => write!(f, "no answer: {why}"),
            Self::Half(why) => write!(f, "half an answer: {why}"),
        }
    }
}

impl std::error::Error for Broken {}

/// A connection for a sequence of requests.
pub struct Connection {
    stream: TcpStream,
    piece: Vec<u8>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        Self::of(TcpStream::connect_timeout(&address, PATIENCE)?)
    }

    /// A connection from another address of this machine.
    pub fn open_from(own: Ipv4Addr, address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::from((own, 0)).into())?;
        socket.connect_timeout(&address.into(), PATIENCE)?;
        Self::of(socket.into())
    }

    fn of(stream: TcpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, piece: vec![0; 64 << 10] })
    }

    /// Sends raw bytes.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a request and reads its response.
    pub fn ask(&mut self, request: &[u8]) -> Result<Answer, Broken> {
        self.send(request).map_err(|error| Broken::Unanswered(error.to_string()))?;
        self.answer()
    }

    /// Reads one response. It must end where its length says.
    pub fn answer(&mut self) -> Result<Answer, Broken> {
        let half = |why: String| Broken::Half(why);
        let deadline = Instant::now() + PATIENCE;
        let mut bytes = Vec::new();
        let head = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            if bytes.len() > MOST_HEAD {
                return Err(half(format!("no end of its head within {MOST_HEAD} bytes")));
            }
            if !self.more(&mut bytes, deadline)? {
                return Err(ended(&bytes));
            }
        };
        let start = head + 4;
        let head = Head::parse(&bytes[..head]).map_err(|error| half(format!("{error:#}")))?;
        match head.length {
            Some(length) => {
                while bytes.len() < start + length {
                    if !self.more(&mut bytes, deadline)? {
                        return Err(ended(&bytes));
                    }
                }
                if bytes.len() > start + length {
                    return Err(half(format!("{} bytes follow it", bytes.len() - start - length)));
                }
            }
            // The body ends with the connection.
            None if head.closes => while self.more(&mut bytes, deadline)? {},
            None => return Err(half("it does not say how long it is".to_string())),
        }
        Ok(Answer { status: head.status, body: bytes.split_off(start), closes: head.closes })
    }

    /// Reads available bytes, or waits for some; `false` at the end of the connection.
    fn more(&mut self, bytes: &mut Vec<u8>, deadline: Instant) -> Result<bool, Broken> {
        let broken = |why: String, bytes: &[u8]| match bytes.is_empty() {
            true => Broken::Unanswered(why),
            false => Broken::Half(why),
        };
        if Instant::now() > deadline || bytes.len() > MOST_BYTES {
            return Err(broken(format!("more than {PATIENCE:?} or {MOST_BYTES} bytes"), bytes));
        }
        let read = loop {
            match self.stream.read(&mut self.piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let count = read.map_err(|error| broken(error.to_string(), bytes))?;
        bytes.extend_from_slice(&self.piece[..count]);
        Ok(count > 0)
    }
}

fn ended(bytes: &[u8]) -> Broken {
    match bytes.len() {
        0 => Broken::Unanswered("the connection was closed".to_string()),
        some => Broken::Half(format!("the connection was closed after {some} bytes")),
    }
}

/// The relevant parts of a response head.
#[derive(Debug, PartialEq)]
struct Head {
    status: u16,
    length: Option<usize>,
    closes: bool,
}

impl Head {
    /// Parses the status line and the headers, without the empty line after them.
    fn parse(bytes: &[u8]) -> anyhow::Result<Self> {
        let text = std::str::from_utf8(bytes).context("its head is not text")?;
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let rest = first.strip_prefix("HTTP/1.").with_context(|| format!("it begins with {first:?}"))?;
        let status = rest.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.with_context(|| format!("no status in {first:?}"))?;
        // HTTP/1.0 connections serve one request.
        let mut head = Self { status, length: None, closes: !rest.starts_with('1') };
        for line in lines {
            let (name, value) = line.split_once(':').with_context(|| format!("{line:?} is not a header"))?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => {
                    let length = value.parse().with_context(|| format!("Content-Length: {value}"))?;
                    ensure!(head.length.is_none_or(|before| before == length), "it has two lengths");
                    head.length = Some(length);
                }
                "connection" => head.closes |= value.eq_ignore_ascii_case("close"),
                "transfer-encoding" => bail!("it comes in chunks, which we cannot read"),
                _ => {}
            }
        }
        ensure!(head.length.is_none_or(|length| length <= MOST_BYTES), "it is more than {MOST_BYTES} bytes long");
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn status_length_and_connection_are_parsed() {
        let parse = |text: &str| Head::parse(text.as_bytes());
        let head = parse("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nContent-Length: 12").expect("head");
        assert_eq!(head, Head { status: 200, length: Some(12), closes: false });
        let head = parse("HTTP/1.1 503 Service Unavailable\r\nconnection: Close").expect("head");
        assert_eq!(head, Head { status: 503, length: None, closes: true });
        assert!(parse("HTTP/1.0 200 OK").expect("head").closes);
    }

    #[test]
    fn invalid_heads_are_refused() {
        for text in [
            "SSH-2.0",
            "HTTP/1.1",
            "HTTP/1.1 abc",
            "HTTP/1.1 200 OK\r\nno colon",
            "HTTP/1.1 200 OK\r\ncontent-length: -1",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked",
        ] {
            assert!(Head::parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    /// The response of a client to a server that reads four bytes, writes these bytes and closes.
    fn answered(bytes: &'static [u8]) -> Result<Answer, Broken> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("port");
        let address = listener.local_addr().expect("address");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("client");
            stream.read_exact(&mut [0; 4]).expect("request");
            stream.write_all(bytes).expect("answer");
        });
        let answer = Connection::open(address).expect("connection").ask(b"ping");
        server.join().expect("server");
        answer
    }

    #[test]
    fn a_response_is_complete_or_an_error() {
        let whole = answered(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\npong").expect("answer");
        assert_eq!(whole, Answer { status: 200, body: b"pong".to_vec(), closes: false });
        let to_the_end = answered(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\npong").expect("answer");
        assert_eq!(to_the_end, Answer { status: 200, body: b"pong".to_vec(), closes: true });
        assert!(matches!(answered(b""), Err(Broken::Unanswered(_))));
        assert!(matches!(answered(b"HTTP/1.1 200"), Err(Broken::Half(_))));
        assert!(matches!(answered(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\npong"), Err(Broken::Half(_))));
        assert!(matches!(answered(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\npong"), Err(Broken::Half(_))));
    }
}
