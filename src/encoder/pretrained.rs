//! Pretrained input: frozen word vectors and a transformer, and the conversion of sentences to numbers with both.

mod stored;

pub(crate) use stored::Contents;
pub use stored::Sources;

use super::transformer::{Features, Transformer};
use super::vocabulary::{Numbered, Vocabulary};
use super::word_vectors::{Place, WordVectors};
use crate::config::{BertLayers, Config};
use crate::error::Result;
use crate::treebank::Sentence;
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// Pretrained input, shared by both models; empty by default.
#[derive(Clone, Debug, Default)]
pub struct Pretrained {
    /// Frozen word vectors.
    pub(crate) vectors: Option<Arc<WordVectors>>,
    /// A transformer, frozen unless the configuration fine-tunes it.
    pub(crate) transformer: Option<Arc<Transformer>>,
    /// Stored states of a frozen transformer for whole treebanks.
    features: Option<Arc<Features>>,
}

impl Pretrained {
    /// Word vectors, a transformer, or both.
    #[cfg(test)]
    pub(crate) fn new(vectors: Option<WordVectors>, transformer: Option<Transformer>) -> Self {
        Self { vectors: vectors.map(Arc::new), transformer: transformer.map(Arc::new), features: None }
    }

    /// Adds the states of a frozen transformer for these treebanks, so that training does not compute them again. Reads them from
    /// the cache folder, or computes and stores them there. `progress` gets the number of finished sentences and the
    /// total, and returns whether to continue. Returns a copy without states if there is no transformer, or if it is trained.
    pub fn with_cached_states(
        &self,
        config: &Config,
        treebanks: [&[Sentence]; 2],
        cache: &Path,
        progress: &(dyn Fn(usize, usize) -> bool + Sync),
    ) -> Result<Self> {
        let Some(transformer) = self.transformer.as_ref().filter(|_| !config.bert.train) else {
            return Ok(self.clone());
        };
        let sentences: Vec<&Sentence> = treebanks.into_iter().flatten().collect();
        let features =
            Features::cached(transformer, config.bert.layers == BertLayers::Mix, &sentences, cache, progress)?;
        Ok(Self { features: Some(Arc::new(features)), ..self.clone() })
    }

    /// Converts sentences to numbers, with their word vectors and their pieces.
    pub(crate) fn number(&self, vocabulary: &Vocabulary, sentences: &[Sentence]) -> Result<Vec<Numbered>> {
        // Uses stored states only if all sentences have them, because a batch cannot mix both kinds.
        let stored = |features: &Arc<Features>| {
            sentences.iter().map(|sentence| features.find(sentence)).collect::<Option<Vec<_>>>()
        };
        let stored = self.features.as_ref().and_then(|features| Some((features, stored(features)?)));
        let number = |(at, sentence): (usize, &Sentence)| -> Result<Numbered> {
            let mut numbered = vocabulary.number(sentence);
            if let Some(vectors) = &self.vectors {
                let places = sentence.words().iter().map(|word| vectors.place(&word.form));
                numbered.vectors = std::iter::once(Place::Nowhere).chain(places).collect();
            }
            match (&self.transformer, &stored) {
                (Some(_), Some((features, rows))) => numbered.stored = Some(((*features).clone(), rows[at])),
                (Some(transformer), None) => {
                    let words: Vec<&str> = sentence.words().iter().map(|word| word.form.as_str()).collect();
                    numbered.pieces = Some(transformer.pieces(&words)?);
                }
                (None, _) => {}
            }
            Ok(numbered)
        };
        let numbered = sentences.par_iter().enumerate().map(number).collect();
        self.vectors.as_ref().map_or(Ok(()), |vectors| vectors.intact())?;
        numbered
    }

    /// Adds the fingerprints of the pretrained input to a hash. Without pretrained input the hash is unchanged.
    pub(crate) fn hash(&self, hasher: &mut blake3::Hasher) -> Result<()> {
        if let Some(vectors) = &self.vectors {
            hasher.update(b"word vectors").update(&vectors.fingerprint()?);
        }
        if let Some(transformer) = &self.transformer {
            // This name for all families: it is part of the fingerprints of earlier versions.
            hasher.update(b"bert").update(&transformer.hash());
        }
        Ok(())
    }
}
