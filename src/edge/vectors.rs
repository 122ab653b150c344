//! Computes the edge vectors of many whole sentences in batches.

use super::EdgeModel;
use crate::encoder::{Batch, Numbered, length_batches};
use crate::error::Result;
use rayon::prelude::*;

/// For each model, the vectors of the edges from every word to its head in `heads`, one flat list per sentence. Batches
/// are encoded in parallel, and only once for all models if they have a `shared` encoder. The models should be
/// [frozen](EdgeModel::frozen).
pub(crate) fn edge_vectors(
    models: &[&EdgeModel],
    shared: bool,
    sentences: &[Numbered],
    heads: &[&[usize]],
) -> Result<Vec<Vec<Vec<f32>>>> {
    let batches = length_batches(sentences);
    let encode = |batch: &Vec<usize>| -> Result<Vec<Vec<f32>>> {
        let chosen: Vec<&Numbered> = batch.iter().map(|&s| &sentences[s]).collect();
        let packed = Batch::new(&chosen);
        let (mut dependents, mut head_rows) = (Vec::new(), Vec::new());
        for ((first, length), &s) in packed.segments.ranges().zip(batch) {
            dependents.extend((1..length).map(|word| (first + word) as u32));
            head_rows.extend((1..length).map(|word| (first + heads[s][word]) as u32));
        }
        let mut encoded = None;
        let mut vectors = Vec::with_capacity(models.len());
        for model in models {
            let states = match encoded.take().filter(|_| shared) {
                Some(states) => states,
                None => model.encoder().states(&packed, None)?,
            };
            let rows = model.edge_rows(&model.sides(&states)?, &dependents, &head_rows)?;
            vectors.push(rows.flatten_all()?.to_vec1::<f32>()?);
            encoded = Some(states);
        }
        Ok(vectors)
    };
    let encoded: Result<Vec<Vec<Vec<f32>>>> = batches.par_iter().map(encode).collect();
    let mut vectors = vec![vec![Vec::new(); sentences.len()]; models.len()];
    for (batch, encoded) in batches.iter().zip(encoded?) {
        for ((vectors, model), encoded) in vectors.iter_mut().zip(models).zip(encoded) {
            let mut rest = encoded.as_slice();
            for &s in batch {
                let (own, after) = rest.split_at((sentences[s].len() - 1) * model.dims());
                vectors[s] = own.to_vec();
                rest = after;
            }
        }
    }
    Ok(vectors)
}
