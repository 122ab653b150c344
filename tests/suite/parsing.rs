//! Parsing: results are trees, other columns are kept, bad input is refused, and the batch does not change a parse.

use crate::sandbox::{Sandbox, stderr, stdout};
use citree::Bundle;
use citree::config::{Config, Preset};
use citree::parse::{Decode, Settings};
use citree::treebank::{Reader, Sentence, starter};

fn sentences(text: &str) -> Vec<Sentence> {
    Reader::new(text.as_bytes(), "output").map(Result::unwrap).collect()
}

/// Whether heads, without an entry for ROOT, make a tree with one root.
fn is_tree(heads: &[usize]) -> bool {
    let above = |word: &usize| Some(heads[*word - 1]).filter(|head| *head != 0);
    // A path to ROOT has at most as many words as the sentence.
    let reaches_root = |word| std::iter::successors(Some(word), above).take(heads.len() + 1).count() <= heads.len();
    heads.iter().filter(|head| **head == 0).count() == 1 && (1..=heads.len()).all(reaches_root)
}

#[test]
fn parses_are_single_rooted_trees_and_keep_every_other_column_of_the_input() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let output = sandbox.citree(&["parse", "t.citree", "dev.conllu"]);
    let (parsed, gold) = (sentences(&stdout(&output)), &starter::dev()[..20]);
    assert_eq!(parsed.len(), gold.len());
    for (parsed, gold) in parsed.iter().zip(gold) {
        assert!(is_tree(&parsed.gold_heads().unwrap()));
        assert_eq!(parsed.comments(), gold.comments());
        assert_eq!(parsed.multiword_tokens(), gold.multiword_tokens());
        for (parsed, gold) in parsed.words().iter().zip(gold.words()) {
            assert_eq!((&parsed.form, &parsed.feats, &parsed.misc), (&gold.form, &gold.feats, &gold.misc));
            assert_eq!(parsed.head == Some(0), parsed.label == "root");
        }
    }
}

#[test]
fn plain_text_is_split_parsed_and_scored() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let output =
        sandbox.citree_with_input(&["parse", "t.citree", "--text", "--scores"], "I don't know.\n\n  \nWho left?\n");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let parsed = sentences(&stdout(&output));
    assert_eq!(parsed.len(), 2, "blank lines are no sentences");
    assert_eq!(parsed[0].forms().collect::<Vec<_>>(), ["I", "do", "n't", "know", "."]);
    for word in parsed[0].words() {
        let probability: f64 = word.misc("HeadProb").unwrap().parse().unwrap();
        assert!((0.0..=1.0).contains(&probability) && word.misc("LabelProb").is_some());
    }
}

#[test]
fn the_batch_a_sentence_is_parsed_in_never_changes_its_parse() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let parser = Bundle::open(sandbox.path("t.citree")).unwrap().parser().unwrap();
    let dev = starter::dev();
    let together = parser.parse(&dev).unwrap();
    for (sentence, together) in dev.iter().zip(&together) {
        let alone = &parser.parse(std::slice::from_ref(sentence)).unwrap()[0];
        assert_eq!((&alone.heads, &alone.labels), (&together.heads, &together.labels));
        for (a, b) in alone.head_probabilities.iter().zip(&together.head_probabilities) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
    }
}

#[test]
fn greedy_and_tree_decoding_agree_where_greedy_is_a_tree() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let bundle = Bundle::open(sandbox.path("t.citree")).unwrap();
    let parser = |decode| bundle.parser_with(&Settings { decode, ..Settings::default() }).unwrap();
    let parse = |decode| parser(decode).parse(&starter::dev()).unwrap();
    let mut compared = 0;
    for (greedy, tree) in parse(Decode::Greedy).iter().zip(parse(Decode::Tree)) {
        if is_tree(&greedy.heads[1..]) {
            assert_eq!(greedy.heads, tree.heads);
            compared += 1;
        }
    }
    assert!(compared > 0, "no greedy parse was a tree");
}

#[test]
fn odd_input_gets_a_parse_or_a_clear_error_never_a_panic() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let long = vec!["word"; 4001].join(" ");
    for (input, code, expected) in [
        ("", 0, ""),
        ("\u{1F600} \u{200B} \u{0301}x 日本語 العربية\n", 0, "日"),
        (&format!("{}\n", "a".repeat(100_000)), 0, "aaaa"),
        (&format!("{long}\n"), 2, "split it"),
    ] {
        let output = sandbox.citree_with_input(&["parse", "t.citree", "--text"], input);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!((stdout(&output) + &stderr(&output)).contains(expected), "{}", stderr(&output));
    }
    let broken = sandbox.citree_with_input(&["parse", "t.citree"], "1\tonly two\n\n");
    assert_eq!(broken.status.code(), Some(2));
    assert!(stderr(&broken).contains("<stdin>:1"), "{}", stderr(&broken));
}

#[test]
fn what_comes_before_a_bad_sentence_is_parsed_and_written() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let good = "She reads letters.\nThey sleep.\n";
    let expected = stdout(&sandbox.citree_with_input(&["parse", "t.citree", "--text"], good));
    let long = vec!["word"; 4001].join(" ");
    let output = sandbox.citree_with_input(&["parse", "t.citree", "--text"], &format!("{good}{long}\nNot read.\n"));
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), expected.clone()));
    assert!(stderr(&output).contains("sentence 3 of the input"), "{}", stderr(&output));
    let broken = sandbox.citree_with_input(&["parse", "t.citree"], &format!("{expected}1\tbroken\n\n"));
    assert_eq!((broken.status.code(), stdout(&broken)), (Some(2), expected));
}

#[test]
fn a_missing_damaged_or_foreign_bundle_is_an_error_that_says_what_to_do() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let parse = |bundle: &str| sandbox.citree(&["parse", bundle, "dev.conllu"]);
    assert!(stderr(&parse("nowhere.citree")).contains("citree train"));
    for file in ["heads.safetensors", "labels.safetensors", "tables.json", "config.toml"] {
        let path = sandbox.path("t.citree/model").join(file);
        let bytes = std::fs::read(&path).unwrap();
        for damaged in [&bytes[..bytes.len() / 2], &b""[..], b"not what it was"] {
            std::fs::write(&path, damaged).unwrap();
            let output = parse("t.citree");
            assert_eq!(output.status.code(), Some(2), "{file}");
            assert!(stderr(&output).contains(file), "{file}: {}", stderr(&output));
        }
        std::fs::write(&path, bytes).unwrap();
    }
    let config = std::fs::read_to_string(sandbox.path("t.citree/model/config.toml")).unwrap();
    let (_checksum, config) = config.split_once('\n').unwrap();
    // The second would take 137 GB.
    for units in ["13", "65536"] {
        let wider = config.replace("lstm_units = 12", &format!("lstm_units = {units}"));
        sandbox.write("t.citree/model/config.toml", &wider);
        let output = parse("t.citree");
        assert_eq!(output.status.code(), Some(2), "{units}");
        assert!(stderr(&output).contains("parameters of this configuration"), "{units}: {}", stderr(&output));
    }
}

#[test]
fn a_bundle_stores_its_configuration_and_its_learning_curve() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let config = Config::load(Preset::Small, &sandbox.path("t.citree/model/config.toml")).unwrap();
    assert_eq!((config.lstm_units, config.epochs, config.dropout), (12, 3, Config::preset(Preset::Small).dropout));
    assert!(std::fs::read_to_string(sandbox.path("t.citree/curve.svg")).unwrap().starts_with("<svg"));
}
