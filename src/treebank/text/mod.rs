//! Plain text becomes sentences and words as in the training treebank.
//!
//! Data flows `running` (bytes → paragraphs) → `ends` (a paragraph → the text of its sentences) → `splits` (a sentence →
//! its words). What the treebank shows of its text is learnt from `raw`, the text put together from its tokens.

mod atoms;
mod backoff;
mod ends;
mod perceptron;
mod raw;
mod running;
mod shown;
mod splits;
#[cfg(test)]
mod tests;
mod words;

use super::sentence::Sentence;
use ends::{Ends, unicode_sentences};
pub(crate) use running::Running;
use serde::{Deserialize, Serialize};
use shown::Shown;
pub(crate) use shown::Unseen;
pub(crate) use splits::Splits;
use std::ops::Range;

/// What a treebank shows of its text; a file of a bundle. It does not decide what an edge vector is, so it is no part of
/// the fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TextTables {
    /// The version of this format.
    version: u32,
    /// Where sentences end.
    ends: Ends,
    /// Which words it has; a small treebank does not say.
    shown: Option<Shown>,
}

impl TextTables {
    /// The version of the format. Files of other versions are refused.
    pub(crate) const VERSION: u32 = 1;

    /// Learns from the text of a treebank.
    pub(crate) fn learn(sentences: &[Sentence]) -> Self {
        Self { version: Self::VERSION, ends: Ends::learn(&raw::paragraphs(sentences)), shown: Shown::learn(sentences) }
    }

    /// How much of a sentence the treebank never showed; `None` if it is too small to tell.
    pub(crate) fn unseen(&self, sentence: &Sentence) -> Option<Unseen> {
        self.shown.as_ref().map(|shown| shown.unseen(sentence))
    }

    /// The version of the format that it was written in.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }
}

/// Cuts text: paragraphs into sentences, sentences into words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cutter<'a> {
    pub splits: &'a Splits,
    /// What the treebank shows of its text; bundles of earlier versions lack it.
    pub tables: Option<&'a TextTables>,
}

impl Cutter<'_> {
    /// The sentences of a paragraph, in bytes, without the white space around them.
    fn sentences(&self, paragraph: &str) -> Vec<Range<usize>> {
        let mut sentences = Vec::new();
        for block in running::blocks(paragraph) {
            let text = &paragraph[block.clone()];
            let inside = match self.tables {
                Some(tables) => tables.ends.cut(text),
                None => unicode_sentences(text, |chunk| self.splits.keeps_full_stop(chunk)),
            };
            sentences.extend(inside.into_iter().map(|range| block.start + range.start..block.start + range.end));
        }
        sentences
    }
}
