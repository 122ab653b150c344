//! Upkeep of the evidence: what it consists of and how it came to be, undoing changes, and merging and renaming treebanks.

use super::EvidenceEditor;
use super::build::Step;
use super::change::sentences;
use super::checks;
use super::encode::Counted;
use super::groups::Numbering;
use super::labels::Labels;
use super::record::TrainingSentence;
use super::regroup::regrouped;
use super::treebanks;
use crate::error::Result;
use crate::flow::Flow;
use citree_index::{Index, LogEntry, SegmentFacts};

/// What the log entry of an undo begins with. The rest says what was undone.
const UNDID: &str = "undid: ";

impl EvidenceEditor<'_> {
    /// Writes the parts of each treebank as one, without what was removed. Searches take less time then. Changes from before
    /// cannot be undone any more, and their files are removed. Returns the new generation; `None` if every treebank is in one
    /// part already.
    ///
    /// # Errors
    /// If another process changes the index, the files cannot be written, or `tell` stops it. Treebanks that were merged
    /// before stay so.
    pub fn merge(mut self, message: &str, tell: &(dyn Fn(Step) -> Flow + Sync)) -> Result<Option<u64>> {
        let mut generation = None;
        // Not kept open, because each change begins on its own.
        let segments = self.begin()?.index().segments();
        // Its own changes make newer generations.
        self.generation = None;
        for name in treebanks::names(&segments) {
            generation = self.merge_treebank(&name, message, tell)?.or(generation);
        }
        Ok(generation)
    }

    fn merge_treebank(&self, name: &str, message: &str, tell: &(dyn Fn(Step) -> Flow + Sync)) -> Result<Option<u64>> {
        let mut change = self.begin()?;
        let segments = change.index().segments();
        let places: Vec<usize> = (0..segments.len()).filter(|place| segments[*place].name == name).collect();
        let removed: u64 = places.iter().map(|place| segments[*place].removed).sum();
        if places.len() < 2 && removed == 0 {
            return Ok(None);
        }
        change.forget_before();
        let what = format!(
            "merged {} parts of {}, {} removed before",
            places.len(),
            treebanks::shown(name),
            sentences(removed as usize)
        );
        let (numbering, regrouped) = regrouped(change.index(), &places, change.copied_sources(&places));
        let labels = Labels::of(change.index(), self.model()?.tables.vocabulary.labels());
        let content = change.index().manifest().content.clone();
        let counted = Counted::of(self.model()?, labels, &[], 0, &mut Numbering::default())?;
        let mut spec = counted.spec(self.model()?, numbering)?;
        spec.content.clone_from(&content);
        let regroup = |grouping: usize, group: u32, sentence: u32| regrouped.number(grouping, group, sentence);
        let addition = change.add(name, spec, &places, Some(TrainingSentence::key), &regroup)?;
        let note = self.note(what, message, &content);
        Ok(Some(addition.publish(note, &|progress| tell(Step::Indexing(progress)).into())?))
    }

    /// Gives a treebank another name. If a treebank has that name already, both are one from then on. Returns the new
    /// generation.
    ///
    /// # Errors
    /// If there is no such treebank, or another process changes the index.
    pub fn rename(self, from: &str, to: &str, message: &str) -> Result<u64> {
        let mut change = self.begin()?;
        checks::name(to)?;
        if !change.rename(treebanks::stored(from), treebanks::stored(to)) {
            return Err(treebanks::unknown(from, &change.index().segments()));
        }
        let content = change.index().manifest().content.clone();
        Ok(change.publish(self.note(format!("renamed {from} to {to}"), message, &content))?)
    }

    /// Lets every edge of a treebank count so many times, under every rule and for every program that uses the bundle,
    /// unless told otherwise. Returns the new generation.
    ///
    /// # Errors
    /// If there is no such treebank, the weight is not a number above 0, or another process changes the index.
    pub fn weigh(self, treebank: &str, weight: f64, message: &str) -> Result<u64> {
        checks::weight(weight)?;
        let mut change = self.begin()?;
        if !change.weigh(treebanks::stored(treebank), weight)? {
            return Err(treebanks::unknown(treebank, &change.index().segments()));
        }
        let content = change.index().manifest().content.clone();
        Ok(change.publish(self.note(format!("gave {treebank} the weight {weight}"), message, &content))?)
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

    /// Checks that changes can be written.
    ///
    /// # Errors
    /// If there is no index, or its folder cannot be written.
    #[cfg(feature = "serve")]
    pub(crate) fn require_writable(&self) -> Result<()> {
        match citree_index::Change::begin(&self.folder) {
            // Somebody else can.
            Ok(_) | Err(citree_index::Error::Busy { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
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
}
