//! Models of a hub by their names, and their places in the cache folder that other tools share.
//!
//! The layout is that of `huggingface_hub`: what one tool has downloaded, the others find. A model is a folder
//! `models--ORG--NAME` with `blobs/` (files by their hashes), `snapshots/COMMIT/` (files by their names) and `refs/` (the
//! commit of each branch).

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// The branch that a model without a named revision is taken from.
const MAIN: &str = "main";

/// A model of a hub, such as `google-bert/bert-base-cased`, at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HubModel {
    name: String,
    revision: String,
}

impl HubModel {
    /// A model by its name, ORG/NAME, and the branch, tag or commit to take.
    pub(crate) fn new(name: &str, revision: Option<&str>) -> Result<Self> {
        let refuse = |given: &str, expected| Error::HubName { given: given.to_owned(), expected };
        let parts: Vec<&str> = name.split('/').collect();
        // Both become parts of a path and of a URL, so only harmless characters are allowed.
        if parts.len() > 2 || !parts.iter().all(|part| is_plain(part) && !part.contains("--")) {
            return Err(refuse(name, "the name of a model, such as google-bert/bert-base-cased"));
        }
        let revision = revision.unwrap_or(MAIN);
        if !is_plain(revision) {
            return Err(refuse(revision, "a branch, a tag or a commit, such as main"));
        }
        Ok(Self { name: name.to_owned(), revision: revision.to_owned() })
    }

    /// Its name, ORG/NAME.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The branch, tag or commit.
    #[cfg(any(feature = "fetch", test))]
    pub(crate) fn revision(&self) -> &str {
        &self.revision
    }

    /// Its folder in a cache folder.
    pub(crate) fn folder(&self, cache: &Path) -> PathBuf {
        cache.join(format!("models--{}", self.name.replace('/', "--")))
    }

    /// The file that has the commit of its revision.
    pub(crate) fn reference(&self, cache: &Path) -> PathBuf {
        self.folder(cache).join("refs").join(&self.revision)
    }

    /// The files of a commit, by their names.
    pub(crate) fn snapshot(&self, cache: &Path, commit: &str) -> PathBuf {
        self.folder(cache).join("snapshots").join(commit)
    }

    /// The folder of its files, if a cache folder has them.
    pub(crate) fn cached(&self, cache: &Path) -> Option<PathBuf> {
        let commit = std::fs::read_to_string(self.reference(cache)).ok();
        let commit = commit.as_deref().map_or(self.revision.as_str(), str::trim);
        Some(self.snapshot(cache, commit)).filter(|folder| is_plain(commit) && folder.join("config.json").is_file())
    }
}

/// Whether a part of a name is harmless in a path and in a URL.
pub(crate) fn is_plain(part: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    part.len() <= 96 && part.bytes().all(allowed) && !part.contains("..") && part.starts_with(|c| c != '.' && c != '-')
}

/// The cache folder of the user: `HF_HUB_CACHE`, else `hub` in `HF_HOME`, else in the user's own cache folder. `None` if
/// there is no home folder.
pub(crate) fn user_cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("HF_HUB_CACHE").or_else(|| set("HF_HOME").map(|home| home.join("hub"))).or_else(|| {
        let caches = set("XDG_CACHE_HOME");
        let caches = caches.or_else(|| set("HOME").or_else(|| set("USERPROFILE")).map(|home| home.join(".cache")));
        caches.map(|caches| caches.join("huggingface").join("hub"))
    })
}

/// The folder of an encoder that a user named: a folder, or a model of the hub that the cache folder has.
///
/// # Errors
/// `NoEncoder` if there is neither.
pub fn find_encoder(given: &Path) -> Result<PathBuf> {
    find_in(given, user_cache().as_deref())
}

fn find_in(given: &Path, cache: Option<&Path>) -> Result<PathBuf> {
    if given.is_dir() {
        return Ok(given.to_path_buf());
    }
    let model = given.to_str().and_then(|name| HubModel::new(name, None).ok());
    let cached = model.as_ref().zip(cache).and_then(|(model, cache)| model.cached(cache));
    cached.ok_or_else(|| Error::NoEncoder {
        given: given.to_path_buf(),
        remedy: match model {
            Some(model) => format!("give a folder, or download the model: citree fetch encoder {}", model.name()),
            None => "give a folder, or a model by its name, such as google-bert/bert-base-cased".to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_that_could_escape_the_path_are_refused() {
        for name in ["", "/", "a/", "/b", "a/b/c", "../b", "a/..", ".a/b", "a/b?x", "a b", "a/-b", "a--b", "a\\b", "C:"]
        {
            assert!(HubModel::new(name, None).is_err(), "{name}");
        }
        for revision in ["", "..", "a/b", "a b", "-x"] {
            assert!(HubModel::new("a/b", Some(revision)).is_err(), "{revision}");
        }
        assert_eq!(HubModel::new("bert-base-cased", None).unwrap().revision(), MAIN, "old models have no ORG");
    }

    #[test]
    fn an_encoder_is_found_as_a_folder_or_in_the_cache_that_other_tools_write() {
        let cache = tempfile::tempdir().unwrap();
        let model = HubModel::new("org/tiny", None).unwrap();
        let commit = "0123456789012345678901234567890123456789";
        let missing = find_in(Path::new("org/tiny"), Some(cache.path())).unwrap_err().to_string();
        assert!(missing.contains("citree fetch encoder org/tiny"), "{missing}");
        let snapshot = model.snapshot(cache.path(), commit);
        std::fs::create_dir_all(&snapshot).unwrap();
        std::fs::create_dir_all(model.folder(cache.path()).join("refs")).unwrap();
        std::fs::write(model.reference(cache.path()), commit).unwrap();
        assert_eq!(model.cached(cache.path()), None, "a folder without a configuration is not a model");
        std::fs::write(snapshot.join("config.json"), "{}").unwrap();
        assert_eq!(find_in(Path::new("org/tiny"), Some(cache.path())).unwrap(), snapshot);
        assert_eq!(HubModel::new("org/tiny", Some(commit)).unwrap().cached(cache.path()), Some(snapshot));
        assert_eq!(find_in(cache.path(), None).unwrap(), cache.path());
        std::fs::write(model.reference(cache.path()), "../../..").unwrap();
        assert_eq!(model.cached(cache.path()), None, "a damaged reference leads nowhere else");
        let neither = find_in(Path::new("no such/folder/here"), None).unwrap_err().to_string();
        assert!(neither.contains("give a folder"), "{neither}");
    }
}
