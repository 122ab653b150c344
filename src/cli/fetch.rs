//! `citree fetch`: downloads a treebank, an encoder, word vectors or a packed bundle.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::printable::printable;
use super::progress::{advance, step_bar};
use crate::archive::{ENDING, Origin, unpack};
use crate::fetch::{self, Event, FASTTEXT, HUB, Release, UNIVERSAL_DEPENDENCIES};
use crate::files::remove_unpublished;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Download a treebank, an encoder, word vectors or a packed bundle.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  citree fetch UD_English-EWT --release 2.7
  citree fetch encoder google-bert/bert-base-cased
  citree fetch vectors fasttext:tr
  citree fetch UD_Turkish-IMST --release 2.7 --into treebanks
  citree fetch UD_Klingon-TNG --release 2.18 --code tlh_tng
  citree fetch https://example.org/en.citree.tar.zst
  citree fetch en.citree.tar.zst --into bundles

The files of a treebank (train, dev, test and its licence) go into DIR/TREEBANK-rRELEASE; those already there are left as they are, so the same command \
goes on where a broken one stopped. The paths of the files written are printed, one a line. \
Proxies are taken from HTTPS_PROXY and NO_PROXY.

A bundle that `citree pack` made is unpacked into its own folder in DIR, which appears when every file was compared with its checksum. \
A download that was interrupted goes on where it stopped. Checksums find damage; only --sha256, with a hash from whom you trust, says \
that nobody has put another bundle there."
)]
pub(super) struct Args {
    #[command(subcommand)]
    other: Option<Other>,
    /// The treebank by its full name, such as UD_English-EWT; or a packed bundle, a URL or a file that ends in .tar.zst
    #[arg(required = true, value_name = "WHAT")]
    what: Option<String>,
    /// The number of the release of Universal Dependencies, such as 2.7; needed for a treebank
    #[arg(long, value_name = "NUMBER")]
    release: Option<String>,
    /// The folder to make the folder of the treebank or bundle in
    #[arg(long, value_name = "DIR", default_value = ".")]
    into: PathBuf,
    /// What the file names start with, such as en_ewt, where it does not follow from a known language
    #[arg(long)]
    code: Option<String>,
    /// Where the repositories are, if not at the public place: a mirror
    #[arg(long, value_name = "BASE_URL", default_value = UNIVERSAL_DEPENDENCIES)]
    from: String,
    /// The hash that the file of a packed bundle must have
    #[arg(long, value_name = "HASH")]
    sha256: Option<String>,
}

/// What can be downloaded besides treebanks.
#[derive(clap::Subcommand)]
enum Other {
    /// Download a transformer from a model hub, for `citree train --encoder`
    #[command(after_help = "\
Examples:
  citree fetch encoder google-bert/bert-base-cased
  citree train --train T.conllu --dev D.conllu --preset joint --encoder google-bert/bert-base-cased en.citree

The files go into the cache folder that huggingface_hub and others use (HF_HUB_CACHE, HF_HOME), are compared with the \
hashes that the hub announces, and are not downloaded again if they are there. An interrupted download goes on where \
it stopped. The folder is printed. For models that need a login, set HF_TOKEN.")]
    Encoder {
        /// The model by its name on the hub, ORG/NAME
        name: String,
        /// A branch, a tag or a commit [default: main]
        #[arg(long)]
        revision: Option<String>,
        /// Where the hub is, if not at the public place: a mirror
        #[arg(long, value_name = "BASE_URL", env = "HF_ENDPOINT", default_value = HUB)]
        from: String,
    },
    /// Download word vectors, for `citree train --word-vectors`
    #[command(after_help = "\
Examples:
  citree fetch vectors fasttext:tr
  citree train --train T.conllu --dev D.conllu --word-vectors cc.tr.300.vec.gz tr.citree

fastText has vectors of 157 languages, 300 dimensions, some 1.3 GB each (CC BY-SA 3.0). The path is printed.")]
    Vectors {
        /// Which: fasttext:LANG, with the code of a language such as tr
        name: String,
        /// The folder to write them to
        #[arg(long, value_name = "DIR", default_value = ".")]
        into: PathBuf,
        /// Where they are, if not at the public place: a mirror
        #[arg(long, value_name = "BASE_URL", default_value = FASTTEXT)]
        from: String,
    },
}

/// Downloads the files. Shows a bar for each on a terminal.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut show = Show { bar: ProgressBar::hidden() };
    if let Some(other) = args.other {
        let mut observe = |event: Event<'_>| show.event(event);
        let path = match other {
            Other::Encoder { name, revision, from } => {
                fetch::fetch_encoder(&name, revision.as_deref(), &from, &mut observe)
            }
            Other::Vectors { name, into, from } => fetch::fetch_vectors(&name, &from, &into, &mut observe),
        };
        show.bar.finish_and_clear();
        writeln!(std::io::stdout(), "{}", path?.display())?;
        return Ok(ExitCode::SUCCESS);
    }
    let what = args.what.unwrap_or_default();
    if is_url(&what) || what.ends_with(ENDING) {
        return bundle(&what, &args.into, args.sha256.as_deref(), show);
    }
    let Some(number) = args.release else {
        anyhow::bail!("a treebank needs its release, such as `citree fetch UD_English-EWT --release 2.7`");
    };
    let treebank = what;
    let release = Release::new(&treebank, &number, args.code.as_deref())?;
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

fn is_url(what: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| what.starts_with(scheme))
}

/// Unpacks a bundle, downloaded first if it is a URL. What is downloaded now is removed afterwards, whole or damaged.
fn bundle(what: &str, into: &Path, sha256: Option<&str>, mut show: Show) -> anyhow::Result<ExitCode> {
    ctrlc::set_handler(|| {
        remove_unpublished();
        std::process::exit(130);
    })?;
    let mut downloaded = false;
    let file = match is_url(what) {
        false => PathBuf::from(what),
        true => {
            let name =
                what.rsplit('/').next().and_then(|name| name.strip_suffix(ENDING)).filter(|name| !name.is_empty());
            if let Some(there) = name.map(|name| into.join(name)).filter(|folder| folder.exists()) {
                anyhow::bail!(
                    "{}: it is there already; move it away, or choose another folder with --into",
                    there.display()
                );
            }
            let fetched = fetch::fetch_file(what, into, &mut |event| {
                downloaded |= matches!(event, Event::Written { .. });
                show.event(event);
            });
            show.bar.finish_and_clear();
            fetched?
        }
    };
    let bar = step_bar()?;
    let unpacked = unpack(&file, into, sha256, &mut |done, total| advance(&bar, "unpacking", done, total));
    bar.finish_and_clear();
    if downloaded {
        std::fs::remove_file(&file).map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))?;
    }
    let unpacked = unpacked?;
    let Origin { treebank, release, license } = unpacked.origin;
    let said = |text: Option<String>| text.unwrap_or_else(|| "not said".to_string());
    let release = release.map_or(String::new(), |release| format!(" {release}"));
    let line = format!("treebank: {}{release}; licence: {}", said(treebank), said(license));
    writeln!(std::io::stderr(), "{}", printable(&line))?;
    writeln!(std::io::stdout(), "{}", unpacked.bundle.display())?;
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
