//! `citree explain` as a user runs it: every format, every option, and invalid options.

use crate::sandbox::{Sandbox, stderr, stdout};
use serde_json::Value;

fn trained() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    sandbox.write("one.txt", "Anna didn't find the old letters in the kitchen.\n");
    sandbox
}

fn explain(sandbox: &Sandbox, more: &[&str]) -> String {
    let output = sandbox.citree(&[&["explain", "t.citree", "one.txt", "--text"], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn text_names_citations_and_their_coverage() {
    let sandbox = trained();
    let text = explain(&sandbox, &["--edge", "6", "--count", "3", "--by", "label", "--by", "genre"]);
    let in_one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in ["of the evidence", "of the margin over", "training edges count", "margin by label:", "by genre:"] {
        assert!(in_one_line.contains(expected), "no `{expected}` in\n{text}");
    }
    assert!(!text.contains('\x1b'), "no colours where nobody looks");
    assert_eq!(text.matches("probability").count(), 2, "one edge, two decisions");
    let marked = text.lines().filter(|line| line.contains('[') && line.contains(']')).count();
    assert!((4..=6).contains(&marked), "three citations of the head, up to three of the label, marked\n{text}");
}

#[test]
fn control_characters_of_a_treebank_do_not_reach_the_terminal() {
    let sandbox = trained();
    let word = "1\tAn\x1b]0;title\x07na\t_\tPROPN\t_\t_\t0\troot\t_\t_";
    sandbox.write("hostile.conllu", &format!("# sent_id = a\x1b[2Jb\n{word}\n\n"));
    let output = sandbox.citree(&["explain", "t.citree", "hostile.conllu"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("a\\u{1b}[2Jb") && text.contains("An\\u{1b}]0;title\\u{7}na"), "{text}");
    assert!(!text.contains(['\x1b', '\x07']), "{text}");
    let drawn = stdout(&sandbox.citree(&["parse", "t.citree", "hostile.conllu", "--format", "arcs"]));
    assert!(drawn.contains("An\\u{1b}]0;title\\u{7}na") && !drawn.contains('\x1b'), "{drawn}");
}

#[test]
fn text_fits_the_width_it_is_given() {
    let sandbox = trained();
    for width in [72, 100] {
        let mut command = sandbox.command(&["explain", "t.citree", "dev.conllu"]);
        let output = command.env("COLUMNS", width.to_string()).output().unwrap();
        let longest = stdout(&output).lines().map(|line| line.chars().count()).max().unwrap();
        // Words are never cut, so a long one can exceed the width.
        assert!(longest <= width + 24, "{longest} in {width}");
    }
}

#[test]
fn json_matches_its_schema() {
    let sandbox = trained();
    let schema: Value = serde_json::from_str(include_str!("../../docs/explain.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for more in [
        &["--by", "label", "--by", "document"][..],
        &["--rule", "nca", "--why-not", "6:1", "--edge", "6", "--flip"],
        &["--rule", "knn", "--without", "s", "--count", "0"],
        &["--below", "0.5"],
    ] {
        let mut args = vec!["--format", "json"];
        args.extend(more.iter().map(|&text| if text == "s" { first_sentence(&sandbox) } else { text }));
        for line in explain(&sandbox, &args).lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            let problems: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{problems:?}");
        }
    }
}

fn first_sentence(sandbox: &Sandbox) -> &'static str {
    let sentences = citree::treebank::read_all(&sandbox.path("train.conllu")).unwrap();
    sentences[0].sent_id().unwrap().to_string().leak()
}

#[test]
fn conllu_has_the_parse_and_the_citations_in_misc() {
    let sandbox = trained();
    let explained = explain(&sandbox, &["--format", "conllu", "--count", "2"]);
    let output = sandbox.citree(&["parse", "t.citree", "one.txt", "--text", "--scores"]);
    let columns = |text: &str| -> Vec<Vec<String>> {
        let lines = text.lines().filter(|line| line.split('\t').count() == 10);
        lines.map(|line| line.split('\t').map(str::to_string).collect()).collect()
    };
    let (explained, parsed) = (columns(&explained), columns(&stdout(&output)));
    assert_eq!(explained.len(), parsed.len());
    for (explained, parsed) in explained.iter().zip(&parsed).filter(|(line, _)| !line[0].contains('-')) {
        assert_eq!(explained[..9], parsed[..9]);
        let cite = explained[9].split('|').find_map(|pair| pair.strip_prefix("Cite=")).unwrap();
        assert_eq!(cite.split(',').count(), 2);
        assert!(cite.split(',').all(|citation| citation.split(':').count() == 3), "{cite}");
        assert!(explained[9].contains("CiteLabel=") && explained[9].contains("HeadProb="));
    }
}

#[test]
fn below_explains_only_doubtful_edges() {
    let sandbox = trained();
    let answer: Value =
        serde_json::from_str(explain(&sandbox, &["--format", "json", "--below", "0.9"]).trim()).unwrap();
    let below = answer["probabilities"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|pair| pair.as_array().unwrap().iter().any(|probability| probability.as_f64().unwrap() < 0.9));
    assert_eq!(answer["edges"].as_array().unwrap().len(), below.count());
}

#[test]
fn what_if_and_flips_are_shown() {
    let sandbox = trained();
    let text = explain(&sandbox, &["--edge", "6", "--flip", "--without", first_sentence(&sandbox)]);
    assert!(text.contains("edges change"), "{text}");
    assert!(text.contains("The head of 6") && text.contains("The label of 6"), "{text}");
    let text = explain(&sandbox, &["--edge", "6", "--why-not", "6:1:nsubj"]);
    assert!(text.contains("training edges argue") || text.contains("training edge argues"), "{text}");
}

#[test]
fn invalid_options_are_refused_and_nothing_is_written() {
    let sandbox = trained();
    for (more, expected) in [
        (&["--edge", "99"][..], "no word 99"),
        (&["--edge", "0"], "no word 0"),
        (&["--why-not", "3:99"], "no edge 3:99"),
        (&["--why-not", "3:3"], "its own head"),
        (&["--why-not", "3:x"], "WORD:HEAD"),
        (&["--why-not", "3:1:nolabel"], "no label nolabel"),
        (&["--without", "nobody-wrote-this"], "no training sentence"),
        (&["--by", "colour"], "prefix:N"),
        (&["--rule", "nca", "--temperature", "0"], "temperature"),
        (&["--below", "80"], "between 0 and 1"),
        (&["--rule", "knn", "--neighbors", "0"], "neighbors"),
    ] {
        let output = sandbox.citree(&[&["explain", "t.citree", "one.txt", "--text"], more].concat());
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{more:?}");
        assert!(stderr(&output).contains(expected), "{more:?}: {}", stderr(&output));
    }
    std::fs::remove_dir_all(sandbox.path("t.citree/index")).unwrap();
    let output = sandbox.citree(&["explain", "t.citree", "one.txt", "--text"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    assert!(stderr(&output).contains("citree index t.citree --treebank"), "{}", stderr(&output));
}

#[test]
fn a_model_that_decides_by_weights_says_that_no_training_edge_carries_it() {
    let sandbox = Sandbox::new();
    sandbox.trained_with("w.citree", &["--system", "WWc"]);
    let output = sandbox.citree(&["explain", "w.citree", "dev.conllu"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("decides by learnt weights"), "{}", stderr(&output));
}
