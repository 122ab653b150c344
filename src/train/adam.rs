//! Adam, updating parameters in place, with gradient clipping and a state that can be saved.

mod plain;

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

/// The moments of every parameter and the number of steps taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Adam {
    /// Steps taken.
    pub steps: u64,
    /// The moments by parameter name.
    pub moments: BTreeMap<String, Moments>,
}

/// The running means of a parameter's gradient and of its square, stored on the parameter's device.
#[derive(Clone, Debug)]
pub(super) enum Moments {
    /// On the CPU.
    Host(Vec<f32>, Vec<f32>),
    /// On another device.
    Device(Tensor, Tensor),
}

impl Moments {
    /// Both moments as vectors.
    pub(super) fn values(&self) -> Result<(Vec<f32>, Vec<f32>)> {
        let values = |tensor: &Tensor| tensor.flatten_all()?.to_vec1::<f32>();
        Ok(match self {
            Self::Host(first, second) => (first.clone(), second.clone()),
            Self::Device(first, second) => (values(first)?, values(second)?),
        })
    }
}

/// The values of one step that all parameters share.
struct Step<'a> {
    shrink: f32,
    correction: f32,
    /// The bias correction of the first moment.
    known: f64,
    rate: &'a dyn Fn(&str) -> f64,
}

impl Step<'_> {
    fn rate(&self, name: &str) -> f32 {
        ((self.rate)(name) / self.known) as f32
    }
}

impl Adam {
    /// One step along the gradients, clipped to norm `clip`, with a learning rate per parameter name. Returns the norm
    /// before clipping.
    pub(super) fn step(
        &mut self,
        parameters: &Parameters,
        grads: &GradStore,
        rate: impl Fn(&str) -> f64,
        clip: f64,
    ) -> Result<f64> {
        let on_host = parameters.iter().all(|(_, var)| var.device().is_cpu());
        self.step_by(if on_host { fused } else { plain::update }, on_host, parameters, grads, &rate, clip)
    }

    fn step_by(
        &mut self,
        update: fn(&mut Self, &Parameters, &GradStore, &Step) -> Result<()>,
        on_host: bool,
        parameters: &Parameters,
        grads: &GradStore,
        rate: &dyn Fn(&str) -> f64,
        clip: f64,
    ) -> Result<f64> {
        let length = if on_host { length(parameters, grads)? } else { plain::length(parameters, grads)? };
        self.steps += 1;
        let steps = self.steps as i32;
        let step = Step {
            // The same small constant as in PyTorch's `clip_grad_norm_`.
            shrink: (clip / (length + 1e-6)).min(1.0) as f32,
            correction: (1.0 / (1.0 - BETA_2.powi(steps)).sqrt()) as f32,
            known: 1.0 - BETA_1.powi(steps),
            rate,
        };
        update(self, parameters, grads, &step)?;
        Ok(length)
    }
}

fn length(parameters: &Parameters, grads: &GradStore) -> Result<f64> {
    let mut squares = 0.0;
    for (_, var) in parameters.iter() {
        if let Some(grad) = grads.get(var) {
            squares += sum_of_squares(&grad.flatten_all()?.to_vec1::<f32>()?);
        }
    }
    Ok(squares.sqrt())
}

/// Updates every parameter in place.
fn fused(adam: &mut Adam, parameters: &Parameters, grads: &GradStore, step: &Step) -> Result<()> {
    for (name, var) in parameters.iter() {
        let Some(grad) = grads.get(var) else { continue };
        let count = var.elem_count();
        let moments = adam.moments.entry(name.to_string());
        let moments = moments.or_insert_with(|| Moments::Host(vec![0.0; count], vec![0.0; count]));
        if let Moments::Device(..) = moments {
            let (first, second) = moments.values()?;
            *moments = Moments::Host(first, second);
        }
        let Moments::Host(first, second) = moments else { continue };
        let Step { shrink, correction, .. } = *step;
        let update = Update { moments: Mutex::new((first, second)), shrink, rate: step.rate(name), correction };
        var.inplace_op2(&grad.contiguous()?, &update)?;
    }
    Ok(())
}

/// Sums in chunks of fixed size, so that the result does not depend on the number of threads.
fn sum_of_squares(values: &[f32]) -> f64 {
    let chunk = |chunk: &[f32]| vectorised(|| chunk.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>());
    values.par_chunks(CHUNK).map(chunk).collect::<Vec<f64>>().into_iter().sum()
}

struct Update<'a> {
    moments: Mutex<(&'a mut Vec<f32>, &'a mut Vec<f32>)>,
    shrink: f32,
    rate: f32,
    correction: f32,
}

impl Update<'_> {
    fn apply(&self, values: &mut [f32], grads: &[f32]) {
        let Ok(mut moments) = self.moments.lock() else { return };
        let (first, second) = &mut *moments;
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
    fn steps_match_pytorch_with_clipping_and_decay_in_the_kernel_and_in_plain_operations() {
        for kernel in [true, false] {
            assert_steps_match_pytorch(kernel);
        }
    }

    fn assert_steps_match_pytorch(kernel: bool) {
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
            let update = if kernel { fused } else { plain::update };
            let (grads, clip) = (loss.backward().unwrap(), number("clip"));
            let found = adam.step_by(update, kernel, &parameters, &grads, &|_| rate, clip).unwrap();
            assert!((found - norm).abs() < 1e-5, "step {step}: gradients of length {found}, not {norm}");
            for (name, var) in parameters.iter() {
                assert_close(var, &reference.tensor(&format!("{name}.{}", step + 1)), 1e-6).unwrap();
            }
        }
    }
}
