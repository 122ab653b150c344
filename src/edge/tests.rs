//! Tests of edge vectors and scores: PyTorch's values and gradients, and finite differences from words to loss.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::config::{Preset, System};
use crate::encoder::{Batch, Numbered, Pretrained, Vocabulary};
use crate::ops::cross_entropy::{Choice, cross_entropy};
use crate::ops::gradcheck::assert_close;
use crate::ops::reference_tests::{Reference, assert_loss_gradients, variable};
use crate::random::Random;
use crate::treebank::Sentence;
use candle_core::{DType, Var};

const LABELS: usize = 3;

impl EdgeModel {
    /// Encodes a batch, with dropout if a generator is given.
    pub(crate) fn states(&self, batch: &Batch, training: Option<&mut Random>) -> Result<States> {
        self.sides(&self.encoder.states(batch, training)?)
    }
}

/// Gold trees in plain rows. The last sentence is the support; all others are queries.
struct Gold {
    lengths: Vec<usize>,
    heads: Vec<Vec<usize>>,
    labels: Vec<Vec<usize>>,
}

impl Gold {
    /// The dependent rows and head rows of the gold edges of some sentences.
    fn rows(&self, sentences: std::ops::Range<usize>) -> (Vec<u32>, Vec<u32>) {
        let (mut dependents, mut heads) = (Vec::new(), Vec::new());
        let segments = Segments::new(self.lengths.clone());
        for (s, (first, length)) in segments.ranges().enumerate().filter(|(s, _)| sentences.contains(s)) {
            dependents.extend((1..length).map(|word| (first + word) as u32));
            heads.extend(self.heads[s].iter().map(|&head| (first + head) as u32));
        }
        (dependents, heads)
    }

    fn queries(&self) -> usize {
        self.lengths.len() - 1
    }

    /// Scores of the queries' candidate heads against `support` or the mean support edge, and the loss.
    fn heads_loss(&self, model: &EdgeModel, states: &States, support: Option<Tensor>) -> Result<[Tensor; 2]> {
        let (dependents, heads) = self.rows(self.queries()..self.lengths.len());
        let mean = || -> Result<Tensor> { Ok(model.edge_rows(states, &dependents, &heads)?.mean(0)?) };
        let support = support.map_or_else(mean, Ok)?;
        let segments = Segments::new(self.lengths[..self.queries()].to_vec());
        let queries = |t: &Tensor| t.narrow(0, 0, segments.rows());
        let states = States { dependent: queries(&states.dependent)?, head: queries(&states.head)? };
        let scores = model.candidate_scores(&states, &segments, &support)?;
        let mut choices = Vec::new();
        let mut start = 0;
        for (heads, &width) in self.heads[..self.queries()].iter().zip(&self.lengths) {
            for (index, &gold) in heads.iter().enumerate() {
                choices.push(Choice { start, width, gold, excluded: Some(index + 1) });
                start += width;
            }
        }
        let loss = cross_entropy(&scores, choices)?;
        Ok([scores, loss])
    }

    /// Scores of the labels of the queries' gold edges against `support` or one support edge per label, and the loss.
    fn labels_loss(&self, model: &EdgeModel, states: &States, support: Option<Tensor>) -> Result<[Tensor; 2]> {
        let edge_rows = |sentences| {
            let (dependents, heads) = self.rows(sentences);
            model.edge_rows(states, &dependents, &heads)
        };
        let support = support.map_or_else(|| edge_rows(self.queries()..self.lengths.len()), Ok)?;
        let scores = model.class_scores(&edge_rows(0..self.queries())?, &support)?;
        let gold = self.labels[..self.queries()].concat().into_iter().enumerate();
        let choices =
            gold.map(|(row, gold)| Choice { start: row * LABELS, width: LABELS, gold, excluded: None }).collect();
        let loss = cross_entropy(&scores, choices)?;
        Ok([scores, loss])
    }
}

/// A tiny model in double precision over the words of four sentences, with those sentences.
fn tiny(system: &str, classes: Option<usize>) -> (EdgeModel, Parameters, Vec<Numbered>) {
    let system: System = system.parse().unwrap();
    let config = Config {
        system,
        word_dim: 2,
        char_dim: 2,
        char_filters: 2,
        lstm_units: 2,
        edge_dim: 4,
        ..Config::preset(Preset::Paper)
    };
    let texts = ["cats saw dogs", "yes", "the dogs saw cats", "dogs saw cats"];
    let sentences = texts.map(|text| Sentence::from_forms(text.split(' ')));
    let vocabulary = Vocabulary::new(&sentences, 1);
    let mut parameters = Parameters::double_precision();
    let none = Pretrained::default();
    let encoder = Encoder::new(&config, &vocabulary, &none, &mut parameters, &Device::Cpu).unwrap();
    let model = EdgeModel::new(&config, encoder, classes, &mut parameters, &Device::Cpu).unwrap();
    (model, parameters, sentences.iter().map(|s| vocabulary.number(s)).collect())
}

fn reference() -> (Reference, Gold) {
    let reference = Reference::new(include_str!("../../tools/reference/values/edges.json"));
    let (lengths, heads, labels) = (reference.plain("lengths"), reference.plain("heads"), reference.plain("labels"));
    (reference, Gold { lengths, heads, labels })
}

#[test]
fn scores_losses_and_gradients_by_dot_and_cosine_match_pytorch() -> Result<()> {
    let (reference, gold) = reference();
    for (system, similarity) in [("IId", "dot"), ("IIc", "cosine")] {
        for task in ["heads", "labels"] {
            let [dependent, head] = ["dependent", "head"].map(|name| variable(&reference.tensor(name), DType::F64));
            // PyTorch stores weights output by input, we store them input by output.
            let transform = variable(&reference.tensor("transform").t()?, DType::F64);
            let (mut model, ..) = tiny(system, None);
            model.transform = transform.as_tensor().clone();
            assert_eq!(model.scale, reference.plain::<f64>("scale"));
            let states = States { dependent: dependent.as_tensor().clone(), head: head.as_tensor().clone() };
            let [scores, loss] = match task {
                "heads" => gold.heads_loss(&model, &states, None)?,
                _ => gold.labels_loss(&model, &states, None)?,
            };
            let expected = |name: &str| reference.tensor(&format!("{similarity}.{task}.{name}"));
            assert_close(&scores, &expected("scores"), 1e-10)?;
            assert_close(&loss, &expected("loss"), 1e-10)?;
            let grads = loss.backward()?;
            let grad = |var: &Var| grads.get(var).unwrap().clone();
            assert_close(&grad(&dependent), &expected("grad.dependent"), 1e-8)?;
            assert_close(&grad(&head), &expected("grad.head"), 1e-8)?;
            assert_close(&grad(&transform), &expected("grad.transform").t()?, 1e-8)?;
        }
    }
    Ok(())
}

#[test]
fn gradients_from_words_to_both_losses_are_right_for_weights_and_instances_by_dot_and_cosine() -> Result<()> {
    let (_, gold) = reference();
    for system in ["WWd", "WWc", "IId", "IIc"] {
        for (task, classes) in [("heads", 1), ("labels", LABELS)] {
            let (model, parameters, sentences) = tiny(system, system.starts_with('W').then_some(classes));
            let batch = Batch::new(&sentences.iter().collect::<Vec<_>>());
            assert_eq!(batch.segments.lengths(), gold.lengths);
            let loss = || {
                let states = model.states(&batch, None)?;
                let weights = model.weight_rows()?;
                let [_, loss] = match task {
                    "heads" => gold.heads_loss(&model, &states, weights.map(|rows| rows.get(0)).transpose()?)?,
                    _ => gold.labels_loss(&model, &states, weights)?,
                };
                Ok(loss)
            };
            assert_loss_gradients(parameters.iter(), loss, 1e-7)?;
        }
    }
    Ok(())
}
