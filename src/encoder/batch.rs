//! Sentences packed for the encoder: rows by time for the LSTM, and the way back to rows by sentence.

use super::vocabulary::Numbered;
use crate::ops::Segments;
use crate::ops::char_cnn::Spellings;
use crate::ops::lstm::Steps;
use std::collections::HashMap;
use std::sync::Arc;

/// Candidate edges of a batch; keeps its memory flat whatever the sentences' lengths.
const MOST_PAIRS: usize = 100_000;
/// Sentences of a batch; more would not make the products any faster.
const MOST_SENTENCES: usize = 128;

/// A batch without padding. "Packed" rows are ordered by time, "plain" rows by sentence, then position.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Word id of every packed row.
    pub words: Vec<u32>,
    /// The distinct spellings of the batch.
    pub spellings: Spellings,
    /// Index into `spellings` of every packed row.
    pub spelling_of: Vec<u32>,
    /// The LSTM's schedule.
    pub steps: Steps,
    /// Packed row of every plain row.
    pub packed_row: Vec<u32>,
    /// Plain rows by sentence.
    pub segments: Segments,
}

impl Batch {
    /// Packs sentences; their order is kept in plain rows.
    pub fn new(sentences: &[&Numbered]) -> Self {
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
        Self { words, spellings: Arc::new(spellings), spelling_of, steps, packed_row, segments: Segments::new(lengths) }
    }

    /// First plain row of every sentence.
    pub fn first_rows(&self) -> Vec<usize> {
        self.segments.ranges().map(|(start, _)| start).collect()
    }
}

/// Indices of sentences with words, in batches of similar length and bounded size, for work that learns nothing.
pub fn length_batches(sentences: &[Numbered]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..sentences.len()).filter(|&s| !sentences[s].is_empty()).collect();
    order.sort_by_key(|&s| sentences[s].len());
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut pairs = 0;
    for s in order {
        let more = sentences[s].len().pow(2);
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
        Numbered { words: vec![0; length], spellings: vec![], heads: vec![], labels: vec![] }
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
