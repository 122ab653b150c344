//! The first thing a new user runs.

use crate::sandbox::{Sandbox, stderr, stdout};

#[test]
fn the_demo_trains_shows_a_tree_explains_an_edge_and_keeps_the_bundle_if_asked() {
    let sandbox = Sandbox::new();
    let output = sandbox.citree(&["demo", "My sister doesn't like the old kitchen.", "--keep", "demo.citree"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = stdout(&output);
    assert_eq!(shown.lines().take_while(|line| !line.is_empty()).count(), 10, "ROOT and nine words:\n{shown}");
    assert!(shown.contains("of the evidence") && shown.contains("kitchen-0"), "sources of one edge:\n{shown}");
    assert!(shown.contains("ROOT") && shown.contains("n't") && shown.contains(" root "), "{shown}");

    let parsed = sandbox.citree(&["parse", "demo.citree", "dev.conllu"]);
    sandbox.write("parsed.conllu", &stdout(&parsed));
    let scores = sandbox.citree(&["eval", "dev.conllu", "parsed.conllu", "--json"]);
    let scores: serde_json::Value = serde_json::from_str(&stdout(&scores)).unwrap();
    let las = scores["with_punctuation"]["las"]["f1"].as_f64().unwrap();
    assert!(las > 0.6, "a demo model that parses its own dev set at LAS {las}");
}
