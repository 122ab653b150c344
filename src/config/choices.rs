//! Settings with named values: presets, where support edges come from, how the learning rate decreases.

use serde::{Deserialize, Serialize};

/// Named default configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preset {
    /// The paper's sizes, sampling and 100 epochs.
    Paper,
    /// The paper's sizes for an hour on two cores: 15 epochs, label support from the batch where possible.
    Small,
    /// The paper's sizes at lower cost, made for BERT: heads and labels on one encoder, support from the batch where
    /// possible, a mix of BERT's layers, a linear schedule, 8 epochs.
    Joint,
    /// A tiny model that trains in seconds on a few hundred sentences.
    Demo,
}

/// Where the label model's support edge for each label comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelSupport {
    /// As in the paper: one edge drawn uniformly from all training edges of the label.
    Sampled,
    /// The mean of the label's other edges in the batch, or one drawn edge if the batch has fewer than two. Encodes far
    /// fewer sentences, and the target is less noisy.
    Batch,
    /// Like `batch`, but if the batch has fewer than two edges of a label, the support is the label's last edge from an
    /// earlier batch, as it was then. No further sentence is encoded; an edge is drawn only for a label without an
    /// earlier edge. This is the cheapest choice and works well with ten thousand sentences. With a few thousand
    /// sentences rare labels are learnt poorly, because the stored edge gets no gradient.
    Memory,
}

/// Where the head model's support edges come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeadSupport {
    /// As in the paper: the gold edges of `support_sentences` drawn sentences.
    #[default]
    Sampled,
    /// The gold edges of the query sentences themselves, so no further sentence is encoded.
    Batch,
}

impl HeadSupport {
    pub(super) fn is_sampled(&self) -> bool {
        *self == Self::Sampled
    }
}

/// How the learning rate decreases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// As in the paper: by `1 / (1 + decay · epoch)`.
    #[default]
    Inverse,
    /// Linearly, to 0 at the end of training.
    Linear,
}

impl Schedule {
    // Older bundles have no such key. The default is not serialised, so that their text and thus their fingerprint stay
    // the same.
    pub(super) fn is_inverse(&self) -> bool {
        *self == Self::Inverse
    }
}
