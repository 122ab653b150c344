//! What changes without some training sentences, and which sentences a name stands for.

use super::Explainer;
use crate::error::{Error, Result};
use crate::parse::Parse;
use serde::Serialize;
use std::collections::HashSet;

/// A word whose edge changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The id of the dependent.
    pub dependent: usize,
    /// Head and label with all training sentences.
    pub with: (usize, String),
    /// Head and label without some of them.
    pub without: (usize, String),
}

/// The words whose edges differ between two parses of a sentence.
pub(crate) fn changes(with: &Parse, without: &Parse) -> Vec<Change> {
    let edge = |parse: &Parse, word: usize| (parse.heads[word], parse.labels[word].clone());
    (1..with.heads.len().min(without.heads.len()))
        .map(|word| Change { dependent: word, with: edge(with, word), without: edge(without, word) })
        .filter(|change| change.with != change.without)
        .collect()
}

impl Explainer {
    /// The numbers of the training sentences with these names. A name is a `sent_id`, a treebank, or a prefix of
    /// several `sent_id`s.
    pub fn sentences_named(&self, names: &[String]) -> Result<HashSet<u32>> {
        let edges = self.edges();
        let ids: Vec<&str> =
            (0..edges.sentences()).map(|number| Ok(edges.sentence(number)?.sent_id)).collect::<Result<_>>()?;
        let mut found = HashSet::new();
        for name in names {
            if name.is_empty() {
                let message = "a name of training sentences is empty; it would stand for all of them".to_string();
                return Err(Error::Explanation { message });
            }
            let mut whole: Vec<u32> = (0..).zip(&ids).filter(|(_, id)| *id == name).map(|(number, _)| number).collect();
            if let (true, Ok(treebank)) = (whole.is_empty(), edges.treebank(name)) {
                whole.extend((0..edges.sentences()).filter(|number| edges.treebank_of(*number) == Some(treebank)));
            }
            let some = || (0..).zip(&ids).filter(|(_, id)| id.starts_with(name.as_str())).map(|(number, _)| number);
            let before = found.len();
            if whole.is_empty() {
                found.extend(some())
            } else {
                found.extend(whole)
            };
            if found.len() == before && some().next().is_none() {
                let example = ids.first().copied().unwrap_or("(none)");
                let message = format!(
                    "no training sentence has the sent_id `{name}` or one that begins so, and no treebank is called so; sent_ids look like {example}"
                );
                return Err(Error::Explanation { message });
            }
        }
        Ok(found)
    }
}
