//! The encoder as a whole: the batch never matters, gradients are right, dropout is ours to seed.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::config::{Config, Preset};
use crate::ops::gradcheck::assert_close;
use crate::ops::reference_tests::assert_loss_gradients;
use crate::treebank::Sentence;

fn small() -> Config {
    Config {
        word_dim: 6,
        char_dim: 4,
        char_filters: 5,
        lstm_units: 7,
        edge_dim: 6,
        min_count: 1,
        ..Config::preset(Preset::Paper)
    }
}

fn sentences() -> Vec<Sentence> {
    ["a cat saw the dog", "yes", "dogs and cats", "the very long story of a cat ended"]
        .map(|text| Sentence::from_forms(text.split(' ')))
        .to_vec()
}

fn encoder() -> (Encoder, Vec<Numbered>) {
    let vocabulary = Vocabulary::new(&sentences(), 1);
    let encoder = Encoder::new(&small(), &vocabulary, &mut Parameters::default(), &Device::Cpu).unwrap();
    let numbered = sentences().iter().map(|s| vocabulary.number(s)).collect();
    (encoder, numbered)
}

#[test]
fn the_batch_a_sentence_sits_in_never_changes_its_states() {
    let (encoder, numbered) = encoder();
    let all = Batch::new(&numbered.iter().collect::<Vec<_>>());
    let together = encoder.states(&all, None).unwrap();
    for (sentence, (start, length)) in numbered.iter().zip(all.segments.ranges()) {
        let alone = encoder.states(&Batch::new(&[sentence]), None).unwrap();
        assert_close(&together.dependent.narrow(0, start, length).unwrap(), &alone.dependent, 1e-6).unwrap();
        assert_close(&together.head.narrow(0, start, length).unwrap(), &alone.head, 1e-6).unwrap();
    }
}

#[test]
fn dropout_is_drawn_from_the_given_generator_alone() {
    let (encoder, numbered) = encoder();
    let batch = Batch::new(&numbered.iter().collect::<Vec<_>>());
    let run = |seed| encoder.states(&batch, Some(&mut Random::new(seed))).unwrap().head;
    assert_close(&run(1), &run(1), 0.0).unwrap();
    let difference = (run(1) - run(2)).unwrap().abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap();
    assert!(difference > 0.0);
}

#[test]
fn gradients_of_every_parameter_are_right_on_a_batch_of_three_unequal_lengths() {
    let config = Config { char_filters: 3, lstm_units: 2, edge_dim: 3, ..small() };
    let vocabulary = Vocabulary::new(&sentences()[..3], 1);
    let mut parameters = Parameters::double_precision();
    let encoder = Encoder::new(&config, &vocabulary, &mut parameters, &Device::Cpu).unwrap();
    let numbered: Vec<Numbered> = sentences()[..3].iter().map(|s| vocabulary.number(s)).collect();
    let batch = Batch::new(&numbered.iter().collect::<Vec<_>>());
    // Without dropout, and with the same mask at every evaluation.
    for seed in [None, Some(3)] {
        let loss = || {
            let mut random = seed.map(Random::new);
            let states = encoder.states(&batch, random.as_mut())?;
            // A product of the two, squared, so that no direction of error leaves the sum unchanged.
            Ok((states.dependent * states.head)?.sqr()?.sum_all()?)
        };
        assert_loss_gradients(parameters.iter(), loss, 1e-7).unwrap();
    }
}
