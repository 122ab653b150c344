//! A BERT folder as a source of word states: pieces of words, the network over them, the states of their first pieces.

mod features;
mod network;
mod pieces;
mod shape;
#[cfg(test)]
pub(crate) mod tests;
mod weights;

pub(crate) use features::Features;
pub(crate) use network::{Network, PieceBatch};
pub use pieces::Pieces;
pub(crate) use shape::Shape;

use super::parameters::Parameters;
use crate::device::frozen_precision;
use crate::error::{Error, Result};
use crate::ops::Segments;
use candle_core::{DType, Device, Tensor};
use pieces::Cutter;
use std::collections::BTreeMap;
use std::path::Path;

/// The files of a folder that make it what it is.
pub(crate) const FILES: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];

/// How the names of BERT's parameters begin in a model that trains it along.
pub(crate) const PREFIX: &str = "bert.";

/// A BERT folder, opened.
#[derive(Debug)]
pub struct Bert {
    shape: Shape,
    cutter: Cutter,
    /// The folder's own weights; none where a trained model has weights of its own.
    network: Option<Network>,
    /// The same by name.
    tensors: BTreeMap<String, Tensor>,
    hash: [u8; 32],
}

impl Bert {
    /// Opens a folder with its weights.
    pub fn open(folder: &Path, device: &Device) -> Result<Self> {
        let mut bert = Self::open_without_weights(folder)?;
        let weights = weights::read(&folder.join(FILES[2]), &bert.shape)?;
        let precision = frozen_precision(device);
        let tensor =
            |(name, (shape, values))| Ok((name, Tensor::from_vec(values, shape, device)?.to_dtype(precision)?));
        bert.tensors = weights.into_iter().map(tensor).collect::<Result<_>>()?;
        bert.network = Some(Network::new(&bert.shape, bert.tensors.clone())?);
        Ok(bert)
    }

    /// Opens a folder for its pieces alone.
    pub(crate) fn open_without_weights(folder: &Path) -> Result<Self> {
        let shape = Shape::read(&folder.join(FILES[0]))?;
        let cutter = Cutter::read(&folder.join(FILES[1]), shape.max_position_embeddings, shape.vocab_size)?;
        Ok(Self { shape, cutter, network: None, tensors: BTreeMap::new(), hash: [0; 32] })
    }

    /// Gives it the hash that it is known by.
    pub(crate) fn known_as(mut self, hash: [u8; 32]) -> Self {
        self.hash = hash;
        self
    }

    /// The hash of its files, as whoever opened it says.
    pub(crate) fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// The sizes of the network.
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The folder's own network.
    pub(crate) fn network(&self) -> Result<&Network> {
        self.network.as_ref().ok_or_else(|| Error::Tensor { message: "BERT was opened without weights".to_string() })
    }

    /// A network to be trained, which starts at the folder's weights; its variables are added to `parameters`.
    pub(crate) fn trainable(&self, parameters: &mut Parameters, device: &Device) -> Result<Network> {
        let mut tensors = BTreeMap::new();
        for (name, shape) in weights::shapes(&self.shape) {
            let start = match self.tensors.get(&name) {
                Some(tensor) => tensor.clone(),
                None => Tensor::zeros(shape, DType::F32, device)?,
            };
            tensors.insert(name.clone(), parameters.adopt(&format!("{PREFIX}{name}"), &start)?);
        }
        Network::new(&self.shape, tensors)
    }

    /// A sentence in pieces.
    pub fn pieces(&self, words: &[&str]) -> Result<Pieces> {
        self.cutter.cut(words)
    }

    /// States of every position of the sentences, ROOT included, by the folder's own weights: after the embedding and
    /// each layer, or after the last layer alone; each `[positions, dims]`, rounded to half precision as on disk.
    pub fn features(&self, sentences: &[&Pieces], all: bool) -> Result<Vec<Tensor>> {
        self.rounded_states(&PieceBatch::new(sentences), all)
    }

    /// The same for the rows of a batch.
    pub(crate) fn rounded_states(&self, batch: &PieceBatch, all: bool) -> Result<Vec<Tensor>> {
        self.network()?.states(batch, all, None)?.iter().map(rounded).collect()
    }
}

impl PieceBatch {
    /// The pieces of whole sentences; rows are their positions, sentence after sentence.
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
}

/// Rounds to half precision and back: what is cached on disk and what is computed anew must be the same.
fn rounded(states: &Tensor) -> Result<Tensor> {
    Ok(states.to_dtype(DType::F16)?.to_dtype(DType::F32)?)
}
