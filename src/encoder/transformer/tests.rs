//! Compares BERT with Python's transformers: pieces, windows, the states of every layer, and gradients. Uses a tiny
//! folder, and a real one if `CITREE_TEST_BERT` names it. The other families are in `families`.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::ops::gradcheck::assert_close;
use crate::ops::reference_tests::{Reference, assert_loss_gradients};
use crate::random::Random;
use crate::treebank::Sentence;
use safetensors::tensor::{Dtype, TensorView};
use std::path::PathBuf;

mod families;
mod refusals;

/// The files of the tiny folder.
const FILES: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];

/// The tiny folder. Its tokenizer truncates and pads to 12 pieces, as many published ones do.
pub(crate) fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/reference/values/bert")
}

fn reference() -> Reference {
    Reference::new(include_str!("../../../tools/reference/values/bert.json"))
}

fn all_pieces(bert: &Transformer, sentences: &[Vec<String>]) -> Vec<Pieces> {
    let cut = |words: &Vec<String>| bert.pieces(&words.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    sentences.iter().map(cut).collect()
}

fn double(bert: &Transformer) -> (Parameters, Network) {
    let mut parameters = Parameters::double_precision();
    let network = bert.trainable(&mut parameters, &Device::Cpu).unwrap();
    (parameters, network)
}

#[test]
fn pieces_match_transformers_without_truncation_or_padding() {
    let (reference, bert) = (reference(), Transformer::open(&tiny(), &Device::Cpu).unwrap());
    let expected: Vec<Vec<u32>> = reference.plain("pieces");
    let firsts: Vec<Vec<u32>> = reference.plain("firsts");
    let found = all_pieces(&bert, &reference.plain::<Vec<Vec<String>>>("sentences"));
    let mut in_one_window = 0;
    for ((found, expected), firsts) in found.iter().zip(&expected).zip(&firsts) {
        if let [_] = found.windows[..] {
            assert_eq!(&found.ids, expected);
            assert_eq!(found.place, [&[0], &firsts[..]].concat());
            in_one_window += 1;
        }
    }
    assert_eq!((found.len(), in_one_window), (10, 8));
}

#[test]
fn windows_overlap_by_half_and_each_piece_is_read_farthest_from_an_end() {
    let reference = reference();
    let cutter = Transformer::open_without_weights(&tiny()).unwrap().cutter;
    let cases: Vec<serde_json::Value> = reference.plain("windows");
    assert!(cases.len() > 5);
    for case in cases {
        let numbers = |name: &str| serde_json::from_value::<Vec<usize>>(case[name].clone()).unwrap();
        let (count, starts, sources) =
            (case["pieces"].as_u64().unwrap() as usize, numbers("starts"), numbers("sources"));
        let pieces: Vec<u32> = (100..).take(count).collect();
        let found = cutter.windows(&pieces, &(0..count).collect::<Vec<_>>());
        assert_eq!(found.windows.len(), starts.len());
        let mut first = 0;
        let mut begins = Vec::new();
        for (&length, &start) in found.windows.iter().zip(&starts) {
            assert_eq!(found.ids[first + 1..first + length - 1], pieces[start..start + length - 2]);
            begins.push(first);
            first += length;
        }
        for (piece, &window) in sources.iter().enumerate() {
            assert_eq!(found.place[piece + 1] as usize, begins[window] + 1 + piece - starts[window], "{count} {piece}");
        }
    }
}

#[test]
fn states_of_every_layer_match_transformers_in_any_batch() {
    let (reference, bert) = (reference(), Transformer::open(&tiny(), &Device::Cpu).unwrap());
    let pieces = all_pieces(&bert, &reference.plain::<Vec<Vec<String>>>("sentences"));
    let (_, network) = double(&bert);
    let together = network.states(&PieceBatch::new(&pieces.iter().collect::<Vec<_>>()), true, None).unwrap();
    assert_eq!(together.len(), 3);
    for (layer, states) in together.iter().enumerate() {
        assert_close(states, &reference.tensor(&format!("layer.{layer}")), 1e-6).unwrap();
    }
    let mut first = 0;
    for pieces in &pieces {
        let alone = network.states(&PieceBatch::new(&[pieces]), false, None).unwrap();
        let rows = alone[0].dim(0).unwrap();
        assert_close(&alone[0], &together[2].narrow(0, first, rows).unwrap(), 1e-12).unwrap();
        first += rows;
    }
}

#[test]
fn half_precision_is_close_to_single() {
    let (reference, mut bert) = (reference(), Transformer::open(&tiny(), &Device::Cpu).unwrap());
    let pieces = all_pieces(&bert, &reference.plain::<Vec<Vec<String>>>("sentences"));
    let batch = PieceBatch::new(&pieces.iter().collect::<Vec<_>>());
    let exact = bert.rounded_states(&batch, true).unwrap();
    let half = |(name, tensor): (&String, &Tensor)| (name.clone(), tensor.to_dtype(DType::F16).unwrap());
    bert.network = Some(Network::new(&bert.blueprint, bert.tensors.iter().map(half).collect()).unwrap());
    for (found, exact) in bert.rounded_states(&batch, true).unwrap().iter().zip(&exact) {
        assert_close(found, exact, 0.03).unwrap();
    }
}

/// The reference's gradients in our layout, converted by writing and reading a safetensors file.
fn expected_gradients(reference: &Reference, bert: &Transformer) -> BTreeMap<String, weights::Weight> {
    let grads: Vec<(String, Vec<usize>, Vec<u8>)> = reference
        .names()
        .filter_map(|name| Some((name.strip_prefix("grad.")?, reference.tensor(name))))
        .map(|(name, grad)| {
            let values = grad.to_dtype(DType::F32).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
            (name.to_string(), grad.dims().to_vec(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
        })
        .collect();
    let views = grads
        .iter()
        .map(|(name, shape, bytes)| (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gradients"), safetensors::serialize(views, None).unwrap()).unwrap();
    weights::read(folder.path(), &["gradients".to_string()], &bert.blueprint).unwrap()
}

#[test]
fn gradients_of_every_parameter_match_pytorch() {
    let (reference, bert) = (reference(), Transformer::open(&tiny(), &Device::Cpu).unwrap());
    let pieces = all_pieces(&bert, &reference.plain::<Vec<Vec<String>>>("sentences"));
    let chosen: Vec<&Pieces> = reference.plain::<Vec<usize>>("learnt_from").iter().map(|&s| &pieces[s]).collect();
    let (parameters, network) = double(&bert);
    let states = network.states(&PieceBatch::new(&chosen), false, None).unwrap();
    let loss = (&states[0] * reference.tensor("weighting")).unwrap().sum_all().unwrap();
    let grads = loss.backward().unwrap();
    let mut expected = expected_gradients(&reference, &bert);
    // Our positions include the embedding of the first sentence type. Their gradient is that of the positions alone.
    let own = reference.tensor("grad.embeddings.position_embeddings.weight");
    let own = own.to_dtype(DType::F32).unwrap().flatten_all().unwrap().to_vec1().unwrap();
    expected.get_mut("positions").unwrap().1 = own;
    assert_eq!(expected.len(), parameters.iter().count());
    for (name, var) in parameters.iter() {
        let (shape, values) = &expected[name.strip_prefix(PREFIX).unwrap()];
        let found = grads.get(var).unwrap_or_else(|| panic!("{name} has no gradient"));
        let expected = Tensor::from_slice(values, shape.as_slice(), &Device::Cpu).unwrap();
        let size = expected.abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap();
        assert_close(found, &expected, 1e-6 * (1.0 + f64::from(size))).unwrap();
    }
}

#[test]
fn gradients_are_right_with_dropout_on_three_sentences_one_of_them_in_windows() {
    let bert = Transformer::open(&tiny(), &Device::Cpu).unwrap();
    let sentences: Vec<Vec<String>> = reference().plain("sentences");
    let pieces = all_pieces(&bert, &sentences);
    let batch = PieceBatch::new(&[&pieces[1], &pieces[4], &pieces[9]]);
    let (parameters, network) = double(&bert);
    for (seed, all) in [(None, true), (Some(3), false)] {
        let loss = || {
            let mut random = seed.map(Random::new);
            let states = network.states(&batch, all, random.as_mut())?;
            Ok(Tensor::cat(&states, 1)?.sqr()?.sqr()?.sum_all()?)
        };
        assert_loss_gradients(parameters.iter(), loss, 1e-5).unwrap();
    }
}

#[test]
fn stored_states_equal_computed_ones_and_each_treebank_and_folder_has_its_own_file() {
    let (cache, bert) = (tempfile::tempdir().unwrap(), Transformer::open(&tiny(), &Device::Cpu).unwrap());
    let texts = ["the cat sat", "unparsed parsers", "the cat sat", "cat"];
    let sentences: Vec<Sentence> = texts.iter().map(|text| Sentence::from_forms(text.split(' '))).collect();
    let sentences: Vec<&Sentence> = sentences.iter().collect();
    for all in [true, false] {
        let features = Features::cached(&bert, all, &sentences, cache.path(), &|_, _| true).unwrap();
        assert_eq!(features.layers(), if all { 3 } else { 1 });
        for sentence in &sentences {
            let words: Vec<&str> = sentence.words().iter().map(|word| word.form.as_str()).collect();
            let computed = bert.features(&[&bert.pieces(&words).unwrap()], all).unwrap();
            let first = features.find(sentence).unwrap();
            for (layer, computed) in computed.iter().enumerate() {
                for (position, expected) in computed.to_vec2::<f32>().unwrap().iter().enumerate() {
                    let mut found = vec![0.0; 8];
                    features.read(first + position as u64, layer, &mut found);
                    assert_eq!(&found, expected);
                }
            }
        }
        assert_eq!(features.find(&Sentence::from_forms(["sat"])), None);
    }
    let count = || std::fs::read_dir(cache.path()).unwrap().count();
    assert_eq!(count(), 2);
    Features::cached(&bert, true, &sentences, cache.path(), &|_, _| panic!("computed again")).unwrap();
    Features::cached(&bert, true, &sentences[..2], cache.path(), &|_, _| true).unwrap();
    let other = Transformer::open(&tiny(), &Device::Cpu).unwrap().known_as([7; 32]);
    Features::cached(&other, true, &sentences, cache.path(), &|_, _| true).unwrap();
    assert_eq!(count(), 4);
}

#[test]
fn a_damaged_cache_is_an_error_with_a_remedy() {
    let (cache, bert) = (tempfile::tempdir().unwrap(), Transformer::open(&tiny(), &Device::Cpu).unwrap());
    let sentence = Sentence::from_forms(["the", "cat"]);
    Features::cached(&bert, false, &[&sentence], cache.path(), &|_, _| true).unwrap();
    let path = std::fs::read_dir(cache.path()).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let message = Features::cached(&bert, false, &[&sentence], cache.path(), &|_, _| true).unwrap_err().to_string();
    assert!(message.contains("delete the file"), "{message}");
}

#[test]
fn a_folder_with_a_missing_or_mismatched_file_is_refused() {
    for (name, content) in
        [(FILES[0], None), (FILES[1], None), (FILES[2], None), (FILES[1], Some("{}")), (FILES[2], Some("x"))]
    {
        let folder = tempfile::tempdir().unwrap();
        for file in FILES {
            std::fs::copy(tiny().join(file), folder.path().join(file)).unwrap();
        }
        match content {
            Some(content) => std::fs::write(folder.path().join(name), content).unwrap(),
            None => std::fs::remove_file(folder.path().join(name)).unwrap(),
        }
        let message = Transformer::open(folder.path(), &Device::Cpu).unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
    }
    let folder = tempfile::tempdir().unwrap();
    for file in FILES {
        std::fs::copy(tiny().join(file), folder.path().join(file)).unwrap();
    }
    let config = std::fs::read_to_string(tiny().join(FILES[0])).unwrap();
    let wider = config.replace("\"hidden_size\": 8", "\"hidden_size\": 10");
    assert_ne!(config, wider);
    std::fs::write(folder.path().join(FILES[0]), wider).unwrap();
    let message = Transformer::open(folder.path(), &Device::Cpu).unwrap_err().to_string();
    assert!(message.contains("do not belong together"), "{message}");
}

/// Compares the folder that a variable names with what `--real` of a reference script wrote.
fn compare_real(test: &str, variable: &str, required: &[&str], reference: &str) {
    let Some(folder) = std::env::var_os(variable) else {
        let required = required.iter().any(|name| std::env::var_os(name).is_some());
        assert!(!required, "{variable} names no folder, and is required here");
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: encoder::transformer::tests::{test} needs {variable}");
        return;
    };
    let reference = Reference::new(reference);
    let opened = Transformer::open(Path::new(&folder), &Device::Cpu).unwrap();
    let pieces = all_pieces(&opened, &reference.plain::<Vec<Vec<String>>>("sentences"));
    let expected: Vec<Vec<u32>> = reference.plain("pieces");
    assert_eq!(pieces.iter().map(|pieces| pieces.ids.clone()).collect::<Vec<_>>(), expected);
    let batch = PieceBatch::new(&pieces.iter().collect::<Vec<_>>());
    let states = opened.network().unwrap().states(&batch, true, None).unwrap();
    assert_eq!(states.len(), 1 + reference.plain::<usize>("layers"));
    for (name, states) in [("embeddings", &states[0]), ("last", &states[states.len() - 1])] {
        let norms = states.sqr().unwrap().sum(1).unwrap().sqrt().unwrap();
        assert_close(&norms, &reference.tensor(&format!("{name}.norms")), 1e-4).unwrap();
        assert_close(&states.narrow(1, 0, 6).unwrap(), &reference.tensor(&format!("{name}.columns")), 2e-5).unwrap();
    }
}

#[test]
fn states_of_a_real_bert_match_transformers() {
    let test = "states_of_a_real_bert_match_transformers";
    let reference = include_str!("../../../tools/reference/values/bert_real.json");
    compare_real(test, "CITREE_TEST_BERT", &["CI", "CITREE_REQUIRE_ALL"], reference);
}

#[test]
fn states_of_a_real_mpnet_match_transformers() {
    let test = "states_of_a_real_mpnet_match_transformers";
    let reference = include_str!("../../../tools/reference/values/mpnet_real.json");
    compare_real(test, "CITREE_TEST_MPNET", &["CITREE_REQUIRE_ALL"], reference);
}

#[test]
fn states_of_a_real_albert_match_transformers() {
    let test = "states_of_a_real_albert_match_transformers";
    let reference = include_str!("../../../tools/reference/values/albert_real.json");
    compare_real(test, "CITREE_TEST_ALBERT", &["CITREE_REQUIRE_ALL"], reference);
}
