//! Layers that normalise after each sum, as in BERT and most families, over packed windows without padding.

use super::layers::{Norm, Product, Tensors};
use super::network::PieceBatch;
use super::relative::{Distances, Relative};
use super::shape::Shape;
use crate::error::Result;
use crate::ops::activation::Activation;
use crate::ops::dropout::dropout;
use crate::random::Random;
use candle_core::Tensor;

/// The name of the product from embeddings to states.
pub(super) const PROJECTION: &str = "embedding";

/// The network's tensors: constants, or variables during training.
#[derive(Clone, Debug)]
pub(super) struct PostNorm {
    /// `[vocabulary, embedding]`.
    pieces: Tensor,
    /// `[longest window, embedding]`; `None` in families that only know distances.
    positions: Option<Tensor>,
    norm: Norm,
    /// `None` if embeddings are as wide as states.
    projection: Option<Product>,
    distances: Distances,
    layers: Vec<Layer>,
    heads: usize,
    activation: Activation,
    dropout: f32,
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

impl Layer {
    fn new(tensors: &Tensors, at: usize, epsilon: f64) -> Result<Self> {
        let name = |part: &str| format!("layer.{at:02}.{part}");
        Ok(Self {
            projection: tensors.product(&name("projection"))?,
            output: tensors.product(&name("output"))?,
            output_norm: tensors.norm(&name("output.norm"), epsilon)?,
            rise: tensors.product(&name("rise"))?,
            fall: tensors.product(&name("fall"))?,
            fall_norm: tensors.norm(&name("fall.norm"), epsilon)?,
        })
    }
}

impl PostNorm {
    /// A network whose layers have the parameters of so many groups.
    pub(super) fn new(shape: &Shape, groups: usize, relative: &Relative, tensors: &Tensors) -> Result<Self> {
        let layer = |layer: usize| Layer::new(tensors, layer * groups / shape.layers, shape.epsilon);
        Ok(Self {
            pieces: tensors.get("pieces")?,
            positions: tensors.maybe("positions"),
            norm: tensors.norm("norm", shape.epsilon)?,
            projection: match tensors.maybe(&format!("{PROJECTION}.weight")) {
                Some(_) => Some(tensors.product(PROJECTION)?),
                None => None,
            },
            distances: Distances::new(relative, tensors, shape.epsilon)?,
            layers: (0..shape.layers).map(layer).collect::<Result<_>>()?,
            heads: shape.heads,
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
        let device = self.pieces.device();
        let ids = |values: &[u32]| Tensor::from_slice(values, values.len(), device);
        let rows = ids(&batch.rows)?;
        let mut drop = |x: Tensor| match training.as_deref_mut() {
            Some(random) => dropout(&x, self.dropout, random),
            None => Ok(x),
        };
        let pieces = self.pieces.index_select(&ids(&batch.ids)?, 0)?;
        let embedded = match &self.positions {
            Some(positions) => self.norm.apply(&pieces, &positions.index_select(&ids(&batch.positions)?, 0)?)?,
            None => self.norm.alone(&pieces)?,
        };
        let mut x = drop(embedded)?;
        if let Some(projection) = &self.projection {
            x = projection.apply(&x)?;
        }
        let distances = self.distances.prepare(batch.longest())?;
        let mut states = Vec::new();
        for (at, layer) in self.layers.iter().enumerate() {
            if all {
                states.push(x.index_select(&rows, 0)?);
            }
            let (projection, windows) = (&layer.projection, &batch.windows);
            let seen = self.distances.attention(&distances, projection, &x, windows, self.heads, &mut drop)?;
            // Rows do not interact after the last attention, so only the requested rows are computed.
            let (seen, own) = if at + 1 == self.layers.len() {
                (seen.index_select(&rows, 0)?, x.index_select(&rows, 0)?)
            } else {
                (seen, x)
            };
            let seen = layer.output_norm.apply(&drop(layer.output.apply(&seen)?)?, &own)?;
            let risen = self.activation.apply(&layer.rise.apply(&seen)?)?;
            x = layer.fall_norm.apply(&drop(layer.fall.apply(&risen)?)?, &seen)?;
        }
        states.push(x);
        Ok(states)
    }
}
