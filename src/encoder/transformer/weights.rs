//! Reads the weights of a folder into our layout.

use super::family::Blueprint;
use super::part::{Origin, Part};
use super::store::{Opened, Store};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// The shape and the values of a tensor.
pub(super) type Weight = (Vec<usize>, Vec<f32>);

const APART: &str = "the files of the folder do not belong together";

/// Reads these files of a folder, in any precision.
pub(super) fn read(folder: &Path, files: &[String], blueprint: &Blueprint) -> Result<BTreeMap<String, Weight>> {
    let store = Store::read(folder, files)?;
    let source = Source(store.open(blueprint.prefix)?);
    let assemble = |part: &Part| Ok((part.name.clone(), (part.shape.clone(), source.assemble(part)?)));
    blueprint.parts.iter().map(assemble).collect()
}

struct Source<'a>(Opened<'a>);

impl Source<'_> {
    /// The values of a part. Tensors are compared with its shape before memory is taken by that shape.
    fn assemble(&self, Part { shape, origin, .. }: &Part) -> Result<Vec<f32>> {
        match origin {
            Origin::Same(name) => self.tensor(name, shape),
            Origin::Vectors(names) => {
                let each = [shape[0] / names.len()];
                Ok(names.iter().map(|name| self.tensor(name, &each)).collect::<Result<Vec<_>>>()?.concat())
            }
            Origin::Products(names) => {
                let (inputs, outputs) = (shape[0], shape[1] / names.len());
                let stored: Vec<Vec<f32>> =
                    names.iter().map(|name| self.tensor(name, &[outputs, inputs])).collect::<Result<_>>()?;
                let mut values = vec![0.0; inputs * shape[1]];
                for (at, stored) in stored.iter().enumerate() {
                    for (output, row) in stored.chunks_exact(inputs).enumerate() {
                        for (input, &value) in row.iter().enumerate() {
                            values[input * shape[1] + at * outputs + output] = value;
                        }
                    }
                }
                Ok(values)
            }
            Origin::Positions { table, skipped, types } => {
                let width = shape[1];
                let mut positions = self.tensor(table, &[skipped + shape[0], width])?.split_off(skipped * width);
                if let Some(types) = types {
                    let types = self.rows(types, width)?;
                    let add = |row: &mut [f32]| row.iter_mut().zip(&types).for_each(|(value, &more)| *value += more);
                    positions.chunks_exact_mut(width).for_each(add);
                }
                Ok(positions)
            }
        }
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        self.values(name, |found| found == shape, &format!("of shape {shape:?}"))
    }

    /// The values of a tensor with at least one row of this width.
    fn rows(&self, name: &str, width: usize) -> Result<Vec<f32>> {
        let fits = |found: &[usize]| matches!(found, [rows, columns] if *rows > 0 && *columns == width);
        self.values(name, fits, &format!("with rows of {width}"))
    }

    fn values(&self, name: &str, fits: impl Fn(&[usize]) -> bool, expected: &str) -> Result<Vec<f32>> {
        let raw = self.0.find(name)?;
        let refuse = |expected: &str, found: &str, remedy| {
            Err(Error::unfit(self.0.path(), &format!("{name} {expected}"), found, remedy))
        };
        if !fits(&raw.shape) {
            return refuse(expected, &format!("{:?}", raw.shape), APART);
        }
        raw.values().or_else(|found| refuse("as F32, F16 or BF16", &found, "convert the file"))
    }
}
