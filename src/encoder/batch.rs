//! Batches of sentences for the encoder: rows packed by time for the LSTM, and the mapping back to rows by sentence.

use super::transformer::{Features, PieceBatch, Pieces, Transformer};
use super::vocabulary::Numbered;
use super::word_vectors::Place;
use crate::error::Result;
use crate::ops::Segments;
use crate::ops::char_cnn::Spellings;
use crate::ops::lstm::Steps;
use candle_core::{Device, Tensor};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Most candidate edges in a batch; bounds the memory whatever the sentences' lengths.
const MOST_PAIRS: usize = 100_000;
/// Most sentences in a batch; larger batches are no faster.
const MOST_SENTENCES: usize = 128;

/// A batch without padding. "Packed" rows are ordered by time, "plain" rows by sentence, then position.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// Word id of every packed row.
    pub words: Vec<u32>,
    /// The distinct spellings in the batch.
    pub spellings: Spellings,
    /// Index into `spellings` of every packed row.
    pub spelling_of: Vec<u32>,
    /// The time steps of the LSTM.
    pub(crate) steps: Steps,
    /// Packed row of every plain row.
    pub packed_row: Vec<u32>,
    /// Plain rows by sentence.
    pub(crate) segments: Segments,
    /// Place in the frozen word vectors of every packed row; empty without word vectors.
    pub vectors: Vec<Place>,
    /// The input pieces of the transformer, with one output row per packed row; empty without one or with stored states.
    pub(crate) pieces: PieceBatch,
    /// Stored states and the stored row of every packed row, if all sentences have them.
    stored: Option<(Arc<Features>, Vec<u64>)>,
    /// Cache of the frozen states, which both models use.
    frozen: OnceLock<Vec<Tensor>>,
}

impl Batch {
    /// Packs sentences. Plain rows keep their order.
    pub(crate) fn new(sentences: &[&Numbered]) -> Self {
        let lengths: Vec<usize> = sentences.iter().map(|s| s.len()).collect();
        let mut by_length: Vec<usize> = (0..sentences.len()).collect();
        by_length.sort_by_key(|&s| std::cmp::Reverse(lengths[s]));
        let mut rank = vec![0; sentences.len()];
        by_length.iter().enumerate().for_each(|(r, &s)| rank[s] = r);
        let steps = Steps::new(&by_length.iter().map(|&s| lengths[s]).collect::<Vec<_>>());

        let rows = lengths.iter().sum();
        let (mut words, mut spelling_of) = (vec![0; rows], vec![0; rows]);
        let mut packed_row = Vec::with_capacity(rows);
        let mut known: HashMap<&[u32], u32> = HashMap::new();
        let mut spellings: Vec<Vec<u32>> = Vec::new();
        for (s, sentence) in sentences.iter().enumerate() {
            for time in 0..sentence.len() {
                let row = steps.row(time, rank[s]);
                packed_row.push(row as u32);
                words[row] = sentence.words[time];
                let spelling = sentence.spellings[time].as_slice();
                spelling_of[row] = *known.entry(spelling).or_insert_with(|| {
                    spellings.push(spelling.to_vec());
                    spellings.len() as u32 - 1
                });
            }
        }
        let vectors = sentences.iter().flat_map(|s| &s.vectors).cloned().collect::<Vec<Place>>();
        Self {
            vectors: pack(&vectors, &packed_row),
            pieces: pieces_of(sentences, &packed_row),
            stored: stored_of(sentences, &packed_row),
            frozen: OnceLock::new(),
            words,
            spellings: Arc::new(spellings),
            spelling_of,
            steps,
            packed_row,
            segments: Segments::new(lengths),
        }
    }

    /// Whether every sentence has the input that a transformer needs.
    pub(crate) fn has_pieces(&self) -> bool {
        self.stored.is_some() || self.pieces.rows.len() == self.words.len()
    }

    /// The frozen states of every packed row: after the embedding and each layer, or after the last layer alone.
    pub(crate) fn frozen_states(&self, transformer: &Transformer, all: bool, device: &Device) -> Result<Vec<Tensor>> {
        if let Some(states) = self.frozen.get() {
            return Ok(states.clone());
        }
        let states = match &self.stored {
            None => transformer.rounded_states(&self.pieces, all)?,
            Some((features, rows)) => {
                let (dims, count) = (features.dims(), rows.len());
                let layer = |layer: usize| -> Result<Tensor> {
                    let mut values = vec![0.0; count * dims];
                    for (&row, out) in rows.iter().zip(values.chunks_exact_mut(dims)) {
                        features.read(row, layer, out);
                    }
                    Ok(Tensor::from_vec(values, (count, dims), device)?)
                };
                let states = (0..features.layers()).map(layer).collect::<Result<_>>()?;
                features.intact()?;
                states
            }
        };
        Ok(self.frozen.get_or_init(|| states).clone())
    }

    /// First plain row of every sentence.
    pub(crate) fn first_rows(&self) -> Vec<usize> {
        self.segments.ranges().map(|(start, _)| start).collect()
    }
}

/// Reorders values of plain rows into packed rows. Empty unless every row has a value.
fn pack<T: Clone + Default>(plain: &[T], packed_row: &[u32]) -> Vec<T> {
    if plain.len() != packed_row.len() {
        return Vec::new();
    }
    let mut packed = vec![T::default(); plain.len()];
    plain.iter().zip(packed_row).for_each(|(value, &row)| packed[row as usize] = value.clone());
    packed
}

fn pieces_of(sentences: &[&Numbered], packed_row: &[u32]) -> PieceBatch {
    let pieces: Option<Vec<&Pieces>> = sentences.iter().map(|s| s.pieces.as_ref()).collect();
    let mut pieces = PieceBatch::new(&pieces.unwrap_or_default());
    pieces.rows = pack(&pieces.rows, packed_row);
    pieces
}

fn stored_of(sentences: &[&Numbered], packed_row: &[u32]) -> Option<(Arc<Features>, Vec<u64>)> {
    let (source, _) = sentences.first()?.stored.as_ref()?;
    let mut rows = Vec::with_capacity(packed_row.len());
    for sentence in sentences {
        let (own, first) = sentence.stored.as_ref()?;
        if !Arc::ptr_eq(own, source) {
            return None;
        }
        rows.extend((*first..).take(sentence.len()));
    }
    Some((source.clone(), pack(&rows, packed_row)))
}

/// Indices of sentences with words, in batches of similar length and bounded size, for work without training.
pub(crate) fn length_batches(sentences: &[impl AsRef<Numbered>]) -> Vec<Vec<usize>> {
    let length = |s: usize| sentences[s].as_ref().len();
    let mut order: Vec<usize> = (0..sentences.len()).filter(|&s| !sentences[s].as_ref().is_empty()).collect();
    order.sort_by_key(|&s| length(s));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut pairs = 0;
    for s in order {
        let more = length(s).pow(2);
        match batches.last_mut() {
            Some(batch) if batch.len() < MOST_SENTENCES && pairs + more <= MOST_PAIRS => {
                batch.push(s);
                pairs += more;
            }
            _ => {
                batches.push(vec![s]);
                pairs = more;
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(length: usize) -> Numbered {
        Numbered { words: vec![0; length], ..Numbered::default() }
    }

    #[test]
    fn batches_hold_every_sentence_with_words_once_and_stay_bounded() {
        let sentences: Vec<Numbered> = (0..300).map(|s| sentence(1 + s * 13 % 250)).collect();
        let batches = length_batches(&sentences);
        let mut seen = batches.concat();
        seen.sort_unstable();
        let expected: Vec<usize> = (0..300).filter(|&s| sentences[s].len() > 1).collect();
        assert_eq!(seen, expected);
        for batch in batches.iter().filter(|batch| batch.len() > 1) {
            assert!(batch.iter().map(|&s| sentences[s].len().pow(2)).sum::<usize>() <= MOST_PAIRS);
        }
    }
}
