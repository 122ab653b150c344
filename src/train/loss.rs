//! The two losses, each with query and support sentences encoded in one batch.

use super::sample::{EdgeAt, batch_support, with_unknown_words};
use crate::config::{Aggregate, Config, LabelSupport};
use crate::edge::EdgeModel;
use crate::encoder::{Batch, Numbered, States, Vocabulary};
use crate::error::Result;
use crate::ops::Segments;
use crate::ops::cross_entropy::{Choice, cross_entropy};
use crate::random::Random;
use crate::support::gold_edges;
use candle_core::Tensor;

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
        let support = match weights {
            Some(weights) => weights.get(0)?,
            None => {
                let (dependents, heads, _) = gold_edges(&sentences[query.len()..], &first_rows[query.len()..]);
                let rows = model.edge_rows(&states, &dependents, &heads)?;
                match self.config.aggregate {
                    Aggregate::Mean => rows.mean(0)?,
                    Aggregate::Sum => rows.sum(0)?,
                }
            }
        };
        let segments = Segments::new(batch.segments.lengths()[..query.len()].to_vec());
        let states = States {
            dependent: states.dependent.narrow(0, 0, segments.rows())?,
            head: states.head.narrow(0, 0, segments.rows())?,
        };
        let scores = model.candidate_scores(&states, &segments, &support)?;
        Ok(cross_entropy(&scores, head_choices(&sentences[..query.len()]))?)
    }

    /// The mean loss of the label decisions on the gold edges of the query sentences.
    pub fn label_loss(&self, model: &EdgeModel, query: &[usize], random: &mut Random) -> Result<Tensor> {
        let labels = self.vocabulary.labels().len();
        let weights = model.weight_rows()?;
        let mut support: Vec<EdgeAt> = Vec::new();
        let mut drawn: Vec<usize> = Vec::new();
        if weights.is_none() {
            let queries: Vec<&Numbered> = query.iter().map(|&s| &self.sentences[s]).collect();
            let from_batch = match self.config.label_support {
                LabelSupport::Batch => batch_support(&queries, labels, random),
                LabelSupport::Sampled => vec![None; labels],
            };
            for (label, in_batch) in from_batch.into_iter().enumerate() {
                support.push(in_batch.unwrap_or_else(|| {
                    let edges = &self.by_label[label];
                    let (sentence, word) = edges[random.below(edges.len())];
                    drawn.push(sentence as usize);
                    ((query.len() + drawn.len() - 1) as u32, word)
                }));
            }
        }
        let sentences = self.prepared(query.iter().chain(&drawn), random);
        let sentences: Vec<&Numbered> = sentences.iter().collect();
        let batch = Batch::new(&sentences);
        let first_rows = batch.first_rows();
        let states = model.states(&batch, Some(random))?;

        let support_rows = match weights {
            Some(weights) => weights,
            None => {
                let row = |s: u32, word: usize| (first_rows[s as usize] + word) as u32;
                let dependents: Vec<u32> = support.iter().map(|&(s, word)| row(s, word as usize)).collect();
                let heads: Vec<u32> =
                    support.iter().map(|&(s, word)| row(s, sentences[s as usize].heads[word as usize])).collect();
                model.edge_rows(&states, &dependents, &heads)?
            }
        };
        let (dependents, heads, gold) = self.query_edges(&sentences[..query.len()], &first_rows, &support);
        let rows = model.edge_rows(&states, &dependents, &heads)?;
        let scores = model.class_scores(&rows, &support_rows)?;
        let choice = |(row, &gold): (usize, &u32)| Choice {
            start: row * labels,
            width: labels,
            gold: gold as usize,
            excluded: None,
        };
        Ok(cross_entropy(&scores, gold.iter().enumerate().map(choice).collect())?)
    }

    /// The gold edges of the query sentences but for those that serve as support: an edge is no evidence for itself.
    fn query_edges(
        &self,
        queries: &[&Numbered],
        first_rows: &[usize],
        support: &[EdgeAt],
    ) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
        let (dependents, heads, labels) = gold_edges(queries, first_rows);
        let serving: Vec<u32> = support.iter().map(|&(s, word)| first_rows[s as usize] as u32 + word).collect();
        let kept: Vec<usize> = (0..dependents.len()).filter(|&e| !serving.contains(&dependents[e])).collect();
        let pick = |values: &[u32]| kept.iter().map(|&e| values[e]).collect();
        (pick(&dependents), pick(&heads), pick(&labels))
    }

    fn prepared<'s>(&self, chosen: impl Iterator<Item = &'s usize>, random: &mut Random) -> Vec<Numbered> {
        let rate = self.config.word_dropout;
        chosen.map(|&s| with_unknown_words(&self.sentences[s], rate, self.vocabulary, random)).collect()
    }
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
