//! `citree demo`, the first command that a new user runs.

use crate::sandbox::{Sandbox, stderr, stdout};

#[test]
fn the_demo_trains_shows_a_tree_explains_an_edge_and_keeps_the_bundle() {
    let sandbox = Sandbox::new();
    let output = sandbox.citree(&["demo", "My sister doesn't like the old kitchen."]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = stdout(&output);
    assert_eq!(
        shown.lines().take_while(|line| !line.is_empty()).count(),
        11,
        "ROOT, nine words, and a token of two:\n{shown}"
    );
    assert!(shown.contains("of the evidence") && shown.contains("kitchen-0"), "sources of one edge:\n{shown}");
    assert!(shown.contains("ROOT") && shown.contains("n't") && shown.contains(" root "), "{shown}");

    let parsed = sandbox.citree(&["parse", "demo.citree", "dev.conllu"]);
    sandbox.write("parsed.conllu", &stdout(&parsed));
    let scores = sandbox.citree(&["eval", "dev.conllu", "parsed.conllu", "--json"]);
    let scores: serde_json::Value = serde_json::from_str(&stdout(&scores)).unwrap();
    let las = scores["with_punctuation"]["las"]["f1"].as_f64().unwrap();
    assert!(las > 0.6, "a demo model that parses its own dev set at LAS {las}");

    the_commands_it_prints_work(&sandbox, &stderr(&output));
    let again = sandbox.citree(&["demo", "My sister doesn't like the old kitchen."]);
    assert!(stderr(&again).contains("using demo.citree"), "{}", stderr(&again));
    assert_eq!(stdout(&again), shown, "the bundle that is there is used");
}

/// Runs the first two of the three commands. The third starts a server, which does not end by itself.
fn the_commands_it_prints_work(sandbox: &Sandbox, said: &str) {
    let commands: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let commands = &commands[commands.len() - 3..];
    assert!(commands[2].ends_with(" serve demo.citree"), "{commands:?}");
    for command in &commands[..2] {
        let mut shell = std::process::Command::new("sh");
        let output = shell.current_dir(sandbox.path("")).args(["-c", command]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{command}: {}", stderr(&output));
        assert!(stdout(&output).contains("letters"), "{command}: {}", stdout(&output));
    }
}

#[test]
fn the_demo_overwrites_nothing() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("mine")).unwrap();
    sandbox.write("mine/notes.txt", "keep me");
    let output = sandbox.citree(&["demo", "--keep", "mine"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("choose another name with --keep"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(sandbox.path("mine/notes.txt")).unwrap(), "keep me");
}
