//! `citree find` over files and over the training sentences of a bundle.

use crate::frozen::thawed;
use crate::sandbox::{Sandbox, stderr, stdout};
use citree::treebank::{Reader, starter};
use serde_json::Value;

const OBJECTS: &str = "pattern { V -[obj]-> N }";

fn lines(sandbox: &Sandbox, arguments: &[&str]) -> Vec<Value> {
    let output = sandbox.citree(&[&["find"], arguments, &["--format", "jsonl"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_edge_that_fits_is_found_and_no_other() {
    let sandbox = Sandbox::new();
    let found = lines(&sandbox, &["dev.conllu", OBJECTS]);
    let mut expected = Vec::new();
    for (number, sentence) in starter::dev()[..20].iter().enumerate() {
        for (at, word) in sentence.words().iter().enumerate() {
            if word.label == "obj" || word.label.starts_with("obj:") {
                expected.push((number + 1, word.head.unwrap(), at + 1));
            }
        }
    }
    let mut got: Vec<(usize, usize, usize)> = found
        .iter()
        .map(|one| {
            let number = |value: &Value| value.as_u64().unwrap() as usize;
            (number(&one["sentence"]), number(&one["found"]["V"]), number(&one["found"]["N"]))
        })
        .collect();
    assert!(!expected.is_empty());
    expected.sort_unstable();
    got.sort_unstable();
    assert_eq!(got, expected);
}

#[test]
fn the_evidence_of_a_bundle_is_searched_as_the_treebank_is() {
    let sandbox = thawed();
    sandbox.write_treebank("forty.conllu", &starter::train()[..40]);
    let mut of_bundle = lines(&sandbox, &["en.citree", OBJECTS]);
    let mut of_file = lines(&sandbox, &["forty.conllu", OBJECTS]);
    assert!(of_file.len() > 5);
    for found in [&mut of_bundle, &mut of_file] {
        found.iter_mut().for_each(|one| one["sentence"] = Value::Null);
        found.sort_by_key(Value::to_string);
    }
    assert_eq!(of_bundle, of_file);
    let refused = sandbox.citree(&["find", "en.citree", "pattern { N [upos=NOUN, Case] }"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("asks for FEATS, UPOS; search the treebank"), "{}", stderr(&refused));
}

#[test]
fn text_marks_the_words_and_conllu_says_which_they_are() {
    let sandbox = Sandbox::new();
    let output = sandbox.citree(&["find", "dev.conllu", "pattern { D -[det]-> X } without { X << D }", "--top", "1"]);
    assert_eq!(stdout(&output), "");
    let output = sandbox.citree(&["find", "dev.conllu", OBJECTS, "--top", "3"]);
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.lines().all(|line| line.contains("[V:") && line.contains("[N:")) && !text.contains('\x1b'), "{text}");
    assert!(stderr(&output).starts_with("3 matches in "), "{}", stderr(&output));
    let conllu = stdout(&sandbox.citree(&["find", "dev.conllu", OBJECTS, "--format", "conllu"]));
    for sentence in Reader::new(conllu.as_bytes(), "found").map(Result::unwrap) {
        let found = sentence.comments().iter().find_map(|comment| comment.strip_prefix("# found = ")).unwrap();
        for one in found.split("; ") {
            let id = |name: &str| -> usize {
                one.split(' ').find_map(|part| part.strip_prefix(name)).unwrap().parse().unwrap()
            };
            let dependent = &sentence.words()[id("N=") - 1];
            assert_eq!((dependent.head, dependent.label.as_str()), (Some(id("V=")), "obj"));
        }
    }
}

#[test]
fn a_pattern_can_come_from_a_file_and_a_wrong_one_shows_the_place() {
    let sandbox = Sandbox::new();
    sandbox.write("objects.pattern", &format!("% objects\n{OBJECTS}\n"));
    assert_eq!(lines(&sandbox, &["dev.conllu", "@objects.pattern"]), lines(&sandbox, &["dev.conllu", OBJECTS]));
    let wrong = sandbox.citree(&["find", "dev.conllu", "pattern { V -[obj]- N }"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        stderr(&wrong).contains("\n  pattern { V -[obj]- N }\n") && stderr(&wrong).contains('^'),
        "{}",
        stderr(&wrong)
    );
}
