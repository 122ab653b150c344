//! The parts of a treebank that models are trained on: all of it, or one genre.

use super::Lab;
use crate::error::{Error, Result};
use crate::evidence::prefix;
use crate::treebank::{Sentence, write_sentence};
use std::collections::BTreeMap;

/// A part of the treebank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Corpus {
    /// All of it.
    Whole,
    /// The sentences of one genre, in the training set and in the dev set.
    Genre(String),
}

impl Corpus {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Whole => "whole",
            Self::Genre(genre) => genre,
        }
    }

    pub(super) fn train(&self, lab: &Lab) -> Vec<Sentence> {
        self.part(lab.train)
    }

    pub(super) fn dev(&self, lab: &Lab) -> Vec<Sentence> {
        self.part(lab.dev)
    }

    fn part(&self, sentences: &[Sentence]) -> Vec<Sentence> {
        let belongs = |sentence: &&Sentence| match self {
            Self::Whole => true,
            Self::Genre(own) => genre(sentence) == own,
        };
        sentences.iter().filter(belongs).cloned().collect()
    }

    /// A short key for everything that determines what is learned from it, except the system and the seed.
    pub(super) fn key(&self, lab: &Lab) -> Result<String> {
        let mut hasher = blake3::Hasher::new();
        let config = crate::config::Config { system: crate::config::System::IIC, seed: 0, ..lab.config.clone() };
        hasher.update(config.to_toml().as_bytes());
        lab.pretrained.hash(&mut hasher)?;
        for part in [self.train(lab), self.dev(lab)] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hash(&part, &mut hasher)?;
        }
        // Makes the name of a genre valid as a folder name.
        let name: String = self.name().chars().filter(|c| c.is_alphanumeric()).take(40).collect();
        Ok(format!("{name}-{}", &hasher.finalize().to_hex()[..10]))
    }
}

/// A short name for sentences by what they say.
pub(super) fn short_hash(sentences: &[Sentence]) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    hash(sentences, &mut hasher)?;
    Ok(hasher.finalize().to_hex()[..6].to_string())
}

/// Adds sentences to a hash in their CoNLL-U form.
pub(super) fn hash(sentences: &[Sentence], hasher: &mut blake3::Hasher) -> Result<()> {
    let written = sentences.iter().try_for_each(|sentence| write_sentence(&mut *hasher, sentence));
    written.map_err(|e| Error::Tensor { message: e.to_string() })
}

/// The genre of a sentence: the first part of its `sent_id`.
pub(super) fn genre(sentence: &Sentence) -> &str {
    match prefix(sentence.sent_id().unwrap_or_default(), 1) {
        "" => "(none)",
        genre => genre,
    }
}

/// The genre to train on, and the other genres of the dev set, sorted by name. `None` if the dev set has only one
/// genre, or if no genre is in both sets.
pub(super) fn genres(lab: &Lab) -> Result<Option<(String, Vec<String>)>> {
    let count = |sentences: &[Sentence]| {
        sentences.iter().fold(BTreeMap::<String, usize>::new(), |mut counts, sentence| {
            *counts.entry(genre(sentence).to_string()).or_default() += 1;
            counts
        })
    };
    let (train, dev) = (count(lab.train), count(lab.dev));
    let known = || train.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let source = match lab.source {
        Some(source) => source.to_string(),
        None => match train.iter().filter(|(genre, _)| dev.contains_key(*genre)).max_by_key(|(_, count)| **count) {
            Some((genre, _)) => genre.clone(),
            // A `sent_id` such as `train-1` or `dev-1` does not name a genre.
            None => return Ok(None),
        },
    };
    if !train.contains_key(&source) || !dev.contains_key(&source) {
        let message = format!(
            "no sentences of genre {source} in the training set or in the dev set, and both need some; the training set has {}",
            known()
        );
        return Err(Error::Training { message });
    }
    let targets: Vec<String> = dev.into_keys().filter(|genre| *genre != source).collect();
    Ok((!targets.is_empty()).then_some((source, targets)))
}
