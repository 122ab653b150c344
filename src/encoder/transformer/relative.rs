//! What attention knows of the distance between two pieces: nothing, a bias (MPNet), or embeddings of distances that
//! queries and keys are compared with (DeBERTa).

use super::layers::{Norm, Product, Tensors};
use crate::error::Result;
use crate::ops::Segments;
use crate::ops::attention::attention;
use crate::ops::disentangled::disentangled;
use candle_core::Tensor;

/// The name of the biases, `[BUCKETS, heads]`.
pub(super) const BIAS: &str = "distances.bias";
/// The name of the embeddings of distances, `[2 · span, dims]`, and of their normalisation.
pub(super) const EMBEDDINGS: &str = "distances.embeddings";
pub(super) const NORM: &str = "distances.norm";
/// Buckets of distances that have a bias each.
pub(super) const BUCKETS: usize = 32;

/// How a family uses distances.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Relative {
    /// It does not.
    None,
    /// A bias by bucket and head, the same in all layers.
    Bias,
    /// Embeddings, the same in all layers, projected by each layer as states are.
    Embeddings(Spans),
}

/// The distances that have embeddings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spans {
    /// Half of the rows: embeddings of each direction.
    pub span: usize,
    /// The largest distance, if far distances share embeddings.
    pub farthest: Option<usize>,
    /// Whether the embeddings are normalised.
    pub normalised: bool,
    /// Whether queries are compared with distances.
    pub to_position: bool,
    /// Whether keys are.
    pub from_position: bool,
}

/// The tensors for distances.
#[derive(Clone, Debug)]
pub(super) enum Distances {
    None,
    Bias(Tensor),
    Embeddings(Spans, Tensor, Option<Norm>),
}

/// The tensors for the distances within a batch, from `-(longest - 1)` to `longest - 1`.
pub(super) enum Prepared {
    None,
    /// `[heads, 2 · longest - 1]`.
    Bias(Tensor),
    /// The embeddings, and the row of each distance in them.
    Embeddings(Tensor, Tensor),
}

impl Distances {
    /// Takes the tensors.
    pub(super) fn new(relative: &Relative, tensors: &Tensors, epsilon: f64) -> Result<Self> {
        Ok(match relative {
            Relative::None => Self::None,
            Relative::Bias => Self::Bias(tensors.get(BIAS)?),
            Relative::Embeddings(spans) => {
                let norm = if spans.normalised { Some(tensors.norm(NORM, epsilon)?) } else { None };
                Self::Embeddings(spans.clone(), tensors.get(EMBEDDINGS)?, norm)
            }
        })
    }

    /// What all layers need for windows up to this length.
    pub(super) fn prepare(&self, longest: usize) -> Result<Prepared> {
        let reach = longest.max(1) as isize - 1;
        let rows = |row: &dyn Fn(isize) -> usize, table: &Tensor| {
            let rows: Vec<u32> = (-reach..=reach).map(|distance| row(distance) as u32).collect();
            Tensor::from_slice(&rows, rows.len(), table.device())
        };
        Ok(match self {
            Self::None => Prepared::None,
            Self::Bias(table) => Prepared::Bias(table.index_select(&rows(&bucket, table)?, 0)?.t()?.contiguous()?),
            Self::Embeddings(spans, table, norm) => {
                let rows = rows(&|distance| spans.row(distance), table)?;
                let table = match norm {
                    Some(norm) => norm.alone(table)?,
                    None => table.clone(),
                };
                Prepared::Embeddings(table, rows)
            }
        })
    }

    /// Attention of a layer with this projection. `drop` applies dropout to embeddings.
    pub(super) fn attention(
        &self,
        prepared: &Prepared,
        projection: &Product,
        x: &Tensor,
        windows: &Segments,
        heads: usize,
        drop: &mut dyn FnMut(Tensor) -> candle_core::Result<Tensor>,
    ) -> Result<Tensor> {
        let projected = projection.apply(x)?;
        Ok(match (self, prepared) {
            (Self::Embeddings(spans, ..), Prepared::Embeddings(table, rows)) => {
                let embeddings = projection.apply(&drop(table.clone())?.index_select(rows, 0)?)?;
                disentangled(&projected, &embeddings, windows, heads, [spans.to_position, spans.from_position])?
            }
            (_, Prepared::Bias(bias)) => attention(&projected, Some(bias), windows, heads)?,
            _ => attention(&projected, None, windows, heads)?,
        })
    }
}

/// The bucket of a key at this distance from its query: half of the buckets for each direction, half of these for one
/// distance each, and the others ever wider up to a distance of 128.
pub(super) fn bucket(distance: isize) -> usize {
    const EACH: usize = BUCKETS / 2;
    const NEAR: usize = EACH / 2;
    let side = if distance > 0 { EACH } else { 0 };
    let away = distance.unsigned_abs();
    if away < NEAR {
        return side + away;
    }
    // In single precision, as in the reference: boundaries are whole numbers there.
    let far = (away as f32 / NEAR as f32).ln() / 16.0_f32.ln() * (EACH - NEAR) as f32;
    side + (NEAR + far as usize).min(EACH - 1)
}

impl Spans {
    /// The row of the embedding for a key at this distance from its query.
    pub(super) fn row(&self, distance: isize) -> usize {
        let back = match self.farthest {
            Some(farthest) => shortened(-distance, self.span, farthest),
            None => -distance,
        };
        (back + self.span as isize).clamp(0, 2 * self.span as isize - 1) as usize
    }
}

/// A distance, or a smaller one that stands for several beyond half of the span.
fn shortened(distance: isize, span: usize, farthest: usize) -> isize {
    let (middle, away) = ((span / 2) as isize, distance.abs());
    if away <= middle {
        return distance;
    }
    // In single precision, as in the reference.
    let (share, all) = (away as f32 / middle as f32, (farthest - 1) as f32 / middle as f32);
    let far = (share.ln() / all.ln() * (middle - 1) as f32).ceil() as isize + middle;
    far * distance.signum()
}
