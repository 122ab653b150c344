//! `citree fetch`: downloads the files of a treebank from its public repository.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::fetch::{self, Event, Release, UNIVERSAL_DEPENDENCIES};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Download a treebank's train, dev and test files and its licence from its public repository.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree fetch UD_English-EWT --release 2.7
  citree fetch UD_Turkish-IMST --release 2.7 --into treebanks
  citree fetch UD_Klingon-TNG --release 2.18 --code tlh_tng

The files go into DIR/TREEBANK-rRELEASE; those already there are left as they are, so the same command \
goes on where a broken one stopped. The paths of the files written are printed, one a line. \
Proxies are taken from HTTPS_PROXY and NO_PROXY.")]
pub(super) struct Args {
    /// The treebank by its full name, such as UD_English-EWT
    treebank: String,
    /// The number of the release of Universal Dependencies, such as 2.7
    #[arg(long, value_name = "NUMBER")]
    release: String,
    /// The folder to make the treebank's own folder in
    #[arg(long, value_name = "DIR", default_value = ".")]
    into: PathBuf,
    /// What the file names start with, such as en_ewt, where it does not follow from a known language
    #[arg(long)]
    code: Option<String>,
    /// Where the repositories are, if not at the public place: a mirror
    #[arg(long, value_name = "BASE_URL", default_value = UNIVERSAL_DEPENDENCIES)]
    from: String,
}

/// Downloads the files. Shows a bar for each on a terminal.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let release = Release::new(&args.treebank, &args.release, args.code.as_deref())?;
    let mut show = Show { bar: ProgressBar::hidden() };
    let fetched = fetch::fetch(&release, &args.from, &args.into, &mut |event| show.event(event));
    show.bar.finish_and_clear();
    let fetched = fetched?;
    let mut out = std::io::stdout().lock();
    for path in &fetched.written {
        writeln!(out, "{}", path.display())?;
    }
    if fetched.missing.iter().any(|file| file.ends_with(".conllu")) {
        let page = release.page();
        writeln!(std::io::stderr(), "some treebanks lack a split or publish it in parts: see {page}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows events: progress as a bar on a terminal, the others as lines anywhere.
struct Show {
    bar: ProgressBar,
}

impl Show {
    fn event(&mut self, event: Event) {
        match event {
            Event::Started { path, length } => {
                self.bar.finish_and_clear();
                self.bar = new_bar(length);
                self.bar.set_message(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
            }
            Event::Received { bytes } => self.bar.set_position(bytes),
            Event::Written { .. } => self.bar.finish_and_clear(),
            Event::Present { path } => self.say(&format!("{}: already there, left as it is", path.display())),
            Event::Missing { file } => self.say(&format!("{file}: not in this release")),
            Event::Retrying { url, reason, wait } => {
                self.say(&format!("{url}: {reason}; retrying in {} s", wait.as_secs()));
            }
        }
    }

    fn say(&self, line: &str) {
        // A closed standard error must not stop the download.
        self.bar.suspend(|| drop(writeln!(std::io::stderr(), "{line}")));
    }
}

fn new_bar(length: Option<u64>) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    let template = match length {
        Some(_) => "{msg} [{wide_bar}] {bytes}/{total_bytes} {bytes_per_sec} {eta}",
        None => "{msg} {spinner} {bytes} {bytes_per_sec}",
    };
    // The templates are constant and valid. The default bar is the fallback.
    bar.with_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()))
}
