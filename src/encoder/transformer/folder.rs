//! Which files of a folder a transformer is read from.

use crate::error::{Error, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The configuration.
pub(super) const CONFIG: &str = "config.json";
/// The tokenizer, and what it is made from where that is missing.
pub(super) const TOKENIZER: &str = "tokenizer.json";
pub(super) const VOCABULARY: &str = "vocab.txt";
pub(super) const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
/// The weights in one file, the list of several files, and those of PyTorch.
const WEIGHTS: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
const PICKLED: &str = "pytorch_model.bin";

/// The remedy for a folder that is not one of a transformer.
pub(crate) const FOLDER: &str = "give a folder with config.json, tokenizer.json (or vocab.txt) and model.safetensors \
    (or pytorch_model.bin), as transformers' save_pretrained writes it";

/// The error for a file that cannot be read.
pub(super) fn missing(path: &Path, error: &std::io::Error) -> Error {
    Error::unfit(path, "a file of a transformer's folder", &error.to_string(), FOLDER)
}

/// The most files that weights are split into; the largest models have some hundreds.
const MOST_SHARDS: usize = 4096;

/// The files of a folder, by name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Files {
    /// Those of the tokenizer.
    pub(super) tokenizer: Vec<String>,
    /// Those of the weights. The first one is the list of the others, if there is one.
    pub(super) weights: Vec<String>,
}

#[derive(Deserialize)]
struct Index {
    /// The file of each tensor.
    weight_map: BTreeMap<String, String>,
}

impl Files {
    /// Finds the files of a folder. Names a missing file by its usual name.
    pub(crate) fn of(folder: &Path) -> Result<Self> {
        let has = |name: &str| folder.join(name).is_file();
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        let tokenizer = match (has(TOKENIZER), has(VOCABULARY)) {
            (false, true) if has(TOKENIZER_CONFIG) => names(&[VOCABULARY, TOKENIZER_CONFIG]),
            (false, true) => names(&[VOCABULARY]),
            _ => names(&[TOKENIZER]),
        };
        let weights = match () {
            () if has(WEIGHTS) => names(&[WEIGHTS]),
            () if has(INDEX) => shards(&folder.join(INDEX))?,
            () if has(PICKLED) => names(&[PICKLED]),
            () => names(&[WEIGHTS]),
        };
        Ok(Self { tokenizer, weights })
    }

    /// The files that are needed without weights: the configuration and the tokenizer.
    pub(crate) fn without_weights(&self) -> Vec<&str> {
        std::iter::once(CONFIG).chain(self.tokenizer.iter().map(String::as_str)).collect()
    }

    /// All files.
    pub(crate) fn all(&self) -> Vec<&str> {
        let mut all = self.without_weights();
        all.extend(self.weights.iter().map(String::as_str));
        all
    }
}

/// The list of files, and the files that it names.
fn shards(path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    let index: Index = serde_json::from_str(&text)
        .map_err(|e| Error::unfit(path, "a list of weights by file", &e.to_string(), "restore the file"))?;
    let shards: BTreeSet<String> = index.weight_map.into_values().collect();
    // Files of another folder would not be copied into a bundle.
    let elsewhere = |name: &&String| Path::new(name).file_name().is_none_or(|file| file != name.as_str());
    if let Some(name) = shards.iter().find(elsewhere) {
        let found: String = name.chars().take(60).collect();
        return Err(Error::unfit(path, "names of files in the same folder", &found, "restore the file"));
    }
    if shards.is_empty() || shards.len() > MOST_SHARDS {
        let expected = format!("from 1 to {MOST_SHARDS} files");
        return Err(Error::unfit(path, &expected, &shards.len().to_string(), "restore the file"));
    }
    Ok(std::iter::once(INDEX.to_string()).chain(shards).collect())
}
