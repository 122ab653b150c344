//! Lookups that the index's order by label does not give: edges by sentence and word, sentences by `sent_id`.

use super::TrainingEdges;
use super::record::TrainingSentence;
use crate::error::Result;

/// Marks a word without an edge.
const NONE: u32 = u32::MAX;

/// Lookup tables over a whole index, built on first use.
#[derive(Debug)]
pub(super) struct SentenceLookup {
    /// The start of each sentence's words in `edges`.
    firsts: Vec<usize>,
    /// The edge of each word.
    edges: Vec<u32>,
}

impl SentenceLookup {
    fn of(edges: &TrainingEdges) -> Result<Self> {
        let (mut firsts, mut words) = (Vec::new(), 0);
        for number in 0..edges.sentences() {
            let sentence = edges.sentence(number)?;
            firsts.push(words);
            words += sentence.words.len();
        }
        let mut table = vec![NONE; words];
        firsts.push(words);
        for edge in 0..edges.index().manifest().records as u32 {
            let Some(record) = edges.record(edge) else { continue };
            let place = firsts.get(record.sentence as usize).map(|first| first + record.dependent as usize);
            let place = place.and_then(|place| table.get_mut(place.checked_sub(1)?));
            place.into_iter().for_each(|place| *place = edge);
        }
        Ok(Self { firsts, edges: table })
    }
}

impl TrainingEdges {
    /// The number of the edge of a word in a training sentence; `None` if the index has none.
    pub fn edge_at(&self, sentence: u32, dependent: usize) -> Result<Option<u32>> {
        let places = self.lookup()?;
        let words = |sentence: usize| Some(*places.firsts.get(sentence)?..*places.firsts.get(sentence + 1)?);
        let own = words(sentence as usize).and_then(|words| places.edges.get(words));
        let edge = own.and_then(|own| own.get(dependent.checked_sub(1)?));
        Ok(edge.copied().filter(|&edge| edge != NONE))
    }

    /// The number of the training sentence with a `sent_id`; the first one if it repeats.
    pub(crate) fn sentence_named(&self, sent_id: &str) -> Result<Option<u32>> {
        Ok(self.sentences_named(sent_id).first().copied())
    }

    /// The numbers of all training sentences with a `sent_id`, or with a name made of their words.
    pub(crate) fn sentences_named(&self, name: &str) -> Vec<u32> {
        let named = (!name.is_empty()).then(|| self.index().sources_of(name.as_bytes(), TrainingSentence::key));
        named.unwrap_or_default()
    }

    fn lookup(&self) -> Result<&SentenceLookup> {
        if let Some(places) = self.lookup.get() {
            return Ok(places);
        }
        let places = SentenceLookup::of(self)?;
        Ok(self.lookup.get_or_init(|| places))
    }
}
