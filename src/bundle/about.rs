//! When a bundle was trained, by which version of citree, on how much data, and its scores on the dev set.

use super::Layout;
use crate::error::{Error, Result};
use crate::files::{Sealed, to_json};
use serde::{Deserialize, Serialize};

/// Facts that training records in a bundle. Bundles from before citree 0.1 have none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The version of citree that trained it.
    pub citree: String,
    /// When training ended, in seconds since 1970.
    pub trained_at: u64,
    /// Sentences in the training set.
    pub sentences: usize,
    /// Words in the training set.
    pub words: usize,
    /// Its scores on the dev set, per decoder.
    pub dev: Vec<DevScores>,
    /// The command that trained it, if it was trained by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Scores on the dev set, in percent, punctuation and subtypes included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DevScores {
    /// `greedy` or `mst`.
    pub decode: String,
    /// Words with the right head.
    pub uas: f64,
    /// Words with the right head and label.
    pub las: f64,
}

impl About {
    /// Reads the record; `None` if there is none.
    pub(crate) fn read(layout: &Layout) -> Result<Option<Self>> {
        const REMEDY: &str = "restore the file from a copy, or remove it";
        let path = layout.about();
        let text = match Sealed::JSON.read(&path, REMEDY) {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let unfit = |error: serde_json::Error| Error::unfit(&path, "what training noted", &error.to_string(), REMEDY);
        serde_json::from_str(&text).map(Some).map_err(unfit)
    }

    /// Writes the record into a bundle.
    pub(crate) fn write(&self, layout: &Layout) -> Result<()> {
        Sealed::JSON.write(&layout.about(), &to_json("what training noted", self)?)
    }
}
