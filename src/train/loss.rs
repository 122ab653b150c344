//! The losses of the head model and the label model. Query and support sentences are encoded in one batch.

use super::last_edges::LastEdges;
use super::rule_loss;
use super::sample::{EdgeAt, with_unknown_words};
use crate::config::{Aggregate, Basis, Config, HeadSupport, LabelSupport};
use crate::edge::{EdgeModel, States};
use crate::encoder::{Batch, Numbered, Vocabulary};
use crate::error::{Error, Result};
use crate::ops::Segments;
use crate::ops::cross_entropy::{Choice, cross_entropy};
use crate::random::Random;
use crate::support::gold_edges;
use crate::task::Task;
use candle_core::{DType, Tensor};

/// The data that a loss needs besides the model: the whole training set, from which support is drawn.
pub(super) struct TrainingSet<'a> {
    /// The sizes and the sampling settings.
    pub config: &'a Config,
    /// The vocabulary.
    pub vocabulary: &'a Vocabulary,
    /// All training sentences.
    pub sentences: &'a [Numbered],
    /// All training edges by label; empty for the head model.
    pub by_label: &'a [Vec<EdgeAt>],
}

/// The sentences of one step, packed: query sentences, then support sentences of heads, then support sentences of
/// labels.
struct TrainingBatch<'a> {
    sentences: &'a [Numbered],
    batch: Batch,
    /// The number of query sentences.
    queries: usize,
    /// The end of the support sentences of the head model.
    heads_end: usize,
    /// The drawn support edge in each of the sentences after these, with its label.
    drawn: Vec<(u32, EdgeAt)>,
    /// Labels whose support is the stored last edge.
    remembered: Vec<u32>,
}

impl TrainingSet<'_> {
    /// The sum of the mean losses of these models on the query sentences. Several models must share an encoder, which
    /// then runs once.
    pub(super) fn loss(
        &self,
        models: &[(Task, &EdgeModel)],
        query: &[usize],
        memory: &mut LastEdges,
        random: &mut Random,
    ) -> Result<Tensor> {
        let Some((_, first)) = models.first() else { return Err(Error::Training { message: "no model".to_string() }) };
        let by_weights = self.config.system.learning == Basis::Weights;
        let learns = |task: Task| !by_weights && models.iter().any(|&(of, _)| of == task);
        let sampled = learns(Task::Heads) && self.config.head_support == HeadSupport::Sampled;
        let supports = if sampled { self.config.support_sentences } else { 0 };
        let support: Vec<usize> = (0..supports).map(|_| random.below(self.sentences.len())).collect();
        let needy = if learns(Task::Labels) { self.needy_labels(query) } else { Vec::new() };
        let remembers =
            |&label: &u32| self.config.label_support == LabelSupport::Memory && memory.knows(label as usize);
        let (remembered, needy): (Vec<u32>, Vec<u32>) = needy.into_iter().partition(remembers);
        let drawn = self.drawn_edges(&needy, random);
        let drawn_sentences: Vec<usize> = drawn.iter().map(|&(_, (sentence, _))| sentence as usize).collect();
        let sentences = self.prepared(query.iter().chain(&support).chain(&drawn_sentences), random);
        let batch = Batch::new(&sentences.iter().collect::<Vec<_>>());
        let encoded = first.encoder().states(&batch, Some(random))?;
        let (queries, heads_end) = (query.len(), query.len() + supports);
        let training_batch = TrainingBatch { sentences: &sentences, batch, queries, heads_end, drawn, remembered };
        let mut sum: Option<Tensor> = None;
        for &(task, model) in models {
            let states = model.sides(&encoded)?;
            let loss = match task {
                Task::Heads => self.head_loss(model, states, &training_batch)?,
                Task::Labels => self.label_loss(model, &states, &training_batch, memory)?,
            };
            sum = Some(sum.map_or(Ok(loss.clone()), |sum| sum + &loss)?);
        }
        sum.ok_or_else(|| Error::Training { message: "no model".to_string() })
    }

    /// The mean loss of the head decisions of the query sentences.
    fn head_loss(&self, model: &EdgeModel, states: States, training_batch: &TrainingBatch) -> Result<Tensor> {
        let TrainingBatch { batch, queries, heads_end, .. } = training_batch;
        let sentences: Vec<&Numbered> = training_batch.sentences[..*heads_end].iter().collect();
        let first_rows = batch.first_rows();
        let rows = match model.weight_rows()? {
            Some(weights) => weights,
            None => {
                let support = match self.config.head_support {
                    HeadSupport::Sampled => *queries..*heads_end,
                    HeadSupport::Batch => 0..*queries,
                };
                let (dependents, heads, _) = gold_edges(&sentences[support.clone()], &first_rows[support]);
                model.edge_rows(&states, &dependents, &heads)?
            }
        };
        let support = match self.config.aggregate {
            Aggregate::Mean => rows.mean(0)?,
            Aggregate::Sum => rows.sum(0)?,
        };
        let segments = Segments::new(batch.segments.lengths()[..*queries].to_vec());
        let states = States {
            dependent: states.dependent.narrow(0, 0, segments.rows())?,
            head: states.head.narrow(0, 0, segments.rows())?,
        };
        let scores = model.candidate_scores(&states, &segments, &support)?;
        let sentences = &sentences[..*queries];
        let loss = cross_entropy(&scores, head_choices(sentences))?;
        let rule = self.config.rule.of(Task::Heads);
        if rule.is_linear() {
            return Ok(loss);
        }
        let scores: Vec<f32> = scores.to_dtype(DType::F32)?.to_vec1()?;
        let support = rule_loss::Support { rows: &rows, own: self.config.head_support == HeadSupport::Batch };
        let second = rule_loss::head_loss(rule, model, &states, sentences, &scores, support)?;
        match second {
            Some(second) => Ok((loss + second)?),
            None => Ok(loss),
        }
    }

    /// The mean loss of the label decisions on the gold edges of the query sentences.
    fn label_loss(
        &self,
        model: &EdgeModel,
        states: &States,
        training_batch: &TrainingBatch,
        memory: &mut LastEdges,
    ) -> Result<Tensor> {
        let TrainingBatch { sentences, batch, queries, heads_end, drawn, remembered } = training_batch;
        let labels = self.vocabulary.labels().len();
        let weights = model.weight_rows()?;
        let first_rows = batch.first_rows();
        let (dependents, heads, gold) = gold_edges(&sentences[..*queries].iter().collect::<Vec<_>>(), &first_rows);
        let rows = model.edge_rows(states, &dependents, &heads)?;
        let drawn_rows = || -> Result<Tensor> {
            let place = |at: usize, position: usize| (first_rows[heads_end + at] + position) as u32;
            let words = drawn.iter().map(|&(_, (_, word))| word as usize).enumerate();
            let (dependents, heads): (Vec<u32>, Vec<u32>) =
                words.map(|(at, word)| (place(at, word), place(at, sentences[heads_end + at].heads[word]))).unzip();
            model.edge_rows(states, &dependents, &heads)
        };
        let mut others = Vec::new();
        if !drawn.is_empty() {
            others.push(drawn_rows()?);
        }
        if !remembered.is_empty() {
            others.push(memory.recall(remembered, &rows)?);
        }
        let drawn_rows = if others.is_empty() { None } else { Some(Tensor::cat(&others, 0)?) };
        let drawn_labels: Vec<u32> = drawn.iter().map(|&(label, _)| label).chain(remembered.iter().copied()).collect();
        if self.config.label_support == LabelSupport::Memory {
            memory.see(&rows, &gold, labels)?;
        }
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
        let rule = self.config.rule.of(Task::Labels);
        if rule.is_linear() {
            return Ok(loss);
        }
        let drawn = drawn_rows.as_ref().map(|rows| (rows, drawn_labels.as_slice()));
        let second = rule_loss::label_loss(rule, model, &rows, &gold, drawn)?;
        match second {
            Some(second) => Ok((loss + second)?),
            None => Ok(loss),
        }
    }

    /// Labels that need support from outside the batch: all, or only those with fewer than two edges in the batch,
    /// because an edge is never its own support.
    fn needy_labels(&self, query: &[usize]) -> Vec<u32> {
        let mut counts = vec![0; self.by_label.len()];
        if self.config.label_support != LabelSupport::Sampled {
            for &label in query.iter().flat_map(|&s| &self.sentences[s].labels[1..]) {
                counts[label as usize] += 1;
            }
        }
        (0..self.by_label.len()).filter(|&label| counts[label] < 2).map(|label| label as u32).collect()
    }

    /// Draws a support edge for each of these labels.
    fn drawn_edges(&self, labels: &[u32], random: &mut Random) -> Vec<(u32, EdgeAt)> {
        let mut draw = |&label: &u32| {
            let edges = &self.by_label[label as usize];
            (label, edges[random.below(edges.len())])
        };
        labels.iter().map(&mut draw).collect()
    }

    fn prepared<'s>(&self, chosen: impl Iterator<Item = &'s usize>, random: &mut Random) -> Vec<Numbered> {
        let rate = self.config.word_dropout;
        chosen.map(|&s| with_unknown_words(&self.sentences[s], rate, self.vocabulary, random)).collect()
    }
}

/// Scores `[edges, labels]` of the edges of a batch against the mean of each label's edges in the batch and of the
/// drawn edges. Each edge is left out of its own label's mean.
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
    // If s is the score against the mean of all n edges, the score without the edge itself is (n s - itself) / (n - 1).
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

/// One choice per word: its gold head among all positions except itself.
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
