//! The layers of BERT over packed windows, without padding. Every operation has its own backward pass.

use super::shape::Shape;
use crate::error::{Error, Result};
use crate::ops::Segments;
use crate::ops::attention::attention;
use crate::ops::dropout::dropout;
use crate::ops::gelu::gelu;
use crate::ops::layer_norm::layer_norm;
use crate::ops::linear::linear;
use crate::random::Random;
use candle_core::Tensor;
use std::collections::BTreeMap;

/// The network's tensors: constants, or variables during training.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    /// `[vocabulary, dims]`.
    pieces: Tensor,
    /// `[longest window, dims]`.
    positions: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
    heads: usize,
    dropout: f32,
}

#[derive(Clone, Debug)]
struct Norm {
    scale: Tensor,
    shift: Tensor,
    epsilon: f64,
}

#[derive(Clone, Debug)]
struct Product {
    /// `[inputs, outputs]`.
    weight: Tensor,
    bias: Tensor,
}

#[derive(Clone, Debug)]
struct Layer {
    /// Projects to queries, keys and values side by side.
    projection: Product,
    output: Product,
    output_norm: Norm,
    rise: Product,
    fall: Product,
    fall_norm: Norm,
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
    /// A network over named tensors. [`shapes`](super::weights::shapes) lists the names and shapes.
    pub(crate) fn new(shape: &Shape, mut tensors: BTreeMap<String, Tensor>) -> Result<Self> {
        let mut take = |name: String| {
            let tensor = tensors.remove(&name);
            tensor.ok_or_else(|| Error::Tensor { message: format!("no tensor {name} for BERT") })
        };
        let epsilon = shape.layer_norm_eps;
        let mut layers = Vec::with_capacity(shape.num_hidden_layers);
        for layer in 0..shape.num_hidden_layers {
            let mut part = |name: &str| take(format!("layer.{layer:02}.{name}"));
            let mut product = |name: &str| -> Result<Product> {
                Ok(Product { weight: part(&format!("{name}.weight"))?, bias: part(&format!("{name}.bias"))? })
            };
            let [projection, output, rise, fall] =
                [product("projection")?, product("output")?, product("rise")?, product("fall")?];
            let mut norm = |name: &str| -> Result<Norm> {
                let (scale, shift) = (part(&format!("{name}.norm.scale"))?, part(&format!("{name}.norm.shift"))?);
                Ok(Norm { scale, shift, epsilon })
            };
            let (output_norm, fall_norm) = (norm("output")?, norm("fall")?);
            layers.push(Layer { projection, output, output_norm, rise, fall, fall_norm });
        }
        Ok(Self {
            pieces: take("pieces".to_string())?,
            positions: take("positions".to_string())?,
            norm: Norm { scale: take("norm.scale".to_string())?, shift: take("norm.shift".to_string())?, epsilon },
            layers,
            heads: shape.num_attention_heads,
            dropout: shape.hidden_dropout_prob,
        })
    }

    /// The same network with detached tensors.
    pub(crate) fn frozen(&self) -> Self {
        let norm = |norm: &Norm| Norm { scale: norm.scale.detach(), shift: norm.shift.detach(), ..*norm };
        let product = |product: &Product| Product { weight: product.weight.detach(), bias: product.bias.detach() };
        let layer = |layer: &Layer| Layer {
            projection: product(&layer.projection),
            output: product(&layer.output),
            output_norm: norm(&layer.output_norm),
            rise: product(&layer.rise),
            fall: product(&layer.fall),
            fall_norm: norm(&layer.fall_norm),
        };
        Self {
            pieces: self.pieces.detach(),
            positions: self.positions.detach(),
            norm: norm(&self.norm),
            layers: self.layers.iter().map(layer).collect(),
            ..*self
        }
    }

    /// The states `[rows, dims]` of the batch's rows: after the embedding and after every layer, or after the last
    /// layer alone. Applies dropout if a generator is given.
    pub(crate) fn states(
        &self,
        batch: &PieceBatch,
        all: bool,
        mut training: Option<&mut Random>,
    ) -> Result<Vec<Tensor>> {
        let device = self.pieces.device();
        let ids = |values: &[u32]| Tensor::from_slice(values, values.len(), device);
        let rows = ids(&batch.rows)?;
        let mut drop = |x: Tensor| match training.as_deref_mut() {
            Some(random) => dropout(&x, self.dropout, random),
            None => Ok(x),
        };
        let pieces = self.pieces.index_select(&ids(&batch.ids)?, 0)?;
        let positions = self.positions.index_select(&ids(&batch.positions)?, 0)?;
        let mut x = drop(self.norm.apply(&pieces, &positions)?)?;
        let mut states = Vec::new();
        for (at, layer) in self.layers.iter().enumerate() {
            if all {
                states.push(x.index_select(&rows, 0)?);
            }
            let seen = attention(&layer.projection.apply(&x)?, &batch.windows, self.heads)?;
            // Rows do not interact after the last attention, so only the requested rows are computed.
            let (seen, own) = if at + 1 == self.layers.len() {
                (seen.index_select(&rows, 0)?, x.index_select(&rows, 0)?)
            } else {
                (seen, x)
            };
            let seen = layer.output_norm.apply(&drop(layer.output.apply(&seen)?)?, &own)?;
            let risen = gelu(&layer.rise.apply(&seen)?)?;
            x = layer.fall_norm.apply(&drop(layer.fall.apply(&risen)?)?, &seen)?;
        }
        states.push(x);
        Ok(states)
    }
}

impl Norm {
    fn apply(&self, x: &Tensor, more: &Tensor) -> candle_core::Result<Tensor> {
        layer_norm(x, more, &self.scale, &self.shift, self.epsilon)
    }
}

impl Product {
    fn apply(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        linear(x, &self.weight, &self.bias)
    }
}
