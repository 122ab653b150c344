//! The encoder as a whole: the batch never matters, gradients are right, values equal PyTorch's.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::config::{Config, Preset};
use crate::ops::gradcheck::assert_close;
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
