//! Downloads what citree starts from: a treebank from its public repository (here), an encoder from a model hub
//! (`encoder`), word vectors (`vectors`), and files by their URL, such as packed bundles (`resumed`).

mod blob;
mod download;
mod encoder;
mod languages;
mod resumed;
#[cfg(test)]
mod tests;
mod vectors;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use download::{Client, Outcome};

pub use download::Event;
pub use encoder::{HUB, fetch_encoder};
pub use resumed::fetch_file;
pub use vectors::{FASTTEXT, fetch_vectors};

/// The base URL of the repositories of Universal Dependencies.
pub const UNIVERSAL_DEPENDENCIES: &str = "https://raw.githubusercontent.com/UniversalDependencies";

const SPLITS: [&str; 3] = ["train", "dev", "test"];
const LICENSE: &str = "LICENSE.txt";

/// One release of one treebank.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Release {
    treebank: String,
    number: String,
    /// The prefix of its file names, such as `en_ewt`.
    code: String,
}

/// The files of a release after a fetch, each list in the order train, dev, test, licence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetched {
    /// Downloaded files.
    pub written: Vec<PathBuf>,
    /// Files that existed before, left unchanged.
    pub present: Vec<PathBuf>,
    /// The names of files that the release does not have.
    pub missing: Vec<String>,
}

impl Release {
    /// Names a release, such as `2.7` of `UD_English-EWT`. The prefix of its file names is derived from the name,
    /// unless `code` gives it, for languages that this version does not know.
    pub fn new(treebank: &str, number: &str, code: Option<&str>) -> Result<Self> {
        // All three become parts of a path and of a URL, so only harmless characters are allowed.
        let refuse = |given: &str, expected| Error::TreebankName { given: given.to_owned(), expected };
        let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let (language, corpus) = treebank
            .strip_prefix("UD_")
            .map(|name| name.split_once('-').map_or((name, None), |(language, corpus)| (language, Some(corpus))))
            .filter(|(language, corpus)| is_plain(language) && corpus.is_none_or(is_plain))
            .ok_or_else(|| refuse(treebank, "the name of a treebank, such as UD_English-EWT"))?;
        let is_number =
            |text: &str| text.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        if !is_number(number) {
            return Err(refuse(number, "the number of a release, such as 2.7"));
        }
        let code = match (code, languages::code_of(language)) {
            (Some(code), _) if is_plain(code) => code.to_owned(),
            (Some(code), _) => return Err(refuse(code, "the start of a treebank's file names, such as en_ewt")),
            (None, Some(language)) => {
                corpus.map_or(language.to_owned(), |corpus| format!("{language}_{}", corpus.to_ascii_lowercase()))
            }
            (None, None) => return Err(Error::TreebankCode { treebank: treebank.to_owned() }),
        };
        Ok(Release { treebank: treebank.to_owned(), number: number.to_owned(), code })
    }

    /// The folder for its files, inside the one given to [`fetch`]. It names treebank and release, so that licences of
    /// two treebanks or files of two releases never mix.
    pub(crate) fn folder(&self) -> String {
        format!("{}-r{}", self.treebank, self.number)
    }

    /// The page where a person can look at its files.
    pub(crate) fn page(&self) -> String {
        format!("https://github.com/UniversalDependencies/{}/tree/r{}", self.treebank, self.number)
    }

    fn split_file(&self, split: &str) -> String {
        format!("{}-ud-{split}.conllu", self.code)
    }

    fn url(&self, base: &str, file: &str) -> String {
        format!("{}/{}/r{}/{file}", base.trim_end_matches('/'), self.treebank, self.number)
    }
}

/// Downloads the missing files of `release` into the folder of the release inside `into`, from `base` (normally
/// [`UNIVERSAL_DEPENDENCIES`]). Reports progress to `observe`.
///
/// Files are written completely or not at all, and existing files are never changed, so an interrupted run can be
/// repeated. A treebank can lack a split, but not all of them. Timeouts, broken connections and overloaded servers are
/// retried a few times, with growing pauses.
pub fn fetch(release: &Release, base: &str, into: &Path, observe: &mut dyn FnMut(Event)) -> Result<Fetched> {
    fetch_with(&Client::new(), release, base, into, observe)
}

fn fetch_with(
    client: &Client,
    release: &Release,
    base: &str,
    into: &Path,
    observe: &mut dyn FnMut(Event),
) -> Result<Fetched> {
    let folder = into.join(release.folder());
    let mut fetched = Fetched::default();
    let splits = SPLITS.map(|split| release.split_file(split));
    for file in splits.into_iter().chain([LICENSE.to_owned()]) {
        if fetched.missing.len() == SPLITS.len() {
            let url = release.url(base, "");
            return Err(Error::TreebankMissing { files: fetched.missing, url, page: release.page() });
        }
        let path = folder.join(&file);
        if path.exists() {
            observe(Event::Present { path: &path });
            fetched.present.push(path);
            continue;
        }
        match client.download(&release.url(base, &file), &path, observe)? {
            Outcome::Written => {
                observe(Event::Written { path: &path });
                fetched.written.push(path);
            }
            Outcome::Missing => {
                observe(Event::Missing { file: &file });
                fetched.missing.push(file);
            }
        }
    }
    Ok(fetched)
}
