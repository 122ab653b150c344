//! A transformer folder as a source of word states: it splits words into pieces, runs the network and reads the state of
//! each word's first piece.

mod family;
mod features;
mod folder;
mod keys;
mod layers;
mod network;
mod part;
mod pickle;
mod pieces;
mod post_norm;
mod pre_norm;
mod pytorch;
mod relative;
mod shape;
mod store;
#[cfg(test)]
pub(crate) mod tests;
mod tokenizer;
mod weights;

pub(crate) use features::Features;
pub(crate) use folder::{FOLDER, Files};
pub(crate) use network::{Network, PieceBatch};
pub(crate) use pieces::Pieces;
pub(crate) use shape::Shape;

use super::parameters::{Init, Parameters};
use crate::device::frozen_precision;
use crate::error::{Error, Result};
use candle_core::{DType, Device, Tensor};
use family::Blueprint;
use pieces::Cutter;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The prefix of a transformer's parameter names in a model that fine-tunes it. Model files have it, whatever the
/// family.
pub(crate) const PREFIX: &str = "bert.";

/// A transformer folder, opened.
#[derive(Debug)]
pub(crate) struct Transformer {
    blueprint: Arc<Blueprint>,
    cutter: Cutter,
    /// The network with the folder's own weights; `None` if a trained model has its own.
    network: Option<Network>,
    /// The folder's tensors by name.
    tensors: BTreeMap<String, Tensor>,
    hash: [u8; 32],
}

impl Transformer {
    /// Opens a folder with its weights.
    pub(crate) fn open(folder: &Path, device: &Device) -> Result<Self> {
        let mut opened = Self::open_without_weights(folder)?;
        let weights = weights::read(folder, &Files::of(folder)?.weights, &opened.blueprint)?;
        let precision = frozen_precision(device);
        let tensor =
            |(name, (shape, values))| Ok((name, Tensor::from_vec(values, shape, device)?.to_dtype(precision)?));
        opened.tensors = weights.into_iter().map(tensor).collect::<Result<_>>()?;
        opened.network = Some(Network::new(&opened.blueprint, opened.tensors.clone())?);
        Ok(opened)
    }

    /// Opens a folder without its weights, to split words into pieces only.
    pub(crate) fn open_without_weights(folder: &Path) -> Result<Self> {
        let blueprint = Blueprint::read(&folder.join(folder::CONFIG))?;
        let cutter = Cutter::read(folder, &Files::of(folder)?, &blueprint)?;
        let blueprint = Arc::new(blueprint);
        Ok(Self { blueprint, cutter, network: None, tensors: BTreeMap::new(), hash: [0; 32] })
    }

    /// Sets the hash of its files.
    pub(crate) fn known_as(mut self, hash: [u8; 32]) -> Self {
        self.hash = hash;
        self
    }

    /// The hash of its files, as set by [`Transformer::known_as`].
    pub(crate) fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// The sizes of the network.
    pub(crate) fn shape(&self) -> &Shape {
        &self.blueprint.shape
    }

    /// The family of the network.
    pub(crate) fn family(&self) -> &'static str {
        self.blueprint.family
    }

    /// The folder's own network.
    pub(crate) fn network(&self) -> Result<&Network> {
        let network = self.network.as_ref();
        network.ok_or_else(|| Error::Tensor { message: "the transformer was opened without weights".to_string() })
    }

    /// A trainable network that starts at the folder's weights. Its variables are added to `parameters`.
    pub(crate) fn trainable(&self, parameters: &mut Parameters, device: &Device) -> Result<Network> {
        let mut tensors = BTreeMap::new();
        for part in &self.blueprint.parts {
            let name = format!("{PREFIX}{}", part.name);
            let variable = match self.tensors.get(&part.name) {
                Some(tensor) => parameters.adopt(&name, tensor)?,
                // The model file has the values; it bounds the memory that this can take.
                None => parameters.create(&name, &part.shape, Init::Normal, 0, device)?,
            };
            tensors.insert(part.name.clone(), variable);
        }
        Network::new(&self.blueprint, tensors)
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

    /// The states of the rows of a batch, rounded like those of [`Transformer::features`].
    pub(crate) fn rounded_states(&self, batch: &PieceBatch, all: bool) -> Result<Vec<Tensor>> {
        self.network()?.states(batch, all, None)?.iter().map(rounded).collect()
    }
}

/// Rounds to half precision and back, so that computed states equal those cached on disk.
fn rounded(states: &Tensor) -> Result<Tensor> {
    Ok(states.to_dtype(DType::F16)?.to_dtype(DType::F32)?)
}
