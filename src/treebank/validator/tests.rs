//! The rules against what the official validator says about planted faults.

#![allow(clippy::unwrap_used)]
use crate::treebank::check::{Finding, check};
use crate::treebank::reader::Reader;
use serde::Deserialize;

/// One line of `tools/reference/values/validator.jsonl`, as written by `tools/reference/validator.py`.
#[derive(Deserialize)]
struct Planted {
    name: String,
    text: String,
    /// Lines and rules; line 0 for a comment.
    rules: Vec<(u64, String)>,
}

fn planted() -> Vec<Planted> {
    let values = include_str!("../../../tools/reference/values/validator.jsonl");
    values.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The rules that `citree check` finds broken, by line. The rule is the last word of a problem, in brackets.
fn broken(text: &str, level: u8) -> Vec<(u64, String)> {
    let mut rules = Vec::new();
    let summary = check(Reader::new(text.as_bytes(), "x"), level, |finding| {
        if let Finding::Problem(problem) = finding {
            let rule = problem.expected.rsplit_once(" (").map_or(problem.expected.as_str(), |(_, rule)| rule);
            rules.push((problem.line, rule.trim_end_matches(')').to_string()));
        }
        Ok(())
    });
    assert_eq!(summary.unwrap().refused_sentences, 0);
    rules
}

#[test]
fn planted_faults_break_the_rules_that_the_official_validator_names() {
    let planted = planted();
    assert!(planted.len() > 70 && planted.iter().filter(|one| one.rules.is_empty()).count() > 10);
    for Planted { name, text, mut rules } in planted {
        let mut found = broken(&text, 2);
        for (line, rule) in &mut found {
            // The validator has no line for these.
            if rules.contains(&(0, rule.clone())) {
                *line = 0;
            }
        }
        rules.sort();
        found.sort();
        assert_eq!(found, rules, "{name}:\n{text}");
    }
}

#[test]
fn a_comment_that_breaks_a_rule_is_found_on_its_own_line() {
    let text = planted().into_iter().find(|one| one.name == "the text is longer").unwrap().text;
    assert_eq!(broken(&text, 2), [(4, "text-extra-chars".to_string())]);
}

#[test]
fn level_1_is_about_the_format_only() {
    let level_1 = ["unicode-normalization", "repeated-whitespace", "invalid-whitespace-mwt"];
    for Planted { name, text, rules } in planted() {
        let expected: Vec<&str> =
            rules.iter().map(|(_, rule)| rule.as_str()).filter(|rule| level_1.contains(rule)).collect();
        let found = broken(&text, 1);
        assert_eq!(found.iter().map(|(_, rule)| rule.as_str()).collect::<Vec<_>>(), expected, "{name}");
    }
}

#[test]
fn the_guidelines_are_level_3() {
    let text =
        "# sent_id = s\n# text = We go\n1\tWe\twe\tPRON\t_\t_\t2\tcase\t_\t_\n2\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n";
    assert_eq!(broken(text, 2), []);
    assert_eq!(broken(text, 3), [(3, "rel-upos-case".to_string())]);
}
