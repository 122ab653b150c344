//! The measured server: started on a free local port, monitored, and stopped.

use super::client::{Answer, Connection};
use super::requests;
use anyhow::{Context, bail, ensure};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// The time limit for opening the bundle.
const START: Duration = Duration::from_secs(120);
/// The time limit for ending after SIGTERM, longer than the server's grace for open requests.
const END: Duration = Duration::from_secs(30);

/// A `citree serve` process, killed when this value is dropped.
pub struct Process {
    child: Child,
    errors: NamedTempFile,
    pub address: SocketAddr,
}

impl Process {
    /// Starts the server with additional options and waits until it accepts requests.
    pub fn start(bundle: &Path, more: &[&str]) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?.with_file_name(format!("citree{}", std::env::consts::EXE_SUFFIX));
        ensure!(program.is_file(), "{} is missing; `cargo build --release` makes it", program.display());
        let errors = NamedTempFile::new()?;
        let mut run = Command::new(&program);
        run.arg("serve").arg(bundle).args(["--listen", "127.0.0.1:0"]).args(more);
        run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors.reopen()?);
        let child = run.spawn().with_context(|| program.display().to_string())?;
        // A placeholder until the real address is known. The process is owned from here on, so an error ends it.
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut process = Self { child, errors, address };
        process.address = process.printed()?;
        Ok(process)
    }

    /// The address that the server prints when it is ready. A thread reads it, because reading has no timeout.
    fn printed(&mut self) -> anyhow::Result<SocketAddr> {
        let stdout = self.child.stdout.take().context("its output is not ours")?;
        let (send, printed) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout).read_line(&mut line);
            let _ = send.send(read.map(|_| line));
        });
        let line = printed.recv_timeout(START).with_context(|| format!("it printed no address within {START:?}"))??;
        ensure!(!line.is_empty(), "citree serve ended: {}", self.said());
        address(line.trim())
    }

    /// The server's output on standard error.
    pub fn said(&self) -> String {
        let bytes = std::fs::read(self.errors.path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim().to_string()
    }

    /// The resident memory of the server, in MiB.
    pub fn resident(&self) -> anyhow::Result<f64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(&path).with_context(|| path.clone())?;
        resident(&status).with_context(|| format!("{path} has no VmRSS"))
    }

    /// The exit status, if the server has ended.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Sends SIGTERM and waits for the end.
    pub fn stop(&mut self) -> anyhow::Result<ExitStatus> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().context("kill does not start")?;
        // If `kill` failed because the server has just ended, its exit status shows it.
        let sent_at = Instant::now();
        while sent_at.elapsed() < END {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            ensure!(sent.success(), "process {id} took no SIGTERM");
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("it did not end within {END:?} after SIGTERM")
    }

    /// Gets a path of the server on a new connection.
    pub fn get(&self, path: &str) -> anyhow::Result<Answer> {
        let answer = Connection::open(self.address)?.ask(&requests::get(self.address, path))?;
        ensure!(answer.status == 200, "GET {path}: {}", answer.status);
        Ok(answer)
    }

    /// The metrics of the server.
    pub fn metrics(&self) -> anyhow::Result<Metrics> {
        Ok(Metrics(String::from_utf8(self.get("/metrics")?.body).context("/metrics is not text")?))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The content of `/metrics` in the OpenMetrics text format.
pub struct Metrics(String);

impl Metrics {
    /// The value of a metric without labels.
    pub fn value(&self, name: &str) -> anyhow::Result<f64> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let line = line.with_context(|| format!("/metrics has no {name}"))?;
        line.parse().with_context(|| format!("{name} is {line}"))
    }
}

/// The address in the line that `citree serve` prints. Only 127.0.0.1 is accepted.
fn address(line: &str) -> anyhow::Result<SocketAddr> {
    let address = line.strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
    let address = address.and_then(|address| address.parse::<SocketAddr>().ok());
    let address = address.with_context(|| format!("it printed {line:?}, not an address"))?;
    ensure!(address.ip() == Ipv4Addr::LOCALHOST, "{address} is not on this machine's 127.0.0.1");
    Ok(address)
}

/// The resident memory in MiB, from `/proc/PID/status`.
fn resident(status: &str) -> Option<f64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(value.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_accepted() {
        assert_eq!(address("http://127.0.0.1:4711/").expect("address").port(), 4711);
        for line in ["", "http://10.0.0.1:80/", "http://[::1]:80/", "127.0.0.1:80", "http://localhost:80/"] {
            assert!(address(line).is_err(), "{line}");
        }
    }

    #[test]
    fn resident_memory_is_found_among_the_rest() {
        assert_eq!(resident("Name:\tcitree\nVmHWM:\t  4096 kB\nVmRSS:\t    2560 kB\nThreads:\t3\n"), Some(2.5));
        assert_eq!(resident("Name:\tcitree\n"), None);
    }

    #[test]
    fn a_value_is_found_by_its_whole_name() {
        let metrics = Metrics("# TYPE a_b counter\na_b_total 7\na_b{c=\"d\"} 1\na_b 2.5\n".to_string());
        assert_eq!(metrics.value("a_b").expect("value"), 2.5);
        assert_eq!(metrics.value("a_b_total").expect("value"), 7.0);
        assert!(metrics.value("a").is_err());
    }
}
