//! The sizes that the networks of all families have.

use super::folder::FOLDER;
use crate::error::{Error, Result};
use crate::ops::activation::Activation;
use std::path::Path;

/// The sizes of a network.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    /// Rows of the piece embedding.
    pub vocabulary: usize,
    /// Dimensions of a piece embedding; others than those of a state in families that project it.
    pub embedding: usize,
    /// Dimensions of a state.
    pub dims: usize,
    /// Layers above the embedding.
    pub layers: usize,
    /// Attention heads of a layer.
    pub heads: usize,
    /// Dimensions of the hidden layer of the feed-forward part.
    pub inner: usize,
    /// The longest window, special pieces included.
    pub window: usize,
    /// The function in the feed-forward part.
    pub activation: Activation,
    /// Added to variances before the square root.
    pub epsilon: f64,
    /// Dropout rate when the network is fine-tuned.
    pub dropout: f32,
}

/// The longest window of families whose weights do not bound it. Attention takes memory by the square of it.
pub(super) const LONGEST_WINDOW: usize = 1024;

/// The most layers; the largest models have some dozens.
const MOST_LAYERS: usize = 256;

impl Shape {
    /// Checks what a single key cannot tell.
    pub(super) fn check(&self, path: &Path) -> Result<()> {
        if self.layers > MOST_LAYERS {
            let (most, found) = (format!("at most {MOST_LAYERS} layers"), self.layers.to_string());
            return Err(Error::unfit(path, &most, &found, FOLDER));
        }
        if !self.dims.is_multiple_of(self.heads) {
            let expected = "a hidden_size that is a multiple of num_attention_heads";
            return Err(Error::unfit(path, expected, "another", FOLDER));
        }
        if self.window < 3 {
            let expected = "max_position_embeddings with room for a piece between two special ones";
            return Err(Error::unfit(path, expected, "fewer", FOLDER));
        }
        Ok(())
    }
}
