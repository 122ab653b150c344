//! The tensors of a folder's files by name: safetensors in one file or several, or a file of PyTorch.

use super::folder::{FOLDER, missing};
use super::pytorch::Saved;
use crate::error::{Error, Result};
use half::{bf16, f16};
use safetensors::tensor::{Dtype, SafeTensors};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The bytes of a folder's files of weights.
pub(super) struct Store {
    /// The first file, for messages.
    path: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// A tensor as it is stored.
pub(super) struct Raw<'a> {
    /// Its shape.
    pub shape: Vec<usize>,
    /// The type of its values.
    pub dtype: Dtype,
    /// Its values, little-endian, as many as the shape says.
    pub bytes: Cow<'a, [u8]>,
}

/// The opened files.
pub(super) struct Opened<'a> {
    path: &'a Path,
    prefix: &'a str,
    content: Content<'a>,
}

enum Content<'a> {
    Safe(Vec<SafeTensors<'a>>),
    Saved(Saved<'a>),
}

impl Store {
    /// Reads these files of a folder. A list of files is not needed to find tensors.
    pub(super) fn read(folder: &Path, names: &[String]) -> Result<Self> {
        let path = folder.join(names.first().map_or("", String::as_str));
        let mut files = Vec::new();
        for name in names.iter().filter(|name| !name.ends_with(".json")) {
            let path = folder.join(name);
            let bytes = std::fs::read(&path).map_err(|e| missing(&path, &e))?;
            files.push((path, bytes));
        }
        Ok(Self { path, files })
    }

    /// Reads the lists of tensors. `prefix` can stand before their names.
    pub(super) fn open<'a>(&'a self, prefix: &'a str) -> Result<Opened<'a>> {
        let content = match self.files.as_slice() {
            [(path, bytes)] if path.extension().is_some_and(|ending| ending == "bin") => {
                Content::Saved(Saved::new(bytes).map_err(|found| {
                    let remedy = "restore the file, or save the model as safetensors with transformers";
                    Error::unfit(path, "weights as PyTorch saves them", &found, remedy)
                })?)
            }
            files => {
                let open = |(path, bytes): &'a (PathBuf, Vec<u8>)| {
                    SafeTensors::deserialize(bytes)
                        .map_err(|e| Error::unfit(path, "a whole safetensors file", &e.to_string(), "restore the file"))
                };
                Content::Safe(files.iter().map(open).collect::<Result<_>>()?)
            }
        };
        Ok(Opened { path: &self.path, prefix, content })
    }
}

impl Opened<'_> {
    /// A tensor by its name, with or without the prefix. Old files call scale and shift of a normalisation gamma and
    /// beta.
    pub(super) fn find(&self, name: &str) -> Result<Raw<'_>> {
        let older = match name.rsplit_once('.') {
            Some((owner, "weight")) if owner.ends_with("LayerNorm") => format!("{owner}.gamma"),
            Some((owner, "bias")) if owner.ends_with("LayerNorm") => format!("{owner}.beta"),
            _ => String::new(),
        };
        for name in [name, &older].into_iter().filter(|name| !name.is_empty()) {
            for prefix in ["", self.prefix] {
                if let Some(raw) = self.named(&format!("{prefix}{name}"))? {
                    return Ok(raw);
                }
            }
        }
        Err(Error::unfit(self.path, &format!("the tensor {name}"), "none", FOLDER))
    }

    fn named(&self, name: &str) -> Result<Option<Raw<'_>>> {
        match &self.content {
            Content::Safe(files) => Ok(files.iter().find_map(|file| file.tensor(name).ok()).map(|tensor| Raw {
                shape: tensor.shape().to_vec(),
                dtype: tensor.dtype(),
                bytes: Cow::Borrowed(tensor.data()),
            })),
            Content::Saved(saved) => saved
                .find(name)
                .map_err(|found| Error::unfit(self.path, &format!("the tensor {name}"), &found, "restore the file")),
        }
    }

    /// The path of the first file.
    pub(super) fn path(&self) -> &Path {
        self.path
    }
}

impl Raw<'_> {
    /// Its values in single precision; an error is the type that is not supported.
    pub(super) fn values(&self) -> std::result::Result<Vec<f32>, String> {
        let pairs = || self.bytes.as_chunks::<2>().0.iter();
        Ok(match self.dtype {
            Dtype::F32 => self.bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect(),
            Dtype::F16 => pairs().map(|&bytes| f16::from_le_bytes(bytes).to_f32()).collect(),
            Dtype::BF16 => pairs().map(|&bytes| bf16::from_le_bytes(bytes).to_f32()).collect(),
            other => return Err(format!("{other:?}")),
        })
    }
}
