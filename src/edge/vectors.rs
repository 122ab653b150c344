//! Edge vectors of whole sentences, many at a time.

use super::EdgeModel;
use crate::encoder::{Batch, Numbered, length_batches};
use crate::error::Result;
use rayon::prelude::*;

/// The vectors of the edges from every word to its head in `heads`, one flat list a sentence; the batches are encoded
/// in parallel. The model should be [frozen](EdgeModel::frozen).
pub fn edge_vectors(model: &EdgeModel, sentences: &[Numbered], heads: &[&[usize]]) -> Result<Vec<Vec<f32>>> {
    let batches = length_batches(sentences);
    let encoded: Result<Vec<Vec<f32>>> = batches
        .par_iter()
        .map(|batch| {
            let chosen: Vec<&Numbered> = batch.iter().map(|&s| &sentences[s]).collect();
            let packed = Batch::new(&chosen);
            let (mut dependents, mut head_rows) = (Vec::new(), Vec::new());
            for ((first, length), &s) in packed.segments.ranges().zip(batch) {
                dependents.extend((1..length).map(|word| (first + word) as u32));
                head_rows.extend((1..length).map(|word| (first + heads[s][word]) as u32));
            }
            let rows = model.edge_rows(&model.states(&packed, None)?, &dependents, &head_rows)?;
            Ok(rows.flatten_all()?.to_vec1::<f32>()?)
        })
        .collect();
    let mut vectors = vec![Vec::new(); sentences.len()];
    for (batch, encoded) in batches.iter().zip(encoded?) {
        let mut rest = encoded.as_slice();
        for &s in batch {
            let (own, after) = rest.split_at((sentences[s].len() - 1) * model.dims());
            vectors[s] = own.to_vec();
            rest = after;
        }
    }
    Ok(vectors)
}
