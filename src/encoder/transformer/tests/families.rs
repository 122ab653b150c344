//! Compares every family with Python's transformers, by what `tools/reference/encoders.py` writes: pieces, the states of
//! every layer and the gradient of every parameter.

use super::super::relative::{Spans, bucket};
use super::*;
use crate::ops::plainly;
use serde_json::Value;

/// A family's folder, and how far its states and gradients can be from the reference. transformers computes rotations in
/// single precision.
const FAMILIES: [(&str, f64); 8] = [
    ("albert", 1e-6),
    ("deberta-v2", 1e-6),
    ("distilbert", 1e-6),
    ("electra", 1e-6),
    ("modernbert", 1e-5),
    ("mpnet", 1e-6),
    ("roberta", 1e-6),
    ("xlm-roberta", 1e-6),
];

/// A family's folder.
pub(super) fn folder(family: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/reference/values/encoders").join(family)
}

fn listed(family: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder(family).join("pieces.json")).unwrap()).unwrap()
}

fn plain<T: serde::de::DeserializeOwned>(listed: &Value, name: &str) -> T {
    serde_json::from_value(listed[name].clone()).unwrap()
}

fn states_of(family: &str) -> BTreeMap<String, Tensor> {
    let path = folder(family).join("states.safetensors");
    candle_core::safetensors::load(path, &Device::Cpu).unwrap().into_iter().collect()
}

#[test]
fn pieces_of_every_kind_of_tokenizer_match() {
    for (family, _) in FAMILIES {
        let (listed, opened) = (listed(family), Transformer::open(&folder(family), &Device::Cpu).unwrap());
        assert_eq!(opened.family(), family);
        let expected: Vec<Vec<u32>> = plain(&listed, "pieces");
        let firsts: Vec<Vec<u32>> = plain(&listed, "firsts");
        let found = all_pieces(&opened, &plain::<Vec<Vec<String>>>(&listed, "sentences"));
        let mut in_one_window = 0;
        for ((found, expected), firsts) in found.iter().zip(&expected).zip(&firsts) {
            if let [_] = found.windows[..] {
                assert_eq!(&found.ids, expected, "{family}");
                assert_eq!(found.place, [&[0], &firsts[..]].concat(), "{family}");
                in_one_window += 1;
            }
        }
        assert!(in_one_window > 5 && in_one_window < found.len(), "{family}: {in_one_window}");
    }
}

#[test]
fn states_of_every_layer_match_with_kernels_and_without() {
    for (family, tolerance) in FAMILIES {
        let (listed, opened) = (listed(family), Transformer::open(&folder(family), &Device::Cpu).unwrap());
        let pieces = all_pieces(&opened, &plain::<Vec<Vec<String>>>(&listed, "sentences"));
        let batch = PieceBatch::new(&pieces.iter().collect::<Vec<_>>());
        let (_, network) = double(&opened);
        let found = network.states(&batch, true, None).unwrap();
        let without_kernels = plainly(|| network.states(&batch, true, None).unwrap());
        let single = opened.network().unwrap().states(&batch, true, None).unwrap();
        let expected = states_of(family);
        assert_eq!((found.len(), expected.len()), (opened.shape().layers + 1, found.len() + 1), "{family}");
        for (layer, found) in found.iter().enumerate() {
            let expected = &expected[&format!("layer.{layer}")];
            assert_close(found, expected, tolerance).unwrap();
            assert_close(&without_kernels[layer], found, 1e-10).unwrap();
            assert_close(&single[layer], expected, 20.0 * tolerance).unwrap();
        }
        let last = network.states(&batch, false, None).unwrap();
        assert_close(&last[0], &found[found.len() - 1], 1e-12).unwrap();
    }
}

#[test]
fn gradients_of_every_parameter_match() {
    for (family, tolerance) in FAMILIES {
        let (listed, opened) = (listed(family), Transformer::open(&folder(family), &Device::Cpu).unwrap());
        let pieces = all_pieces(&opened, &plain::<Vec<Vec<String>>>(&listed, "sentences"));
        let learnt_from: Vec<usize> = plain(&listed, "learnt_from");
        let batch = PieceBatch::new(&learnt_from.iter().map(|&sentence| &pieces[sentence]).collect::<Vec<_>>());
        let weighting = states_of(family)["weighting"].to_dtype(DType::F64).unwrap();
        let files = ["gradients.safetensors".to_string()];
        let expected = weights::read(&folder(family), &files, &opened.blueprint).unwrap();
        let (parameters, network) = double(&opened);
        let gradients =
            |run: &dyn Fn() -> Vec<Tensor>| (&run()[0] * &weighting).unwrap().sum_all().unwrap().backward().unwrap();
        let run = || network.states(&batch, false, None).unwrap();
        let (fused, unfused) = (gradients(&run), plainly(|| gradients(&run)));
        assert_eq!(expected.len(), parameters.iter().count(), "{family}");
        for (name, var) in parameters.iter() {
            let (shape, values) = &expected[name.strip_prefix(PREFIX).unwrap()];
            let expected = Tensor::from_slice(values, shape.as_slice(), &Device::Cpu).unwrap();
            let size = f64::from(expected.abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap());
            for grads in [&fused, &unfused] {
                let found = grads.get(var).unwrap_or_else(|| panic!("{family}: {name} has no gradient"));
                let found = found.to_dtype(DType::F64).unwrap();
                let apart = (found - expected.to_dtype(DType::F64).unwrap()).unwrap().abs().unwrap();
                let apart = apart.max_all().unwrap().to_scalar::<f64>().unwrap();
                assert!(apart <= tolerance * (1.0 + size), "{family}: {name} differs by {apart}, values up to {size}");
            }
        }
    }
}

#[test]
fn gradients_are_right_with_dropout_where_distances_have_embeddings() {
    let (listed, opened) = (listed("deberta-v2"), Transformer::open(&folder("deberta-v2"), &Device::Cpu).unwrap());
    let pieces = all_pieces(&opened, &plain::<Vec<Vec<String>>>(&listed, "sentences"));
    let batch = PieceBatch::new(&[&pieces[1], &pieces[4]]);
    let (parameters, network) = double(&opened);
    let loss = || {
        let states = network.states(&batch, false, Some(&mut Random::new(3)))?;
        Ok(states[0].sqr()?.sqr()?.sum_all()?)
    };
    let some = ["bert.distances.embeddings", "bert.distances.norm.scale", "bert.layer.01.projection.weight"];
    let chosen: Vec<_> = parameters.iter().filter(|(name, _)| some.contains(name)).collect();
    assert_eq!(chosen.len(), some.len());
    assert_loss_gradients(chosen.into_iter(), loss, 1e-5).unwrap();
}

#[test]
fn buckets_of_distances_are_those_of_the_reference() {
    let expected: Vec<usize> = plain(&listed("mpnet"), "buckets");
    assert_eq!((-300..=300).map(bucket).collect::<Vec<_>>(), expected);
    let expected: Vec<usize> = plain(&listed("deberta-v2"), "buckets");
    let spans = Spans { span: 256, farthest: Some(512), normalised: true, to_position: true, from_position: true };
    assert_eq!((-300..=300).map(|distance| spans.row(distance)).collect::<Vec<_>>(), expected);
}
