//! Test helpers that check gradients against finite differences in double precision.

use crate::random::Random;
use candle_core::{DType, Device, Result, Tensor, Var};

/// A variable of standard normal `f64` values.
pub(crate) fn random_var(shape: &[usize], seed: u64) -> Result<Var> {
    let mut random = Random::new(seed);
    let values: Vec<f64> = (0..shape.iter().product()).map(|_| f64::from(random.normal())).collect();
    Var::from_tensor(&Tensor::from_vec(values, shape, &Device::Cpu)?)
}

/// Panics if any two elements differ by more than `tolerance`.
pub(crate) fn assert_close(found: &Tensor, expected: &Tensor, tolerance: f64) -> Result<()> {
    assert_eq!(found.dims(), expected.dims(), "shapes differ");
    let worst = (found.to_dtype(DType::F64)? - expected.to_dtype(DType::F64)?)?.abs()?.flatten_all()?.max(0)?;
    let worst = worst.to_scalar::<f64>()?;
    assert!(worst <= tolerance, "largest difference {worst}, allowed {tolerance}");
    Ok(())
}

/// Compares the gradient of every input element with a central difference. A fixed random weighting reduces the output
/// to one number, so that errors in different output elements do not cancel.
pub(crate) fn assert_gradients(vars: &[&Var], f: impl Fn(&[&Tensor]) -> Result<Tensor>, tolerance: f64) -> Result<()> {
    const STEP: f64 = 1e-5;
    let loss = |tensors: &[&Tensor]| -> Result<Tensor> {
        let out = f(tensors)?.flatten_all()?;
        let mut random = Random::new(99);
        let weights: Vec<f64> = (0..out.elem_count()).map(|_| f64::from(random.normal())).collect();
        (out * Tensor::new(weights, &Device::Cpu)?)?.sum_all()
    };
    let tensors: Vec<&Tensor> = vars.iter().map(|v| v.as_tensor()).collect();
    let grads = loss(&tensors)?.backward()?;
    for (index, var) in vars.iter().enumerate() {
        let analytic = grads.get(var).map_or_else(|| var.zeros_like(), |g| Ok(g.clone()))?;
        let analytic = analytic.flatten_all()?.to_vec1::<f64>()?;
        let original = var.flatten_all()?.to_vec1::<f64>()?;
        for element in 0..original.len() {
            let at = |shift: f64| -> Result<f64> {
                let mut values = original.clone();
                values[element] += shift;
                let moved = Tensor::from_vec(values, var.shape(), &Device::Cpu)?;
                let mut tensors = tensors.clone();
                tensors[index] = &moved;
                loss(&tensors)?.to_scalar::<f64>()
            };
            let numeric = (at(STEP)? - at(-STEP)?) / (2.0 * STEP);
            let scale = 1.0 + numeric.abs();
            assert!(
                (analytic[element] - numeric).abs() <= tolerance * scale,
                "input {index}, element {element}: gradient {} but difference quotient {numeric}",
                analytic[element]
            );
        }
    }
    Ok(())
}
