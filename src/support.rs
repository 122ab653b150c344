//! The support set as summed vectors, which fast mode compares candidate edges with.

use crate::config::Aggregate;
use crate::edge::EdgeModel;
use crate::encoder::{Batch, Numbered, length_batches};
use crate::error::Result;
use crate::task::Task;
use candle_core::{Device, Tensor};
use citree_index::sums::Sums;
use rayon::prelude::*;

/// Batches encoded before their rows are summed; bounds the memory.
const BATCHES: usize = 32;

/// The gold edges of a batch in plain rows: dependents, heads, labels.
pub(crate) fn gold_edges(sentences: &[&Numbered], first_rows: &[usize]) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let (mut dependents, mut heads, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for (sentence, &first) in sentences.iter().zip(first_rows) {
        for word in 1..sentence.len() {
            dependents.push((first + word) as u32);
            heads.push((first + sentence.heads[word]) as u32);
            labels.push(sentence.labels[word]);
        }
    }
    (dependents, heads, labels)
}

/// Encodes every gold edge and adds it to the sum of its class, for each model. Several models must share an encoder,
/// which then runs once.
pub(crate) fn support_sums(models: &[(Task, &EdgeModel)], sentences: &[&Numbered], labels: usize) -> Result<Vec<Sums>> {
    let models: Result<Vec<(Task, EdgeModel)>> =
        models.iter().map(|&(task, model)| Ok((task, model.frozen()?))).collect();
    let models = models?;
    let Some((_, first)) = models.first() else { return Ok(Vec::new()) };
    let mut sums: Vec<Sums> =
        models.iter().map(|(task, model)| Sums::new(task.classes(labels), model.dims())).collect();
    let encode = |batch: &Vec<usize>| -> Result<(Vec<Vec<f32>>, Vec<u32>)> {
        let chosen: Vec<&Numbered> = batch.iter().map(|&s| sentences[s]).collect();
        let batch = Batch::new(&chosen);
        let (dependents, heads, labels) = gold_edges(&chosen, &batch.first_rows());
        let encoded = first.encoder().states(&batch, None)?;
        let rows = |(_, model): &(Task, EdgeModel)| -> Result<Vec<f32>> {
            Ok(model.edge_rows(&model.sides(&encoded)?, &dependents, &heads)?.flatten_all()?.to_vec1::<f32>()?)
        };
        Ok((models.iter().map(rows).collect::<Result<_>>()?, labels))
    };
    for batches in length_batches(sentences).chunks(BATCHES) {
        let encoded: Result<Vec<_>> = batches.par_iter().map(encode).collect();
        for (values, labels) in encoded? {
            for (((task, model), sums), values) in models.iter().zip(&mut sums).zip(values) {
                for (row, &label) in values.chunks_exact(model.dims()).zip(&labels) {
                    sums.add(if *task == Task::Heads { 0 } else { label as usize }, row);
                }
            }
        }
    }
    Ok(sums)
}

/// The rows `[classes, dims]` that candidates are compared with.
pub(crate) fn support_rows(sums: &Sums, aggregate: Aggregate, device: &Device) -> Result<Tensor> {
    let values = match aggregate {
        Aggregate::Mean => sums.means(),
        Aggregate::Sum => sums.sums().to_vec(),
    };
    let values: Vec<f32> = values.into_iter().map(|v| v as f32).collect();
    Ok(Tensor::from_vec(values, (sums.counts().len(), sums.dims()), device)?)
}
