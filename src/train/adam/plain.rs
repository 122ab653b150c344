//! The Adam step in plain operations, on the device of the parameters. Only one number per parameter is copied to the
//! host, all in one transfer.

use super::{Adam, BETA_1, BETA_2, EPSILON, Moments, Step};
use crate::encoder::Parameters;
use crate::error::Result;
use candle_core::backprop::GradStore;
use candle_core::{DType, Tensor};

/// The norm of all gradients together.
pub(super) fn length(parameters: &Parameters, grads: &GradStore) -> Result<f64> {
    let mut squares = Vec::new();
    for (_, var) in parameters.iter() {
        if let Some(grad) = grads.get(var) {
            squares.push(grad.to_dtype(DType::F32)?.sqr()?.sum_all()?);
        }
    }
    if squares.is_empty() {
        return Ok(0.0);
    }
    let squares = Tensor::stack(&squares, 0)?.to_vec1::<f32>()?;
    Ok(squares.into_iter().map(f64::from).sum::<f64>().sqrt())
}

/// Updates every parameter.
pub(super) fn update(adam: &mut Adam, parameters: &Parameters, grads: &GradStore, step: &Step) -> Result<()> {
    for (name, var) in parameters.iter() {
        let Some(grad) = grads.get(var) else { continue };
        let grad = (grad * f64::from(step.shrink))?;
        let (first, second) = match adam.moments.remove(name) {
            Some(Moments::Device(first, second)) => (first, second),
            Some(Moments::Host(first, second)) => {
                let put = |values: Vec<f32>| Tensor::from_vec(values, var.shape(), var.device());
                (put(first)?, put(second)?)
            }
            None => (var.zeros_like()?, var.zeros_like()?),
        };
        let first = ((first * BETA_1)? + (&grad * (1.0 - BETA_1))?)?;
        let second = ((second * BETA_2)? + (grad.sqr()? * (1.0 - BETA_2))?)?;
        let divisor = ((second.sqrt()? * f64::from(step.correction))? + f64::from(EPSILON))?;
        let rate = f64::from(step.rate(name));
        var.set(&(var.as_tensor() - ((&first * rate)? / divisor)?)?.detach())?;
        adam.moments.insert(name.to_string(), Moments::Device(first.detach(), second.detach()));
    }
    Ok(())
}
