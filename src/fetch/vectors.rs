//! Downloads word vectors.

use super::download::{Client, Event, Outcome};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// The base URL of fastText's vectors of 157 languages.
pub const FASTTEXT: &str = "https://dl.fbaipublicfiles.com/fasttext/vectors-crawl";

const FASTTEXT_PREFIX: &str = "fasttext:";

/// Downloads word vectors into a folder, unless they are there, and returns their path. `name` is `fasttext:LANG`, where LANG
/// is a language code such as `tr`; `base` is normally [`FASTTEXT`]. Reports progress to `observe`.
///
/// # Errors
/// There are none by that name, or they cannot be reached.
pub fn fetch_vectors(name: &str, base: &str, into: &Path, observe: &mut dyn FnMut(Event)) -> Result<PathBuf> {
    fetch_with(&Client::new(), name, base, into, observe)
}

pub(super) fn fetch_with(
    client: &Client,
    name: &str,
    base: &str,
    into: &Path,
    observe: &mut dyn FnMut(Event),
) -> Result<PathBuf> {
    let is_language = |code: &&str| (2..=8).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_lowercase());
    let language = name.strip_prefix(FASTTEXT_PREFIX).filter(is_language).ok_or_else(|| Error::HubName {
        given: name.to_owned(),
        expected: "the name of word vectors, such as fasttext:tr",
    })?;
    let file = format!("cc.{language}.300.vec.gz");
    let (path, url) = (into.join(&file), format!("{}/{file}", base.trim_end_matches('/')));
    if path.exists() {
        observe(Event::Present { path: &path });
        return Ok(path);
    }
    match client.download(&url, &path, observe)? {
        Outcome::Written => {
            observe(Event::Written { path: &path });
            Ok(path)
        }
        Outcome::Missing => Err(Error::HubModel {
            model: name.to_owned(),
            reason: format!("{url} does not exist"),
            remedy: "see which languages fastText has: https://fasttext.cc/docs/en/crawl-vectors.html",
        }),
    }
}
