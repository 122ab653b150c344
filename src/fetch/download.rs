//! Downloads files over HTTP, completely or not at all, and retries after transient errors.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};

/// Progress of a download.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The file exists already and is left unchanged.
    Present {
        /// The file.
        path: &'a Path,
    },
    /// A download starts, for the first time or again after [`Event::Retrying`].
    Started {
        /// The path of the file.
        path: &'a Path,
        /// Its length, if the server reports it.
        length: Option<u64>,
    },
    /// More of the file was received.
    Received {
        /// Bytes received since [`Event::Started`].
        bytes: u64,
    },
    /// A transient error; the download pauses and starts again.
    Retrying {
        /// The URL of the download.
        url: &'a str,
        /// The error.
        reason: &'a str,
        /// The pause.
        wait: Duration,
    },
    /// The file is complete and in place.
    Written {
        /// The file.
        path: &'a Path,
    },
    /// The release has no such file.
    Missing {
        /// Its name.
        file: &'a str,
    },
}

/// The result of a download without an error.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Written,
    Missing,
}

/// How long to wait.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// The time to connect, and the time without data before giving up.
    pub silence: Duration,
    /// The pause after the first error; doubled after each further one.
    pub first_wait: Duration,
}

pub(super) struct Client {
    agent: ureq::Agent,
    patience: Patience,
}

const ATTEMPTS: u32 = 4;

/// No treebank file, no table of word vectors and no packed bundle is nearly this large. A server that sends more is not sending one.
pub(super) const MOST_BYTES: u64 = 16 << 30;

/// One attempt. It reports its progress to the function it gets.
pub(super) type Attempt<'a, T> = dyn FnMut(&mut dyn FnMut(Event)) -> Result<T, Fault> + 'a;

/// Why an attempt failed.
pub(super) enum Fault {
    /// A transient error; worth another attempt.
    Passing(String),
    /// A permanent error.
    Lasting(String),
    /// A local error, not one of the network.
    Disk(Error),
}

impl Client {
    pub(super) fn new() -> Self {
        let patience = Patience { silence: Duration::from_secs(20), first_wait: Duration::from_secs(1) };
        Client::with(patience, ureq::Proxy::try_from_env())
    }

    pub(super) fn with(patience: Patience, proxy: Option<ureq::Proxy>) -> Self {
        let config = ureq::Agent::config_builder()
            .user_agent(concat!("citree/", env!("CARGO_PKG_VERSION")))
            // Compressed bodies would have no length to check.
            .accept_encoding("identity")
            .http_status_as_error(false)
            .proxy(proxy)
            .timeout_resolve(Some(patience.silence))
            .timeout_connect(Some(patience.silence))
            .timeout_per_read(Some(patience.silence))
            .build();
        Client { agent: config.into(), patience }
    }

    /// Downloads `url` to `path`. Creates its folder if needed.
    pub(super) fn download(&self, url: &str, path: &Path, observe: &mut dyn FnMut(Event)) -> Result<Outcome> {
        self.retried(url, path, observe, &mut |observe| self.attempt(url, path, observe))
    }

    /// A request that follows redirects and returns every status as an answer. `headers` go to the server named in the URL.
    pub(super) fn get(
        &self,
        url: &str,
        headers: &[(&str, String)],
    ) -> std::result::Result<ureq::http::Response<ureq::Body>, Fault> {
        let request = headers.iter().fold(self.agent.get(url), |request, (name, value)| request.header(*name, value));
        request.call().map_err(Fault::from_network)
    }

    /// Tries until it succeeds, fails for good, or has failed too often.
    pub(super) fn retried<T>(
        &self,
        url: &str,
        path: &Path,
        observe: &mut dyn FnMut(Event),
        attempt_once: &mut Attempt<'_, T>,
    ) -> Result<T> {
        let failed = |reason| Error::Download { url: url.to_owned(), path: path.to_path_buf(), reason };
        let mut wait = self.patience.first_wait;
        let mut attempt = 1;
        loop {
            match attempt_once(observe) {
                Ok(done) => return Ok(done),
                Err(Fault::Passing(reason)) if attempt < ATTEMPTS => {
                    observe(Event::Retrying { url, reason: &reason, wait });
                    std::thread::sleep(wait);
                    wait *= 2;
                    attempt += 1;
                }
                Err(Fault::Passing(reason)) => return Err(failed(format!("{reason}; {attempt} times in a row"))),
                Err(Fault::Lasting(reason)) => return Err(failed(reason)),
                Err(Fault::Disk(error)) => return Err(error),
            }
        }
    }

    fn attempt(&self, url: &str, path: &Path, observe: &mut dyn FnMut(Event)) -> Result<Outcome, Fault> {
        let mut response = self.get(url, &[])?;
        match response.status().as_u16() {
            200 => {}
            404 => return Ok(Outcome::Missing),
            _ => return Err(Fault::from_status(response.status())),
        }
        let length = response.body().content_length();
        observe(Event::Started { path, length });
        let mut part = Part::create(path).map_err(Fault::Disk)?;
        let mut body = response.body_mut().with_config().limit(MOST_BYTES).reader();
        let mut buffer = vec![0; 1 << 16];
        let mut received = 0;
        loop {
            // The reader returns an error if the body is shorter than announced.
            let count = match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) => return Err(Fault::from_network(error.into())),
            };
            part.write(&buffer[..count]).map_err(Fault::Disk)?;
            received += count as u64;
            observe(Event::Received { bytes: received });
        }
        part.publish(path).map_err(Fault::Disk)?;
        Ok(Outcome::Written)
    }
}

impl Fault {
    /// The fault that an answer without content stands for.
    pub(super) fn from_status(status: ureq::http::StatusCode) -> Self {
        let reason = format!("the server answered {status}");
        match status.as_u16() {
            408 | 429 | 500..=599 => Fault::Passing(reason),
            _ => Fault::Lasting(reason),
        }
    }

    pub(super) fn from_network(error: ureq::Error) -> Self {
        use ErrorKind::{
            BrokenPipe, ConnectionAborted, ConnectionReset, Interrupted, TimedOut, UnexpectedEof, WouldBlock,
        };
        match error {
            ureq::Error::Timeout(_) => Fault::Passing(format!("no data in time ({error})")),
            ureq::Error::Io(error) => match error.kind() {
                UnexpectedEof => Fault::Passing("the connection ended early".to_owned()),
                BrokenPipe | ConnectionAborted | ConnectionReset | Interrupted | TimedOut | WouldBlock => {
                    Fault::Passing(error.to_string())
                }
                _ => Fault::Lasting(error.to_string()),
            },
            error => Fault::Lasting(error.to_string()),
        }
    }
}

/// A temporary file next to its target, removed unless it is published.
struct Part {
    path: PathBuf,
    file: File,
}

impl Part {
    fn create(target: &Path) -> Result<Self> {
        if let Some(folder) = target.parent() {
            std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        // The name includes the process id, so that two processes do not write to the same file.
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let file = File::create(&path).map_err(Error::io(&path))?;
        Ok(Part { path, file })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(Error::io(&self.path))
    }

    fn publish(self, target: &Path) -> Result<()> {
        self.file.sync_all().map_err(Error::io(&self.path))?;
        std::fs::rename(&self.path, target).map_err(Error::io(target))?;
        // The rename is durable only after the folder is synced. Folders can be opened only on Unix.
        #[cfg(unix)]
        if let Some(folder) = target.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io(folder))?;
        }
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // After publishing this file does not exist any more, so an error is expected.
        let _ = std::fs::remove_file(&self.path);
    }
}
