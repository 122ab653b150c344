//! A BERT folder as a source of word states: it splits words into pieces, runs the network and reads the state of each
//! word's first piece.

mod features;
mod network;
mod pieces;
mod shape;
#[cfg(test)]
pub(crate) mod tests;
mod weights;

pub(crate) use features::Features;
pub(crate) use network::{Network, PieceBatch};
pub(crate) use pieces::Pieces;
pub(crate) use shape::Shape;

use super::parameters::Parameters;
use crate::device::frozen_precision;
use crate::error::{Error, Result};
use crate::ops::Segments;
use candle_core::{DType, Device, Tensor};
use pieces::Cutter;
use std::collections::BTreeMap;
use std::path::Path;

/// The files of a BERT folder.
pub(crate) const FILES: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];

/// The prefix of BERT's parameter names in a model that fine-tunes it.
pub(crate) const PREFIX: &str = "bert.";

/// A BERT folder, opened.
#[derive(Debug)]
pub(crate) struct Bert {
    shape: Shape,
    cutter: Cutter,
    /// The network with the folder's own weights; `None` if a trained model has its own.
    network: Option<Network>,
    /// The folder's tensors by name.
    tensors: BTreeMap<String, Tensor>,
    hash: [u8; 32],
}

impl Bert {
    /// Opens a folder with its weights.
    pub(crate) fn open(folder: &Path, device: &Device) -> Result<Self> {
        let mut bert = Self::open_without_weights(folder)?;
        let weights = weights::read(&folder.join(FILES[2]), &bert.shape)?;
        let precision = frozen_precision(device);
        let tensor =
            |(name, (shape, values))| Ok((name, Tensor::from_vec(values, shape, device)?.to_dtype(precision)?));
        bert.tensors = weights.into_iter().map(tensor).collect::<Result<_>>()?;
        bert.network = Some(Network::new(&bert.shape, bert.tensors.clone())?);
        Ok(bert)
    }

    /// Opens a folder without its weights, to split words into pieces only.
    pub(crate) fn open_without_weights(folder: &Path) -> Result<Self> {
        let shape = Shape::read(&folder.join(FILES[0]))?;
        let cutter = Cutter::read(&folder.join(FILES[1]), shape.max_position_embeddings, shape.vocab_size)?;
        Ok(Self { shape, cutter, network: None, tensors: BTreeMap::new(), hash: [0; 32] })
    }

    /// Sets the hash of its files.
    pub(crate) fn known_as(mut self, hash: [u8; 32]) -> Self {
        self.hash = hash;
        self
    }

    /// The hash of its files, as set by [`Bert::known_as`].
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

    /// A trainable network that starts at the folder's weights. Its variables are added to `parameters`.
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

    /// Splits a sentence into pieces.
    pub(crate) fn pieces(&self, words: &[&str]) -> Result<Pieces> {
        self.cutter.cut(words)
    }

    /// The states of every position of the sentences, ROOT included, under the folder's own weights: after the
    /// embedding and each layer, or after the last layer alone. Each tensor is `[positions, dims]`, rounded to half
    /// precision as on disk.
    pub(crate) fn features(&self, sentences: &[&Pieces], all: bool) -> Result<Vec<Tensor>> {
        self.rounded_states(&PieceBatch::new(sentences), all)
    }

    /// The states of the rows of a batch, rounded like those of [`Bert::features`].
    pub(crate) fn rounded_states(&self, batch: &PieceBatch, all: bool) -> Result<Vec<Tensor>> {
        self.network()?.states(batch, all, None)?.iter().map(rounded).collect()
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
}

/// Rounds to half precision and back, so that computed states equal those cached on disk.
fn rounded(states: &Tensor) -> Result<Tensor> {
    Ok(states.to_dtype(DType::F16)?.to_dtype(DType::F32)?)
}
