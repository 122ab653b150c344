//! Tests that the BiLSTM and the character convolution match PyTorch's values and gradients in both precisions. Also
//! holds the helpers with which other tests compare with PyTorch or with finite differences.

#![allow(clippy::unwrap_used)]

use super::char_cnn::char_cnn;
use super::gradcheck::assert_close;
use super::linear::linear;
use super::lstm::{Steps, bilstm};
use candle_core::{DType, Device, Result, Tensor, Var};
use serde_json::Value;
use std::sync::Arc;

/// One file of `tools/reference/values/`, as written by `tools/reference/generate.py`. A missing name panics.
pub(crate) struct Reference {
    entries: Value,
}

impl Reference {
    /// Parses the text of a file.
    pub(crate) fn new(text: &str) -> Self {
        Self { entries: serde_json::from_str(text).unwrap() }
    }

    /// A tensor in PyTorch's layout, in double precision.
    pub(crate) fn tensor(&self, name: &str) -> Tensor {
        let entry = self.entry(name);
        let shape: Vec<usize> = serde_json::from_value(entry["shape"].clone()).unwrap();
        let values: Vec<f64> = serde_json::from_value(entry["values"].clone()).unwrap();
        Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
    }

    /// An entry without a shape: a number, or nested lists of numbers.
    pub(crate) fn plain<T: serde::de::DeserializeOwned>(&self, name: &str) -> T {
        serde_json::from_value(self.entry(name).clone()).unwrap()
    }

    /// The names of all entries.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.as_object().unwrap().keys().map(String::as_str)
    }

    fn entry(&self, name: &str) -> &Value {
        self.entries.get(name).unwrap_or_else(|| panic!("no reference value {name}"))
    }
}

/// A variable with these values, so that it gets a gradient.
pub(crate) fn variable(values: &Tensor, dtype: DType) -> Var {
    Var::from_tensor(&values.to_dtype(dtype).unwrap()).unwrap()
}

/// Compares the gradient of every element of named variables with a central difference of `loss`. It changes the
/// variables in place, for whole models whose variables are not arguments.
pub(crate) fn assert_loss_gradients<'v>(
    vars: impl Iterator<Item = (&'v str, &'v Var)>,
    loss: impl Fn() -> crate::error::Result<Tensor>,
    tolerance: f64,
) -> crate::error::Result<()> {
    const STEP: f64 = 1e-5;
    let grads = loss()?.backward()?;
    for (name, var) in vars {
        let analytic = grads.get(var).unwrap_or_else(|| panic!("{name} has no gradient"));
        let analytic = analytic.flatten_all()?.to_vec1::<f64>()?;
        let original = var.flatten_all()?.to_vec1::<f64>()?;
        let at = |element: usize, shift: f64| -> crate::error::Result<f64> {
            let mut values = original.clone();
            values[element] += shift;
            var.set(&Tensor::from_vec(values, var.shape(), var.device())?)?;
            Ok(loss()?.to_scalar::<f64>()?)
        };
        for (element, &analytic) in analytic.iter().enumerate() {
            let numeric = (at(element, STEP)? - at(element, -STEP)?) / (2.0 * STEP);
            assert!(
                (analytic - numeric).abs() <= tolerance * (1.0 + numeric.abs()),
                "{name}, element {element}: gradient {analytic} but difference quotient {numeric}"
            );
        }
        at(0, 0.0)?;
    }
    Ok(())
}

/// The precisions to test, with their tolerances. `f32` has its own activation functions, so it is compared too.
const PRECISIONS: [(DType, f64); 2] = [(DType::F64, 1e-11), (DType::F32, 1e-6)];

/// A layer's input and recurrent weights, or their gradients, in our layout.
fn layer(reference: &Reference, prefix: &str, layer: usize) -> Result<[Tensor; 2]> {
    let both = |kind: &str| {
        ["", "_reverse"].map(|direction| reference.tensor(&format!("{prefix}weight_{kind}_l{layer}{direction}")))
    };
    let [forward, backward] = both("ih");
    let input = Tensor::cat(&[forward.t()?, backward.t()?], 1)?;
    let [forward, backward] = both("hh");
    Ok([input, Tensor::stack(&[forward.t()?, backward.t()?], 0)?])
}

/// One of a layer's two biases, or its gradient, for both directions.
fn bias(reference: &Reference, prefix: &str, kind: &str, layer: usize) -> Result<Tensor> {
    let name = |direction: &str| format!("{prefix}bias_{kind}_l{layer}{direction}");
    Tensor::cat(&[reference.tensor(&name("")), reference.tensor(&name("_reverse"))], 0)
}

/// The steps of a batch, the plain row of every packed row, and the packed row of every plain row.
fn packing(lengths: &[usize]) -> (Steps, Vec<u32>, Vec<u32>) {
    let mut by_length: Vec<usize> = (0..lengths.len()).collect();
    by_length.sort_by_key(|&sentence| std::cmp::Reverse(lengths[sentence]));
    let steps = Steps::new(&by_length.iter().map(|&sentence| lengths[sentence]).collect::<Vec<_>>());
    let rows = lengths.iter().sum();
    let (mut plain_row, mut packed_row) = (vec![0; rows], vec![0; rows]);
    let mut plain = 0;
    for (sentence, &length) in lengths.iter().enumerate() {
        let rank = by_length.iter().position(|&s| s == sentence).unwrap();
        for time in 0..length {
            let packed = steps.row(time, rank);
            plain_row[packed] = plain;
            packed_row[plain as usize] = packed as u32;
            plain += 1;
        }
    }
    (steps, plain_row, packed_row)
}

#[test]
fn two_bilstm_layers_on_three_unequal_sentences_match_pytorch() -> Result<()> {
    let reference = Reference::new(include_str!("../../tools/reference/values/lstm.json"));
    let (steps, plain_row, packed_row) = packing(&reference.plain::<Vec<usize>>("lengths"));
    for (dtype, tolerance) in PRECISIONS {
        let var = |values: &Tensor| variable(values, dtype);
        let select = |rows: &Tensor, order: &[u32]| rows.index_select(&Tensor::new(order, &Device::Cpu)?, 0);
        let rows = var(&reference.tensor("rows"));
        let mut layers: Vec<[Var; 3]> = Vec::new();
        let mut states = select(&rows, &plain_row)?;
        for number in 0..2 {
            let [input, recurrent] = layer(&reference, "", number)?.map(|weights| var(&weights));
            // PyTorch has two biases and adds them; our layer has one bias, their sum.
            let summed = var(&(bias(&reference, "", "ih", number)? + bias(&reference, "", "hh", number)?)?);
            states = bilstm(&linear(&states, &input, &summed)?, &recurrent, &steps)?;
            layers.push([input, recurrent, summed]);
        }
        let output = select(&states, &packed_row)?;
        assert_close(&output, &reference.tensor("output"), tolerance)?;
        let grads = (output * reference.tensor("weighting").to_dtype(dtype)?)?.sum_all()?.backward()?;
        assert_close(grads.get(&rows).unwrap(), &reference.tensor("grad.rows"), tolerance)?;
        for (number, vars) in layers.iter().enumerate() {
            let [input, recurrent] = layer(&reference, "grad.", number)?;
            let expected = [input, recurrent, bias(&reference, "grad.", "ih", number)?];
            for (var, expected) in vars.iter().zip(&expected) {
                assert_close(grads.get(var).unwrap(), expected, tolerance)?;
            }
        }
    }
    Ok(())
}

/// Converts a filter from PyTorch's `[filters, dims, 3]` to our `[dims, 3 · filters]`.
fn filter(theirs: &Tensor) -> Result<Tensor> {
    let (filters, dims, window) = theirs.dims3()?;
    theirs.permute((1, 2, 0))?.contiguous()?.reshape((dims, window * filters))
}

#[test]
fn the_character_convolution_of_unequal_words_matches_pytorch() -> Result<()> {
    let reference = Reference::new(include_str!("../../tools/reference/values/char_cnn.json"));
    let words = Arc::new(reference.plain::<Vec<Vec<u32>>>("words"));
    for (dtype, tolerance) in PRECISIONS {
        let var = |values: &Tensor| variable(values, dtype);
        let (embedding, bias) = (var(&reference.tensor("embedding")), var(&reference.tensor("bias")));
        let ours = var(&filter(&reference.tensor("filter"))?);
        let output = char_cnn(&embedding.matmul(&ours)?, &bias, words.clone())?;
        assert_close(&output, &reference.tensor("output"), tolerance)?;
        let grads = (output * reference.tensor("weighting").to_dtype(dtype)?)?.sum_all()?.backward()?;
        assert_close(grads.get(&embedding).unwrap(), &reference.tensor("grad.embedding"), tolerance)?;
        assert_close(grads.get(&bias).unwrap(), &reference.tensor("grad.bias"), tolerance)?;
        assert_close(grads.get(&ours).unwrap(), &filter(&reference.tensor("grad.filter"))?, tolerance)?;
    }
    Ok(())
}
