//! Plain text is cut into words nearly as the treebank's own annotators did it.

#![allow(clippy::unwrap_used)]

use citree::evaluate::evaluate;
use citree::treebank::{Sentence, Splits, read_all};
use std::path::Path;

/// How well the text of a dev file is cut into words by what the train file teaches: F1 of words.
fn word_f1(treebank: &str, code: &str) -> Option<f64> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/treebanks").join(treebank);
    if !folder.is_dir() {
        println!("skipped: no treebank at {}", folder.display());
        return None;
    }
    let read = |part: &str| read_all(&folder.join(format!("{code}-ud-{part}.conllu"))).unwrap();
    let (splits, gold) = (Splits::learn(&read("train")), read("dev"));
    let attach_to_root = |mut sentence: Sentence| {
        sentence.words_mut().iter_mut().for_each(|word| word.head = Some(0));
        sentence
    };
    let system: Vec<Sentence> = gold.iter().map(|s| attach_to_root(splits.split(s.text().unwrap()))).collect();
    let scores = evaluate(&gold, &system).unwrap();
    println!("{treebank}: tokens {:.4}, words {:.4}", scores.tokens.f1, scores.words.f1);
    Some(scores.words.f1)
}

#[test]
fn english_text_is_cut_as_in_ewt() {
    if let Some(f1) = word_f1("en_ewt-2.7", "en_ewt") {
        assert!(f1 > 0.990, "{f1}");
    }
}

#[test]
fn turkish_text_is_cut_as_in_imst() {
    if let Some(f1) = word_f1("tr_imst-2.7", "tr_imst") {
        assert!(f1 > 0.982, "{f1}");
    }
}
