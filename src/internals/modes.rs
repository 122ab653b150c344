//! The scores of fast mode beside those of every training edge on its own, for tests of the paper's promise that both
//! decide the same.

use crate::bundle::Bundle;
use crate::config::Aggregate;
use crate::encoder::{Batch, Numbered};
use crate::error::Result;
use crate::model::Trained;
use crate::score::best;
use crate::support::gold_edges;
use crate::treebank::Sentence;
use candle_core::Tensor;

/// The scores of the alternatives of one choice, in both modes.
pub struct BothModes {
    /// By the summed support.
    pub fast: Vec<f32>,
    /// By every training edge on its own.
    pub explained: Vec<f32>,
    /// The alternative that cannot be chosen: a word is not its own head.
    excluded: Option<usize>,
}

impl BothModes {
    /// The alternatives that fast mode and explainable mode choose.
    pub fn chosen(&self) -> [usize; 2] {
        [&self.fast, &self.explained].map(|scores| best(scores, self.excluded))
    }
}

/// The scores of every head for every word of `dev`. The support is the mean of the gold edges of `train`.
pub fn heads_in_both_modes(bundle: &Bundle, train: &[Sentence], dev: &[Sentence]) -> Result<Vec<BothModes>> {
    let trained = &bundle.model().heads;
    let (rows, _) = support(trained, &numbered(bundle, train)?)?;
    let scorer = trained.scorer(Aggregate::Mean, bundle.device())?;
    let mut choices = Vec::new();
    for sentence in &numbered(bundle, dev)? {
        let batch = Batch::new(&[sentence]);
        let fast = scorer.head_scores(&scorer.encode(&batch)?)?;
        let states = trained.edges.sides(&trained.edges.encoder().states(&batch, None)?)?;
        let heads: Vec<u32> = (0..sentence.len() as u32).collect();
        for (fast, word) in fast.chunks_exact(heads.len()).zip(1..) {
            let candidates = trained.edges.edge_rows(&states, &vec![word as u32; heads.len()], &heads)?;
            let explained = trained.edges.class_scores(&candidates, &rows)?.mean(1)?.to_vec1::<f32>()?;
            choices.push(BothModes { fast: fast.to_vec(), explained, excluded: Some(word) });
        }
    }
    Ok(choices)
}

/// The scores of every label for every gold edge of `dev`. The support is the gold edges of `train`.
pub fn labels_in_both_modes(
    bundle: &Bundle,
    aggregate: Aggregate,
    train: &[Sentence],
    dev: &[Sentence],
) -> Result<Vec<BothModes>> {
    let trained = &bundle.model().labels;
    let (rows, labels) = support(trained, &numbered(bundle, train)?)?;
    let classes = bundle.model().tables.vocabulary.labels().len();
    let scorer = trained.scorer(aggregate, bundle.device())?;
    let mut choices = Vec::new();
    for sentence in &numbered(bundle, dev)? {
        let batch = Batch::new(&[sentence]);
        let fast = scorer.label_scores(&scorer.encode(&batch)?, &[&sentence.heads])?;
        let states = trained.edges.sides(&trained.edges.encoder().states(&batch, None)?)?;
        let (dependents, heads, _) = gold_edges(&[sentence], &[0]);
        let edges = trained.edges.edge_rows(&states, &dependents, &heads)?;
        let similarities = trained.edges.class_scores(&edges, &rows)?.to_vec2::<f32>()?;
        for (similarities, fast) in similarities.iter().zip(fast.chunks_exact(classes)) {
            let (mut sums, mut counts) = (vec![0.0_f64; classes], vec![0.0_f64; classes]);
            for (similarity, &label) in similarities.iter().zip(&labels) {
                sums[label as usize] += f64::from(*similarity);
                counts[label as usize] += 1.0;
            }
            if aggregate == Aggregate::Mean {
                sums.iter_mut().zip(&counts).for_each(|(sum, count)| *sum /= count);
            }
            let explained = sums.into_iter().map(|score| score as f32).collect();
            choices.push(BothModes { fast: fast.to_vec(), explained, excluded: None });
        }
    }
    Ok(choices)
}

fn numbered(bundle: &Bundle, sentences: &[Sentence]) -> Result<Vec<Numbered>> {
    let model = bundle.model();
    model.pretrained.number(&model.tables.vocabulary, sentences)
}

/// The vectors of all gold edges of the training set, one by one, with their labels.
fn support(trained: &Trained, train: &[Numbered]) -> Result<(Tensor, Vec<u32>)> {
    let sentences: Vec<&Numbered> = train.iter().collect();
    let batch = Batch::new(&sentences);
    let (dependents, heads, labels) = gold_edges(&sentences, &batch.first_rows());
    let states = trained.edges.sides(&trained.edges.encoder().states(&batch, None)?)?;
    Ok((trained.edges.edge_rows(&states, &dependents, &heads)?, labels))
}
