//! Reads the weights of a BERT folder into our layout: matrices input by output, the three attention projections side
//! by side, and the embedding of the first sentence type added to the positions.

use super::shape::{FOLDER, Shape};
use crate::error::{Error, Result};
use half::{bf16, f16};
use safetensors::tensor::{Dtype, SafeTensors};
use std::collections::BTreeMap;
use std::path::Path;

/// The shape and the values of a tensor.
pub(super) type Weight = (Vec<usize>, Vec<f32>);

/// The names and shapes of all tensors of a network.
pub(super) fn shapes(shape: &Shape) -> BTreeMap<String, Vec<usize>> {
    let (dims, inner) = (shape.hidden_size, shape.intermediate_size);
    let mut shapes = BTreeMap::new();
    let mut add = |name: String, shape: &[usize]| shapes.insert(name, shape.to_vec());
    add("pieces".to_string(), &[shape.vocab_size, dims]);
    add("positions".to_string(), &[shape.max_position_embeddings, dims]);
    add("norm.scale".to_string(), &[dims]);
    add("norm.shift".to_string(), &[dims]);
    for layer in 0..shape.num_hidden_layers {
        let mut add = |name: &str, shape: &[usize]| add(format!("layer.{layer:02}.{name}"), shape);
        for (name, inputs, outputs) in
            [("projection", dims, 3 * dims), ("output", dims, dims), ("rise", dims, inner), ("fall", inner, dims)]
        {
            add(&format!("{name}.weight"), &[inputs, outputs]);
            add(&format!("{name}.bias"), &[outputs]);
        }
        for name in ["output", "fall"] {
            add(&format!("{name}.norm.scale"), &[dims]);
            add(&format!("{name}.norm.shift"), &[dims]);
        }
    }
    shapes
}

/// Reads `model.safetensors` in any precision, with or without the prefix `bert.`.
pub(super) fn read(path: &Path, shape: &Shape) -> Result<BTreeMap<String, Weight>> {
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    let file = SafeTensors::deserialize(&bytes)
        .map_err(|e| Error::unfit(path, "a whole safetensors file", &e.to_string(), "restore the file"))?;
    let source = Source { path, file };
    let mut weights = BTreeMap::new();
    for (name, shape) in shapes(shape) {
        let values = source.assemble(&name, &shape)?;
        weights.insert(name, (shape, values));
    }
    Ok(weights)
}

struct Source<'a> {
    path: &'a Path,
    file: SafeTensors<'a>,
}

impl Source<'_> {
    fn assemble(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let (place, part) = match name.strip_prefix("layer.").and_then(|rest| rest.split_once('.')) {
            Some((layer, part)) => (format!("encoder.layer.{}", layer.trim_start_matches('0').max("0")), part),
            None => ("embeddings".to_string(), name),
        };
        let tensor = |name: &str, shape: &[usize]| self.tensor(&format!("{place}.{name}"), shape);
        let norm = |owner: &str, part: &str| {
            tensor(&format!("{owner}LayerNorm.{}", if part == "scale" { "weight" } else { "bias" }), shape)
        };
        if let Some((part, kind)) = part.split_once("norm.") {
            return match part {
                "" => norm("", kind),
                "output." => norm("attention.output.", kind),
                _ => norm("output.", kind),
            };
        }
        match part {
            "pieces" => return tensor("word_embeddings.weight", shape),
            "positions" => {
                let mut positions = tensor("position_embeddings.weight", shape)?;
                let kinds = self.rows(&format!("{place}.token_type_embeddings.weight"), shape[1])?;
                let first = &kinds[..shape[1]];
                positions
                    .chunks_exact_mut(shape[1])
                    .for_each(|row| row.iter_mut().zip(first).for_each(|(value, &kind)| *value += kind));
                return Ok(positions);
            }
            _ => {}
        }
        let (product, kind) = part.split_once('.').unwrap_or((part, ""));
        let owners: &[&str] = match product {
            "projection" => &["attention.self.query", "attention.self.key", "attention.self.value"],
            "output" => &["attention.output.dense"],
            "rise" => &["intermediate.dense"],
            _ => &["output.dense"],
        };
        if kind == "bias" {
            let parts: Result<Vec<Vec<f32>>> =
                owners.iter().map(|owner| tensor(&format!("{owner}.bias"), &[shape[0] / owners.len()])).collect();
            return Ok(parts?.concat());
        }
        // Folders store matrices output by input.
        let (inputs, outputs) = (shape[0], shape[1] / owners.len());
        let mut values = vec![0.0; shape[0] * shape[1]];
        for (at, owner) in owners.iter().enumerate() {
            let part = tensor(&format!("{owner}.weight"), &[outputs, inputs])?;
            for (output, row) in part.chunks_exact(inputs).enumerate() {
                for (input, &value) in row.iter().enumerate() {
                    values[input * shape[1] + at * outputs + output] = value;
                }
            }
        }
        Ok(values)
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let (found, values) = self.any(name)?;
        if found != shape {
            let (expected, found) = (format!("{name} of shape {shape:?}"), format!("{found:?}"));
            return Err(Error::unfit(self.path, &expected, &found, "the files of the folder do not belong together"));
        }
        Ok(values)
    }

    /// The values of a tensor with at least one row of this width.
    fn rows(&self, name: &str, width: usize) -> Result<Vec<f32>> {
        let (shape, values) = self.any(name)?;
        if shape.len() != 2 || shape[1] != width || shape[0] == 0 {
            let (expected, found) = (format!("{name} with rows of {width}"), format!("{shape:?}"));
            return Err(Error::unfit(self.path, &expected, &found, "the files of the folder do not belong together"));
        }
        Ok(values)
    }

    fn any(&self, name: &str) -> Result<Weight> {
        let tensor = self.file.tensor(name).or_else(|_| self.file.tensor(&format!("bert.{name}")));
        let tensor = tensor.map_err(|_| Error::unfit(self.path, &format!("the tensor {name}"), "none", FOLDER))?;
        let data = tensor.data();
        let pairs = || data.as_chunks::<2>().0.iter();
        let values = match tensor.dtype() {
            Dtype::F32 => data.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect(),
            Dtype::F16 => pairs().map(|&bytes| f16::from_le_bytes(bytes).to_f32()).collect(),
            Dtype::BF16 => pairs().map(|&bytes| bf16::from_le_bytes(bytes).to_f32()).collect(),
            other => {
                let expected = format!("{name} as F32, F16 or BF16");
                return Err(Error::unfit(self.path, &expected, &format!("{other:?}"), "convert the file"));
            }
        };
        Ok((tensor.shape().to_vec(), values))
    }
}
