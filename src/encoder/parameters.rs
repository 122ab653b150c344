//! Named parameters in a fixed order, with seeded initial values.

use crate::error::{Error, Result};
use crate::random::Random;
use candle_core::{DType, Device, Tensor, Var};
use std::collections::BTreeMap;

/// The learnable tensors of one model, sorted by name.
#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    vars: BTreeMap<String, Var>,
    /// `f32`; `f64` in gradient checks only.
    dtype: DType,
    /// Whether to draw initial values. `false` leaves zeros, for parameters that are read from a file next.
    draw: bool,
    /// How many values can still be created.
    room: usize,
}

/// The most values of a model that is trained: 4 GiB.
const MOST: usize = 1 << 30;

impl Default for Parameters {
    fn default() -> Self {
        Self { vars: BTreeMap::new(), dtype: DType::F32, draw: true, room: MOST }
    }
}

/// The distribution of a new parameter's initial values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Init {
    /// Uniform within plus or minus `1 / sqrt(fan)`.
    Uniform {
        /// Number of inputs summed into one output.
        fan: usize,
    },
    /// Standard normal.
    Normal,
}

impl Parameters {
    /// Parameters that start at zero, for [`set_values`](Self::set_values) to fill from a file with so many values. A
    /// configuration that asks for more is refused before memory is.
    pub(crate) fn blank(room: usize) -> Self {
        Self { draw: false, room, ..Self::default() }
    }

    /// Parameters in double precision, so that finite differences can check the gradients of a whole model.
    #[cfg(test)]
    pub(crate) fn double_precision() -> Self {
        Self { dtype: DType::F64, ..Self::default() }
    }

    /// Creates a parameter. Its values depend only on the seed and its name.
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
        let count = shape.iter().try_fold(1usize, |count, size| count.checked_mul(*size));
        let count = count.filter(|count| *count <= self.room).ok_or_else(|| Error::Tensor {
            message: format!(
                "parameter {name} of the size {shape:?} does not fit; there is room for {} values",
                self.room
            ),
        })?;
        self.room -= count;
        let values: Vec<f32> = if self.draw { (0..count).map(|_| draw()).collect() } else { vec![0.0; count] };
        let var = Var::from_tensor(&Tensor::from_vec(values, shape, device)?.to_dtype(self.dtype)?)?;
        let tensor = var.as_tensor().clone();
        self.vars.insert(name.to_string(), var);
        Ok(tensor)
    }

    /// Adds a parameter that starts at these values.
    pub(crate) fn adopt(&mut self, name: &str, start: &Tensor) -> Result<Tensor> {
        // Copies, so that training does not change the caller's tensor.
        let var = Var::from_tensor(&start.detach().copy()?.to_dtype(self.dtype)?)?;
        let tensor = var.as_tensor().clone();
        self.vars.insert(name.to_string(), var);
        Ok(tensor)
    }

    /// The variables of several models together, each name with its model's prefix.
    pub(crate) fn union<'a>(parts: impl IntoIterator<Item = (&'a str, &'a Self)>) -> Self {
        let mut union = Self::default();
        for (prefix, part) in parts {
            union.vars.extend(part.vars.iter().map(|(name, var)| (format!("{prefix}{name}"), var.clone())));
        }
        union
    }

    /// All variables by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Var)> {
        self.vars.iter().map(|(name, var)| (name.as_str(), var))
    }

    /// The values of all parameters.
    pub(crate) fn values(&self) -> Result<BTreeMap<String, Vec<f32>>> {
        self.iter().map(|(name, var)| Ok((name.to_string(), var.flatten_all()?.to_vec1::<f32>()?))).collect()
    }

    /// Replaces all values. Names and sizes must match this model.
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
