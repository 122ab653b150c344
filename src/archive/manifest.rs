//! What a packed bundle says about itself: where it comes from, and which files it has.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The version of the form of `pack.json`.
pub(super) const FORMAT: u32 = 1;
/// The name of the file, in the archive and in a bundle that was unpacked.
pub(super) const FILE: &str = "pack.json";
/// The longest accepted manifest, in bytes.
pub(super) const MOST_BYTES: u64 = 4 << 20;
/// The most files in a bundle.
const MOST_FILES: usize = 10_000;
/// The most bytes of all files together.
const MOST_IN_ALL: u64 = 64 << 30;
/// The longest path of a file, in bytes: what tar has room for without an extension.
const LONGEST_PATH: usize = 99;

/// Where the evidence of a bundle comes from, and what others may do with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The treebank, such as `UD_English-EWT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub treebank: Option<String>,
    /// Its release, such as `2.7`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The licence of the bundle, which follows from those of the treebank and of pretrained input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
}

/// The contents of `pack.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The version of this form.
    pub format: u32,
    /// The name of the bundle's folder.
    pub name: String,
    /// The version of citree that packed it.
    pub citree: String,
    #[serde(flatten)]
    pub origin: Origin,
    /// The fingerprint of the model.
    pub fingerprint: String,
    /// What `citree info` says of its training: date, version, sizes, scores, command.
    pub training: serde_json::Value,
    /// What it says of the rules.
    pub rules: serde_json::Value,
    /// Every file but this one, in order.
    pub files: Vec<File>,
}

/// A file of the bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct File {
    /// Its path in the bundle, with forward slashes.
    pub path: String,
    pub bytes: u64,
    /// The hash of its content, in hexadecimal digits.
    pub blake3: String,
}

impl Manifest {
    /// Reads a manifest, and refuses one whose files could not be those of a bundle.
    pub(super) fn parse(text: &str, archive: &Path) -> Result<Self> {
        let unfit = |reason: String| refused(archive, reason);
        let format: u64 = serde_json::from_str::<serde_json::Value>(text)
            .ok()
            .and_then(|value| value.get("format")?.as_u64())
            .ok_or_else(|| unfit(format!("its {FILE} is not one of citree")))?;
        if format != u64::from(FORMAT) {
            return Err(unfit(format!(
                "it has version {format} of the form, and this citree reads {FORMAT}; use a later citree"
            )));
        }
        let manifest: Self =
            serde_json::from_str(text).map_err(|error| unfit(format!("its {FILE} is damaged: {error}")))?;
        manifest.check().map_err(unfit)?;
        Ok(manifest)
    }

    /// Refuses names that would lead out of the folder or cannot be written everywhere, and sizes beyond all bounds.
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        if !is_plain(&self.name) {
            return Err(format!("`{}` is not the name of a folder", self.name.escape_default()));
        }
        if self.files.len() > MOST_FILES {
            return Err(format!("it has {} files, and {MOST_FILES} are the limit", self.files.len()));
        }
        for (at, file) in self.files.iter().enumerate() {
            let long = self.name.len() + 1 + file.path.len() > LONGEST_PATH;
            if long || file.path == FILE || !file.path.split('/').all(is_plain) {
                return Err(format!("`{}` is not the path of a file in a bundle", file.path.escape_default()));
            }
            if at > 0 && self.files[at - 1].path >= file.path {
                return Err(format!("`{}` is listed twice or out of order", file.path));
            }
        }
        let total = self.files.iter().try_fold(0_u64, |sum, file| sum.checked_add(file.bytes));
        match total.filter(|total| *total <= MOST_IN_ALL) {
            Some(_) => Ok(()),
            None => Err(format!("its files are larger than {MOST_IN_ALL} bytes in all")),
        }
    }

    /// The path of an entry of the archive.
    pub(super) fn entry(&self, path: &str) -> String {
        format!("{}/{path}", self.name)
    }

    /// All bytes of its files.
    pub(super) fn total(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// Whether a part of a path is a plain name on every system, and not hidden.
fn is_plain(part: &str) -> bool {
    let odd = |c: char| c.is_control() || "/\\:*?\"<>|".contains(c);
    !part.is_empty() && !part.starts_with('.') && !part.ends_with(['.', ' ']) && !part.contains(odd)
}

/// An error about an archive.
pub(super) fn refused(archive: &Path, reason: impl Into<String>) -> Error {
    Error::Archive { path: archive.to_path_buf(), reason: reason.into() }
}
