//! Fast mode: scores candidates against the summed support, one batch of sentences at a time.

use crate::edge::{EdgeModel, States};
use crate::encoder::{Batch, Numbered, length_batches};
use crate::error::Result;
use crate::ops::Segments;
use crate::support::gold_edges;
use crate::task::Task;
use candle_core::Tensor;
use rayon::prelude::*;

/// A frozen model with the support rows that candidates are compared with.
#[derive(Clone, Debug)]
pub(crate) struct Scorer {
    model: EdgeModel,
    /// `[classes, dims]`.
    support: Tensor,
}

/// The states of a batch of sentences under one model.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    states: States,
    segments: Segments,
}

impl Encoded {
    /// The states of each sentence, in order. Rows are its positions.
    pub(crate) fn by_sentence(&self) -> Result<Vec<States>> {
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
    pub(crate) fn new(model: &EdgeModel, support: Tensor) -> Result<Self> {
        Ok(Self { model: model.frozen()?, support: support.detach() })
    }

    /// Encodes a batch of sentences for scoring.
    pub(crate) fn encode(&self, batch: &Batch) -> Result<Encoded> {
        self.encode_from(&self.model.encoder().states(batch, None)?, batch)
    }

    /// Encodes a batch from the states of a shared encoder.
    pub(crate) fn encode_from(&self, encoded: &Tensor, batch: &Batch) -> Result<Encoded> {
        Ok(Encoded { states: self.model.sides(encoded)?, segments: batch.segments.clone() })
    }

    /// Scores of every candidate head, flat: sentence by sentence, `[dependent][head]`, without ROOT as a dependent.
    pub(crate) fn head_scores(&self, encoded: &Encoded) -> Result<Vec<f32>> {
        let scores = self.model.candidate_scores(&encoded.states, &encoded.segments, &self.support.get(0)?)?;
        Ok(scores.to_vec1::<f32>()?)
    }

    /// Scores of every label for the edge from each word to its head in `heads`, flat: sentence by sentence,
    /// `[word][label]`.
    pub(crate) fn label_scores(&self, encoded: &Encoded, heads: &[&[usize]]) -> Result<Vec<f32>> {
        let (mut dependents, mut head_rows) = (Vec::new(), Vec::new());
        for ((first, length), heads) in encoded.segments.ranges().zip(heads) {
            dependents.extend((1..length).map(|word| (first + word) as u32));
            head_rows.extend((1..length).map(|word| (first + heads[word]) as u32));
        }
        let rows = self.model.edge_rows(&encoded.states, &dependents, &head_rows)?;
        Ok(self.model.class_scores(&rows, &self.support)?.flatten_all()?.to_vec1::<f32>()?)
    }

    /// The network behind the scores.
    pub(crate) fn model(&self) -> &EdgeModel {
        &self.model
    }

    /// The best head of each word on its own (greedy), sentence by sentence, with an entry for ROOT.
    pub(crate) fn best_heads(&self, encoded: &Encoded) -> Result<Vec<Vec<usize>>> {
        let scores = self.head_scores(encoded)?;
        let mut rest = scores.as_slice();
        let mut heads = Vec::new();
        for (_, length) in encoded.segments.ranges() {
            let (own, after) = rest.split_at((length - 1) * length);
            rest = after;
            let rows = own.chunks_exact(length).zip(1..);
            heads.push(std::iter::once(0).chain(rows.map(|(row, word)| best(row, Some(word)))).collect());
        }
        Ok(heads)
    }

    /// The number of words of a batch whose best head (greedy) is the gold head.
    fn right_heads(&self, encoded: &Encoded, batch: &[&Numbered]) -> Result<usize> {
        let right = |(own, sentence): (&Vec<usize>, &&Numbered)| {
            own.iter().zip(&sentence.heads).skip(1).filter(|(own, gold)| own == gold).count()
        };
        Ok(self.best_heads(encoded)?.iter().zip(batch).map(right).sum())
    }

    /// The number of gold edges of a batch whose best label is the gold label. A label that is not in the training
    /// treebank counts as wrong.
    fn right_labels(&self, encoded: &Encoded, batch: &[&Numbered]) -> Result<usize> {
        let heads: Vec<&[usize]> = batch.iter().map(|s| s.heads.as_slice()).collect();
        let scores = self.label_scores(encoded, &heads)?;
        let (.., gold) = gold_edges(batch, &vec![0; batch.len()]);
        let rows = scores.chunks_exact(self.support.dim(0)?).zip(&gold);
        Ok(rows.filter(|(row, gold)| best(row, None) == **gold as usize).count())
    }
}

/// For each model, the share of words that it predicts correctly: heads (greedy), or labels of gold edges. Several
/// models must share an encoder, which then runs once.
pub(crate) fn accuracies(models: &[(Task, &Scorer)], sentences: &[Numbered]) -> Result<Vec<f64>> {
    let Some((_, first)) = models.first() else { return Ok(Vec::new()) };
    let count = |batch: &Vec<usize>| -> Result<Vec<usize>> {
        let batch: Vec<&Numbered> = batch.iter().map(|&s| &sentences[s]).collect();
        let packed = Batch::new(&batch);
        let states = first.model.encoder().states(&packed, None)?;
        let right = |&(task, scorer): &(Task, &Scorer)| {
            let encoded = scorer.encode_from(&states, &packed)?;
            match task {
                Task::Heads => scorer.right_heads(&encoded, &batch),
                Task::Labels => scorer.right_labels(&encoded, &batch),
            }
        };
        models.iter().map(right).collect()
    };
    let counts: Result<Vec<Vec<usize>>> = length_batches(sentences).par_iter().map(count).collect();
    let counts = counts?;
    let total: usize = sentences.iter().map(|sentence| sentence.len().saturating_sub(1)).sum();
    let share = |model| counts.iter().map(|right| right[model]).sum::<usize>() as f64 / (total as f64).max(1.0);
    Ok((0..models.len()).map(share).collect())
}

/// The index of the largest score; ties go to the first.
pub(crate) fn best(scores: &[f32], excluded: Option<usize>) -> usize {
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
    fn best_is_the_first_largest_and_never_the_excluded_one() {
        assert_eq!(best(&[1.0, 3.0, 3.0], None), 1);
        assert_eq!(best(&[1.0, 3.0, 3.0], Some(1)), 2);
        assert_eq!(best(&[9.0, 1.0], Some(0)), 1);
    }
}
