//! Tests of the whole encoder: states do not depend on the batch, gradients are right, dropout follows the seed.

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
    let encoder =
        Encoder::new(&small(), &vocabulary, &Pretrained::default(), &mut Parameters::default(), &Device::Cpu).unwrap();
    let numbered = sentences().iter().map(|s| vocabulary.number(s)).collect();
    (encoder, numbered)
}

#[test]
fn the_states_of_a_sentence_do_not_depend_on_its_batch() {
    let (encoder, numbered) = encoder();
    let all = Batch::new(&numbered.iter().collect::<Vec<_>>());
    let together = encoder.states(&all, None).unwrap();
    for (sentence, (start, length)) in numbered.iter().zip(all.segments.ranges()) {
        let alone = encoder.states(&Batch::new(&[sentence]), None).unwrap();
        assert_close(&together.narrow(0, start, length).unwrap(), &alone, 1e-6).unwrap();
    }
}

#[test]
fn dropout_is_drawn_from_the_given_generator_alone() {
    let (encoder, numbered) = encoder();
    let batch = Batch::new(&numbered.iter().collect::<Vec<_>>());
    let run = |seed| encoder.states(&batch, Some(&mut Random::new(seed))).unwrap();
    assert_close(&run(1), &run(1), 0.0).unwrap();
    let difference = (run(1) - run(2)).unwrap().abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap();
    assert!(difference > 0.0);
}

#[test]
fn gradients_of_every_parameter_are_right_on_a_batch_of_three_unequal_lengths() {
    let config = Config { char_filters: 3, lstm_units: 2, edge_dim: 3, ..small() };
    let vocabulary = Vocabulary::new(&sentences()[..3], 1);
    let mut parameters = Parameters::double_precision();
    let encoder = Encoder::new(&config, &vocabulary, &Pretrained::default(), &mut parameters, &Device::Cpu).unwrap();
    let numbered: Vec<Numbered> = sentences()[..3].iter().map(|s| vocabulary.number(s)).collect();
    let batch = Batch::new(&numbered.iter().collect::<Vec<_>>());
    // Without dropout, then with dropout and the same mask in every evaluation.
    for seed in [None, Some(3)] {
        let loss = || {
            let mut random = seed.map(Random::new);
            let states = encoder.states(&batch, random.as_mut())?;
            Ok(states.sqr()?.sum_all()?)
        };
        assert_loss_gradients(parameters.iter(), loss, 1e-7).unwrap();
    }
}

/// Word vectors for some words, and a tiny BERT.
fn pretrained() -> Pretrained {
    let folder = tempfile::tempdir().unwrap();
    let (text, table) = (folder.path().join("words.txt"), folder.path().join("table"));
    std::fs::write(&text, "the 0.1 0.9\ncat -0.5 0.2\nstory 0.7 0.7\n").unwrap();
    WordVectors::convert(&text, &table, &|_, _| {}).unwrap();
    let bert = Transformer::open(&transformer::tests::tiny(), &Device::Cpu).unwrap();
    Pretrained::new(Some(WordVectors::open(&table).unwrap()), Some(bert))
}

#[test]
fn gradients_of_every_parameter_are_right_with_word_vectors_and_bert_frozen_or_trained() {
    let pretrained = pretrained();
    let vocabulary = Vocabulary::new(&sentences()[..3], 1);
    let numbered = pretrained.number(&vocabulary, &sentences()[..3]).unwrap();
    for (layers, train) in
        [(BertLayers::Last, false), (BertLayers::Mix, false), (BertLayers::Last, true), (BertLayers::Mix, true)]
    {
        let mut config = Config { char_filters: 3, lstm_units: 2, edge_dim: 3, ..small() };
        (config.bert.layers, config.bert.train) = (layers, train);
        let mut parameters = Parameters::double_precision();
        let encoder = Encoder::new(&config, &vocabulary, &pretrained, &mut parameters, &Device::Cpu).unwrap();
        let trained = parameters.iter().filter(|(name, _)| name.starts_with(transformer::PREFIX)).count();
        assert_eq!(trained > 0, train);
        let loss = || {
            let batch = Batch::new(&numbered.iter().collect::<Vec<_>>());
            Ok(encoder.states(&batch, Some(&mut Random::new(3)))?.sqr()?.sum_all()?)
        };
        assert_loss_gradients(parameters.iter(), loss, 1e-6).unwrap();
    }
}

#[test]
fn states_with_word_vectors_and_bert_do_not_depend_on_the_batch_or_on_stored_features() {
    let (pretrained, cache) = (pretrained(), tempfile::tempdir().unwrap());
    let vocabulary = Vocabulary::new(&sentences(), 1);
    let mut config = small();
    config.bert.layers = BertLayers::Mix;
    let encoder = Encoder::new(&config, &vocabulary, &pretrained, &mut Parameters::default(), &Device::Cpu).unwrap();
    let cached = pretrained.with_cached_states(&config, [&sentences(), &[]], cache.path(), &|_, _| true).unwrap();
    let stored = cached.number(&vocabulary, &sentences()).unwrap();
    let computed = pretrained.number(&vocabulary, &sentences()).unwrap();
    assert!(stored.iter().all(|sentence| sentence.stored.is_some() && sentence.pieces.is_none()));
    let all = Batch::new(&stored.iter().collect::<Vec<_>>());
    let together = encoder.states(&all, None).unwrap();
    for (sentence, (start, length)) in computed.iter().zip(all.segments.ranges()) {
        let alone = encoder.states(&Batch::new(&[sentence]), None).unwrap();
        assert_close(&together.narrow(0, start, length).unwrap(), &alone, 1e-5).unwrap();
    }
}

#[test]
fn sentences_without_the_pretrained_input_of_the_encoder_are_an_error() {
    let vocabulary = Vocabulary::new(&sentences(), 1);
    let encoder = Encoder::new(&small(), &vocabulary, &pretrained(), &mut Parameters::default(), &Device::Cpu).unwrap();
    let numbered = vocabulary.number(&sentences()[0]);
    let message = encoder.states(&Batch::new(&[&numbered]), None).unwrap_err().to_string();
    assert!(message.contains("without the word vectors"), "{message}");
    let mut some = pretrained().number(&vocabulary, &sentences()).unwrap();
    some[1].pieces = None;
    let message = encoder.states(&Batch::new(&some.iter().collect::<Vec<_>>()), None).unwrap_err().to_string();
    assert!(message.contains("without the transformer"), "{message}");
}
