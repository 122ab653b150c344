//! Layers that normalise before each product, as in ModernBERT: rotated queries and keys, attention that is local in most
//! layers, and a gated feed-forward part.

use super::layers::{Norm, Product, Tensors};
use super::network::PieceBatch;
use super::shape::Shape;
use crate::error::Result;
use crate::ops::activation::Activation;
use crate::ops::attention::attention;
use crate::ops::dropout::dropout;
use crate::random::Random;
use candle_core::Tensor;

/// Where attention of a layer goes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Locality {
    /// Whether each layer is local.
    pub local: Vec<bool>,
    /// The largest distance in a local layer.
    pub reach: usize,
    /// The base of the wavelengths in global and in local layers.
    pub bases: [f64; 2],
}

/// The network's tensors: constants, or variables during training.
#[derive(Clone, Debug)]
pub(super) struct PreNorm {
    /// `[vocabulary, dims]`.
    pieces: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
    last_norm: Norm,
    locality: Locality,
    heads: usize,
    /// Dimensions of the gated layer.
    inner: usize,
    activation: Activation,
    dropout: f32,
}

#[derive(Clone, Debug)]
struct Layer {
    /// `None` in the first layer: its input is normalised already.
    norm: Option<Norm>,
    /// Projects to queries, keys and values side by side.
    projection: Product,
    output: Product,
    rise_norm: Norm,
    /// To the gated values and their gates, side by side.
    rise: Product,
    fall: Product,
}

/// A rotation for every row of a batch: cosines and sines `[rows, 1, dims of a head / 2]`.
struct Rotation {
    cosines: Tensor,
    sines: Tensor,
}

impl PreNorm {
    /// A network over named tensors.
    pub(super) fn new(shape: &Shape, locality: &Locality, tensors: &Tensors) -> Result<Self> {
        let layer = |layer: usize| -> Result<Layer> {
            let name = |part: &str| format!("layer.{layer:02}.{part}");
            Ok(Layer {
                norm: if layer > 0 { Some(tensors.norm(&name("norm"), shape.epsilon)?) } else { None },
                projection: tensors.product(&name("projection"))?,
                output: tensors.product(&name("output"))?,
                rise_norm: tensors.norm(&name("rise.norm"), shape.epsilon)?,
                rise: tensors.product(&name("rise"))?,
                fall: tensors.product(&name("fall"))?,
            })
        };
        Ok(Self {
            pieces: tensors.get("pieces")?,
            norm: tensors.norm("norm", shape.epsilon)?,
            layers: (0..shape.layers).map(layer).collect::<Result<_>>()?,
            last_norm: tensors.norm("last.norm", shape.epsilon)?,
            locality: locality.clone(),
            heads: shape.heads,
            inner: shape.inner,
            activation: shape.activation,
            dropout: shape.dropout,
        })
    }

    /// See [`Network::states`](super::Network::states).
    pub(super) fn states(
        &self,
        batch: &PieceBatch,
        all: bool,
        mut training: Option<&mut Random>,
    ) -> Result<Vec<Tensor>> {
        let ids = |values: &[u32]| Tensor::from_slice(values, values.len(), self.pieces.device());
        let rows = ids(&batch.rows)?;
        let mut drop = |x: Tensor| match training.as_deref_mut() {
            Some(random) => dropout(&x, self.dropout, random),
            None => Ok(x),
        };
        let rotations = [self.rotation(batch, 0)?, self.rotation(batch, 1)?];
        let local = self.locality.mask(batch.longest(), self.heads, &self.pieces)?;
        let mut x = self.norm.alone(&self.pieces.index_select(&ids(&batch.ids)?, 0)?)?;
        let mut states = Vec::new();
        for (at, layer) in self.layers.iter().enumerate() {
            if all {
                states.push(x.index_select(&rows, 0)?);
            }
            let near = self.locality.local[at];
            let input = match &layer.norm {
                Some(norm) => norm.alone(&x)?,
                None => x.clone(),
            };
            let projected = rotations[usize::from(near)].apply(&layer.projection.apply(&input)?, self.heads)?;
            let seen = attention(&projected, local.as_ref().filter(|_| near), &batch.windows, self.heads)?;
            // Rows do not interact after the last attention, so only the requested rows are computed.
            let (seen, own) = if at + 1 == self.layers.len() {
                (seen.index_select(&rows, 0)?, x.index_select(&rows, 0)?)
            } else {
                (seen, x)
            };
            let own = (own + layer.output.apply(&seen)?)?;
            let risen = layer.rise.apply(&layer.rise_norm.alone(&own)?)?;
            let gated = self.activation.apply(&risen.narrow(1, 0, self.inner)?)?;
            let gated = (gated * risen.narrow(1, self.inner, self.inner)?)?;
            x = (own + layer.fall.apply(&drop(gated)?)?)?;
        }
        states.push(self.last_norm.alone(&x)?);
        Ok(states)
    }

    /// The rotation of every row by its position, for global (0) or local (1) layers.
    fn rotation(&self, batch: &PieceBatch, kind: usize) -> Result<Rotation> {
        let half = self.pieces.dim(1)? / self.heads / 2;
        let mut angles = Vec::with_capacity(batch.positions.len() * half);
        for &position in &batch.positions {
            let angle = |at: usize| f64::from(position) / self.locality.bases[kind].powf(at as f64 / half as f64);
            angles.extend((0..half).map(angle));
        }
        let (device, dtype) = (self.pieces.device(), self.pieces.dtype());
        let tensor = |function: fn(f64) -> f64| -> candle_core::Result<Tensor> {
            let values: Vec<f32> = angles.iter().map(|&angle| function(angle) as f32).collect();
            Tensor::from_vec(values, (batch.positions.len(), 1, half), device)?.to_dtype(dtype)
        };
        Ok(Rotation { cosines: tensor(f64::cos)?, sines: tensor(f64::sin)? })
    }
}

impl Rotation {
    /// Rotates the queries and keys of `[rows, 3 · dims]`: each value with the one half a head away.
    fn apply(&self, projected: &Tensor, heads: usize) -> candle_core::Result<Tensor> {
        let (rows, width) = projected.dims2()?;
        let dims = width / 3;
        let half = dims / heads / 2;
        let turned = projected.narrow(1, 0, 2 * dims)?.reshape((rows, 2 * heads, 2 * half))?;
        let (first, second) = (turned.narrow(2, 0, half)?, turned.narrow(2, half, half)?);
        let times = |x: &Tensor, y: &Tensor| x.broadcast_mul(y);
        let turned = [
            (times(&first, &self.cosines)? - times(&second, &self.sines)?)?,
            (times(&second, &self.cosines)? + times(&first, &self.sines)?)?,
        ];
        let turned = Tensor::cat(&turned, 2)?.reshape((rows, 2 * dims))?;
        Tensor::cat(&[turned, projected.narrow(1, 2 * dims, dims)?], 1)
    }
}

impl Locality {
    /// A bias that hides what is farther than a local layer reaches; `None` if nothing is.
    fn mask(&self, longest: usize, heads: usize, like: &Tensor) -> Result<Option<Tensor>> {
        if longest <= self.reach + 1 {
            return Ok(None);
        }
        let reach = longest as isize - 1;
        let hidden = |distance: isize| if distance.unsigned_abs() > self.reach { -1e9_f32 } else { 0.0 };
        let row: Vec<f32> = (-reach..=reach).map(hidden).collect();
        let row = Tensor::from_vec(row, (1, 2 * longest - 1), like.device())?;
        Ok(Some(row.to_dtype(like.dtype())?.repeat((heads, 1))?))
    }
}
