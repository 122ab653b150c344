//! Named variables in a fixed order, with their own seeded initial values, on disk as safetensors.

use crate::error::{Error, Result};
use crate::random::Random;
use candle_core::{DType, Device, Tensor, Var};
use std::collections::BTreeMap;

/// The learnable tensors of one model, sorted by name.
#[derive(Clone, Debug)]
pub struct Parameters {
    vars: BTreeMap<String, Var>,
    /// `f32`, but for gradient checks.
    dtype: DType,
    /// Whether new parameters are drawn; zeros where they are about to be read from a file.
    draw: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { vars: BTreeMap::new(), dtype: DType::F32, draw: true }
    }
}

/// How a new parameter is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Init {
    /// Uniform within plus or minus `1 / sqrt(fan)`.
    Uniform {
        /// Number of inputs that add up in one output.
        fan: usize,
    },
    /// Standard normal.
    Normal,
}

impl Parameters {
    /// Parameters that start at zero, to be filled by [`set_values`](Self::set_values).
    pub(crate) fn blank() -> Self {
        Self { draw: false, ..Self::default() }
    }

    /// Parameters in double precision, in which finite differences can check the gradients of a whole model.
    #[cfg(test)]
    pub(crate) fn double_precision() -> Self {
        Self { dtype: DType::F64, ..Self::default() }
    }

    /// Creates a parameter whose values depend on the seed and its name alone.
    pub(crate) fn create(
        &mut self,
        name: &str,
        shape: &[usize],
        init: Init,
        seed: u64,
        device: &Device,
    ) -> Result<Tensor> {
        let mut random = Random::branch(seed, name);
        let mut draw = || match init {
            Init::Normal => random.normal(),
            Init::Uniform { fan } => (random.unit() * 2.0 - 1.0) / (fan as f32).sqrt(),
        };
        let count = shape.iter().product();
        let values: Vec<f32> = if self.draw { (0..count).map(|_| draw()).collect() } else { vec![0.0; count] };
        let var = Var::from_tensor(&Tensor::from_vec(values, shape, device)?.to_dtype(self.dtype)?)?;
        let tensor = var.as_tensor().clone();
        self.vars.insert(name.to_string(), var);
        Ok(tensor)
    }

    /// Adds a parameter that starts at these values.
    pub(crate) fn adopt(&mut self, name: &str, start: &Tensor) -> Result<Tensor> {
        // A copy: the values it starts at belong to somebody else.
        let var = Var::from_tensor(&start.detach().copy()?.to_dtype(self.dtype)?)?;
        let tensor = var.as_tensor().clone();
        self.vars.insert(name.to_string(), var);
        Ok(tensor)
    }

    /// The variables of several models as one, their names behind a prefix each.
    pub(crate) fn union<'a>(parts: impl IntoIterator<Item = (&'a str, &'a Self)>) -> Self {
        let mut union = Self::default();
        for (prefix, part) in parts {
            union.vars.extend(part.vars.iter().map(|(name, var)| (format!("{prefix}{name}"), var.clone())));
        }
        union
    }

    /// All variables by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Var)> {
        self.vars.iter().map(|(name, var)| (name.as_str(), var))
    }

    /// The values of all parameters.
    pub(crate) fn values(&self) -> Result<BTreeMap<String, Vec<f32>>> {
        self.iter().map(|(name, var)| Ok((name.to_string(), var.flatten_all()?.to_vec1::<f32>()?))).collect()
    }

    /// Replaces all values; names and sizes must be those of this model.
    pub(crate) fn set_values(&self, values: &BTreeMap<String, Vec<f32>>) -> Result<()> {
        for (name, var) in self.iter() {
            let new = values.get(name).filter(|new| new.len() == var.elem_count()).ok_or_else(|| Error::Tensor {
                message: format!("parameter {name} is missing or has another size than {:?}", var.dims()),
            })?;
            var.set(&Tensor::from_slice(new, var.shape(), var.device())?)?;
        }
        Ok(())
    }
}
