//! The two losses, each with query and support sentences encoded in one batch.

use super::density;
use super::sample::{EdgeAt, with_unknown_words};
use crate::config::{Aggregate, Config, LabelSupport, Rule};
use crate::edge::EdgeModel;
use crate::encoder::{Batch, Numbered, States, Vocabulary};
use crate::error::Result;
use crate::ops::Segments;
use crate::ops::cross_entropy::{Choice, cross_entropy};
use crate::random::Random;
use crate::support::gold_edges;
use candle_core::{DType, Tensor};

/// What a loss needs beside the model: the whole training set to draw support from.
pub struct Material<'a> {
    /// Sizes and rules of sampling.
    pub config: &'a Config,
    /// The tables.
    pub vocabulary: &'a Vocabulary,
    /// All training sentences.
    pub sentences: &'a [Numbered],
    /// All training edges by label; empty for the head model.
    pub by_label: &'a [Vec<EdgeAt>],
}

impl Material<'_> {
    /// The mean loss of the head decisions of the query sentences.
    pub fn head_loss(&self, model: &EdgeModel, query: &[usize], random: &mut Random) -> Result<Tensor> {
        let weights = model.weight_rows()?;
        let supports = if weights.is_some() { 0 } else { self.config.support_sentences };
        let drawn = (0..supports).map(|_| random.below(self.sentences.len())).collect::<Vec<_>>();
        let sentences = self.prepared(query.iter().chain(&drawn), random);
        let sentences: Vec<&Numbered> = sentences.iter().collect();
        let batch = Batch::new(&sentences);
        let first_rows = batch.first_rows();
        let states = model.states(&batch, Some(random))?;
        let rows = match weights {
            Some(weights) => weights,
            None => {
                let (dependents, heads, _) = gold_edges(&sentences[query.len()..], &first_rows[query.len()..]);
                model.edge_rows(&states, &dependents, &heads)?
            }
        };
        let support = match self.config.aggregate {
            Aggregate::Mean => rows.mean(0)?,
            Aggregate::Sum => rows.sum(0)?,
        };
        let segments = Segments::new(batch.segments.lengths()[..query.len()].to_vec());
        let states = States {
            dependent: states.dependent.narrow(0, 0, segments.rows())?,
            head: states.head.narrow(0, 0, segments.rows())?,
        };
        let scores = model.candidate_scores(&states, &segments, &support)?;
        let sentences = &sentences[..query.len()];
        let loss = cross_entropy(&scores, head_choices(sentences))?;
        match self.config.rule {
            Rule::Sum => Ok(loss),
            Rule::Nca => {
                let scores = scores.to_dtype(DType::F32)?.to_vec1()?;
                Ok((loss + density::head_loss(model, &states, sentences, &scores, &rows)?)?)
            }
        }
    }

    /// The mean loss of the label decisions on the gold edges of the query sentences.
    pub fn label_loss(&self, model: &EdgeModel, query: &[usize], random: &mut Random) -> Result<Tensor> {
        let labels = self.vocabulary.labels().len();
        let weights = model.weight_rows()?;
        let drawn = if weights.is_some() { Vec::new() } else { self.drawn_edges(query, random) };
        let drawn_sentences: Vec<usize> = drawn.iter().map(|&(_, (sentence, _))| sentence as usize).collect();
        let sentences = self.prepared(query.iter().chain(&drawn_sentences), random);
        let sentences: Vec<&Numbered> = sentences.iter().collect();
        let batch = Batch::new(&sentences);
        let first_rows = batch.first_rows();
        let states = model.states(&batch, Some(random))?;

        let (dependents, heads, gold) = gold_edges(&sentences[..query.len()], &first_rows);
        let rows = model.edge_rows(&states, &dependents, &heads)?;
        let drawn_rows = || -> Result<Tensor> {
            let place = |at: usize, position: usize| (first_rows[query.len() + at] + position) as u32;
            let words = drawn.iter().map(|&(_, (_, word))| word as usize).enumerate();
            let (dependents, heads): (Vec<u32>, Vec<u32>) =
                words.map(|(at, word)| (place(at, word), place(at, sentences[query.len() + at].heads[word]))).unzip();
            model.edge_rows(&states, &dependents, &heads)
        };
        let drawn_rows = if drawn.is_empty() { None } else { Some(drawn_rows()?) };
        let drawn_labels: Vec<u32> = drawn.iter().map(|&(label, _)| label).collect();
        let scores = match (weights, &drawn_rows, self.config.label_support) {
            (Some(weights), ..) => model.class_scores(&rows, &weights)?,
            (None, Some(drawn), LabelSupport::Sampled) => model.class_scores(&rows, drawn)?,
            (None, drawn, _) => leave_one_out_scores(model, &rows, &gold, drawn.as_ref(), &drawn_labels, labels)?,
        };
        let choice = |(row, &gold): (usize, &u32)| Choice {
            start: row * labels,
            width: labels,
            gold: gold as usize,
            excluded: None,
        };
        let loss = cross_entropy(&scores, gold.iter().enumerate().map(choice).collect())?;
        match self.config.rule {
            Rule::Sum => Ok(loss),
            Rule::Nca => {
                let drawn = drawn_rows.as_ref().map(|rows| (rows, drawn_labels.as_slice()));
                Ok((loss + density::label_loss(model, &rows, &gold, drawn)?)?)
            }
        }
    }

    /// Support edges from outside the batch, with their labels: one for every label, or only for labels of which the
    /// batch has less than two, since an edge is no evidence for itself.
    fn drawn_edges(&self, query: &[usize], random: &mut Random) -> Vec<(u32, EdgeAt)> {
        let mut counts = vec![0; self.by_label.len()];
        if self.config.label_support == LabelSupport::Batch {
            for &label in query.iter().flat_map(|&s| &self.sentences[s].labels[1..]) {
                counts[label as usize] += 1;
            }
        }
        let draw = |(label, edges): (usize, &Vec<EdgeAt>)| (label as u32, edges[random.below(edges.len())]);
        self.by_label.iter().enumerate().filter(|&(label, _)| counts[label] < 2).map(draw).collect()
    }

    fn prepared<'s>(&self, chosen: impl Iterator<Item = &'s usize>, random: &mut Random) -> Vec<Numbered> {
        let rate = self.config.word_dropout;
        chosen.map(|&s| with_unknown_words(&self.sentences[s], rate, self.vocabulary, random)).collect()
    }
}

/// Scores `[edges, labels]` of the edges of a batch against the mean of each label's edges in that batch (and of those
/// drawn for it), each edge left out of its own label's mean.
fn leave_one_out_scores(
    model: &EdgeModel,
    rows: &Tensor,
    gold: &[u32],
    drawn_rows: Option<&Tensor>,
    drawn_labels: &[u32],
    labels: usize,
) -> Result<Tensor> {
    let edges = gold.len() + drawn_labels.len();
    let mut counts = vec![0_f32; labels];
    gold.iter().chain(drawn_labels).for_each(|&label| counts[label as usize] += 1.0);
    let mut membership = vec![0_f32; labels * edges];
    for (edge, &label) in gold.iter().chain(drawn_labels).enumerate() {
        membership[label as usize * edges + edge] = 1.0 / counts[label as usize];
    }
    // With the edge itself in the mean of n, the score is s; without it, (n s - itself) / (n - 1).
    let (mut factor, mut share) = (vec![1_f32; gold.len() * labels], vec![0_f32; gold.len() * labels]);
    for (edge, &label) in gold.iter().enumerate() {
        let n = counts[label as usize];
        factor[edge * labels + label as usize] = n / (n - 1.0);
        share[edge * labels + label as usize] = 1.0 / (n - 1.0);
    }
    let constant = |values: Vec<f32>, shape| Tensor::from_vec(values, shape, rows.device())?.to_dtype(rows.dtype());
    let support = match drawn_rows {
        Some(drawn) => Tensor::cat(&[rows, drawn], 0)?,
        None => rows.clone(),
    };
    let means = constant(membership, (labels, edges))?.matmul(&support)?;
    let with_itself = (model.class_scores(rows, &means)? * constant(factor, (gold.len(), labels))?)?;
    let itself = constant(share, (gold.len(), labels))?.broadcast_mul(&model.own_scores(rows)?)?;
    Ok((with_itself - itself)?)
}

/// One choice for every word: its gold head among all positions but itself.
fn head_choices(sentences: &[&Numbered]) -> Vec<Choice> {
    let mut start = 0;
    let mut choices = Vec::new();
    for sentence in sentences {
        for word in 1..sentence.len() {
            choices.push(Choice { start, width: sentence.len(), gold: sentence.heads[word], excluded: Some(word) });
            start += sentence.len();
        }
    }
    choices
}

#[cfg(test)]
mod tests;
