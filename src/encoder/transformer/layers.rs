//! Products and normalisations, the layers that the networks of all families are made of.

use crate::error::{Error, Result};
use crate::ops::layer_norm::layer_norm;
use crate::ops::linear::linear;
use candle_core::Tensor;
use std::collections::BTreeMap;

/// The tensors of a network by name.
pub(super) struct Tensors<'a>(pub &'a BTreeMap<String, Tensor>);

impl Tensors<'_> {
    /// A tensor that must be there.
    pub(super) fn get(&self, name: &str) -> Result<Tensor> {
        let tensor = self.maybe(name);
        tensor.ok_or_else(|| Error::Tensor { message: format!("no tensor {name} for the transformer") })
    }

    /// A tensor that some families do not have.
    pub(super) fn maybe(&self, name: &str) -> Option<Tensor> {
        self.0.get(name).cloned()
    }

    /// A normalisation, with a shift of zeros in families that have none.
    pub(super) fn norm(&self, name: &str, epsilon: f64) -> Result<Norm> {
        let scale = self.get(&format!("{name}.scale"))?;
        let shift = self.maybe(&format!("{name}.shift")).map_or_else(|| scale.detach().zeros_like(), Ok)?;
        Ok(Norm { scale, shift, epsilon })
    }

    /// A product, with a bias of zeros in families that have none.
    pub(super) fn product(&self, name: &str) -> Result<Product> {
        let weight = self.get(&format!("{name}.weight"))?;
        let none = || Tensor::zeros(weight.dim(1)?, weight.dtype(), weight.device());
        let bias = self.maybe(&format!("{name}.bias")).map_or_else(none, Ok)?;
        Ok(Product { weight, bias })
    }
}

/// Layer normalisation.
#[derive(Clone, Debug)]
pub(super) struct Norm {
    scale: Tensor,
    shift: Tensor,
    epsilon: f64,
}

impl Norm {
    /// Normalises `x + more`.
    pub(super) fn apply(&self, x: &Tensor, more: &Tensor) -> candle_core::Result<Tensor> {
        layer_norm(x, more, &self.scale, &self.shift, self.epsilon)
    }

    /// Normalises `x`.
    pub(super) fn alone(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        self.apply(x, &x.detach().zeros_like()?)
    }
}

/// `x · W + b`.
#[derive(Clone, Debug)]
pub(super) struct Product {
    /// `[inputs, outputs]`.
    weight: Tensor,
    bias: Tensor,
}

impl Product {
    /// Applies it to rows.
    pub(super) fn apply(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        linear(x, &self.weight, &self.bias)
    }
}
