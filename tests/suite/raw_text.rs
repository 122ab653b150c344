//! Running text: cut into sentences and words as in the treebank, parsed, and warned about where it is of another language.

use crate::frozen::thawed;
use crate::sandbox::{Sandbox, stderr, stdout};
use citree::treebank::{Sentence, starter};
use serde_json::Value;

const LETTER: &str = "Dear Anna, it rained all day in the garden and we\nstayed in the kitchen. She didn't read the \
                      old\nletters.\n\nSee you soon\n";

fn run(sandbox: &Sandbox, arguments: &[&str], input: &str) -> String {
    let output = sandbox.citree_with_input(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn comments(parsed: &str) -> Vec<&str> {
    parsed.lines().filter(|line| line.starts_with('#')).collect()
}

#[test]
fn paragraphs_come_out_as_sentences_with_names_and_places() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    sandbox.write("to anna.txt", LETTER);
    let parsed = run(&sandbox, &["parse", "t.citree", "to anna.txt", "--text"], "");
    assert_eq!(
        comments(&parsed),
        [
            "# newpar",
            "# sent_id = to-anna-1",
            "# text = Dear Anna, it rained all day in the garden and we stayed in the kitchen.",
            "# sent_id = to-anna-2",
            "# text = She didn't read the old letters.",
            "# newpar",
            "# sent_id = to-anna-3",
            "# text = See you soon",
        ]
    );
    let rows: Vec<Vec<&str>> = parsed.lines().map(|line| line.split('\t').collect()).collect();
    let misc = |form: &str| rows.iter().find(|row| row.get(1) == Some(&form)).unwrap()[9];
    assert_eq!((misc("Dear"), misc("Anna")), ("TokenRange=0:4", "SpaceAfter=No|TokenRange=5:9"));
    assert_eq!((misc("didn't"), misc("did")), ("TokenRange=77:83", "_"));
    assert!(sandbox.citree(&["check", "to anna.txt"]).status.code() != Some(0), "it is no CoNLL-U");
    sandbox.write("parsed.conllu", &parsed);
    assert_eq!(sandbox.citree(&["check", "parsed.conllu", "--level", "1"]).status.code(), Some(0));
}

#[test]
fn with_lines_each_line_is_one_sentence() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let parsed = run(&sandbox, &["parse", "t.citree", "--lines"], "It rained. She slept.\n\nWe stayed\n");
    assert_eq!(comments(&parsed), ["# text = It rained. She slept.", "# text = We stayed"]);
    assert!(!parsed.contains("TokenRange"));
    let both = sandbox.citree(&["parse", "t.citree", "--lines", "--text"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn a_bundle_of_an_earlier_version_cuts_by_unicode_until_it_is_indexed_again() {
    let sandbox = thawed();
    sandbox.write_treebank("train.conllu", &starter::train()[..60]);
    let info = |name: &str| -> Value {
        let facts: Value =
            serde_json::from_str(&run(&sandbox, &["info", "en.citree", "--format", "json"], "")).unwrap();
        facts["model"][name].clone()
    };
    let (fingerprint, cut) = (info("fingerprint"), info("sentences"));
    assert_eq!(cut, "cut by the rules of Unicode");
    let text = "It rained. She slept? \"Yes.\" We stayed\n";
    let parsed = run(&sandbox, &["parse", "en.citree", "--text"], text);
    assert_eq!(comments(&parsed).iter().filter(|line| line.starts_with("# text")).count(), 4, "{parsed}");
    run(&sandbox, &["index", "en.citree", "--treebank", "train.conllu"], "");
    assert_eq!(info("sentences"), "cut as in the treebank");
    assert_eq!(info("fingerprint"), fingerprint, "the index stays valid");
    run(&sandbox, &["parse", "en.citree", "--text"], text);
}

#[test]
fn damaged_tables_of_text_are_named_with_a_remedy() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let path = sandbox.path("t.citree/model/text.json");
    let whole = std::fs::read_to_string(&path).unwrap();
    let newer = whole.split_once("\",").unwrap().1.replacen("\"version\":1", "\"version\":2", 1);
    for damaged in [&whole[..whole.len() / 2], "", "{}", &whole.replacen(":1,", ":2,", 1), &format!("{{{newer}")] {
        std::fs::write(&path, damaged).unwrap();
        let output = sandbox.citree_with_input(&["parse", "t.citree", "--text"], "It rained.\n");
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("text.json") && said.contains("citree index"), "{said}");
    }
    std::fs::remove_file(&path).unwrap();
    run(&sandbox, &["parse", "t.citree", "--text"], "It rained.\n");
}

#[test]
fn text_of_another_language_is_parsed_with_a_warning_and_text_of_the_own_without() {
    let sandbox = Sandbox::new();
    // Three times, because a treebank of fewer words shows too little to tell.
    let mut train: Vec<Sentence> = starter::train();
    for (number, mut sentence) in [starter::train(), starter::train()].concat().into_iter().enumerate() {
        sentence.set_comment("sent_id", &format!("again-{number}"));
        train.push(sentence);
    }
    sandbox.write_treebank("train.conllu", &train);
    sandbox.write("tiny.toml", &crate::sandbox::TINY.replace("epochs = 3", "epochs = 1"));
    sandbox.train_anew("t.citree", &[]);
    let russian = "Ключи лежали на большом столе возле окна.\n";
    let output = sandbox.citree_with_input(&["parse", "t.citree", "--text"], russian);
    assert!(stderr(&output).contains("warning: the input looks like another language"), "{}", stderr(&output));
    let parsed = stdout(&output);
    let warning = comments(&parsed).into_iter().find(|line| line.starts_with("# warning = ")).unwrap().to_string();
    assert!(warning.contains("100 % of the words") && warning.contains("100 % of their characters"), "{warning}");

    let mixed = format!("{}\n\n{russian}", "She reads the old letters in the garden. It rained all day.\n\n".repeat(5));
    let output = sandbox.citree_with_input(&["parse", "t.citree", "--text"], &mixed);
    assert!(stderr(&output).contains("warning: 1 sentence looks like another language"), "{}", stderr(&output));
    assert_eq!(stdout(&output).matches("# warning").count(), 1);

    let own = sandbox.citree(&["parse", "t.citree", "dev.conllu"]);
    assert_eq!((stderr(&own).contains("warning"), stdout(&own).contains("# warning")), (false, false));

    let told = run(&sandbox, &["explain", "t.citree", "--text", "--format", "json", "--edge", "1"], russian);
    let told: Value = serde_json::from_str(told.trim()).unwrap();
    assert!(told["warning"].as_str().unwrap().starts_with("looks like another language"), "{told}");
    let server = crate::server::Server::start(&sandbox, "t.citree", &[]);
    let answer = server.post("/v1/parse", &serde_json::json!({ "text": format!("It rained. {russian}") })).json();
    assert_eq!(answer["sentences"][0]["warning"], Value::Null, "{answer}");
    assert!(answer["sentences"][1]["warning"].is_string(), "{answer}");
    let page = server.post_for("/v1/explain", "text/html", &serde_json::json!({ "text": russian }));
    assert_eq!(page.status, 200);
}

#[test]
fn the_api_cuts_running_text_and_takes_lines() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let server = crate::server::Server::start(&sandbox, "t.citree", &[]);
    let text = "It rained. She slept.\nWe stayed in the kitchen.";
    let count = |body: Value| server.post("/v1/parse", &body).json()["sentences"].as_array().unwrap().len();
    assert_eq!(count(serde_json::json!({ "text": text })), 3);
    assert_eq!(count(serde_json::json!({ "text": text, "lines": true })), 2);
    let huge = server.post("/v1/parse", &serde_json::json!({ "text": "word ".repeat(100_000) }));
    assert_eq!(huge.status, 422, "{}", huge.body);
}
