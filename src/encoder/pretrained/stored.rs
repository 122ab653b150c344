//! Pretrained input on disk, in its own folder: the word vectors, and a transformer's files or a reference to
//! them.

use super::Pretrained;
use crate::encoder::transformer::{FOLDER, Files, Transformer};
use crate::encoder::word_vectors::WordVectors;
use crate::error::{Error, Result};
use crate::files::{Sealed, write_atomically};
use candle_core::Device;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const CONTENTS: &str = "contents.json";
const VECTORS: &str = "words.vectors";
/// The folder of the transformer, of whatever family.
const TRANSFORMER: &str = "bert";

/// Where the pretrained input of a new model comes from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'a> {
    /// A text file of word vectors.
    pub word_vectors: Option<&'a Path>,
    /// The folder of a transformer.
    pub encoder: Option<&'a Path>,
    /// Whether the bundle stores only the path of that folder, instead of a copy.
    pub encoder_by_reference: bool,
}

/// The pretrained input that a bundle needs, as recorded in its `contents.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contents {
    /// The word vectors.
    pub word_vectors: Option<VectorFacts>,
    /// The transformer, of whatever family.
    pub bert: Option<TransformerFacts>,
}

/// The word vectors of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VectorFacts {
    /// The name of the file they came from.
    pub source: String,
    /// Number of words in the table.
    pub words: u64,
    /// Dimensions of a vector.
    pub dims: usize,
}

/// The transformer of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TransformerFacts {
    /// The hash of the folder's files, in hexadecimal.
    pub hash: String,
    /// The hash without the weights. A bundle with a fine-tuned transformer stores only these files.
    pub hash_without_weights: String,
    /// The path of the folder, if the bundle has no copy.
    pub folder: Option<PathBuf>,
}

impl Contents {
    /// Reads a folder's record; empty if there is none.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(CONTENTS);
        if !path.is_file() {
            return Ok(Self::default());
        }
        let text = Sealed::JSON.read(&path, RESTORE)?;
        serde_json::from_str(&text)
            .map_err(|e| Error::unfit(&path, "the list of pretrained input", &e.to_string(), RESTORE))
    }
}

impl TransformerFacts {
    /// The folder of its files.
    fn place(&self, pretrained: &Path) -> PathBuf {
        self.folder.clone().unwrap_or_else(|| pretrained.join(TRANSFORMER))
    }

    /// Refuses files that changed since training. A model with weights of its own needs the others alone.
    fn check(&self, place: &Path, trained_encoder: bool) -> Result<()> {
        let expected = if trained_encoder { &self.hash_without_weights } else { &self.hash };
        match hash(place, &stored_files(&Files::of(place)?, trained_encoder))?.to_hex().as_str() == expected {
            true => Ok(()),
            false => Err(Error::unfit(place, &format!("the encoder folder {expected}"), "another", RESTORE_FOLDER)),
        }
    }
}

const RESTORE_FOLDER: &str = "restore the folder, or train again with this one";
const RESTORE: &str = "train again, or restore the file";

impl Pretrained {
    /// Installs pretrained input into a folder and opens it. If training is `resumed`, converted word vectors are
    /// reused. Otherwise an existing folder is left over from an earlier attempt and is deleted first.
    pub fn install(
        folder: &Path,
        sources: Sources,
        trains_encoder: bool,
        resumed: bool,
        device: &Device,
        progress: &dyn Fn(u64, u64),
    ) -> Result<Self> {
        if sources.word_vectors.is_none() && sources.encoder.is_none() {
            return Ok(Self::default());
        }
        if folder.exists() && !resumed {
            std::fs::remove_dir_all(folder).map_err(Error::io(folder))?;
        }
        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let before = Contents::read(folder)?;
        let mut contents = Contents::default();
        let mut pretrained = Self::default();
        if let Some(source) = sources.word_vectors {
            let target = folder.join(VECTORS);
            if before.word_vectors.is_none() {
                WordVectors::convert(source, &target, progress)?;
            }
            let vectors = WordVectors::open(&target)?;
            let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
            contents.word_vectors =
                Some(VectorFacts { source: name, words: vectors.len() as u64, dims: vectors.dims() });
            pretrained.vectors = Some(Arc::new(vectors));
        }
        if let Some(source) = sources.encoder {
            // First, because it refuses a folder with the reason.
            let transformer = Transformer::open(source, device)?;
            let files = Files::of(source)?;
            let hash = hash(source, &files.all())?;
            let place = match sources.encoder_by_reference {
                true => Some(std::fs::canonicalize(source).map_err(Error::io(source))?),
                false => {
                    copy(source, &stored_files(&files, trains_encoder), &folder.join(TRANSFORMER))?;
                    None
                }
            };
            contents.bert = Some(TransformerFacts {
                hash: hash.to_hex().to_string(),
                hash_without_weights: self::hash(source, &files.without_weights())?.to_hex().to_string(),
                folder: place,
            });
            pretrained.transformer = Some(Arc::new(transformer.known_as(hash.into())));
        }
        if before != Contents::default() && before != contents {
            let remedy = "resume with the options and files the training began with, or choose another folder";
            return Err(Error::unfit(folder, "the word vectors and the encoder of this command", "others", remedy));
        }
        let text = serde_json::to_string_pretty(&contents)
            .map_err(|e| Error::Json { what: "the list of pretrained input", message: e.to_string() })?;
        Sealed::JSON.write(&folder.join(CONTENTS), &text)?;
        Ok(pretrained)
    }

    /// Opens the contents of a folder. With `trained_encoder` the model has the weights, and only the tokenizer is
    /// opened.
    pub(crate) fn load(folder: &Path, trained_encoder: bool, device: &Device) -> Result<Self> {
        let contents = Contents::read(folder)?;
        let mut pretrained = Self::default();
        if contents.word_vectors.is_some() {
            pretrained.vectors = Some(Arc::new(WordVectors::open(&folder.join(VECTORS))?));
        }
        if let Some(facts) = contents.bert {
            let path = folder.join(CONTENTS);
            let known = blake3::Hash::from_hex(&facts.hash)
                .map_err(|e| Error::unfit(&path, "the hash of the encoder", &e.to_string(), RESTORE))?;
            let place = facts.place(folder);
            facts.check(&place, trained_encoder)?;
            let transformer = match trained_encoder {
                true => Transformer::open_without_weights(&place)?,
                false => Transformer::open(&place, device)?,
            };
            pretrained.transformer = Some(Arc::new(transformer.known_as(known.into())));
        }
        Ok(pretrained)
    }

    /// Verifies the checksums of everything in a folder.
    pub(crate) fn check(folder: &Path, trained_encoder: bool) -> Result<()> {
        let contents = Contents::read(folder)?;
        if contents.word_vectors.is_some() {
            WordVectors::open(&folder.join(VECTORS))?.check()?;
        }
        contents.bert.map_or(Ok(()), |facts| facts.check(&facts.place(folder), trained_encoder))
    }
}

/// The files of a transformer that a bundle stores. Fine-tuned weights are stored in the model instead.
fn stored_files(files: &Files, trained_encoder: bool) -> Vec<&str> {
    if trained_encoder { files.without_weights() } else { files.all() }
}

fn copy(source: &Path, files: &[&str], target: &Path) -> Result<()> {
    std::fs::create_dir_all(target).map_err(Error::io(target))?;
    for name in files {
        let bytes = std::fs::read(source.join(name)).map_err(Error::io(&source.join(name)))?;
        write_atomically(&target.join(name), &bytes)?;
    }
    Ok(())
}

/// The hash of these files of a transformer's folder.
fn hash(folder: &Path, files: &[&str]) -> Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    for name in files {
        let path = folder.join(name);
        let bytes = std::fs::read(&path)
            .map_err(|_| Error::unfit(&path, "a file of a transformer's folder", "none", FOLDER))?;
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    }
    Ok(hasher.finalize())
}
