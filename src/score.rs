//! Fast mode: candidates against the summed support, a batch of sentences at a time.

use crate::edge::EdgeModel;
use crate::encoder::{Batch, Numbered, States, length_batches};
use crate::error::Result;
use crate::ops::Segments;
use crate::support::gold_edges;
use candle_core::Tensor;

/// A trained model with the rows that candidates are compared with.
#[derive(Clone, Debug)]
pub struct Scorer {
    model: EdgeModel,
    /// `[classes, dims]`.
    support: Tensor,
}

/// Sentences as a model sees them.
#[derive(Clone, Debug)]
pub struct Encoded {
    states: States,
    segments: Segments,
}

impl Encoded {
    /// The states of each sentence by itself, in their order; rows are its positions.
    pub fn by_sentence(&self) -> Result<Vec<States>> {
        let part = |(first, length)| -> Result<States> {
            Ok(States {
                dependent: self.states.dependent.narrow(0, first, length)?,
                head: self.states.head.narrow(0, first, length)?,
            })
        };
        self.segments.ranges().map(part).collect()
    }
}

impl Scorer {
    /// A scorer against these support rows `[classes, dims]`.
    pub fn new(model: &EdgeModel, support: Tensor) -> Result<Self> {
        Ok(Self { model: model.frozen()?, support: support.detach() })
    }

    /// Encodes sentences for whatever is asked of them next.
    pub fn encode(&self, sentences: &[&Numbered]) -> Result<Encoded> {
        let batch = Batch::new(sentences);
        Ok(Encoded { states: self.model.states(&batch, None)?, segments: batch.segments })
    }

    /// Scores of every candidate head, flat: sentence by sentence, `[dependent][head]`, ROOT no dependent.
    pub fn head_scores(&self, encoded: &Encoded) -> Result<Vec<f32>> {
        let scores = self.model.candidate_scores(&encoded.states, &encoded.segments, &self.support.get(0)?)?;
        Ok(scores.to_vec1::<f32>()?)
    }

    /// Scores of every label for the edge from each word to its head in `heads`, flat: sentence by sentence,
    /// `[word][label]`.
    pub fn label_scores(&self, encoded: &Encoded, heads: &[&[usize]]) -> Result<Vec<f32>> {
        let (mut dependents, mut head_rows) = (Vec::new(), Vec::new());
        for ((first, length), heads) in encoded.segments.ranges().zip(heads) {
            dependents.extend((1..length).map(|word| (first + word) as u32));
            head_rows.extend((1..length).map(|word| (first + heads[word]) as u32));
        }
        let rows = self.model.edge_rows(&encoded.states, &dependents, &head_rows)?;
        Ok(self.model.class_scores(&rows, &self.support)?.flatten_all()?.to_vec1::<f32>()?)
    }

    /// The network behind the scores.
    pub fn model(&self) -> &EdgeModel {
        &self.model
    }

    /// Share of words whose best head (greedy) is the gold one.
    pub fn head_accuracy(&self, sentences: &[Numbered]) -> Result<f64> {
        let (mut right, mut total) = (0, 0);
        for batch in length_batches(sentences) {
            let batch: Vec<&Numbered> = batch.iter().map(|&s| &sentences[s]).collect();
            let scores = self.head_scores(&self.encode(&batch)?)?;
            let mut rest = scores.as_slice();
            for sentence in &batch {
                for word in 1..sentence.len() {
                    let (row, after) = rest.split_at(sentence.len());
                    right += usize::from(best(row, Some(word)) == sentence.heads[word]);
                    rest = after;
                }
                total += sentence.len() - 1;
            }
        }
        Ok(right as f64 / (total as f64).max(1.0))
    }

    /// Share of gold edges whose best label is the gold one; a label that training did not show counts as wrong.
    pub fn label_accuracy(&self, sentences: &[Numbered]) -> Result<f64> {
        let (mut right, mut total) = (0, 0);
        for batch in length_batches(sentences) {
            let batch: Vec<&Numbered> = batch.iter().map(|&s| &sentences[s]).collect();
            let heads: Vec<&[usize]> = batch.iter().map(|s| s.heads.as_slice()).collect();
            let scores = self.label_scores(&self.encode(&batch)?, &heads)?;
            let starts = vec![0; batch.len()];
            let (.., gold) = gold_edges(&batch, &starts);
            let known = batch.iter().flat_map(|s| std::iter::repeat_n(!s.labels.is_empty(), s.len() - 1));
            for ((row, &gold), known) in scores.chunks_exact(self.support.dim(0)?).zip(&gold).zip(known) {
                right += usize::from(known && best(row, None) == gold as usize);
            }
            total += gold.len();
        }
        Ok(right as f64 / (total as f64).max(1.0))
    }
}

/// The place of the largest score; the first of equals.
pub fn best(scores: &[f32], excluded: Option<usize>) -> usize {
    let mut best = usize::from(excluded == Some(0));
    for (at, &score) in scores.iter().enumerate() {
        if Some(at) != excluded && score > scores[best] {
            best = at;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_the_first_of_the_largest_and_never_the_excluded_one() {
        assert_eq!(best(&[1.0, 3.0, 3.0], None), 1);
        assert_eq!(best(&[1.0, 3.0, 3.0], Some(1)), 2);
        assert_eq!(best(&[9.0, 1.0], Some(0)), 1);
    }
}
