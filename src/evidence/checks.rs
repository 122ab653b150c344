//! What is refused as evidence: sentences that cannot be cited, that are there twice, or that are not there.

use super::build::REJECTED;
use super::labels::Labels;
use super::record::TrainingSentence;
use crate::error::{Error, Result};
use crate::treebank::{Sentence, Word, tree_faults};
use citree_index::Index;
use std::collections::{BTreeSet, HashSet};

/// Weights beyond this are more likely mistyped than meant.
pub(super) const HIGHEST_WEIGHT: f64 = 1e6;

/// Refuses a sentence that cannot be evidence.
pub(super) fn usable(sentence: &Sentence) -> Result<()> {
    let sent_id = sentence.sent_id().unwrap_or_default();
    if sent_id.is_empty() {
        let words: Vec<&str> = sentence.forms().take(8).collect();
        return Err(refused(format!("the sentence `{} …` has no sent_id; give it one", words.join(" "))));
    }
    if !sentence.words().iter().any(Word::is_evidence) {
        return Err(refused(format!("sentence {sent_id} has no edge that can be evidence: all have Evidence=No")));
    }
    let words = sentence.words().len();
    let inside = |heads: &Vec<usize>| heads.iter().all(|head| *head <= words);
    let is_tree = |heads: Vec<usize>| tree_faults(&heads).is_empty();
    match words > 0 && sentence.gold_heads().filter(inside).is_some_and(is_tree) {
        true => Ok(()),
        false => Err(refused(format!("sentence {sent_id} is not a tree; `citree check` says why"))),
    }
}

/// The refusal of a sentence with a label that is none of these.
pub(super) fn unknown_label(sentence: &Sentence, labels: &Labels) -> Option<Error> {
    let unknown = |word: &&Word| word.is_evidence() && labels.number(&word.label).is_none();
    let word = sentence.words().iter().find(unknown)?;
    let sent_id = sentence.sent_id().unwrap_or_default();
    Some(refused(format!(
        "sentence {sent_id} has the label `{}` at `{}`, which the model was not trained with; mend it if it is a mistake, or \
         take in new labels (`--new-labels`)",
        word.label, word.form
    )))
}

/// The numbers of the sentences with these names. A name that ends with `*` stands for all that begin so.
pub(super) fn present<'a>(index: &Index, names: impl Iterator<Item = &'a String>) -> Result<BTreeSet<u32>> {
    let mut found = BTreeSet::new();
    for name in names {
        let exactly = index.sources_of(name.as_bytes(), TrainingSentence::key);
        let named: Vec<u32> = match name.strip_suffix('*') {
            // A sentence can be called so.
            _ if !exactly.is_empty() => exactly,
            Some(prefix) if !prefix.is_empty() => {
                let key = |number: u32| index.source(number).map(TrainingSentence::key).unwrap_or_default();
                let all = 0..index.manifest().sources as u32;
                all.filter(|number| key(*number).starts_with(prefix.as_bytes())).collect()
            }
            _ => exactly,
        };
        if named.is_empty() {
            let how = "`citree export BUNDLE --what sentences` lists all; the beginning of some and a `*` names these";
            return Err(refused(format!("no sentence `{}` is in the evidence; {how}", name.escape_debug())));
        }
        found.extend(named);
    }
    Ok(found)
}

/// Refuses sentences that would be there twice after some are gone.
pub(super) fn absent(index: &Index, added: &[Sentence], gone: &BTreeSet<u32>) -> Result<()> {
    let mut seen = HashSet::new();
    for sent_id in added.iter().filter_map(Sentence::sent_id) {
        if !seen.insert(sent_id) {
            return Err(refused(format!("two sentences to add have the sent_id {sent_id}; rename one")));
        }
        let there = index.sources_of(sent_id.as_bytes(), TrainingSentence::key);
        if there.iter().any(|number| !gone.contains(number)) {
            return Err(refused(format!("sentence {sent_id} is in the evidence already; replace it instead")));
        }
    }
    Ok(())
}

/// Refuses a name of a treebank that options could not name.
pub(super) fn name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    match !name.is_empty() && name.len() <= 64 && name.chars().all(fits) {
        true => Ok(()),
        false => {
            Err(refused(format!("`{name}` cannot name a treebank; use up to 64 letters, digits, `-`, `_` and `.`")))
        }
    }
}

/// Refuses a weight of a treebank that cannot be kept.
pub(super) fn weight(weight: f64) -> Result<()> {
    match weight > 0.0 && weight <= HIGHEST_WEIGHT {
        true => Ok(()),
        false => Err(refused(format!(
            "the weight of a treebank must be a number above 0, at most {HIGHEST_WEIGHT}; `--from` leaves treebanks out"
        ))),
    }
}

/// How many wrong heads of every word the index has. It stores none for the last words of very short sentences.
pub(super) fn rejected_per_word(index: &Index) -> usize {
    let manifest = index.manifest();
    match manifest.contrasts.as_ref().map_or(0, |contrasts| contrasts.records) {
        0 if manifest.records == 0 => REJECTED,
        rejected => (rejected as f64 / manifest.records.max(1) as f64).round() as usize,
    }
}

pub(super) fn refused(message: String) -> Error {
    Error::Evidence { message }
}
