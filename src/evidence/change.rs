//! Changing the evidence of a bundle: sentences are added, removed and replaced without encoding the others again.

use super::build::{REJECTED, Step};
use super::encode::Counted;
use super::groups::Numbering;
use super::record::TrainingSentence;
use super::regroup::regrouped;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::treebank::{Sentence, tree_faults};
use citree_index::{Change, Index, LogEntry, Note, SegmentFacts};
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

/// The name of segments that nobody named.
const ADDED: &str = "added";
/// What the log entry of an undo begins with. The rest says what was undone.
const UNDID: &str = "undid: ";
/// A new segment takes in small ones of the same name before it, so that there are few of them. It never gets so large
/// that it would need a graph, which takes long to build.
const MOST_TAKEN_IN: u64 = 1500;

/// Collects changes of a bundle's evidence and publishes them together.
///
/// ```no_run
/// let bundle = citree::Bundle::open("en.citree")?;
/// let corrected = citree::treebank::read_trees("corrected.conllu".as_ref())?;
/// let changed = bundle.evidence().add(&corrected)?.remove(&["reviews-000123"]).commit("wrong heads of `only`")?;
/// assert_eq!(changed.added, corrected.len());
/// let explainer = bundle.refreshed()?.explainer()?; // cites the new sentences
/// # Ok::<(), citree::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing changes before `commit`"]
pub struct EvidenceEditor<'a> {
    model: &'a Model,
    folder: PathBuf,
    name: String,
    who: String,
    /// The generation that must be current.
    generation: Option<u64>,
    added: Vec<Sentence>,
    /// Those of the added sentences that replace one.
    replaced: BTreeSet<String>,
    removed: Vec<String>,
}

/// A change that was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The generation that is now current.
    pub generation: u64,
    /// Sentences added, those that replace others included.
    pub added: usize,
    /// Sentences removed, those that were replaced included.
    pub removed: usize,
    /// Edges of the added sentences.
    pub edges: u64,
}

impl<'a> EvidenceEditor<'a> {
    /// An editor of the index in a folder, which was built with this model.
    pub(crate) fn new(model: &'a Model, folder: PathBuf) -> Self {
        let who = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
        Self {
            model,
            folder,
            name: ADDED.to_string(),
            who: who.unwrap_or_else(|| "unknown".to_string()),
            generation: None,
            added: Vec::new(),
            replaced: BTreeSet::new(),
            removed: Vec::new(),
        }
    }

    /// Names what is added, such as the treebank that it comes from. `list` shows it by this name.
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_string(), ..self }
    }

    /// Says who makes the change; by default the user of the system.
    pub fn by(self, who: &str) -> Self {
        Self { who: who.to_string(), ..self }
    }

    /// Makes the change only if this generation is still the current one. Otherwise it is refused, because somebody else
    /// changed the evidence.
    pub fn since(self, generation: u64) -> Self {
        Self { generation: Some(generation), ..self }
    }

    /// Adds sentences with gold trees.
    ///
    /// # Errors
    /// If a sentence has no `sent_id`, is no tree, or has a label that the model does not know.
    #[allow(clippy::should_implement_trait)] // Not an addition of numbers; the name is the verb's.
    pub fn add(mut self, sentences: &[Sentence]) -> Result<Self> {
        for sentence in sentences {
            self.check(sentence)?;
        }
        self.added.extend_from_slice(sentences);
        Ok(self)
    }

    /// Removes sentences by their `sent_id`. A name that ends with `*` stands for all that begin so.
    pub fn remove(mut self, names: &[impl AsRef<str>]) -> Self {
        self.removed.extend(names.iter().map(|name| name.as_ref().to_string()));
        self
    }

    /// Replaces the sentences that have the same `sent_id`.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn replace(mut self, sentences: &[Sentence]) -> Result<Self> {
        self.replaced.extend(sentences.iter().filter_map(Sentence::sent_id).map(str::to_string));
        self.add(sentences)
    }

    /// Publishes the changes as a new generation of the index. Opened bundles keep the generation that they have.
    ///
    /// # Errors
    /// If a sentence to add is there already, one to remove or replace is not, or another process changes the index. Then
    /// nothing is changed.
    pub fn commit(self, message: &str) -> Result<Changed> {
        self.commit_with(message, &|_| {})
    }

    /// As [`commit`](Self::commit), with progress.
    ///
    /// # Errors
    /// As for [`commit`](Self::commit).
    pub fn commit_with(self, message: &str, tell: &(dyn Fn(Step) + Sync)) -> Result<Changed> {
        if self.added.is_empty() && self.removed.is_empty() {
            return Err(refused("there is nothing to add or to remove".to_string()));
        }
        let mut change = self.begin()?;
        let gone = self.gone(change.index())?;
        self.check_new(change.index(), &gone)?;
        gone.iter().for_each(|number| change.remove_source(*number));
        let what = match (self.added.len() - self.replaced.len(), self.replaced.len(), gone.len()) {
            (0, 0, removed) => format!("removed {}", sentences(removed)),
            (added, 0, 0) => format!("added {} to {}", sentences(added), self.name),
            (0, replaced, removed) if replaced == removed => format!("replaced {}", sentences(replaced)),
            (added, replaced, removed) => {
                format!("added {}, removed {}", sentences(added + replaced), sentences(removed))
            }
        };
        let mut changed = Changed { generation: 0, added: self.added.len(), removed: gone.len(), edges: 0 };
        let mut hasher = blake3::Hasher::new();
        hasher.update(&change.index().manifest().content);
        let ids = |number: &u32| change.index().source(*number).map(TrainingSentence::key).unwrap_or_default();
        for number in &gone {
            hasher.update(ids(number)).update(b"\n");
        }
        if self.added.is_empty() {
            changed.generation = change.publish(self.note(what, message, hasher.finalize().as_bytes()))?;
            return Ok(changed);
        }
        let first = self.taken_in(change.index());
        let (mut numbering, regrouped) = regrouped(change.index(), first, change.copied_sources(first));
        let counted = Counted::of(self.model, &self.added, rejected_per_word(change.index()), &mut numbering)?;
        hasher.update(&counted.content);
        let note = self.note(what, message, hasher.finalize().as_bytes());
        let spec = counted.spec(self.model, numbering)?;
        let regroup = |grouping: usize, group: u32, sentence: u32| regrouped.number(grouping, group, sentence);
        let mut addition = change.add(&self.name, spec, first, Some(TrainingSentence::key), &regroup)?;
        counted.write(self.model, &self.added, addition.segment(), tell, |_, _| {})?;
        changed.edges = counted.edges();
        changed.generation = addition.publish(note, &|progress| tell(Step::Indexing(progress)))?;
        Ok(changed)
    }

    /// Writes all segments as one, without what was removed. Searches take less time then. Changes from before cannot be
    /// undone any more, and their files are removed. Returns the new generation.
    ///
    /// # Errors
    /// If another process changes the index, or the files cannot be written.
    pub fn merge(self, message: &str, tell: &(dyn Fn(Step) + Sync)) -> Result<u64> {
        let mut change = self.begin()?;
        change.forget_before();
        let segments = change.index().segments();
        let removed: u64 = segments.iter().map(|segment| segment.removed).sum();
        let what = format!("merged {} segments, {} removed before", segments.len(), sentences(removed as usize));
        let (numbering, regrouped) = regrouped(change.index(), 0, change.copied_sources(0));
        let content = change.index().manifest().content.clone();
        let mut spec = Counted::of(self.model, &[], 0, &mut Numbering::default())?.spec(self.model, numbering)?;
        spec.content.clone_from(&content);
        let regroup = |grouping: usize, group: u32, sentence: u32| regrouped.number(grouping, group, sentence);
        let addition = change.add("", spec, 0, Some(TrainingSentence::key), &regroup)?;
        Ok(addition.publish(self.note(what, message, &content), &|progress| tell(Step::Indexing(progress)))?)
    }

    /// Takes back the last change. Repeated, it takes back the one before. Returns the new generation.
    ///
    /// # Errors
    /// If there is no change that is still kept, or another process changes the index.
    pub fn undo(self, message: &str) -> Result<u64> {
        let change = self.begin()?;
        // What was undone before is not undone again.
        let mut left: Vec<&str> = Vec::new();
        for entry in change.index().log() {
            match entry.what.starts_with(UNDID) {
                true => drop(left.pop()),
                false => left.push(&entry.what),
            }
        }
        let what = format!("{UNDID}{}", left.last().copied().unwrap_or_default());
        Ok(change.undo(self.note(what, message, &[]))?)
    }

    /// The changes since the index was built, oldest first.
    ///
    /// # Errors
    /// If there is no index.
    pub fn log(&self) -> Result<Vec<LogEntry>> {
        Ok(Index::open(&self.folder)?.log().to_vec())
    }

    /// The segments that the evidence consists of.
    ///
    /// # Errors
    /// If there is no index.
    pub fn list(&self) -> Result<Vec<SegmentFacts>> {
        Ok(Index::open(&self.folder)?.segments())
    }

    fn begin(&self) -> Result<Change> {
        let change = Change::begin(&self.folder)?;
        change.index().require_model(&self.model.fingerprint()?)?;
        let found = change.index().generation();
        match self.generation {
            Some(expected) if expected != found => Err(Error::Stale { expected, found }),
            _ => Ok(change),
        }
    }

    fn note(&self, what: String, message: &str, content: &[u8]) -> Note {
        Note { who: self.who.clone(), what, message: message.to_string(), content: content.to_vec() }
    }

    /// Refuses a sentence that cannot be evidence.
    fn check(&self, sentence: &Sentence) -> Result<()> {
        let sent_id = sentence.sent_id().unwrap_or_default();
        if sent_id.is_empty() {
            let words: Vec<&str> = sentence.forms().take(8).collect();
            return Err(refused(format!("the sentence `{} …` has no sent_id; give it one", words.join(" "))));
        }
        let words = sentence.words().len();
        let inside = |heads: &Vec<usize>| heads.iter().all(|head| *head <= words);
        let is_tree = |heads: Vec<usize>| tree_faults(&heads).is_empty();
        if words == 0 || !sentence.gold_heads().filter(inside).is_some_and(is_tree) {
            return Err(refused(format!("sentence {sent_id} is not a tree; `citree check` says why")));
        }
        let vocabulary = &self.model.tables.vocabulary;
        match sentence.words().iter().find(|word| vocabulary.label(&word.label).is_none()) {
            Some(word) => Err(refused(format!(
                "sentence {sent_id} has the label `{}` at `{}`, which the model does not know; use one of its labels, \
                 or train a model on a treebank that has it",
                word.label, word.form
            ))),
            None => Ok(()),
        }
    }

    /// The numbers of the sentences to remove or to replace.
    fn gone(&self, index: &Index) -> Result<BTreeSet<u32>> {
        let mut gone = BTreeSet::new();
        for name in self.removed.iter().chain(&self.replaced) {
            let found: Vec<u32> = match name.strip_suffix('*') {
                Some(prefix) if !prefix.is_empty() => {
                    let key = |number: u32| index.source(number).map(TrainingSentence::key).unwrap_or_default();
                    let all = 0..index.manifest().sources as u32;
                    all.filter(|number| key(*number).starts_with(prefix.as_bytes())).collect()
                }
                _ => index.sources_of(name.as_bytes(), TrainingSentence::key),
            };
            if found.is_empty() {
                let how = "see the sent_ids with `citree explain`, or give the beginning of some and a `*`";
                return Err(refused(format!("no sentence `{name}` is in the evidence; {how}")));
            }
            gone.extend(found);
        }
        Ok(gone)
    }

    /// Refuses sentences that would be there twice.
    fn check_new(&self, index: &Index, gone: &BTreeSet<u32>) -> Result<()> {
        let mut seen = HashSet::new();
        for sent_id in self.added.iter().filter_map(Sentence::sent_id) {
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

    /// The place of the first segment that the new one takes in.
    fn taken_in(&self, index: &Index) -> usize {
        let segments = index.segments();
        let mut size: u64 = self.added.iter().map(|sentence| sentence.words().len() as u64).sum();
        let mut first = segments.len();
        while let Some(last) = segments[..first].last() {
            // Only those that are not much larger, so that an edge is copied few times however many are added.
            if last.name != self.name || last.records > 2 * size || last.records + size > MOST_TAKEN_IN {
                break;
            }
            size += last.records;
            first -= 1;
        }
        first
    }
}

/// How many wrong heads of every word the index has. It stores none for the last words of very short sentences.
fn rejected_per_word(index: &Index) -> usize {
    let manifest = index.manifest();
    match manifest.contrasts.as_ref().map_or(0, |contrasts| contrasts.records) {
        0 if manifest.records == 0 => REJECTED,
        rejected => (rejected as f64 / manifest.records.max(1) as f64).round() as usize,
    }
}

fn sentences(count: usize) -> String {
    format!("{count} {}", if count == 1 { "sentence" } else { "sentences" })
}

fn refused(message: String) -> Error {
    Error::Evidence { message }
}
