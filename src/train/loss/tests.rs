//! The losses as training uses them: right gradients for every way of learning, and all six systems do learn.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::config::{Basis, Preset, System};
use crate::encoder::Parameters;
use crate::model::Trained;
use crate::ops::reference_tests::assert_loss_gradients;
use crate::support::Task;
use crate::train::adam::Adam;
use crate::train::sample::edges_by_label;
use crate::treebank::Sentence;
use candle_core::Device;

/// Three sentences of 5, 2 and 4 words with their heads and labels.
fn treebank() -> Vec<Sentence> {
    let sentence = |words: &[(&str, usize, &str)]| {
        let mut sentence = Sentence::from_forms(words.iter().map(|word| word.0));
        for (word, (_, head, label)) in sentence.words_mut().iter_mut().zip(words) {
            (word.head, word.label) = (Some(*head), (*label).to_string());
        }
        sentence
    };
    vec![
        sentence(&[("a", 2, "det"), ("cat", 3, "nsubj"), ("saw", 0, "root"), ("the", 5, "det"), ("dog", 3, "obj")]),
        sentence(&[("dogs", 2, "nsubj"), ("bark", 0, "root")]),
        sentence(&[("we", 2, "nsubj"), ("saw", 0, "root"), ("a", 4, "det"), ("dog", 2, "obj")]),
    ]
}

struct School {
    config: Config,
    vocabulary: Vocabulary,
    sentences: Vec<Numbered>,
    by_label: Vec<Vec<EdgeAt>>,
}

impl School {
    fn new(config: Config) -> Self {
        let vocabulary = Vocabulary::new(&treebank(), 1);
        let sentences: Vec<Numbered> = treebank().iter().map(|s| vocabulary.number(s)).collect();
        let by_label = edges_by_label(&sentences, vocabulary.labels().len());
        Self { config, vocabulary, sentences, by_label }
    }

    /// The loss of all three sentences at once.
    fn loss(&self, task: Task, model: &EdgeModel, random: &mut Random) -> Result<Tensor> {
        let Self { config, vocabulary, sentences, by_label } = self;
        let material = Material { config, vocabulary, sentences, by_label };
        match task {
            Task::Heads => material.head_loss(model, &[0, 1, 2], random),
            Task::Labels => material.label_loss(model, &[0, 1, 2], random),
        }
    }
}

fn config(system: &str) -> Config {
    Config {
        system: system.parse().unwrap(),
        support_sentences: 2,
        word_dim: 2,
        char_dim: 2,
        char_filters: 2,
        lstm_units: 2,
        edge_dim: 4,
        ..Config::preset(Preset::Paper)
    }
}

#[test]
fn gradients_of_both_losses_are_right_with_dropout_and_sampling_for_every_way_of_learning() {
    let mut configs: Vec<Config> = ["WWd", "WWc", "IId", "IIc"].map(config).to_vec();
    configs.push(Config { aggregate: Aggregate::Sum, ..config("IId") });
    configs.push(Config { label_support: LabelSupport::Batch, ..config("IIc") });
    configs.push(Config { label_support: LabelSupport::Batch, rule: Rule::Nca, ..config("IIc") });
    configs.push(Config { rule: Rule::Nca, scale: 2.0, ..config("IIc") });
    for config in configs {
        let school = School::new(config);
        for task in Task::ALL {
            let classes = task.classes(school.vocabulary.labels().len());
            let weights = (school.config.system.learning == Basis::Weights).then_some(classes);
            let mut parameters = Parameters::double_precision();
            let model =
                EdgeModel::new(&school.config, &school.vocabulary, weights, &mut parameters, &Device::Cpu).unwrap();
            // The same seed draws the same masks and support at every evaluation.
            let loss = || school.loss(task, &model, &mut Random::new(11));
            assert_loss_gradients(parameters.iter(), loss, 1e-7).unwrap();
        }
    }
}

#[test]
fn each_of_the_six_systems_learns_three_sentences_by_heart() {
    for name in System::NAMES {
        let config = Config {
            lstm_units: 8,
            word_dim: 8,
            edge_dim: 8,
            learning_rate: 0.02,
            dropout: 0.0,
            word_dropout: 0.0,
            ..config(name)
        };
        let school = School::new(config);
        for task in Task::ALL {
            let mut trained = Trained::new(task, &school.config, &school.vocabulary, &Device::Cpu).unwrap();
            let (mut adam, mut random) = (Adam::default(), Random::new(5));
            let mut losses = Vec::new();
            for _ in 0..60 {
                let loss = school.loss(task, &trained.edges, &mut random).unwrap();
                losses.push(loss.to_scalar::<f32>().unwrap());
                let (rate, clip) = (school.config.learning_rate, school.config.clip);
                adam.step(&trained.parameters, &loss.backward().unwrap(), rate, clip).unwrap();
            }
            let (first, last) = (losses[0], losses[losses.len() - 1]);
            assert!(last < first / 10.0, "{name} {}: the loss went from {first} to {last}", task.name());

            trained.sum_support(&school.config, &school.vocabulary, &school.sentences).unwrap();
            let scorer = trained.scorer(school.config.aggregate, &Device::Cpu).unwrap();
            let accuracy = match task {
                Task::Heads => scorer.head_accuracy(&school.sentences),
                Task::Labels => scorer.label_accuracy(&school.sentences),
            };
            // Weights that tell the edges apart do not promise that the mean edge does too: the paper's WI systems.
            let System { learning, inference, .. } = school.config.system;
            let expected = if learning == inference { 1.0 } else { 0.5 };
            assert!(accuracy.as_ref().unwrap() >= &expected, "{name} {}: {accuracy:?}", task.name());
        }
    }
}

#[test]
fn an_edge_is_compared_with_the_mean_of_its_labels_other_edges_and_never_with_itself() {
    let school = School::new(config("IIc"));
    let model = Trained::new(Task::Labels, &school.config, &school.vocabulary, &Device::Cpu).unwrap().edges;
    let unit = |angle: f32| [angle.cos(), angle.sin()];
    let (edges, gold) = ([unit(0.1), unit(0.5), unit(1.3), unit(2.0)], [0, 0, 0, 1]);
    let drawn = [unit(2.9)];
    let rows = Tensor::new(&edges, &Device::Cpu).unwrap();
    let drawn_rows = Tensor::new(&drawn, &Device::Cpu).unwrap();
    let found =
        leave_one_out_scores(&model, &rows, &gold, Some(&drawn_rows), &[1], 2).unwrap().to_vec2::<f32>().unwrap();

    let similarity = |a: [f32; 2], b: [f32; 2]| 64.0 * (a[0] * b[0] + a[1] * b[1]);
    let support: Vec<([f32; 2], u32)> = edges.iter().copied().zip(gold).chain([(drawn[0], 1)]).collect();
    for (query, &edge) in edges.iter().enumerate() {
        for label in 0..2 {
            let others = support.iter().enumerate().filter(|&(at, &(_, of))| at != query && of == label);
            let similarities: Vec<f32> = others.map(|(_, &(other, _))| similarity(edge, other)).collect();
            let expected = similarities.iter().sum::<f32>() / similarities.len() as f32;
            let found = found[query][label as usize];
            assert!((found - expected).abs() < 1e-3, "edge {query}, label {label}: {found}, expected {expected}");
        }
    }
}
