//! Checkpoints of a training run: parameters, both moments of Adam and the run's state, in one file that is replaced
//! atomically.

use super::adam::{Adam, Moments};
use crate::encoder::Parameters;
use crate::error::{Error, Result};
use crate::files::{TensorFile, to_json, write_tensors};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;

/// Writes a checkpoint. A kill at any moment leaves the old one or the new one complete.
pub(super) fn save(path: &Path, parameters: &Parameters, adam: &Adam, state: &impl Serialize) -> Result<()> {
    let text = to_json("where a training stands", state)?;
    let mut values: BTreeMap<String, Vec<f32>> = BTreeMap::new();
    for (name, parameter) in parameters.values()? {
        if let Some(moments) = adam.moments.get(&name) {
            let (first, second) = moments.values()?;
            values.insert(format!("first/{name}"), first);
            values.insert(format!("second/{name}"), second);
        }
        values.insert(format!("parameter/{name}"), parameter);
    }
    let tensors: Vec<_> =
        values.iter().map(|(name, values)| (name.clone(), vec![values.len()], values.as_slice())).collect();
    write_tensors(path, &tensors, &[], &[("state", text), ("steps", adam.steps.to_string())])
}

/// Reads a checkpoint into the parameters of a model of the same shape.
pub(super) fn load<S: DeserializeOwned>(path: &Path, parameters: &Parameters) -> Result<(Adam, S)> {
    let file = TensorFile::read(path)?;
    let damaged = |what: &str| Error::Bundle {
        path: path.to_path_buf(),
        expected: "a checkpoint of this run".to_string(),
        found: what.to_string(),
        remedy: "delete it to start over, or restore it".to_string(),
    };
    let state = file.note("state").ok_or_else(|| damaged("no state"))?;
    let state = serde_json::from_str(&state).map_err(|e| damaged(&e.to_string()))?;
    let steps = file.note("steps").and_then(|s| s.parse().ok()).ok_or_else(|| damaged("no step count"))?;
    let mut adam = Adam { steps, moments: BTreeMap::new() };
    let mut values = BTreeMap::new();
    for (name, var) in parameters.iter() {
        let fetch = |kind: &str| file.f32s(&format!("{kind}/{name}")).filter(|v| v.len() == var.elem_count());
        values.insert(name.to_string(), fetch("parameter").ok_or_else(|| damaged(&format!("no parameter {name}")))?);
        if let (Some(first), Some(second)) = (fetch("first"), fetch("second")) {
            adam.moments.insert(name.to_string(), Moments::Host(first, second));
        }
    }
    parameters.set_values(&values)?;
    Ok((adam, state))
}
