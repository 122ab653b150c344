//! `citree serve`: serves a bundle over HTTP, as a page and an API.

use super::machine::Machine;
use crate::explain::wording::count;
use crate::serve::{Event, Limits, Server};
use anyhow::Context;
use citree_index::container::{OnTruncation, on_truncation};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Serve a bundle: a page to type sentences into, and an API.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree serve en.citree
  citree serve en.citree --listen 127.0.0.1:0    on a free port; it is printed
  curl -s localhost:8080/v1/parse -H 'content-type: text/plain' \\
    -d 'She reads old letters.'
  curl -s localhost:8080/v1/explain -H 'content-type: application/json' \\
    -d '{\"text\": \"She reads old letters.\", \"edges\": [4], \"count\": 5}'

The address is printed on the standard output once requests are taken. /openapi.json and \
docs/reference/api.md describe the API. Requests that arrive together are computed in one batch, so \
scores can differ in their last digits between runs; --max-batch 1 avoids that.

The server has no password and no encryption. It listens on this machine alone unless --listen says \
otherwise. For others, put it behind a proxy that has both, and give the name it is known by there with \
--host.

With --allow-changes, clients that have a token can add, replace and remove training sentences, on the page and \
over the API. The next request decides by them. `citree evidence BUNDLE log` shows the changes and `undo` takes \
them back. The token is the first line of --token-file, or else the environment variable CITREE_TOKEN:
  openssl rand -hex 16 > token
  citree serve en.citree --allow-changes --token-file token
  curl -s localhost:8080/v1/evidence -H \"Authorization: Bearer $(cat token)\" \\
    -H 'content-type: application/json' -d @lesson.json

A new index of the bundle (`citree index`) is served as soon as it is built. Ctrl-C or SIGTERM finishes \
open requests and ends with exit status 0; a second one ends at once.")]
pub(super) struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// A name that the server is known by, besides this machine's own; may be given several times
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Let clients that have the token change the evidence of the bundle
    #[arg(long)]
    allow_changes: bool,
    /// A file with the token for changes [default: the environment variable CITREE_TOKEN]
    #[arg(long, value_name = "FILE", requires = "allow_changes")]
    token_file: Option<PathBuf>,
    /// Most bytes of a request's body
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().body, help_heading = "Limits")]
    max_body: usize,
    /// Most words of a request
    #[arg(long, value_name = "N", default_value_t = Limits::default().words, help_heading = "Limits")]
    max_words: usize,
    /// Most training edges cited for a decision
    #[arg(long, value_name = "N", default_value_t = Limits::default().count, help_heading = "Limits")]
    max_count: usize,
    /// Most sentences, of several requests, that are encoded together; 1 encodes each request by itself
    #[arg(long, value_name = "N", default_value_t = Limits::default().batch, help_heading = "Limits")]
    max_batch: usize,
    /// Most connections at a time
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections, help_heading = "Limits")]
    max_connections: usize,
    /// Seconds that a client may take to send its headers, and again to send its body
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().header_time.as_secs(), help_heading = "Limits",
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    #[command(flatten)]
    machine: Machine,
}

/// Serves until Ctrl-C or SIGTERM.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let device = args.machine.start()?;
    let token = args.allow_changes.then(|| token(args.token_file.as_deref())).transpose()?;
    let address = address(&args.listen)?;
    let listener = TcpListener::bind(address).map_err(|error| {
        anyhow::anyhow!("cannot listen on {address}: {error}; choose another port with --listen, 0 for any free one")
    })?;
    let address = listener.local_addr()?;
    let time = Duration::from_secs(args.timeout);
    let limits = Limits {
        body: args.max_body,
        words: args.max_words,
        count: args.max_count,
        batch: args.max_batch,
        connections: args.max_connections,
        header_time: time,
        body_time: time,
        ..Limits::default()
    };
    // The server answers 503 instead.
    on_truncation(OnTruncation::Continue)?;
    let server = Server::open(&args.bundle, &listener, &args.host, limits, args.machine.threads(), &device)?;
    let server = match token {
        Some(token) => server.allow_changes(&token)?,
        None => server,
    };
    let (stop, stopped) = (server.stop(), AtomicBool::new(false));
    ctrlc::set_handler(move || {
        if stopped.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        stop.stop();
    })?;
    welcome(&args, address, server.generation())?;
    server.run(listener, |event| {
        let _ = writeln!(std::io::stderr(), "{}", message(&event));
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The token for changes. No message shows it.
fn token(file: Option<&Path>) -> anyhow::Result<String> {
    match file {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| anyhow::anyhow!("--token-file {}: {error}", file.display()))?;
            Ok(text.lines().next().unwrap_or_default().trim().to_string())
        }
        None => std::env::var("CITREE_TOKEN").map_err(|_| {
            anyhow::anyhow!(
                "--allow-changes needs a token that clients have to send: give a file with it (--token-file FILE), or \
                 set CITREE_TOKEN; `openssl rand -hex 16` makes one"
            )
        }),
    }
}

fn address(text: &str) -> anyhow::Result<SocketAddr> {
    let help = || format!("--listen {text}: write an address and a port, such as 127.0.0.1:8080 or [::1]:8080");
    text.to_socket_addrs().with_context(help)?.next().with_context(help)
}

fn welcome(args: &Args, address: SocketAddr, generation: u64) -> anyhow::Result<()> {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "serving {}, generation {} of its index; Ctrl-C stops", args.bundle.display(), count(generation))?;
    if !address.ip().is_loopback() {
        writeln!(stderr, "anyone who can reach {address} can use it: it has no password and no encryption")?;
    }
    if args.allow_changes {
        writeln!(stderr, "clients that have the token can change the evidence")?;
    }
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "http://{address}/")?;
    Ok(stdout.flush()?)
}

fn message(event: &Event) -> String {
    match event {
        Event::Switched { generation } => format!("now serving generation {generation} of the index"),
        Event::NotSwitched { generation, reason } => {
            format!(
                "generation {generation} of the index cannot be served. The server keeps what it has and tries again: \
                 {reason}"
            )
        }
        Event::Stopping => "finishing open requests; Ctrl-C again ends at once".to_string(),
        Event::CutOff => "some requests took too long and were cut off".to_string(),
    }
}
