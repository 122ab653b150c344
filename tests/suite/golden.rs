//! Compares whole outputs of the command line with the files in `tests/golden/`. Numbers are replaced, so that the files
//! are the same on every processor. `CITREE_BLESS=1 cargo test --test suite golden` writes them again.

mod compare;

use crate::frozen::thawed;
use crate::sandbox::{Sandbox, stdout};
use compare::Goldens;
use std::collections::BTreeSet;

/// Sentences of a treebank in `one.conllu`, a bundle without an index in `bare.citree`.
fn sandbox() -> Sandbox {
    let sandbox = thawed();
    sandbox.write_treebank("one.conllu", &citree::treebank::starter::dev()[..1]);
    crate::trained::copy_all(&sandbox.path("en.citree/model"), &sandbox.path("bare.citree/model"));
    sandbox
}

#[test]
fn help_of_every_verb() {
    let sandbox = sandbox();
    let help = stdout(&sandbox.citree(&["--help"]));
    // A verb is any word that starts an indented line and has its own help, however verbs are grouped.
    let words: BTreeSet<&str> = help.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    let is_verb = |word: &&str| {
        let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase()) && *word != "help";
        plain && sandbox.citree(&[word, "--help"]).status.success()
    };
    let verbs: Vec<&str> = words.into_iter().filter(is_verb).collect();
    assert!(verbs.len() > 10, "{verbs:?}");
    let mut goldens = Goldens::new("help", &sandbox);
    goldens.check("citree", &["--help"]);
    for verb in verbs {
        goldens.check(verb, &[verb, "--help"]);
    }
    goldens.finish();
}

#[test]
fn parses_as_arcs_and_as_conllu() {
    let sandbox = sandbox();
    let mut goldens = Goldens::new("parse", &sandbox);
    goldens.check("arcs", &["parse", "en.citree", "one.txt", "--lines", "--format", "arcs"]);
    goldens.check("arcs-greedy", &["parse", "en.citree", "one.conllu", "--format", "arcs", "--decode", "greedy"]);
    sandbox.write("token.txt", "He didn't find them.\n");
    goldens.check("arcs-token", &["parse", "en.citree", "token.txt", "--lines", "--format", "arcs"]);
    goldens.check("conllu-scores", &["parse", "en.citree", "one.txt", "--lines", "--scores"]);
    goldens.finish();
}

#[test]
fn explanations_in_the_terminal() {
    let sandbox = sandbox();
    let mut goldens = Goldens::new("explain", &sandbox);
    let mut explain = |name: &str, more: &[&str]| {
        let start = ["explain", "en.citree", "one.txt", "--lines", "--edge", "8", "--count", "3"];
        goldens.check(name, &[&start, more].concat());
    };
    explain("sum", &[]);
    explain("nca", &["--rule", "nca", "--temperature", "64"]);
    explain("knn", &["--rule", "knn", "--neighbors", "5"]);
    explain("by-genre", &["--by", "genre", "--by", "dependent"]);
    explain("why-not-head", &["--why-not", "8:2"]);
    explain("why-not-label", &["--why-not", "8:5:nmod"]);
    explain("flip-sum", &["--flip"]);
    explain("flip-nca", &["--flip", "--rule", "nca"]);
    explain("flip-knn", &["--flip", "--rule", "knn"]);
    explain("without", &["--without", "kitchen-0001"]);
    // The same model with an index that has rejected edges.
    sandbox.write_treebank("forty.conllu", &citree::treebank::starter::train()[..40]);
    crate::trained::copy_all(&sandbox.path("en.citree"), &sandbox.path("both.citree"));
    assert!(sandbox.citree(&["index", "both.citree", "--treebank", "forty.conllu"]).status.success());
    let mut both = |name: &str, more: &[&str]| {
        let start = ["explain", "both.citree", "one.txt", "--lines", "--edge", "8", "--count", "3"];
        goldens.check(name, &[&start, more].concat());
    };
    both("both-knn", &["--rule", "knn"]);
    both("both-nca", &["--rule", "nca"]);
    both("both-flip-knn", &["--rule", "knn", "--flip"]);
    both("both-by-genre", &["--rule", "knn", "--by", "genre"]);
    both("both-why-not", &["--rule", "knn", "--why-not", "8:2"]);
    goldens.finish();
}

#[test]
fn info_and_verify_of_bundles() {
    let sandbox = sandbox();
    sandbox.trained("new.citree");
    let mut goldens = Goldens::new("bundle", &sandbox);
    goldens.check("info", &["info", "new.citree"]);
    goldens.check("info-old", &["info", "en.citree"]);
    goldens.check("info-without-index", &["info", "bare.citree"]);
    goldens.check("verify", &["verify", "new.citree"]);
    // The frozen bundle has the same checksums everywhere.
    let labels = sandbox.path("en.citree/index/gen-000001/labels");
    let mut bytes = std::fs::read(&labels).unwrap();
    bytes[5000] ^= 1;
    std::fs::write(labels, bytes).unwrap();
    goldens.check("verify-damaged", &["verify", "en.citree"]);
    goldens.finish();
}

#[test]
fn messages_of_common_mistakes() {
    let sandbox = sandbox();
    let mut goldens = Goldens::new("mistakes", &sandbox);
    let cases: [(&str, &[&str]); 19] = [
        ("nothing-asked", &[]),
        ("unknown-verb", &["pars", "en.citree"]),
        ("missing-bundle", &["parse", "no.citree", "one.conllu"]),
        ("file-for-a-bundle", &["parse", "one.conllu", "one.conllu"]),
        ("missing-index-explain", &["explain", "bare.citree", "one.conllu"]),
        ("missing-index-neighbors", &["neighbors", "bare.citree", "one.conllu"]),
        ("missing-index-rule", &["parse", "bare.citree", "one.conllu", "--rule", "knn"]),
        ("missing-index-serve", &["serve", "bare.citree", "--listen", "127.0.0.1:0"]),
        ("missing-index-verify", &["verify", "bare.citree"]),
        ("missing-file", &["parse", "en.citree", "no.conllu"]),
        ("forgotten-text", &["parse", "en.citree", "one.txt"]),
        ("unknown-rule", &["explain", "en.citree", "one.txt", "--lines", "--rule", "nearest"]),
        (
            "setting-of-another-rule",
            &["explain", "en.citree", "one.txt", "--lines", "--rule", "nca", "--neighbors", "3"],
        ),
        ("setting-without-a-rule", &["parse", "en.citree", "one.txt", "--lines", "--temperature", "3"]),
        ("setting-out-of-range", &["parse", "en.citree", "one.txt", "--lines", "--rule", "knn", "--neighbors", "0"]),
        ("no-such-word", &["explain", "en.citree", "one.txt", "--lines", "--edge", "99"]),
        ("its-own-head", &["explain", "en.citree", "one.txt", "--lines", "--why-not", "3:3"]),
        ("train-from-text", &["train", "--train", "one.txt", "--dev", "one.conllu", "new.citree"]),
        ("train-into-a-bundle", &["train", "--train", "one.conllu", "--dev", "one.conllu", "en.citree"]),
    ];
    for (name, arguments) in cases {
        goldens.check(name, arguments);
    }
    goldens.finish();
}
