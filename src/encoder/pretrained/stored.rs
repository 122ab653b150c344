//! Pretrained input on disk, in a folder of its own: the word vectors, and BERT's files or where they are.

use super::Pretrained;
use crate::encoder::bert::{Bert, FILES};
use crate::encoder::word_vectors::WordVectors;
use crate::error::{Error, Result};
use crate::files::write_atomically;
use candle_core::Device;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const CONTENTS: &str = "contents.json";
const VECTORS: &str = "words.vectors";
const BERT: &str = "bert";

/// What a model is to know before it is trained.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'a> {
    /// A text file of word vectors.
    pub word_vectors: Option<&'a Path>,
    /// A BERT folder.
    pub bert: Option<&'a Path>,
    /// Whether the bundle only says where the BERT folder is, instead of holding a copy.
    pub bert_by_reference: bool,
}

/// What a bundle needs, as it says itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contents {
    /// The word vectors.
    pub word_vectors: Option<VectorFacts>,
    /// BERT.
    pub bert: Option<BertFacts>,
}

/// The word vectors of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VectorFacts {
    /// The name of the file they came from.
    pub source: String,
    /// Words of the table.
    pub words: u64,
    /// Dimensions of a vector.
    pub dims: usize,
}

/// The BERT of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BertFacts {
    /// The hash of the folder's files, as hexadecimal digits.
    pub hash: String,
    /// The same without the weights: all that a bundle keeps where they were trained along.
    pub hash_without_weights: String,
    /// Where the folder is, if the bundle has no copy of its own.
    pub folder: Option<PathBuf>,
}

impl Contents {
    /// Reads what a folder says; nothing where there is none.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(CONTENTS);
        if !path.is_file() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(&path).map_err(Error::io(&path))?;
        serde_json::from_str(&text).map_err(|e| Error::unfit(&path, "what the bundle needs", &e.to_string(), RESTORE))
    }
}

const RESTORE: &str = "train again, or restore the file";

impl Pretrained {
    /// Puts what a model is to know into a folder, and opens it. Where a training is `resumed`, only what is missing is
    /// done; otherwise what is there is what an earlier try left, and goes.
    pub fn install(
        folder: &Path,
        sources: Sources,
        trains_bert: bool,
        resumed: bool,
        device: &Device,
        tell: &dyn Fn(u64, u64),
    ) -> Result<Self> {
        if sources.word_vectors.is_none() && sources.bert.is_none() {
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
                WordVectors::convert(source, &target, tell)?;
            }
            let vectors = WordVectors::open(&target)?;
            let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
            contents.word_vectors =
                Some(VectorFacts { source: name, words: vectors.len() as u64, dims: vectors.dims() });
            pretrained.vectors = Some(Arc::new(vectors));
        }
        if let Some(source) = sources.bert {
            let hash = hash(source, &FILES)?;
            let place = match sources.bert_by_reference {
                true => Some(std::fs::canonicalize(source).map_err(Error::io(source))?),
                false => {
                    copy(source, stored_files(trains_bert), &folder.join(BERT))?;
                    None
                }
            };
            contents.bert = Some(BertFacts {
                hash: hash.to_hex().to_string(),
                hash_without_weights: self::hash(source, stored_files(true))?.to_hex().to_string(),
                folder: place,
            });
            pretrained.bert = Some(Arc::new(Bert::open(source, device)?.known_as(hash.into())));
        }
        if before != Contents::default() && before != contents {
            let remedy = "resume with the options and files the training began with, or choose another folder";
            return Err(Error::unfit(folder, "the word vectors and BERT of this command", "others", remedy));
        }
        let text = serde_json::to_string_pretty(&contents)
            .map_err(|e| Error::Json { what: "what the bundle needs", message: e.to_string() })?;
        write_atomically(&folder.join(CONTENTS), text.as_bytes())?;
        Ok(pretrained)
    }

    /// Opens what a folder holds; a model that trained BERT along needs its pieces alone.
    pub(crate) fn load(folder: &Path, trained_bert: bool, device: &Device) -> Result<Self> {
        let contents = Contents::read(folder)?;
        let mut pretrained = Self::default();
        if contents.word_vectors.is_some() {
            pretrained.vectors = Some(Arc::new(WordVectors::open(&folder.join(VECTORS))?));
        }
        if let Some(facts) = contents.bert {
            let path = folder.join(CONTENTS);
            let expected = blake3::Hash::from_hex(&facts.hash)
                .map_err(|e| Error::unfit(&path, "the hash of BERT", &e.to_string(), RESTORE))?;
            let place = facts.folder.clone().unwrap_or_else(|| folder.join(BERT));
            // What lies outside the bundle may have changed.
            if facts.folder.is_some() && hash(&place, &FILES)? != expected {
                let remedy = "restore the folder, or train again with this one";
                return Err(Error::unfit(&place, &format!("the BERT folder {}", facts.hash), "another", remedy));
            }
            let bert = match trained_bert {
                true => Bert::open_without_weights(&place)?,
                false => Bert::open(&place, device)?,
            };
            pretrained.bert = Some(Arc::new(bert.known_as(expected.into())));
        }
        Ok(pretrained)
    }

    /// Compares everything that a folder holds with its checksums.
    pub(crate) fn check(folder: &Path, trained_bert: bool) -> Result<()> {
        let contents = Contents::read(folder)?;
        if contents.word_vectors.is_some() {
            WordVectors::open(&folder.join(VECTORS))?.check()?;
        }
        let Some(facts) = contents.bert else { return Ok(()) };
        let place = facts.folder.unwrap_or_else(|| folder.join(BERT));
        let expected = if trained_bert { facts.hash_without_weights } else { facts.hash };
        if hash(&place, stored_files(trained_bert))?.to_hex().to_string() != expected {
            return Err(Error::unfit(&place, &format!("the BERT folder {expected}"), "another", RESTORE));
        }
        Ok(())
    }
}

/// Weights that are trained along end up in the model itself.
fn stored_files(trained_bert: bool) -> &'static [&'static str] {
    if trained_bert { &FILES[..2] } else { &FILES }
}

fn copy(source: &Path, files: &[&str], target: &Path) -> Result<()> {
    std::fs::create_dir_all(target).map_err(Error::io(target))?;
    for name in files {
        let bytes = std::fs::read(source.join(name)).map_err(Error::io(&source.join(name)))?;
        write_atomically(&target.join(name), &bytes)?;
    }
    Ok(())
}

/// The hash of files of a BERT folder.
fn hash(folder: &Path, files: &[&str]) -> Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    for name in files {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).map_err(|_| {
            Error::unfit(
                &path,
                "a file of a BERT folder",
                "none",
                "give a folder with config.json, tokenizer.json and model.safetensors",
            )
        })?;
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    }
    Ok(hasher.finalize())
}
