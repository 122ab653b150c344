//! When a bundle was trained, by which citree, on how much, and how good it is on its dev set.

use super::Layout;
use crate::error::Result;
use crate::files::{to_json, write_atomically};
use serde::{Deserialize, Serialize};

/// What training noted about a bundle. Bundles from before citree 0.1 have none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The version of citree that trained it.
    pub citree: String,
    /// When training ended, in seconds since 1970.
    pub trained_at: u64,
    /// Sentences it learnt from.
    pub sentences: usize,
    /// Words it learnt from.
    pub words: usize,
    /// Its scores on the dev set, for each way of decoding.
    pub dev: Vec<DevScores>,
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
    /// Reads what training noted; `None` where it did not, or not in a form that this version knows.
    pub(crate) fn read(layout: &Layout) -> Option<Self> {
        serde_json::from_str(&std::fs::read_to_string(layout.about()).ok()?).ok()
    }

    /// Writes it into a bundle.
    pub(crate) fn write(&self, layout: &Layout) -> Result<()> {
        write_atomically(&layout.about(), to_json("what training noted", self)?.as_bytes())
    }
}
