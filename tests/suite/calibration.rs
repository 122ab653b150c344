//! Probabilities that mean what they say, and the rule that a bundle decides by.

use crate::sandbox::{Sandbox, stderr, stdout};
use serde_json::{Value, json};

fn run(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.citree(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn trained() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    sandbox
}

fn rules(sandbox: &Sandbox) -> Value {
    let text = std::fs::read_to_string(sandbox.path("t.citree/rules.json")).unwrap();
    let mut rules: Value = serde_json::from_str(&text).unwrap();
    // The checksum would not be that of what tests change. Files of earlier versions have none.
    rules.as_object_mut().unwrap().remove("blake3");
    rules
}

fn parse(sandbox: &Sandbox, more: &[&str]) -> String {
    run(sandbox, &[&["parse", "t.citree", "dev.conllu", "--scores"], more].concat())
}

#[test]
fn training_measures_rules_and_calibration_makes_probabilities_no_worse() {
    let sandbox = trained();
    let rules = rules(&sandbox);
    let names: Vec<&str> =
        rules["measured"].as_array().unwrap().iter().map(|of| of["rule"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sum", "knn", "nca"]);
    for of in rules["measured"].as_array().unwrap() {
        for task in ["heads", "labels"] {
            let [temperature, error, before] =
                ["temperature", "error", "error_before"].map(|name| of[task][name].as_f64().unwrap());
            assert!(temperature > 0.0 && error <= before + 0.02, "{of}");
        }
    }
}

#[test]
fn the_error_that_eval_finds_is_the_one_that_training_noted() {
    let sandbox = trained();
    for (at, rule) in ["sum", "knn"].into_iter().enumerate() {
        sandbox.write("parsed.conllu", &parse(&sandbox, &["--decode", "greedy", "--rule", rule]));
        let judged = run(&sandbox, &["eval", "dev.conllu", "parsed.conllu", "--scores", "--json", "--svg", "r.svg"]);
        let judged: Value = serde_json::from_str(&judged).unwrap();
        for task in ["heads", "labels"] {
            let (found, noted) = (&judged[task]["error"], &rules(&sandbox)["measured"][at][task]["error"]);
            // Probabilities are written with four digits.
            let difference = (found.as_f64().unwrap() - noted.as_f64().unwrap()).abs();
            assert!(difference < 2e-3, "{rule}, {task}: {found} instead of {noted}");
        }
    }
    let svg = std::fs::read_to_string(sandbox.path("r.svg")).unwrap();
    assert!(svg.contains("honest") && svg.contains("heads ("), "{svg}");
}

#[test]
fn the_bundle_decides_by_its_own_rule_unless_told_otherwise() {
    let sandbox = trained();
    let (by_sum, by_knn) = (parse(&sandbox, &["--rule", "sum"]), parse(&sandbox, &["--rule", "knn"]));
    assert_ne!(by_sum, by_knn);
    for (own, expected) in [(json!({ "name": "sum" }), &by_sum), (json!({ "name": "knn", "neighbors": 20 }), &by_knn)] {
        let mut rules = rules(&sandbox);
        rules["own"] = own.clone();
        sandbox.write("t.citree/rules.json", &rules.to_string());
        assert_eq!(&parse(&sandbox, &[]), expected);
        let explained = run(&sandbox, &["explain", "t.citree", "dev.conllu", "--format", "json"]);
        let answer: Value = serde_json::from_str(explained.lines().next().unwrap()).unwrap();
        assert_eq!(answer["rule"], own);
        assert!(run(&sandbox, &["info", "t.citree"]).contains("decides"));
    }
}

#[test]
fn nca_takes_the_temperature_of_the_model_unless_one_is_given_or_stored() {
    let sandbox = Sandbox::new();
    sandbox.write("tiny.toml", &format!("scale = 20.0\n{}", crate::sandbox::TINY));
    sandbox.trained("t.citree");
    let measured = rules(&sandbox);
    let nca = measured["measured"].as_array().unwrap().iter().find(|of| of["rule"]["name"] == "nca").unwrap();
    assert_eq!(nca["rule"], json!({ "name": "nca", "temperature": 20.0 }), "what is stored says which it was");
    let by = |more: &[&str]| parse(&sandbox, &[&["--rule", "nca"], more].concat());
    assert_eq!(by(&[]), by(&["--temperature", "20"]), "and so are its probabilities");
    assert_ne!(by(&[]), by(&["--temperature", "64"]));
    // An earlier version stored the temperature that was its default.
    let mut stored = measured.clone();
    stored["own"] = json!({ "name": "nca", "temperature": 64.0 });
    sandbox.write("t.citree/rules.json", &stored.to_string());
    assert_eq!(parse(&sandbox, &[]), by(&["--temperature", "64"]));
    let explained = run(&sandbox, &["explain", "t.citree", "dev.conllu", "--format", "json", "--rule", "nca"]);
    let answer: Value = serde_json::from_str(explained.lines().next().unwrap()).unwrap();
    assert_eq!(answer["rule"], json!({ "name": "nca", "temperature": 20.0 }));
}

#[test]
fn a_bundle_without_what_was_measured_decides_by_the_sum_and_can_be_calibrated() {
    let sandbox = trained();
    let before = rules(&sandbox);
    std::fs::remove_file(sandbox.path("t.citree/rules.json")).unwrap();
    assert_eq!(parse(&sandbox, &[]), parse(&sandbox, &["--rule", "sum"]));
    let table = run(&sandbox, &["calibrate", "t.citree", "dev.conllu"]);
    assert!(table.contains("decides by"), "{table}");
    assert_eq!(rules(&sandbox), before);
}

#[test]
fn damaged_measurements_are_refused_with_what_to_do() {
    let sandbox = trained();
    for damaged in [
        "",
        "{",
        r#"{"own":{"name":"best"},"measured":[]}"#,
        &rules(&sandbox).to_string().replacen("\"temperature\":", "\"temperature\":-", 1),
    ] {
        sandbox.write("t.citree/rules.json", damaged);
        let output = sandbox.citree(&["parse", "t.citree", "dev.conllu"]);
        assert_eq!(output.status.code(), Some(2), "{damaged}");
        assert!(stderr(&output).contains("citree calibrate"), "{}", stderr(&output));
    }
    // What is advised works, and throws nothing away.
    run(&sandbox, &["calibrate", "t.citree", "dev.conllu"]);
    assert!(sandbox.path("t.citree/rules.json.damaged").exists());
    parse(&sandbox, &[]);
}

#[test]
fn a_model_trained_for_votes_decides_by_them_unless_that_costs_accuracy() {
    let sandbox = Sandbox::new();
    sandbox.trained_with("t.citree", &["--rule", "knn"]);
    let rules = rules(&sandbox);
    let las = |name: &str| {
        let of = rules["measured"].as_array().unwrap().iter().find(|of| of["rule"]["name"] == name);
        of.unwrap()["las"].as_f64().unwrap()
    };
    let expected = if las("knn") >= las("sum") - 0.2 { "knn" } else { "sum" };
    assert_eq!(rules["own"]["name"], expected, "{rules}");
    // Without its index it still parses, by the sums that training stored.
    std::fs::remove_dir_all(sandbox.path("t.citree/index")).unwrap();
    assert_eq!(parse(&sandbox, &[]), parse(&sandbox, &["--rule", "sum"]));
}

#[test]
fn a_parse_without_probabilities_or_of_other_words_is_refused() {
    let sandbox = trained();
    sandbox.write("plain.conllu", &run(&sandbox, &["parse", "t.citree", "dev.conllu"]));
    let output = sandbox.citree(&["eval", "dev.conllu", "plain.conllu", "--scores"]);
    assert!(stderr(&output).contains("citree parse --scores"), "{}", stderr(&output));
    let output = sandbox.citree(&["eval", "train.conllu", "plain.conllu", "--scores"]);
    assert!(stderr(&output).contains("same sentences"), "{}", stderr(&output));
}

#[test]
fn a_label_that_the_tree_forces_is_certain() {
    let sandbox = trained();
    let parsed = parse(&sandbox, &["--rule", "sum"]);
    let roots: Vec<&str> = parsed.lines().filter(|line| line.split('\t').nth(7) == Some("root")).collect();
    assert!(!roots.is_empty() && roots.iter().all(|line| line.contains("LabelProb=1.0000")), "{roots:?}");
}
