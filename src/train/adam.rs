//! Adam in place, with gradient clipping, its state open to be saved.

use crate::encoder::Parameters;
use crate::error::Result;
use crate::ops::real::vectorised;
use candle_core::{CpuStorage, InplaceOp2, Layout, Tensor, WithDType, backprop::GradStore};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Mutex;

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
const EPSILON: f32 = 1e-8;
const CHUNK: usize = 16_384;

/// Both moments of every parameter and the number of steps taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adam {
    /// Steps taken.
    pub steps: u64,
    /// By parameter name: running mean of the gradient, running mean of its square.
    pub moments: BTreeMap<String, (Vec<f32>, Vec<f32>)>,
}

impl Adam {
    /// One step along the gradients, cut to length `clip`. Returns their length before the cut.
    pub fn step(&mut self, parameters: &Parameters, grads: &GradStore, rate: f64, clip: f64) -> Result<f64> {
        let mut squares = 0.0;
        for (_, var) in parameters.iter() {
            if let Some(grad) = grads.get(var) {
                squares += sum_of_squares(&grad.flatten_all()?.to_vec1::<f32>()?);
            }
        }
        let length = squares.sqrt();
        self.steps += 1;
        let steps = self.steps as i32;
        for (name, var) in parameters.iter() {
            let Some(grad) = grads.get(var) else { continue };
            let count = var.elem_count();
            let moments = self.moments.entry(name.to_string()).or_insert_with(|| (vec![0.0; count], vec![0.0; count]));
            let update = Update {
                moments: Mutex::new(moments),
                // The same small constant as PyTorch's clip_grad_norm_.
                shrink: (clip / (length + 1e-6)).min(1.0) as f32,
                rate: (rate / (1.0 - BETA_1.powi(steps))) as f32,
                correction: (1.0 / (1.0 - BETA_2.powi(steps)).sqrt()) as f32,
            };
            if var.device().is_cpu() {
                var.inplace_op2(&grad.contiguous()?, &update)?;
            } else {
                let mut values = var.flatten_all()?.to_vec1::<f32>()?;
                update.apply(&mut values, &grad.flatten_all()?.to_vec1::<f32>()?);
                var.set(&Tensor::from_vec(values, var.shape(), var.device())?)?;
            }
        }
        Ok(length)
    }
}

/// In chunks of fixed size, so that the result does not depend on the number of threads.
fn sum_of_squares(values: &[f32]) -> f64 {
    let chunk = |chunk: &[f32]| vectorised(|| chunk.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>());
    values.par_chunks(CHUNK).map(chunk).collect::<Vec<f64>>().into_iter().sum()
}

struct Update<'a> {
    moments: Mutex<&'a mut (Vec<f32>, Vec<f32>)>,
    shrink: f32,
    rate: f32,
    correction: f32,
}

impl Update<'_> {
    fn apply(&self, values: &mut [f32], grads: &[f32]) {
        let Ok(mut moments) = self.moments.lock() else { return };
        let (first, second) = &mut **moments;
        let (shrink, rate, correction) = (self.shrink, self.rate, self.correction);
        let (b1, b2) = (BETA_1 as f32, BETA_2 as f32);
        let chunks = values.par_chunks_mut(CHUNK).zip(grads.par_chunks(CHUNK));
        let moments = first.par_chunks_mut(CHUNK).zip(second.par_chunks_mut(CHUNK));
        chunks.zip(moments).for_each(|((values, grads), (first, second))| {
            vectorised(|| {
                for (((value, &grad), m), v) in values.iter_mut().zip(grads).zip(first).zip(second) {
                    let grad = grad * shrink;
                    *m = b1 * *m + (1.0 - b1) * grad;
                    *v = b2 * *v + (1.0 - b2) * grad * grad;
                    *value -= rate * *m / (v.sqrt() * correction + EPSILON);
                }
            });
        });
    }
}

impl InplaceOp2 for Update<'_> {
    fn name(&self) -> &'static str {
        "adam"
    }

    fn cpu_fwd(
        &self,
        values: &mut CpuStorage,
        layout: &Layout,
        grads: &CpuStorage,
        grads_layout: &Layout,
    ) -> candle_core::Result<()> {
        let (Some((start, end)), Some((grad_start, grad_end))) =
            (layout.contiguous_offsets(), grads_layout.contiguous_offsets())
        else {
            candle_core::bail!("Adam needs contiguous parameters");
        };
        let grads = &f32::cpu_storage_as_slice(grads)?[grad_start..grad_end];
        match values {
            CpuStorage::F32(values) => self.apply(&mut values[start..end], grads),
            _ => candle_core::bail!("Adam takes f32 parameters"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::encoder::Init;
    use crate::ops::gradcheck::assert_close;
    use crate::ops::reference_tests::Reference;
    use candle_core::{DType, Device};

    #[test]
    fn every_step_is_pytorchs_with_clipping_and_falling_rate() {
        let reference = Reference::new(include_str!("../../tools/reference/values/adam.json"));
        let number = |name: &str| reference.plain::<f64>(name);
        let mut parameters = Parameters::default();
        for name in ["embedding", "weight"] {
            let start = reference.tensor(&format!("{name}.0"));
            parameters.create(name, start.dims(), Init::Normal, 1, &Device::Cpu).unwrap();
        }
        for (name, var) in parameters.iter() {
            var.set(&reference.tensor(&format!("{name}.0")).to_dtype(DType::F32).unwrap()).unwrap();
        }
        let mut adam = Adam::default();
        for (step, &norm) in reference.plain::<Vec<f64>>("norms").iter().enumerate() {
            // The gradient of a sum of products is the other factor.
            let mut loss = Tensor::zeros((), DType::F32, &Device::Cpu).unwrap();
            for (name, var) in parameters.iter() {
                let gradient = reference.tensor(&format!("{name}.{step}.gradient")).to_dtype(DType::F32).unwrap();
                loss = (loss + (var.as_tensor() * gradient).unwrap().sum_all().unwrap()).unwrap();
            }
            let rate = number("rate") / (1.0 + number("decay") * step as f64);
            let found = adam.step(&parameters, &loss.backward().unwrap(), rate, number("clip")).unwrap();
            assert!((found - norm).abs() < 1e-5, "step {step}: gradients of length {found}, not {norm}");
            for (name, var) in parameters.iter() {
                assert_close(var, &reference.tensor(&format!("{name}.{}", step + 1)), 1e-6).unwrap();
            }
        }
    }
}
