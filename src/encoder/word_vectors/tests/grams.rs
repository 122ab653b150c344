//! Words that a table does not have: the vectors that fastText and floret give to them themselves.

use super::*;
use serde_json::Value;
use std::collections::BTreeMap;

const BIN: &[u8] = include_bytes!("../../../../tools/reference/values/word_vectors/grams.bin");
const FLORET: &[u8] = include_bytes!("../../../../tools/reference/values/word_vectors/grams.floret");
const EXPECTED: &str = include_str!("../../../../tools/reference/values/word_vectors/grams.json");

fn expected(kind: &str) -> BTreeMap<String, Vec<f32>> {
    let all: Value = serde_json::from_str(EXPECTED).unwrap();
    serde_json::from_value(all[kind].clone()).unwrap()
}

fn values(vectors: &WordVectors, word: &str) -> Vec<f32> {
    let mut values = vec![f32::NAN; vectors.dims()];
    vectors.read(&vectors.place(word), &mut values);
    values
}

/// Compares with what the program itself gives, times the common factor of the table, within the rounding of rows.
fn assert_gives(vectors: &WordVectors, expected: &BTreeMap<String, Vec<f32>>) {
    let most = expected.values().flatten().fold(0f32, |most, value| most.max(value.abs()));
    for (word, expected) in expected {
        for (found, expected) in values(vectors, word).into_iter().zip(expected) {
            let found = (f64::from(found) / vectors.factor) as f32;
            assert!((found - expected).abs() < most * 0.015, "{word}: {found}, not {expected}");
        }
    }
}

#[test]
fn a_binary_model_gives_known_and_unknown_words_the_vectors_that_fasttext_gives_them() {
    let (_folder, vectors, facts) = converted(BIN).unwrap();
    assert_eq!((facts.words, facts.dims, facts.skipped, vectors.len()), (10, 4, 0, 10));
    vectors.check().unwrap();
    assert_gives(&vectors, &expected("bin"));
    assert!(matches!(vectors.place("letters"), Place::Row(_)) && matches!(vectors.place("LETTERS"), Place::Row(_)));
    assert!(matches!(vectors.place("kitchen"), Place::Mean(rows) if rows.iter().all(|row| (10..40).contains(row))));
}

#[test]
fn a_floret_table_gives_every_word_the_vector_that_floret_gives_it() {
    let (_folder, vectors, facts) = converted(FLORET).unwrap();
    assert_eq!((facts.words, facts.dims, vectors.len()), (0, 4, 0));
    vectors.check().unwrap();
    let mut expected = expected("floret");
    // The mark of a sentence's end, which floret does not look up, and the first word of its dictionary, for which it gives
    // another vector than spaCy does with the same table; ours is that of spaCy.
    expected.retain(|word, _| !["</s>", "köyü"].contains(&word.as_str()));
    assert_gives(&vectors, &expected);
}

#[test]
fn the_tables_of_two_models_with_equal_rows_and_other_ngrams_have_other_fingerprints() {
    let text = String::from_utf8(FLORET.to_vec()).unwrap();
    let (_one, given) = table(&text);
    let (_two, longer) = table(text.replacen(" 4 2 3 2 ", " 4 2 4 2 ", 1));
    assert_ne!(given.fingerprint().unwrap(), longer.fingerprint().unwrap());
    assert_ne!(values(&given, "kitchen"), values(&longer, "kitchen"));
}

#[test]
fn a_word_of_any_length_has_a_vector_at_once() {
    let (_folder, vectors) = table(BIN);
    let long = "ğ".repeat(10_000_000);
    assert!(values(&vectors, &long).iter().all(|value| value.is_finite()));
}

#[test]
fn binary_models_that_are_cut_or_damaged_are_refused_and_nothing_is_left() {
    for cut in 4..BIN.len() {
        // What follows the matrix is not needed.
        if let Err(error) = converted(&BIN[..cut]) {
            let message = error.to_string();
            assert!(message.contains("fastText model") && message.contains(".vec"), "{cut}: {message}");
        } else {
            assert!(cut > BIN.len() / 2, "{cut} bytes are enough");
        }
    }
    let mut random = Random::new(5);
    for _ in 0..2000 {
        let mut damaged = BIN.to_vec();
        let at = 4 + random.below(damaged.len() - 4);
        damaged[at] = random.below(256) as u8;
        if let Ok((_folder, vectors, _)) = converted(&damaged) {
            vectors.check().unwrap();
            assert_eq!(["the", "kitchen"].map(|word| values(&vectors, word).len()), [vectors.dims(); 2]);
        }
    }
    let edited = |place: usize, value: i32| {
        let mut edited = BIN.to_vec();
        edited[place..place + 4].copy_from_slice(&value.to_le_bytes());
        refusal(&edited)
    };
    assert!(edited(4, 11).contains("version 11"), "{}", edited(4, 11));
    // Dimensions, buckets, the longest n-gram, and words: no memory is asked for that the file does not fill.
    for (place, value) in [(8, i32::MAX), (8, -1), (40, i32::MAX), (40, -1), (48, 1000), (68, i32::MAX)] {
        assert!(edited(place, value).contains("fastText model"), "{place}: {}", edited(place, value));
    }
}

#[test]
fn floret_rows_out_of_order_and_wrong_numbers_are_refused_with_their_line() {
    let text = String::from_utf8(FLORET.to_vec()).unwrap();
    for (from, to, part) in [
        ("\n3 ", "\n4 ", ":5: `4`, but row 3 comes next"),
        ("30 4 2 3", "31 4 2 3", ":32: the end of the file, but row 30 comes next"),
        ("30 4 2 3", "30 4 5 3", ":1: other numbers"),
        ("30 4 2 3 2", "30 4 2 3 5", ":1: other numbers"),
        ("30 4 2 3", "30 0 2 3", ":1: no values"),
    ] {
        let message = refusal(text.replacen(from, to, 1).as_bytes());
        assert!(message.contains(part), "{message}, not {part}");
    }
}
