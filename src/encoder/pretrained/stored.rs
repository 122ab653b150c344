//! Pretrained input on disk, in its own folder: the word vectors, and BERT's files or a reference to them.

use super::Pretrained;
use crate::encoder::bert::{Bert, FILES};
use crate::encoder::word_vectors::WordVectors;
use crate::error::{Error, Result};
use crate::files::{Sealed, write_atomically};
use candle_core::Device;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const CONTENTS: &str = "contents.json";
const VECTORS: &str = "words.vectors";
const BERT: &str = "bert";

/// Where the pretrained input of a new model comes from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'a> {
    /// A text file of word vectors.
    pub word_vectors: Option<&'a Path>,
    /// A BERT folder.
    pub bert: Option<&'a Path>,
    /// Whether the bundle stores only the path of the BERT folder, instead of a copy.
    pub bert_by_reference: bool,
}

/// The pretrained input that a bundle needs, as recorded in its `contents.json`.
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
    /// Number of words in the table.
    pub words: u64,
    /// Dimensions of a vector.
    pub dims: usize,
}

/// The BERT of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BertFacts {
    /// The hash of the folder's files, in hexadecimal.
    pub hash: String,
    /// The hash without the weights. A bundle with fine-tuned BERT stores only these files.
    pub hash_without_weights: String,
    /// The path of the BERT folder, if the bundle has no copy.
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

impl BertFacts {
    /// The folder of its files.
    fn place(&self, pretrained: &Path) -> PathBuf {
        self.folder.clone().unwrap_or_else(|| pretrained.join(BERT))
    }

    /// Refuses files that changed since training. A model with weights of its own needs the others alone.
    fn check(&self, place: &Path, trained_bert: bool) -> Result<()> {
        let expected = if trained_bert { &self.hash_without_weights } else { &self.hash };
        match hash(place, stored_files(trained_bert))?.to_hex().as_str() == expected {
            true => Ok(()),
            false => Err(Error::unfit(place, &format!("the BERT folder {expected}"), "another", RESTORE_FOLDER)),
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
        trains_bert: bool,
        resumed: bool,
        device: &Device,
        progress: &dyn Fn(u64, u64),
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
                WordVectors::convert(source, &target, progress)?;
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
            .map_err(|e| Error::Json { what: "the list of pretrained input", message: e.to_string() })?;
        Sealed::JSON.write(&folder.join(CONTENTS), &text)?;
        Ok(pretrained)
    }

    /// Opens the contents of a folder. With `trained_bert` the model has BERT's weights, and only its tokenizer is
    /// opened.
    pub(crate) fn load(folder: &Path, trained_bert: bool, device: &Device) -> Result<Self> {
        let contents = Contents::read(folder)?;
        let mut pretrained = Self::default();
        if contents.word_vectors.is_some() {
            pretrained.vectors = Some(Arc::new(WordVectors::open(&folder.join(VECTORS))?));
        }
        if let Some(facts) = contents.bert {
            let path = folder.join(CONTENTS);
            let known = blake3::Hash::from_hex(&facts.hash)
                .map_err(|e| Error::unfit(&path, "the hash of BERT", &e.to_string(), RESTORE))?;
            let place = facts.place(folder);
            facts.check(&place, trained_bert)?;
            let bert = match trained_bert {
                true => Bert::open_without_weights(&place)?,
                false => Bert::open(&place, device)?,
            };
            pretrained.bert = Some(Arc::new(bert.known_as(known.into())));
        }
        Ok(pretrained)
    }

    /// Verifies the checksums of everything in a folder.
    pub(crate) fn check(folder: &Path, trained_bert: bool) -> Result<()> {
        let contents = Contents::read(folder)?;
        if contents.word_vectors.is_some() {
            WordVectors::open(&folder.join(VECTORS))?.check()?;
        }
        contents.bert.map_or(Ok(()), |facts| facts.check(&facts.place(folder), trained_bert))
    }
}

/// The BERT files that a bundle stores. Fine-tuned weights are stored in the model instead.
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

/// The hash of these files of a BERT folder.
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
