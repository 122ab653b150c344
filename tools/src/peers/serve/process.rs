//! The server that is measured: started on a free port of this machine, watched, and stopped.

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

/// For it to open its bundle.
const START: Duration = Duration::from_secs(120);
/// For it to end after SIGTERM: more than the server gives open requests.
const END: Duration = Duration::from_secs(30);

/// A `citree serve` that ends with this value.
pub struct Process {
    child: Child,
    errors: NamedTempFile,
    pub address: SocketAddr,
}

impl Process {
    /// Starts it with more options and waits until it takes requests.
    pub fn start(bundle: &Path, more: &[&str]) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?.with_file_name(format!("citree{}", std::env::consts::EXE_SUFFIX));
        ensure!(program.is_file(), "{} is missing; `cargo build --release` makes it", program.display());
        let errors = NamedTempFile::new()?;
        let mut run = Command::new(&program);
        run.arg("serve").arg(bundle).args(["--listen", "127.0.0.1:0"]).args(more);
        run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors.reopen()?);
        let child = run.spawn().with_context(|| program.display().to_string())?;
        // Nothing listens there; it only stands in until the real address is known, so that an error ends the process.
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut process = Self { child, errors, address };
        process.address = process.printed()?;
        Ok(process)
    }

    /// The address that it prints when it is ready. Read by a thread, since reading has no time limit.
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

    /// What it wrote to its standard error.
    pub fn said(&self) -> String {
        let bytes = std::fs::read(self.errors.path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim().to_string()
    }

    /// Its memory that is in RAM, in MiB.
    pub fn resident(&self) -> anyhow::Result<f64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(&path).with_context(|| path.clone())?;
        resident(&status).with_context(|| format!("{path} has no VmRSS"))
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Sends SIGTERM and waits.
    pub fn stop(&mut self) -> anyhow::Result<ExitStatus> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().context("kill does not start")?;
        // It may have ended by itself just now, which its own status tells.
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

    /// A page of the server, on a connection of its own.
    pub fn get(&self, path: &str) -> anyhow::Result<Answer> {
        let answer = Connection::open(self.address)?.ask(&requests::get(self.address, path))?;
        ensure!(answer.status == 200, "GET {path}: {}", answer.status);
        Ok(answer)
    }

    /// Everything that it counts.
    pub fn metrics(&self) -> anyhow::Result<Metrics> {
        Ok(Metrics(String::from_utf8(self.get("/metrics")?.body).context("/metrics is not text")?))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `/metrics` says, in the text format of OpenMetrics.
pub struct Metrics(String);

impl Metrics {
    /// A value without labels.
    pub fn value(&self, name: &str) -> anyhow::Result<f64> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let line = line.with_context(|| format!("/metrics has no {name}"))?;
        line.parse().with_context(|| format!("{name} is {line}"))
    }
}

/// The address in the line that `citree serve` prints; no other than this machine's own is ever connected to.
fn address(line: &str) -> anyhow::Result<SocketAddr> {
    let address = line.strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
    let address = address.and_then(|address| address.parse::<SocketAddr>().ok());
    let address = address.with_context(|| format!("it printed {line:?}, not an address"))?;
    ensure!(address.ip() == Ipv4Addr::LOCALHOST, "{address} is not on this machine's 127.0.0.1");
    Ok(address)
}

/// Resident memory in MiB, from what Linux tells of a process.
fn resident(status: &str) -> Option<f64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(value.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_this_machine_is_taken() {
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
