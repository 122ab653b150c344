//! Turns (dependent, head) pairs into edge vectors, and scores edge vectors by dot product or cosine.

mod vectors;

pub(crate) use vectors::{Rivals, best_wrong_heads, edge_vectors, edges_and_rivals};

use crate::config::{Config, Similarity};
use crate::encoder::{Encoder, Init, Parameters};
use crate::error::Result;
use crate::ops::Segments;
use crate::ops::edge_norm::{EPSILON, edge_norm};
use crate::ops::pair_product::pair_product;
use crate::ops::triangular_norm::{factor, triangular_norm};
use candle_core::{Device, Tensor};

/// One of the two models: an encoder, projections of a word as dependent and as head, the edge transform and the
/// similarity.
#[derive(Clone, Debug)]
pub(crate) struct EdgeModel {
    encoder: Encoder,
    /// `[states, dims]`: a word as a dependent.
    dependent: Tensor,
    /// `[states, dims]`: a word as a head.
    head: Tensor,
    /// `[dims, dims]`, input by output: the paper's W.
    transform: Tensor,
    /// `[classes, dims]`: the weight vectors of weight-based systems: one for heads, or one per label.
    weights: Option<Tensor>,
    /// The triangular factor of the transform; set in frozen models.
    norm_factor: Option<Tensor>,
    similarity: Similarity,
    scale: f64,
}

/// The two projections of every plain row of a batch.
#[derive(Clone, Debug)]
pub(crate) struct States {
    /// `[rows, dims]`: the word as a dependent.
    pub dependent: Tensor,
    /// `[rows, dims]`: the word as a head.
    pub head: Tensor,
}

impl EdgeModel {
    /// A new model over an encoder, with `classes` weight vectors if the system is weight-based.
    pub(crate) fn new(
        config: &Config,
        encoder: Encoder,
        classes: Option<usize>,
        parameters: &mut Parameters,
        device: &Device,
    ) -> Result<Self> {
        let (dims, inputs) = (config.edge_dim, 2 * config.lstm_units);
        let mut create = |name: &str, shape: &[usize], fan: usize| {
            parameters.create(name, shape, Init::Uniform { fan }, config.seed, device)
        };
        let weights = match classes {
            Some(classes) => Some(create("weights", &[classes, dims], dims)?),
            None => None,
        };
        Ok(Self {
            encoder,
            dependent: create("dependent", &[inputs, dims], inputs)?,
            head: create("head", &[inputs, dims], inputs)?,
            transform: create("transform", &[dims, dims], dims)?,
            weights,
            norm_factor: None,
            similarity: config.system.similarity,
            scale: config.scale,
        })
    }

    /// The same model with detached tensors: no gradient is stored. A frozen model is returned as it is.
    pub(crate) fn frozen(&self) -> Result<Self> {
        if self.norm_factor.is_some() {
            return Ok(self.clone());
        }
        let transform = self.transform.detach();
        Ok(Self {
            encoder: self.encoder.frozen()?,
            dependent: self.dependent.detach(),
            head: self.head.detach(),
            norm_factor: Some(factor(&transform)?),
            transform,
            weights: self.weights.as_ref().map(Tensor::detach),
            ..*self
        })
    }

    /// The same network with another similarity than it was trained with.
    #[cfg(feature = "lab")]
    pub(crate) fn compared_by(&self, similarity: Similarity) -> Self {
        Self { similarity, ..self.clone() }
    }

    /// Dimensions of an edge vector.
    pub(crate) fn dims(&self) -> usize {
        self.transform.dims()[0]
    }

    /// The device of its tensors.
    pub(crate) fn device(&self) -> &Device {
        self.transform.device()
    }

    /// Its encoder, which another model can share.
    pub(crate) fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Projects encoder states `[rows, states]` to dependents and heads.
    pub(crate) fn sides(&self, encoded: &Tensor) -> Result<States> {
        Ok(States { dependent: encoded.matmul(&self.dependent)?, head: encoded.matmul(&self.head)? })
    }

    /// The vectors `[edges, dims]` of these edges; of unit length for cosine.
    pub(crate) fn edge_rows(&self, states: &States, dependents: &[u32], heads: &[u32]) -> Result<Tensor> {
        let select = |t: &Tensor, rows: &[u32]| t.index_select(&Tensor::new(rows, t.device())?, 0);
        let products = (select(&states.dependent, dependents)? * select(&states.head, heads)?)?;
        self.comparable(products.matmul(&self.transform)?)
    }

    /// The learnt weight vectors as rows to compare edges with, if the model is weight-based.
    pub(crate) fn weight_rows(&self) -> Result<Option<Tensor>> {
        self.weights.clone().map(|weights| self.comparable(weights)).transpose()
    }

    /// Scores of every candidate edge against one support row `[dims]`. The result is flat: sentence by sentence,
    /// `[dependent][head]`, without ROOT as a dependent.
    pub(crate) fn candidate_scores(&self, states: &States, segments: &Segments, support: &Tensor) -> Result<Tensor> {
        let weight = self.transform.matmul(&support.reshape(((), 1))?)?.flatten_all()?;
        let products = pair_product(&states.dependent, &states.head, &weight, segments)?;
        match self.similarity {
            Similarity::Dot => Ok(products),
            Similarity::Cosine => {
                let norms = match &self.norm_factor {
                    Some(factor) => triangular_norm(&states.dependent, &states.head, factor, segments)?,
                    None => edge_norm(&states.dependent, &states.head, &self.transform, segments)?,
                };
                Ok(((products / norms)? * self.scale)?)
            }
        }
    }

    /// Scores `[edges, classes]` of edge rows against one support row per class, `[classes, dims]`.
    pub(crate) fn class_scores(&self, rows: &Tensor, support: &Tensor) -> Result<Tensor> {
        let products = rows.matmul(&support.t()?)?;
        Ok(match self.similarity {
            Similarity::Dot => products,
            Similarity::Cosine => (products * self.scale)?,
        })
    }

    /// Scores `[edges, 1]` of edge rows against themselves.
    pub(crate) fn own_scores(&self, rows: &Tensor) -> Result<Tensor> {
        let squares = rows.sqr()?.sum_keepdim(1)?;
        Ok(match self.similarity {
            Similarity::Dot => squares,
            Similarity::Cosine => (squares * self.scale)?,
        })
    }

    fn comparable(&self, rows: Tensor) -> Result<Tensor> {
        Ok(match self.similarity {
            Similarity::Dot => rows,
            Similarity::Cosine => rows.broadcast_div(&(rows.sqr()?.sum_keepdim(1)? + EPSILON)?.sqrt()?)?,
        })
    }
}

#[cfg(test)]
mod tests;
