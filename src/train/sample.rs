//! Batches of query sentences of similar length, and the paper's sampling of support edges.

use crate::encoder::{Numbered, Vocabulary};
use crate::random::Random;

/// Batches per bucket. Sentences are sorted by length within a bucket; the order of batches is random.
const BUCKET: usize = 40;

/// A support edge: its sentence and its dependent.
pub(super) type EdgeAt = (u32, u32);

/// Batches of sentence indices in random order, each with sentences of similar length.
pub(super) fn plan(sentences: &[Numbered], size: usize, random: &mut Random) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..sentences.len()).filter(|&s| !sentences[s].is_empty()).collect();
    random.shuffle(&mut order);
    let mut batches = Vec::new();
    for bucket in order.chunks_mut(size * BUCKET) {
        bucket.sort_by_key(|&s| sentences[s].len());
        batches.extend(bucket.chunks(size).map(<[usize]>::to_vec));
    }
    random.shuffle(&mut batches);
    batches
}

/// Every training edge by label.
pub(super) fn edges_by_label(sentences: &[Numbered], labels: usize) -> Vec<Vec<EdgeAt>> {
    let mut table = vec![Vec::new(); labels];
    for (s, sentence) in sentences.iter().enumerate() {
        for (word, &label) in sentence.labels.iter().enumerate().skip(1) {
            table[label as usize].push((s as u32, word as u32));
        }
    }
    table
}

/// A copy of a sentence in which some known words are replaced by the unknown word.
pub(super) fn with_unknown_words(
    sentence: &Numbered,
    rate: f32,
    vocabulary: &Vocabulary,
    random: &mut Random,
) -> Numbered {
    let mut copy = sentence.clone();
    for word in &mut copy.words {
        if vocabulary.is_known(*word) && random.unit() < rate {
            *word = vocabulary.unknown();
        }
    }
    copy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(length: usize, label: u32) -> Numbered {
        Numbered { words: vec![5; length], heads: vec![0; length], labels: vec![label; length], ..Numbered::default() }
    }

    #[test]
    fn an_epoch_contains_every_sentence_once_in_batches_of_similar_length() {
        let sentences: Vec<Numbered> = (0..1000).map(|s| sentence(2 + s * 7 % 50, 0)).collect();
        let batches = plan(&sentences, 32, &mut Random::new(1));
        let mut seen = batches.concat();
        seen.sort_unstable();
        assert_eq!(seen, (0..1000).collect::<Vec<_>>());
        let spread = |batch: &Vec<usize>| {
            let lengths = batch.iter().map(|&s| sentences[s].len());
            lengths.clone().max().unwrap_or(0) - lengths.min().unwrap_or(0)
        };
        assert!(batches.iter().all(|batch| spread(batch) <= 5));
    }

    #[test]
    fn a_sentence_without_words_is_never_drawn() {
        assert!(plan(&[sentence(1, 0)], 4, &mut Random::new(1)).is_empty());
    }

    #[test]
    fn every_edge_is_found_under_its_label() {
        let table = edges_by_label(&[sentence(2, 0), sentence(3, 1)], 2);
        assert_eq!(table, [vec![(0, 1)], vec![(1, 1), (1, 2)]]);
    }
}
