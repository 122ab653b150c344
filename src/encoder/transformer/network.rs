//! A transformer's network over packed windows, without padding. Every operation has its own backward pass.

use super::family::{Blueprint, Style};
use super::layers::Tensors;
use super::pieces::Pieces;
use super::post_norm::PostNorm;
use super::pre_norm::PreNorm;
use crate::error::Result;
use crate::ops::Segments;
use crate::random::Random;
use candle_core::Tensor;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A network with its tensors.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    blueprint: Arc<Blueprint>,
    tensors: BTreeMap<String, Tensor>,
    layers: Layers,
}

#[derive(Clone, Debug)]
enum Layers {
    PostNorm(PostNorm),
    PreNorm(PreNorm),
}

/// The pieces of a batch of sentences, window by window.
#[derive(Clone, Debug)]
pub(crate) struct PieceBatch {
    /// Piece ids.
    pub ids: Vec<u32>,
    /// The position of every piece in its window.
    pub positions: Vec<u32>,
    /// The lengths of the windows.
    pub windows: Segments,
    /// The piece rows to return, in the order of the encoder's rows.
    pub rows: Vec<u32>,
}

impl Network {
    /// A network over named tensors, which the blueprint lists.
    pub(crate) fn new(blueprint: &Arc<Blueprint>, tensors: BTreeMap<String, Tensor>) -> Result<Self> {
        let (shape, named) = (&blueprint.shape, Tensors(&tensors));
        let layers = match &blueprint.style {
            Style::PostNorm { groups, relative } => Layers::PostNorm(PostNorm::new(shape, *groups, relative, &named)?),
            Style::PreNorm(locality) => Layers::PreNorm(PreNorm::new(shape, locality, &named)?),
        };
        Ok(Self { blueprint: blueprint.clone(), tensors, layers })
    }

    /// The same network with detached tensors.
    pub(crate) fn frozen(&self) -> Result<Self> {
        let detached = self.tensors.iter().map(|(name, tensor)| (name.clone(), tensor.detach()));
        Self::new(&self.blueprint, detached.collect())
    }

    /// The states `[rows, dims]` of the batch's rows: after the embedding and after every layer, or after the last
    /// layer alone. Applies dropout if a generator is given.
    pub(crate) fn states(&self, batch: &PieceBatch, all: bool, training: Option<&mut Random>) -> Result<Vec<Tensor>> {
        match &self.layers {
            Layers::PostNorm(layers) => layers.states(batch, all, training),
            Layers::PreNorm(layers) => layers.states(batch, all, training),
        }
    }
}

impl PieceBatch {
    /// The pieces of whole sentences. Rows are their positions, sentence by sentence.
    pub(crate) fn new(sentences: &[&Pieces]) -> Self {
        let windows: Vec<usize> = sentences.iter().flat_map(|s| s.windows.iter().copied()).collect();
        let positions = windows.iter().flat_map(|&length| 0..length as u32).collect();
        let mut ids = Vec::new();
        let mut rows = Vec::new();
        for sentence in sentences {
            rows.extend(sentence.place.iter().map(|&place| ids.len() as u32 + place));
            ids.extend_from_slice(&sentence.ids);
        }
        Self { ids, positions, windows: Segments::new(windows), rows }
    }

    /// The length of its longest window.
    pub(super) fn longest(&self) -> usize {
        self.windows.lengths().iter().copied().max().unwrap_or(0)
    }
}
