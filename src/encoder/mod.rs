//! Words to states: embeddings and character convolution, a BiLSTM, and a dependent and a head vector for each word.

mod batch;
mod parameters;
mod vocabulary;

pub use batch::{Batch, length_batches};
pub use parameters::{Init, Parameters};
pub use vocabulary::{Numbered, Vocabulary};

use crate::config::Config;
use crate::error::Result;
use crate::ops::char_cnn::char_cnn;
use crate::ops::dropout::dropout;
use crate::ops::linear::linear;
use crate::ops::lstm::bilstm;
use crate::random::Random;
use candle_core::{Device, Tensor};

/// The network up to the edge vectors, without dropout unless a generator is given.
#[derive(Clone, Debug)]
pub struct Encoder {
    words: Tensor,
    characters: Tensor,
    char_filter: Tensor,
    char_bias: Tensor,
    layers: Vec<Layer>,
    dependent: Tensor,
    head: Tensor,
    dropout: f32,
}

#[derive(Clone, Debug)]
struct Layer {
    /// `[inputs, 2 · 4 · units]`: both directions side by side.
    input: Tensor,
    /// `[2 · 4 · units]`.
    bias: Tensor,
    /// `[2, units, 4 · units]`.
    recurrent: Tensor,
}

/// What the encoder says of every plain row of a batch.
#[derive(Clone, Debug)]
pub struct States {
    /// `[rows, dims]`: the word as a dependent.
    pub dependent: Tensor,
    /// `[rows, dims]`: the word as a head.
    pub head: Tensor,
}

impl Encoder {
    /// A new encoder whose parameters are added to `parameters`.
    pub fn new(config: &Config, vocabulary: &Vocabulary, parameters: &mut Parameters, device: &Device) -> Result<Self> {
        let mut create = |name: &str, shape: &[usize], init| parameters.create(name, shape, init, config.seed, device);
        let uniform = |fan| Init::Uniform { fan };
        let (units, filters) = (config.lstm_units, config.char_filters);
        let mut layers = Vec::with_capacity(config.lstm_layers);
        for layer in 0..config.lstm_layers {
            let inputs = if layer == 0 { config.word_dim + filters } else { 2 * units };
            layers.push(Layer {
                input: create(&format!("lstm.{layer}.input"), &[inputs, 8 * units], uniform(units))?,
                bias: create(&format!("lstm.{layer}.bias"), &[8 * units], uniform(units))?,
                recurrent: create(&format!("lstm.{layer}.recurrent"), &[2, units, 4 * units], uniform(units))?,
            });
        }
        Ok(Self {
            words: create("words", &[vocabulary.word_count(), config.word_dim], Init::Normal)?,
            characters: create("characters", &[vocabulary.character_count(), config.char_dim], Init::Normal)?,
            char_filter: create("char_filter", &[config.char_dim, 3 * filters], uniform(3 * config.char_dim))?,
            char_bias: create("char_bias", &[filters], uniform(3 * config.char_dim))?,
            layers,
            dependent: create("dependent", &[2 * units, config.edge_dim], uniform(2 * units))?,
            head: create("head", &[2 * units, config.edge_dim], uniform(2 * units))?,
            dropout: config.dropout,
        })
    }

    /// The same encoder as constants: nothing is kept for a way back.
    pub fn frozen(&self) -> Self {
        let layer = |layer: &Layer| Layer {
            input: layer.input.detach(),
            bias: layer.bias.detach(),
            recurrent: layer.recurrent.detach(),
        };
        Self {
            words: self.words.detach(),
            characters: self.characters.detach(),
            char_filter: self.char_filter.detach(),
            char_bias: self.char_bias.detach(),
            layers: self.layers.iter().map(layer).collect(),
            dependent: self.dependent.detach(),
            head: self.head.detach(),
            dropout: self.dropout,
        }
    }

    /// Encodes a batch. With a generator, dropout is applied: to the input, after every LSTM layer.
    pub fn states(&self, batch: &Batch, mut training: Option<&mut Random>) -> Result<States> {
        let device = self.words.device();
        let ids = |values: &[u32]| Tensor::from_slice(values, values.len(), device);
        let mut drop = |x: Tensor| match training.as_deref_mut() {
            Some(random) => dropout(&x, self.dropout, random),
            None => Ok(x),
        };
        let taps = self.characters.matmul(&self.char_filter)?;
        let spellings = char_cnn(&taps, &self.char_bias, batch.spellings.clone())?;
        let words = self.words.index_select(&ids(&batch.words)?, 0)?;
        let spelled = spellings.index_select(&ids(&batch.spelling_of)?, 0)?;
        // Whatever else is known of a word (frozen vectors, BERT) joins here, a tensor of packed rows each.
        let mut rows = drop(Tensor::cat(&[words, spelled], 1)?)?;
        for layer in &self.layers {
            let gates = linear(&rows, &layer.input, &layer.bias)?;
            rows = drop(bilstm(&gates, &layer.recurrent, &batch.steps)?)?;
        }
        let rows = rows.index_select(&ids(&batch.packed_row)?, 0)?;
        Ok(States { dependent: rows.matmul(&self.dependent)?, head: rows.matmul(&self.head)? })
    }
}

#[cfg(test)]
mod tests;
