//! Changing the evidence of a bundle: sentences are added, removed and replaced without encoding the others again.

use super::build::Step;
use super::checks::{self, refused, rejected_per_word};
use super::encode::Counted;
use super::labels::Labels;
use super::record::TrainingSentence;
use super::regroup::regrouped;
use super::treebanks;
use crate::error::{Error, Result};
use crate::flow::Flow;
use crate::model::Model;
use crate::treebank::Sentence;
use citree_index::{Change, Index, Note};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The treebank of added sentences, if nobody names it.
const ADDED: &str = "added";
/// A new segment takes in small ones of the same name before it, so that there are few of them. It never gets so large
/// that it would need a graph, which takes long to build.
const MOST_TAKEN_IN: u64 = 1500;
/// How much larger a segment may be that is taken in. Larger ones would be copied too often, and with fewer there are more
/// parts to search.
const MOST_TIMES: u64 = 4;

/// Sentences that an entry of the log names.
const NAMED: usize = 3;

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
    /// Needed to encode sentences, and to merge.
    model: Option<&'a Model>,
    pub(super) folder: PathBuf,
    treebank: Option<String>,
    who: String,
    brings_labels: bool,
    weight: Option<f64>,
    /// The generation that must be current.
    pub(super) generation: Option<u64>,
    added: Vec<Sentence>,
    /// Those of the added sentences that replace one.
    replaced: BTreeSet<String>,
    removed: Vec<String>,
}

/// A change that was published.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changed {
    /// The generation that is now current.
    pub generation: u64,
    /// Sentences added, those that replace others included.
    pub added: usize,
    /// Sentences removed, those that were replaced included.
    pub removed: usize,
    /// Edges of the added sentences.
    pub edges: u64,
    /// Labels that no edge had before and the model was not trained with.
    pub new_labels: Vec<String>,
}

impl<'a> EvidenceEditor<'a> {
    /// An editor of the index in a folder, which was built with this model. Without a model, nothing can be added or merged.
    pub(crate) fn new(model: Option<&'a Model>, folder: PathBuf) -> Self {
        let who = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
        Self {
            model,
            folder,
            treebank: None,
            who: who.unwrap_or_else(|| "unknown".to_string()),
            brings_labels: false,
            weight: None,
            generation: None,
            added: Vec::new(),
            replaced: BTreeSet::new(),
            removed: Vec::new(),
        }
    }

    /// Names the treebank that sentences are added to. By default that is `added`, and for sentences that replace others
    /// the treebank of these.
    pub fn to_treebank(self, name: &str) -> Self {
        Self { treebank: Some(name.to_string()), ..self }
    }

    /// Takes in labels that the model was not trained with. They can be cited and predicted at once.
    pub fn with_new_labels(self) -> Self {
        Self { brings_labels: true, ..self }
    }

    /// Lets every edge of the treebank that sentences are added to count so many times, also those that it has already.
    pub fn with_weight(self, weight: f64) -> Self {
        Self { weight: Some(weight), ..self }
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
    /// If a sentence has no `sent_id`, or is no tree.
    #[allow(clippy::should_implement_trait)] // Not an addition of numbers; the name is the verb's.
    pub fn add(mut self, sentences: &[Sentence]) -> Result<Self> {
        for sentence in sentences {
            checks::usable(sentence)?;
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
    /// If a sentence to add is there already or has an unknown label, one to remove or replace is not there, or another
    /// process changes the index. Then nothing is changed.
    pub fn commit(self, message: &str) -> Result<Changed> {
        self.commit_with(message, &|_| Flow::Continue)
    }

    /// As [`commit`](Self::commit), with progress.
    ///
    /// # Errors
    /// As for [`commit`](Self::commit), and [`Stopped`](Error::Stopped) if `tell` says so.
    pub fn commit_with(self, message: &str, tell: &(dyn Fn(Step) -> Flow + Sync)) -> Result<Changed> {
        if self.added.is_empty() && self.removed.is_empty() {
            return Err(refused("there is nothing to add or to remove".to_string()));
        }
        let mut change = self.begin()?;
        let gone = checks::present(change.index(), self.removed.iter().chain(&self.replaced))?;
        checks::absent(change.index(), &self.added, &gone)?;
        let treebank = self.treebank(change.index())?;
        self.weight.map_or(Ok(()), checks::weight)?;
        gone.iter().for_each(|number| change.remove_source(*number));
        let new: Vec<&str> = self.added.iter().filter_map(Sentence::sent_id).collect();
        let what = match (self.added.len() - self.replaced.len(), self.replaced.len(), gone.len()) {
            (0, 0, removed) => {
                let key = |number: &u32| change.index().source(*number).map(TrainingSentence::key).unwrap_or_default();
                let names: Vec<String> =
                    gone.iter().take(NAMED).map(|number| String::from_utf8_lossy(key(number)).into_owned()).collect();
                format!("removed {}", named(removed, names.iter().map(String::as_str)))
            }
            (added, 0, 0) => format!("added {} to {}", named(added, new.into_iter()), treebanks::shown(&treebank)),
            (0, replaced, removed) if replaced == removed => format!("replaced {}", named(replaced, new.into_iter())),
            (added, replaced, removed) => {
                format!("added {}, removed {}", sentences(added + replaced), sentences(removed))
            }
        };
        let (added, removed) = (self.added.len(), gone.len());
        let mut changed = Changed { generation: 0, added, removed, edges: 0, new_labels: Vec::new() };
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
        let model = self.model()?;
        let known = Labels::of(change.index(), model.tables.vocabulary.labels());
        let labels = self.labels(&known)?;
        changed.new_labels = labels.names()[known.names().len()..].to_vec();
        let places = self.taken_in(change.index(), &treebank);
        let (mut numbering, regrouped) = regrouped(change.index(), &places, change.copied_sources(&places));
        let rejected = rejected_per_word(change.index());
        let counted = Counted::of(model, labels, &self.added, rejected, &mut numbering)?;
        hasher.update(&counted.content);
        let note = self.note(what, message, hasher.finalize().as_bytes());
        let spec = counted.spec(model, numbering)?;
        let regroup = |grouping: usize, group: u32, sentence: u32| regrouped.number(grouping, group, sentence);
        let mut addition = change.add(&treebank, spec, &places, Some(TrainingSentence::key), &regroup)?;
        if let Some(weight) = self.weight {
            addition.weigh(&treebank, weight)?;
        }
        counted.write(model, &self.added, addition.segment(), tell, |_, _| {})?;
        changed.edges = counted.edges();
        changed.generation = addition.publish(note, &|progress| tell(Step::Indexing(progress)).into())?;
        Ok(changed)
    }

    pub(super) fn begin(&self) -> Result<Change> {
        let change = Change::begin(&self.folder)?;
        if let Some(model) = self.model {
            change.index().require_model(&model.fingerprint()?)?;
        }
        let found = change.index().generation();
        match self.generation {
            Some(expected) if expected != found => Err(Error::Stale { expected, found }),
            _ => Ok(change),
        }
    }

    pub(super) fn model(&self) -> Result<&'a Model> {
        self.model.ok_or_else(|| refused("the model is needed for this; open the bundle".to_string()))
    }

    pub(super) fn note(&self, what: String, message: &str, content: &[u8]) -> Note {
        // One line each, so that no text looks like another entry of the log.
        let line =
            |text: &str| text.split(char::is_control).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        Note { who: line(&self.who), what: line(&what), message: line(message), content: content.to_vec() }
    }

    /// These labels, and those that the sentences bring.
    fn labels(&self, known: &Labels) -> Result<Labels> {
        let mut labels = known.clone();
        for sentence in &self.added {
            match checks::unknown_label(sentence, &labels) {
                None => {}
                Some(_) if self.brings_labels => {
                    let words = sentence.words().iter().filter(|word| word.is_evidence());
                    words.for_each(|word| labels.bring(&word.label));
                }
                Some(refusal) => return Err(refusal),
            }
        }
        Ok(labels)
    }

    /// The treebank that the sentences are added to, as segments store its name.
    fn treebank(&self, index: &Index) -> Result<String> {
        if let Some(name) = &self.treebank {
            checks::name(name)?;
            return Ok(treebanks::stored(name).to_string());
        }
        let segments = index.segments();
        let of = |name: &String| index.sources_of(name.as_bytes(), TrainingSentence::key);
        let places = self.replaced.iter().flat_map(of).filter_map(|sentence| index.segment_of_source(sentence));
        let names: BTreeSet<&str> = places.map(|place| segments[place].name.as_str()).collect();
        match (names.len(), names.first()) {
            (0, _) => Ok(ADDED.to_string()),
            (1, Some(name)) => Ok(name.to_string()),
            _ => Err(refused("the sentences are in several treebanks; replace those of one at a time".to_string())),
        }
    }

    /// The places of the segments that the new one takes in.
    fn taken_in(&self, index: &Index, treebank: &str) -> Vec<usize> {
        let segments = index.segments();
        let mut size: u64 = self.added.iter().map(|sentence| sentence.words().len() as u64).sum();
        let mut places = Vec::new();
        for (place, segment) in segments.iter().enumerate().rev().filter(|(_, segment)| segment.name == treebank) {
            // Only those that are not much larger, so that an edge is copied few times however many are added.
            if segment.records > MOST_TIMES * size || segment.records + size > MOST_TAKEN_IN {
                break;
            }
            size += segment.records;
            places.insert(0, place);
        }
        places
    }
}

/// Sentences by their names: all of a few, or how many there are and the first names.
fn named<'n>(count: usize, names: impl Iterator<Item = &'n str>) -> String {
    let first = names.take(NAMED).collect::<Vec<_>>().join(", ");
    let more = if count > NAMED { ", …" } else { "" };
    format!("{} ({first}{more})", sentences(count))
}

pub(super) fn sentences(count: usize) -> String {
    format!("{count} {}", if count == 1 { "sentence" } else { "sentences" })
}
