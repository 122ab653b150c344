//! Tests of the losses: gradients for every kind of learning, and that all six systems learn.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::config::{Basis, Preset, System};
use crate::encoder::{Encoder, Parameters, Pretrained};
use crate::model::{Blueprint, Trained};
use crate::ops::plainly;
use crate::ops::reference_tests::assert_loss_gradients;
use crate::rule::Rule;
use crate::score::accuracies;
use crate::train::adam::Adam;
use crate::train::sample::edges_by_label;
use crate::treebank::Sentence;
use candle_core::Device;

/// Three sentences of 5, 2 and 4 words with heads and labels.
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

    /// The loss of all three sentences together.
    fn loss(&self, task: Task, model: &EdgeModel, random: &mut Random) -> Result<Tensor> {
        let Self { config, vocabulary, sentences, by_label } = self;
        let training_set = TrainingSet { config, vocabulary, sentences, by_label };
        training_set.loss(&[(task, model)], &[0, 1, 2], &mut LastEdges::default(), random)
    }

    /// A model in double precision with its parameters.
    fn double(&self, task: Task) -> (EdgeModel, Parameters) {
        let Self { config, vocabulary, .. } = self;
        let classes = task.classes(vocabulary.labels().len());
        let weights = (config.system.learning == Basis::Weights).then_some(classes);
        let mut parameters = Parameters::double_precision();
        let none = Pretrained::default();
        let encoder = Encoder::new(config, vocabulary, &none, &mut parameters, &Device::Cpu).unwrap();
        let model = EdgeModel::new(config, encoder, weights, &mut parameters, &Device::Cpu).unwrap();
        (model, parameters)
    }

    fn blank(&self, task: Task) -> Trained {
        let Self { config, vocabulary, .. } = self;
        let pretrained = &Pretrained::default();
        Trained::new(task, &Blueprint { config, vocabulary, pretrained, device: &Device::Cpu }, None).unwrap()
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
    configs.push(Config { label_support: LabelSupport::Batch, rule: Rule::nca(64.0).unwrap(), ..config("IIc") });
    configs.push(Config { rule: Rule::nca(64.0).unwrap(), scale: 2.0, ..config("IIc") });
    configs.push(Config { label_support: LabelSupport::Memory, head_support: HeadSupport::Batch, ..config("IIc") });
    for config in configs {
        let school = School::new(config);
        for task in Task::ALL {
            let (model, parameters) = school.double(task);
            // Equal seeds draw equal masks and support in every evaluation.
            let loss = || school.loss(task, &model, &mut Random::new(11));
            assert_loss_gradients(parameters.iter(), loss, 1e-7).unwrap();
        }
    }
}

#[test]
fn each_of_the_six_systems_fits_three_sentences() {
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
            let mut trained = school.blank(task);
            let (mut adam, mut random) = (Adam::default(), Random::new(5));
            let mut losses = Vec::new();
            for _ in 0..60 {
                let loss = school.loss(task, &trained.edges, &mut random).unwrap();
                losses.push(loss.to_scalar::<f32>().unwrap());
                let (rate, clip) = (school.config.learning_rate, school.config.clip);
                adam.step(&trained.parameters, &loss.backward().unwrap(), |_| rate, clip).unwrap();
            }
            let (first, last) = (losses[0], losses[losses.len() - 1]);
            assert!(last < first / 10.0, "{name} {}: the loss went from {first} to {last}", task.name());

            let sentences: Vec<&Numbered> = school.sentences.iter().collect();
            let models = std::slice::from_mut(&mut trained);
            Trained::sum_support(models, &school.config, &school.vocabulary, &sentences).unwrap();
            let scorer = trained.scorer(school.config.aggregate, &Device::Cpu).unwrap();
            let accuracy = accuracies(&[(task, &scorer)], &school.sentences).unwrap()[0];
            // Weights that separate the edges do not imply that the mean edge does: the paper's WI systems.
            let System { learning, inference, .. } = school.config.system;
            let expected = if learning == inference { 1.0 } else { 0.5 };
            assert!(accuracy >= expected, "{name} {}: {accuracy}", task.name());
        }
    }
}

#[test]
fn an_edge_is_compared_with_the_mean_of_the_other_edges_of_its_label() {
    let school = School::new(config("IIc"));
    let model = school.blank(Task::Labels).edges;
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

/// The loss and the gradients by name.
fn loss_and_gradients(
    school: &School,
    task: Task,
    model: &EdgeModel,
    parameters: &Parameters,
) -> Vec<(String, Tensor)> {
    let loss = school.loss(task, model, &mut Random::new(11)).unwrap();
    let grads = loss.backward().unwrap();
    let grad = |(name, var): (&str, &candle_core::Var)| Some((name.to_string(), grads.get(var)?.clone()));
    std::iter::once(("loss".to_string(), loss.clone())).chain(parameters.iter().filter_map(grad)).collect()
}

#[test]
fn plain_operations_and_kernels_give_the_same_losses_and_gradients() {
    let mut configs: Vec<Config> = ["WWd", "WWc", "IId", "IIc"].map(config).to_vec();
    configs.push(Config { label_support: LabelSupport::Memory, head_support: HeadSupport::Batch, ..config("IIc") });
    for config in configs {
        let school = School::new(config);
        for task in Task::ALL {
            let (model, parameters) = school.double(task);
            let kernels = loss_and_gradients(&school, task, &model, &parameters);
            let plain = plainly(|| loss_and_gradients(&school, task, &model, &parameters));
            assert_eq!(kernels.len(), plain.len());
            for ((name, kernel), (_, plain)) in kernels.iter().zip(&plain) {
                let difference = (kernel - plain).unwrap().abs().unwrap().max_all().unwrap();
                let difference = difference.to_scalar::<f64>().unwrap();
                assert!(difference < 1e-6, "{} {name}: {difference}", school.config.system);
            }
        }
    }
}

#[test]
fn two_models_on_one_encoder_learn_from_the_sum_of_their_losses() {
    for label_support in [LabelSupport::Sampled, LabelSupport::Batch, LabelSupport::Memory] {
        let school = School::new(Config { label_support, share_encoder: true, ..config("IIc") });
        let School { config, vocabulary, sentences, by_label } = &school;
        let training_set = TrainingSet { config, vocabulary, sentences, by_label };
        let (heads, mut parameters) = school.double(Task::Heads);
        let mut own = Parameters::double_precision();
        let labels = EdgeModel::new(config, heads.encoder().clone(), None, &mut own, &Device::Cpu).unwrap();
        parameters = Parameters::union([("", &parameters), ("labels/", &own)]);
        assert_eq!(parameters.iter().filter(|(name, _)| name.starts_with("labels/")).count(), 3);
        // Labels from an earlier batch are stored as constants.
        let mut memory = LastEdges::default();
        let models = [(Task::Heads, &heads), (Task::Labels, &labels)];
        training_set.loss(&models, &[1], &mut memory, &mut Random::new(2)).unwrap();
        let loss = || training_set.loss(&models, &[0, 1, 2], &mut memory.clone(), &mut Random::new(11));
        assert_loss_gradients(parameters.iter(), loss, 1e-7).unwrap();
    }
}

#[test]
fn support_from_the_batch_is_every_gold_edge_of_the_query_sentences() {
    let still = Config { dropout: 0.0, word_dropout: 0.0, head_support: HeadSupport::Batch, ..config("IIc") };
    let school = School::new(still);
    let (model, _) = school.double(Task::Heads);
    let sentences: Vec<&Numbered> = school.sentences.iter().collect();
    let batch = Batch::new(&sentences);
    let states = model.states(&batch, None).unwrap();
    let (dependents, heads, _) = gold_edges(&sentences, &batch.first_rows());
    let support = model.edge_rows(&states, &dependents, &heads).unwrap().mean(0).unwrap();
    let scores = model.candidate_scores(&states, &batch.segments, &support).unwrap();
    let expected = cross_entropy(&scores, head_choices(&sentences)).unwrap().to_scalar::<f64>().unwrap();
    let found = school.loss(Task::Heads, &model, &mut Random::new(1)).unwrap().to_scalar::<f64>().unwrap();
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
}

#[test]
fn a_label_missing_from_the_batch_is_supported_by_its_stored_edge() {
    let still = Config { dropout: 0.0, word_dropout: 0.0, label_support: LabelSupport::Memory, ..config("IIc") };
    let school = School::new(still);
    let School { config, vocabulary, sentences, by_label } = &school;
    let training_set = TrainingSet { config, vocabulary, sentences, by_label };
    let (model, _) = school.double(Task::Labels);
    let models = [(Task::Labels, &model)];
    // After one pass over all sentences every label is stored, and nothing is drawn.
    let mut memory = LastEdges::default();
    training_set.loss(&models, &[0, 1, 2], &mut memory, &mut Random::new(1)).unwrap();
    let loss = |memory: &LastEdges, seed| {
        let loss = training_set.loss(&models, &[1], &mut memory.clone(), &mut Random::new(seed)).unwrap();
        loss.to_scalar::<f64>().unwrap()
    };
    assert_eq!(loss(&memory, 1), loss(&memory, 2));
    let mut other = memory.clone();
    let elsewhere = Tensor::new(&[[1.0_f32, 0.0, 0.0, 0.0]], &Device::Cpu).unwrap();
    other.see(&elsewhere, &[vocabulary.label("det").unwrap()], vocabulary.labels().len()).unwrap();
    assert_ne!(loss(&memory, 1), loss(&other, 1));
}
