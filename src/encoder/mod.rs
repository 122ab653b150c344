//! Encodes words as states: word embeddings, a character convolution, pretrained input, and a BiLSTM over all of them.

mod batch;
mod parameters;
pub(crate) mod pretrained;
pub(crate) mod transformer;
mod vocabulary;
pub(crate) mod word_vectors;

pub(crate) use batch::Batch;
pub(crate) use batch::length_batches;
pub(crate) use parameters::{Init, Parameters};
pub(crate) use pretrained::Pretrained;
pub(crate) use vocabulary::{Numbered, Vocabulary};

use crate::config::{BertLayers, Config};
use crate::error::{Error, Result};
use crate::ops::char_cnn::char_cnn;
use crate::ops::dropout::dropout;
use crate::ops::linear::linear;
use crate::ops::lstm::bilstm;
use crate::random::Random;
use candle_core::{Device, Tensor};
use std::sync::Arc;
use transformer::{Network, Transformer};
use word_vectors::WordVectors;

/// The network from words to their states in context. It applies dropout only if a generator is given.
#[derive(Clone, Debug)]
pub(crate) struct Encoder {
    words: Tensor,
    characters: Tensor,
    char_filter: Tensor,
    char_bias: Tensor,
    vectors: Option<Arc<WordVectors>>,
    transformer: Option<Reader>,
    layers: Vec<Layer>,
    dropout: f32,
}

/// A transformer as a part of the input.
#[derive(Clone, Debug)]
struct Reader {
    source: Source,
    /// The weight of each layer before the softmax, `[layers]`, and a factor, `[1]`. `None` uses the last layer alone.
    mix: Option<(Tensor, Tensor)>,
}

#[derive(Clone, Debug)]
enum Source {
    Frozen(Arc<Transformer>),
    Trained(Network),
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

impl Encoder {
    /// A new encoder whose parameters are added to `parameters`.
    pub(crate) fn new(
        config: &Config,
        vocabulary: &Vocabulary,
        pretrained: &Pretrained,
        parameters: &mut Parameters,
        device: &Device,
    ) -> Result<Self> {
        let (units, filters) = (config.lstm_units, config.char_filters);
        let mut width = config.word_dim + filters;
        width += pretrained.vectors.as_ref().map_or(0, |vectors| vectors.dims());
        width += pretrained.transformer.as_ref().map_or(0, |transformer| transformer.shape().dims);
        let transformer = match &pretrained.transformer {
            Some(transformer) => Some(Reader::new(config, transformer, parameters, device)?),
            None => None,
        };
        let mut create = |name: &str, shape: &[usize], init| parameters.create(name, shape, init, config.seed, device);
        let uniform = |fan| Init::Uniform { fan };
        let mut layers = Vec::with_capacity(config.lstm_layers);
        for layer in 0..config.lstm_layers {
            let inputs = if layer == 0 { width } else { 2 * units };
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
            vectors: pretrained.vectors.clone(),
            transformer,
            layers,
            dropout: config.dropout,
        })
    }

    /// The same encoder with detached tensors: no gradient is stored.
    pub(crate) fn frozen(&self) -> Result<Self> {
        let layer = |layer: &Layer| Layer {
            input: layer.input.detach(),
            bias: layer.bias.detach(),
            recurrent: layer.recurrent.detach(),
        };
        Ok(Self {
            words: self.words.detach(),
            characters: self.characters.detach(),
            char_filter: self.char_filter.detach(),
            char_bias: self.char_bias.detach(),
            vectors: self.vectors.clone(),
            transformer: self.transformer.as_ref().map(Reader::frozen).transpose()?,
            layers: self.layers.iter().map(layer).collect(),
            dropout: self.dropout,
        })
    }

    /// The states `[rows, 2 · units]` of the plain rows of a batch. With a generator, dropout applies to the input,
    /// after every LSTM layer, and inside the transformer if it is fine-tuned.
    pub(crate) fn states(&self, batch: &Batch, mut training: Option<&mut Random>) -> Result<Tensor> {
        let device = self.words.device();
        let ids = |values: &[u32]| Tensor::from_slice(values, values.len(), device);
        let taps = self.characters.matmul(&self.char_filter)?;
        let spellings = char_cnn(&taps, &self.char_bias, batch.spellings.clone())?;
        let words = self.words.index_select(&ids(&batch.words)?, 0)?;
        let spelled = spellings.index_select(&ids(&batch.spelling_of)?, 0)?;
        let mut input = vec![words, spelled];
        if let Some(vectors) = &self.vectors {
            input.push(known_vectors(vectors, batch, device)?.to_dtype(self.words.dtype())?);
        }
        if let Some(reader) = &self.transformer {
            input.push(reader.states(batch, device, training.as_deref_mut())?.to_dtype(self.words.dtype())?);
        }
        let mut drop = |x: Tensor| match training.as_deref_mut() {
            Some(random) => dropout(&x, self.dropout, random),
            None => Ok(x),
        };
        let mut rows = drop(Tensor::cat(&input, 1)?)?;
        for layer in &self.layers {
            let gates = linear(&rows, &layer.input, &layer.bias)?;
            rows = drop(bilstm(&gates, &layer.recurrent, &batch.steps)?)?;
        }
        Ok(rows.index_select(&ids(&batch.packed_row)?, 0)?)
    }
}

/// The frozen vectors `[packed rows, dims]`; zero for words that are not in the table.
fn known_vectors(vectors: &WordVectors, batch: &Batch, device: &Device) -> Result<Tensor> {
    if batch.vectors.len() != batch.words.len() {
        return Err(Error::Tensor { message: "sentences were numbered without the word vectors".to_string() });
    }
    let dims = vectors.dims();
    let mut values = vec![0.0; batch.vectors.len() * dims];
    for (place, out) in batch.vectors.iter().zip(values.chunks_exact_mut(dims)) {
        vectors.read(place, out);
    }
    vectors.intact()?;
    Ok(Tensor::from_vec(values, (batch.vectors.len(), dims), device)?)
}

impl Reader {
    fn new(
        config: &Config,
        transformer: &Arc<Transformer>,
        parameters: &mut Parameters,
        device: &Device,
    ) -> Result<Self> {
        let source = match config.bert.train {
            true => Source::Trained(transformer.trainable(parameters, device)?),
            false => Source::Frozen(transformer.clone()),
        };
        let mix = match config.bert.layers {
            BertLayers::Last => None,
            BertLayers::Mix => {
                let layers = transformer.shape().layers + 1;
                let mut constant = |name: &str, values: Vec<f32>| parameters.adopt(name, &Tensor::new(values, device)?);
                Some((constant("mix.layers", vec![0.0; layers])?, constant("mix.factor", vec![1.0])?))
            }
        };
        Ok(Self { source, mix })
    }

    fn frozen(&self) -> Result<Self> {
        let source = match &self.source {
            Source::Frozen(transformer) => Source::Frozen(transformer.clone()),
            Source::Trained(network) => Source::Trained(network.frozen()?),
        };
        Ok(Self { source, mix: self.mix.as_ref().map(|(layers, factor)| (layers.detach(), factor.detach())) })
    }

    /// The states `[packed rows, dims]` to concatenate to the input.
    fn states(&self, batch: &Batch, device: &Device, training: Option<&mut Random>) -> Result<Tensor> {
        if !batch.has_pieces() {
            return Err(Error::Tensor { message: "sentences were numbered without the transformer".to_string() });
        }
        let all = self.mix.is_some();
        let states = match &self.source {
            Source::Frozen(transformer) => batch.frozen_states(transformer, all, device)?,
            Source::Trained(network) => network.states(&batch.pieces, all, training)?,
        };
        let last =
            states.last().ok_or_else(|| Error::Tensor { message: "the transformer has no layers".to_string() })?;
        let Some((weights, factor)) = &self.mix else { return Ok(last.clone()) };
        if weights.dims1()? != states.len() {
            let message = format!("{} layers to mix, but {} weights", states.len(), weights.dims1()?);
            return Err(Error::Tensor { message });
        }
        let weights = candle_nn::ops::softmax(weights, 0)?.broadcast_mul(factor)?;
        let mut sum = states[0].to_dtype(weights.dtype())?.broadcast_mul(&weights.narrow(0, 0, 1)?)?;
        for (layer, states) in states.iter().enumerate().skip(1) {
            sum = (sum + states.to_dtype(weights.dtype())?.broadcast_mul(&weights.narrow(0, layer, 1)?)?)?;
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests;
