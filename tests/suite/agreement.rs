//! `citree parse` and `citree explain` decide the same: by every rule, and whatever treebank is indexed.

use crate::sandbox::{Sandbox, stderr, stdout};
use citree::treebank::{Reader, starter};
use serde_json::Value;

const RULES: [&[&str]; 4] =
    [&[], &["--rule", "nca", "--temperature", "64"], &["--rule", "knn"], &["--rule", "knn", "--neighbors", "3"]];

/// The heads and labels of each sentence of `dev.conllu`.
type Edges = Vec<(Vec<usize>, Vec<String>)>;

fn run(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.citree(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn parsed(sandbox: &Sandbox, options: &[&str]) -> Edges {
    let text = run(sandbox, &[&["parse", "t.citree", "dev.conllu"], options].concat());
    let sentences = Reader::new(text.as_bytes(), "parsed").map(Result::unwrap);
    let edges = sentences.map(|sentence| {
        let labels = sentence.words().iter().map(|word| word.label.clone()).collect();
        (sentence.gold_heads().unwrap(), labels)
    });
    edges.collect()
}

fn explained(sandbox: &Sandbox, options: &[&str]) -> Edges {
    let text =
        run(sandbox, &[&["explain", "t.citree", "dev.conllu", "--format", "json", "--count", "0"], options].concat());
    let edges = text.lines().map(|line| {
        let answer: Value = serde_json::from_str(line).unwrap();
        let read = |field: &str| answer[field].clone();
        (serde_json::from_value(read("heads")).unwrap(), serde_json::from_value(read("labels")).unwrap())
    });
    edges.collect()
}

fn agree(sandbox: &Sandbox) {
    for decode in ["mst", "greedy"] {
        for rule in RULES {
            let options = [&["--decode", decode], rule].concat();
            assert_eq!(parsed(sandbox, &options), explained(sandbox, &options), "{options:?}");
        }
    }
}

#[test]
fn parse_and_explain_agree_by_every_rule() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    agree(&sandbox);
    assert_ne!(parsed(&sandbox, &[]), parsed(&sandbox, RULES[2]), "the rule makes no difference");
}

#[test]
fn after_another_treebank_is_indexed_both_decide_by_it() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let before = parsed(&sandbox, &[]);
    sandbox.write_treebank("other.conllu", &starter::train()[60..75]);
    run(&sandbox, &["index", "t.citree", "--treebank", "other.conllu"]);
    agree(&sandbox);
    assert_ne!(parsed(&sandbox, &[]), before, "the new index makes no difference");
}

#[test]
fn without_an_index_parse_decides_by_the_sums_that_training_left() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let with = parsed(&sandbox, &[]);
    std::fs::remove_dir_all(sandbox.path("t.citree/index")).unwrap();
    assert_eq!(parsed(&sandbox, &[]), with);
    let output = sandbox.citree(&["parse", "t.citree", "dev.conllu", "--rule", "knn"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("citree index t.citree --treebank"), "{}", stderr(&output));
}
