//! `citree compare`: gold trees beside parses.

use crate::sandbox::{Sandbox, stderr, stdout};
use citree::evaluate::{Comparing, compare, evaluate};
use citree::treebank::starter;
use serde_json::Value;

const GOLD: &str = "\
# sent_id = a
1\tWe\t_\t_\t_\t_\t2\tnsubj:pass\t_\t_
2\tsaw\t_\t_\t_\t_\t0\troot\t_\t_
3\told\t_\t_\t_\t_\t4\tamod\t_\t_
4\tletters\t_\t_\t_\t_\t2\tobj\t_\t_

# sent_id = b
1\tGo\t_\t_\t_\t_\t0\troot\t_\t_
2\taway\t_\t_\t_\t_\t1\tadvmod\t_\t_

";

/// The gold trees with some edges replaced, and MISC.
fn changed(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(GOLD.to_string(), |text, (from, to)| {
        assert!(text.contains(from));
        text.replace(from, to)
    })
}

/// One error of each kind, and a subtype that is missing.
fn parsed() -> String {
    changed(&[
        ("2\tnsubj:pass\t_\t_", "2\tnsubj\t_\tHeadProb=0.9"),
        ("4\tamod\t_\t_", "2\tamod\t_\tHeadProb=0.4"),
        ("2\tobj\t_\t_", "3\tobl\t_\tHeadProb=0.8"),
        ("1\tadvmod\t_\t_", "1\tobj\t_\tHeadProb=0.3"),
    ])
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("gold.conllu", GOLD);
    sandbox.write("parsed.conllu", &parsed());
    sandbox
}

fn json(sandbox: &Sandbox, options: &[&str]) -> Value {
    let start = ["compare", "gold.conllu", "parsed.conllu", "--format", "json"];
    let output = sandbox.citree(&[&start, options].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn ids(comparison: &Value) -> Vec<&str> {
    comparison["sentences"].as_array().unwrap().iter().map(|one| one["sent_id"].as_str().unwrap()).collect()
}

#[test]
fn errors_are_of_the_head_of_the_label_or_of_both_and_labels_are_compared_without_subtypes() {
    let comparison = json(&sandbox(), &[]);
    let errors = &comparison["parses"][0]["errors"];
    assert_eq!(errors, &serde_json::json!({ "head": 1, "label": 1, "both": 1 }));
    let words: Vec<u64> = comparison["sentences"][0]["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["word"].as_u64().unwrap())
        .collect();
    assert_eq!(words, [3, 4]);
    assert_eq!(
        comparison["parses"][0]["confusions"],
        serde_json::json!([
            { "gold": "advmod", "predicted": "obj", "words": 1, "head_correct": 1 },
            { "gold": "obj", "predicted": "obl", "words": 1, "head_correct": 0 },
        ])
    );
    let with_subtypes = json(&sandbox(), &["--subtypes"]);
    assert_eq!(with_subtypes["parses"][0]["errors"]["label"], 2);
}

#[test]
fn scores_are_those_of_the_evaluator() {
    let gold = starter::dev();
    // Every fifth word hangs on the next, every seventh has another label.
    let mut parse = gold.clone();
    let mut count = 0;
    for sentence in &mut parse {
        let words = sentence.words().len();
        for (at, word) in sentence.words_mut().iter_mut().enumerate() {
            count += 1;
            if count % 5 == 0 {
                word.head = Some((at + 2) % (words + 1));
            }
            if count % 7 == 0 {
                word.label = "dep".to_string();
            }
        }
    }
    let scores = evaluate(&gold, &parse).unwrap().with_punctuation;
    for (subtypes, las) in [(false, scores.las), (true, scores.las_subtypes)] {
        let comparison = compare(&gold, &[&parse], Comparing { subtypes, ..Comparing::default() }).unwrap();
        assert_eq!((comparison.parses[0].uas, comparison.parses[0].las), (scores.uas, las));
        let of_sentences: usize = comparison.sentences.iter().map(|one| one.parses[0].labelled_correct).sum();
        assert_eq!(of_sentences, las.correct);
        let errors: usize = comparison.parses[0].errors.values().sum();
        assert_eq!(errors, las.gold - las.correct);
    }
}

#[test]
fn sentences_are_chosen_by_kind_of_error_and_label_and_sorted_by_doubt() {
    let sandbox = sandbox();
    assert_eq!(ids(&json(&sandbox, &[])), ["a", "b"]);
    assert_eq!(ids(&json(&sandbox, &["--errors", "label"])), ["b"]);
    assert_eq!(ids(&json(&sandbox, &["--errors", "head,both"])), ["a"]);
    assert_eq!(ids(&json(&sandbox, &["--label", "obl"])), ["a"]);
    assert_eq!(ids(&json(&sandbox, &["--label", "advmod", "--errors", "head"])), [""; 0]);
    assert_eq!(ids(&json(&sandbox, &["--sort", "doubt"])), ["b", "a"]);
    assert_eq!(ids(&json(&sandbox, &["--sort", "errors", "--top", "1"])), ["a"]);
    assert_eq!(json(&sandbox, &["--top", "0"])["parses"][0]["uas"]["correct"], 4, "the tables are of all sentences");
}

#[test]
fn the_terminal_has_trees_above_each_other_with_what_the_gold_tree_has() {
    let sandbox = sandbox();
    let output = sandbox.citree(&["compare", "gold.conllu", "parsed.conllu"]);
    let text = stdout(&output);
    for expected in [
        "x head: gold 4 letters",
        "x both: gold obj of 2 saw",
        "x label: gold advmod",
        "parsed.conllu: UAS 2/4, LAS 2/4, least probable head 0.40",
        "2 of 2 sentences that differ are shown; 2 in all",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains('\x1b'), "no colour off a terminal");
    let (gold, parsed) = (text.find("\ngold.conllu\n").unwrap(), text.find("\nparsed.conllu: UAS 2/4").unwrap());
    assert!(gold < parsed);
}

#[test]
fn the_page_stands_alone_and_says_what_the_gold_tree_has() {
    let sandbox = sandbox();
    let output = sandbox.citree(&["compare", "gold.conllu", "parsed.conllu", "--format", "html", "--output", "p.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(sandbox.path("p.html")).unwrap();
    assert_eq!(page.matches("class=\"edge gold\"").count(), 6);
    assert_eq!(page.matches("class=\"edge doubtful unlikely\"").count(), 3);
    assert_eq!(page.matches("class=\"edge sure\"").count(), 3);
    assert!(page.contains("gold: obj of ‘saw’") && !page.contains("http://"), "{page}");
}

#[test]
fn two_parses_are_judged_by_samples_that_the_seed_fixes() {
    let sandbox = sandbox();
    sandbox.write("better.conllu", GOLD);
    let judged =
        |seed: &str| json(&sandbox, &["better.conllu", "--seed", seed, "--samples", "500"])["significance"].clone();
    let one = judged("1");
    assert_eq!(one, judged("1"));
    assert_ne!(one, judged("2"));
    assert!((one["las"]["difference"].as_f64().unwrap() - 0.5).abs() < 1e-12, "{one}");
    assert!((one["uas"]["difference"].as_f64().unwrap() - 2.0 / 6.0).abs() < 1e-12, "{one}");
    let text = stdout(&sandbox.citree(&["compare", "gold.conllu", "parsed.conllu", "better.conllu"]));
    assert!(text.contains("as the gold tree") && text.contains("+50.00"), "{text}");
}

#[test]
fn files_that_do_not_fit_are_refused_with_the_first_difference() {
    let sandbox = sandbox();
    sandbox.write("other.conllu", &GOLD.replace("letters", "books"));
    sandbox.write("shorter.conllu", GOLD.split_inclusive("\n\n").next().unwrap());
    sandbox.write("bare.conllu", &GOLD.replace("\t4\tamod", "\t_\t_"));
    for (files, expected) in [
        (
            ["gold.conllu", "other.conllu"],
            "sentence 1 of the first parse has books as word 4, but the gold file has letters",
        ),
        (["gold.conllu", "shorter.conllu"], "has 1 sentences, but the gold file has 2"),
        (["gold.conllu", "bare.conllu"], "sentence 1 of the parsed file has a word without HEAD"),
        (["bare.conllu", "gold.conllu"], "sentence 1 of the gold file has a word without HEAD"),
        (["-", "-"], "the standard input can be one of the files only"),
    ] {
        let output = sandbox.citree(&["compare", files[0], files[1]]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
    sandbox.write("empty.conllu", "");
    let empty = sandbox.citree(&["compare", "empty.conllu", "empty.conllu", "empty.conllu"]);
    assert_eq!(empty.status.code(), Some(0), "{}", stderr(&empty));
}
