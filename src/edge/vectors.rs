//! Computes the edge vectors of many whole sentences in batches, and those of the hardest wrong heads of their words.

use super::{EdgeModel, States};
use crate::encoder::{Batch, Numbered, length_batches};
use crate::error::Result;
use crate::ops::Segments;
use candle_core::Tensor;
use rayon::prelude::*;

/// How the hardest wrong heads are found: by the score against one support row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rivals<'a> {
    /// The support row `[dims]` of the first model.
    pub support: &'a Tensor,
    /// The number of wrong heads per word. A short sentence has fewer.
    pub per_word: usize,
}

/// The hardest wrong heads of a sentence's words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rejected {
    /// Dependent and wrong head, by dependent, hardest first.
    pub edges: Vec<(u32, u32)>,
    /// Their vectors under the first model, one after another.
    pub rows: Vec<f32>,
}

/// For each model and each sentence, the vectors of its edges, one after another.
type Vectors = Vec<Vec<Vec<f32>>>;

/// What a batch of sentences gives: for each model the vectors of its edges, and the hardest wrong heads.
type EncodedBatch = (Vec<Vec<f32>>, Vec<Rejected>);

/// For each model, the vectors of the edges from every word to its head in `heads`, one flat list per sentence. Batches
/// are encoded in parallel, and only once for all models if they have a `shared` encoder. The models should be
/// [frozen](EdgeModel::frozen).
pub(crate) fn edge_vectors(
    models: &[&EdgeModel],
    shared: bool,
    sentences: &[Numbered],
    heads: &[&[usize]],
) -> Result<Vectors> {
    Ok(edges_and_rivals(models, shared, sentences, heads, None)?.0)
}

/// As [`edge_vectors`], with the hardest wrong heads of every word under the first model, if asked for.
pub(crate) fn edges_and_rivals(
    models: &[&EdgeModel],
    shared: bool,
    sentences: &[Numbered],
    heads: &[&[usize]],
    rivals: Option<Rivals<'_>>,
) -> Result<(Vectors, Vec<Rejected>)> {
    let batches = length_batches(sentences);
    let encode = |batch: &Vec<usize>| -> Result<EncodedBatch> {
        let chosen: Vec<&Numbered> = batch.iter().map(|&s| &sentences[s]).collect();
        let packed = Batch::new(&chosen);
        let (mut dependents, mut head_rows) = (Vec::new(), Vec::new());
        for ((first, length), &s) in packed.segments.ranges().zip(batch) {
            dependents.extend((1..length).map(|word| (first + word) as u32));
            head_rows.extend((1..length).map(|word| (first + heads[s][word]) as u32));
        }
        let mut encoded = None;
        let mut vectors = Vec::with_capacity(models.len());
        let mut rejected = Vec::new();
        for (at, model) in models.iter().enumerate() {
            let states = match encoded.take().filter(|_| shared) {
                Some(states) => states,
                None => model.encoder().states(&packed, None)?,
            };
            let sides = model.sides(&states)?;
            let rows = model.edge_rows(&sides, &dependents, &head_rows)?;
            vectors.push(rows.flatten_all()?.to_vec1::<f32>()?);
            if let Some(rivals) = rivals.filter(|_| at == 0) {
                let gold: Vec<&[usize]> = batch.iter().map(|&s| heads[s]).collect();
                rejected = hardest(model, &sides, &packed.segments, &gold, rivals)?;
            }
            encoded = Some(states);
        }
        Ok((vectors, rejected))
    };
    let encoded: Result<Vec<EncodedBatch>> = batches.par_iter().map(encode).collect();
    let mut vectors = vec![vec![Vec::new(); sentences.len()]; models.len()];
    let mut all_rejected = vec![Rejected::default(); sentences.len()];
    for (batch, (encoded, rejected)) in batches.iter().zip(encoded?) {
        for ((vectors, model), encoded) in vectors.iter_mut().zip(models).zip(encoded) {
            let mut rest = encoded.as_slice();
            for &s in batch {
                let (own, after) = rest.split_at((sentences[s].len() - 1) * model.dims());
                vectors[s] = own.to_vec();
                rest = after;
            }
        }
        batch.iter().zip(rejected).for_each(|(&s, rejected)| all_rejected[s] = rejected);
    }
    Ok((vectors, all_rejected))
}

/// The wrong heads with the highest scores, for every word of every sentence of a batch. Ties go to the first.
fn hardest(
    model: &EdgeModel,
    states: &States,
    segments: &Segments,
    gold: &[&[usize]],
    rivals: Rivals<'_>,
) -> Result<Vec<Rejected>> {
    let scores = model.candidate_scores(states, segments, rivals.support)?.to_vec1::<f32>()?;
    let mut rest = scores.as_slice();
    let (mut dependents, mut head_rows, mut rejected) = (Vec::new(), Vec::new(), Vec::new());
    for ((first, length), gold) in segments.ranges().zip(gold) {
        let (own, after) = rest.split_at((length - 1) * length);
        rest = after;
        let mut edges = Vec::new();
        for (row, word) in own.chunks_exact(length.max(1)).zip(1..) {
            for head in best_wrong_heads(row, word, gold[word], rivals.per_word) {
                edges.push((word as u32, head as u32));
                dependents.push((first + word) as u32);
                head_rows.push((first + head) as u32);
            }
        }
        rejected.push(Rejected { edges, rows: Vec::new() });
    }
    if dependents.is_empty() {
        return Ok(rejected);
    }
    let rows = model.edge_rows(states, &dependents, &head_rows)?.flatten_all()?.to_vec1::<f32>()?;
    let mut rest = rows.as_slice();
    for own in &mut rejected {
        let (rows, after) = rest.split_at(own.edges.len() * model.dims());
        own.rows = rows.to_vec();
        rest = after;
    }
    Ok(rejected)
}

/// The heads of a word with the highest scores, other than the word itself and its gold head.
pub(crate) fn best_wrong_heads(scores: &[f32], word: usize, gold: usize, count: usize) -> Vec<usize> {
    let mut heads: Vec<usize> = (0..scores.len()).filter(|&head| head != word && head != gold).collect();
    let order = |&a: &usize, &b: &usize| scores[b].total_cmp(&scores[a]).then(a.cmp(&b));
    if heads.len() > count {
        heads.select_nth_unstable_by(count, order);
        heads.truncate(count);
    }
    heads.sort_unstable_by(order);
    heads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_heads_are_neither_the_word_nor_its_head_and_the_hardest_come_first() {
        let scores = [3.0, 9.0, 8.0, 3.0, 5.0];
        assert_eq!(best_wrong_heads(&scores, 1, 2, 2), [4, 0]);
        assert_eq!(best_wrong_heads(&scores, 1, 2, 9), [4, 0, 3]);
        assert_eq!(best_wrong_heads(&[1.0, 2.0], 1, 0, 2), [0usize; 0]);
    }
}
