//! The sentences, word for word.

use super::*;
use crate::explain::{Contrast, FlipSet, Group, RunnerUp};
use crate::rule::{Rule, Scoring};
use crate::task::Task;

fn rationale(score: f64, margin: Option<f64>, cited: usize, of: u64) -> Rationale {
    let coverage =
        Coverage { score, against: 0.0, margin, cited, of, exact: false, recall: Some(0.9834), bounds: None };
    Rationale {
        score: 1.0,
        probability: 0.5,
        runner_up: None,
        citations: vec![],
        against: vec![],
        coverage,
        roll_ups: vec![],
    }
}

#[test]
fn percentages_keep_what_matters_and_never_round_to_none_or_all() {
    let percentages = [0.0, 1.0, 0.9732, 0.99999, 0.0042, 0.000051, 1e-9, -0.031, 3.12, f64::NAN].map(percent);
    let expected =
        ["0 %", "100 %", "97.3 %", "over 99.9 %", "0.42 %", "0.005 %", "under 0.000001 %", "−3.1 %", "312.0 %", "–"];
    assert_eq!(percentages, expected);
}

#[test]
fn numbers_have_four_digits_that_count_and_a_true_minus() {
    let numbers = [0.0, 12.345678, -0.00123456, 204_585.4, 1.0, 3.2e-9].map(number);
    assert_eq!(numbers, ["0", "12.35", "−0.001235", "204585", "1.000", "3.2e−9"]);
    assert_eq!((signed(0.5), signed(-0.5)), ("+0.5000".to_string(), "−0.5000".to_string()));
    assert_eq!([7, 999, 1000, 204_585, 1_000_000].map(count), ["7", "999", "1,000", "204,585", "1,000,000"]);
}

#[test]
fn the_words_for_coverage_follow_the_shares() {
    let say = |rationale: Rationale, rival| rationale.in_words(rival);
    assert_eq!(
        say(rationale(0.000051, Some(0.000042), 10, 204_585), Some("‘saw’")),
        "The 10 cited edges carry 0.005 % of the evidence and 0.004 % of the margin over ‘saw’ (204,585 training \
         edges count): they illustrate this decision, they do not carry it."
    );
    assert!(say(rationale(0.97, Some(0.99), 10, 50), Some("x")).ends_with("they carry nearly all of this decision."));
    assert!(say(rationale(0.97, Some(0.4), 10, 50), Some("x")).ends_with("they carry part of this decision."));
    assert!(say(rationale(0.5, Some(-0.4), 10, 50), Some("x")).ends_with("but not for its lead."));
    assert_eq!(
        say(rationale(1.0, None, 1, 1), None),
        "The one cited edge carries 100 % of the evidence (1 training edge counts): it carries nearly all of this \
         decision."
    );
    assert_eq!(say(rationale(0.0, None, 0, 9), None), "No training edge is cited (9 training edges count).");
}

#[test]
fn a_search_says_what_it_finds() {
    let mut coverage = rationale(0.1, None, 1, 1).coverage;
    assert!(completeness(&coverage).contains("98.3 % of the nearest"));
    coverage.recall = None;
    assert!(completeness(&coverage).contains("not measured"));
    coverage.exact = true;
    assert!(completeness(&coverage).starts_with("Exact"));
}

#[test]
fn a_number_with_decimals_has_a_true_minus_and_no_negative_zero() {
    assert_eq!([1.005, -1.25, -0.001, 0.0].map(|value| fixed(value, 2)), ["1.00", "−1.25", "0.00", "0.00"]);
}

#[test]
fn a_share_above_the_whole_margin_says_who_the_other_edges_speak_for() {
    assert!(
        rationale(0.044, Some(6.022), 10, 237)
            .in_words(Some("aux"))
            .ends_with("carry more than the whole margin; the other edges together speak for aux.")
    );
}

fn with_runner_up(mut rationale: Rationale, margin: f64) -> Rationale {
    let label = Some("aux".to_string());
    rationale.runner_up = Some(RunnerUp { head: None, label, score: 1.0, probability: 0.2, margin });
    rationale
}

#[test]
fn a_choice_of_the_tree_has_no_share_of_a_margin() {
    let chosen_by_tree = with_runner_up(rationale(0.5, Some(1.7), 10, 50), -0.3);
    assert!(chosen_by_tree.is_chosen_by_tree() && !has_unusual_shares(&chosen_by_tree));
    assert_eq!(
        chosen_by_tree.in_words(Some("aux")),
        "The 10 cited edges carry 50.0 % of the evidence (50 training edges count): they carry part of this decision."
    );
}

#[test]
fn shares_above_the_whole_or_below_nothing_are_unusual() {
    let unusual = |margin| has_unusual_shares(&with_runner_up(rationale(0.5, Some(margin), 1, 5), 0.3));
    assert_eq!([0.0, 0.4, 1.0, 1.01, -0.01].map(unusual), [false, false, false, true, true]);
    let mut split = with_runner_up(rationale(0.5, Some(0.4), 1, 5), 0.3);
    split.roll_ups = vec![roll_up(0.3, &[("punct", -0.1), ("obj", 0.4)])];
    assert!(has_unusual_shares(&split), "a group against the decision");
}

fn roll_up(margin: f64, parts: &[(&str, f64)]) -> RollUp {
    let group = |&(name, part): &(&str, f64)| Group {
        name: name.to_string(),
        evidence: part,
        share: part,
        margin: Some(part),
        margin_share: Some(part / margin),
    };
    RollUp { by: "label".to_string(), evidence: 1.0, margin: Some(margin), groups: parts.iter().map(group).collect() }
}

#[test]
fn a_margin_is_split_into_shares_and_one_below_zero_into_parts() {
    assert_eq!(roll_up(0.4, &[("obj", 0.5), ("punct", -0.1)]).in_words(), "obj +125.0 %, punct −25.0 %");
    assert_eq!(roll_up(-0.4, &[("obj", 0.1), ("punct", -0.5)]).in_words(), "obj +0.1000, punct −0.5000");
}

fn contrasted(scores: [f64; 2]) -> String {
    let contrast_of = Contrast {
        chosen: "2 saw".to_string(),
        alternative: "3 it".to_string(),
        scores,
        margin: 0.75,
        in_favour: (1.5, 1200),
        against: (-0.75, 1),
        arguments_for: vec![],
        arguments_against: vec![],
    };
    contrast(&contrast_of, "2 saw", "3 it")
}

#[test]
fn a_contrast_begins_with_the_answer() {
    assert_eq!(
        contrasted([2.0, 1.25]),
        "2 saw scores 2.000, 3 it 1.250: 2 saw is ahead by 0.7500. 1,200 training edges argue for 2 saw (+1.500 together), \
         1 against it (−0.7500): +0.7500 in all."
    );
    assert!(contrasted([1.0, 1.25]).starts_with(
        "3 it has the higher score, 1.250 against 1.000, and yet 2 saw was chosen: a tree is chosen as a whole, and rules other than sum \
         consider only the heads that sum ranks highest. 1,200 training edges"
    ));
}

#[test]
fn a_flip_claims_no_more_than_was_searched() {
    let say = |set: Option<&FlipSet>, rule: &dyn Scoring| flip("the head of 3 it", set, "4 then", rule);
    let knn = Rule::knn(20).expect("kNN is a rule");
    assert_eq!(
        say(None, knn.of(Task::Heads)),
        "No set of up to 500 training edges was found without which the head of 3 it would change."
    );
    assert!(say(None, Rule::sum().of(Task::Heads)).starts_with("No set of training edges was found"));
    let mut set = FlipSet {
        instead: "4".to_string(),
        edges: 3,
        of_edges: 5285,
        smallest: true,
        first_edges: vec![],
        sentences: None,
        of_sentences: 472,
        first_sentences: vec![],
        removed: vec![],
        all_sentences: vec![],
    };
    let text = "The head of 3 it would be 4 then without 3 of 5,285 training edges (0.06 %); no smaller set does it.";
    assert_eq!(say(Some(&set), Rule::sum().of(Task::Heads)), text);
    assert_eq!(flip_sentences(&set), "No set of whole sentences that does it was found.");
    (set.smallest, set.sentences) = (false, Some(2));
    assert!(say(Some(&set), knn.of(Task::Heads)).ends_with("(0.06 %); a smaller set may exist."));
    assert_eq!(flip_sentences(&set), "Removing 2 of 472 whole sentences does it too.");
}
