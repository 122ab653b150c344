//! Tests of the built-in rules: totals, scores, serialisation and refused settings.

#![allow(clippy::unwrap_used)]
use super::*;

const MEAN: Scale = Scale { factor: 64.0, aggregate: Aggregate::Mean };

fn rules() -> [Rule; 3] {
    [Rule::sum(), Rule::nca(64.0).unwrap(), Rule::knn(5).unwrap()]
}

#[test]
fn a_total_is_the_sum_of_the_contributions() {
    let similarities = [0.9_f32, -0.2, 0.4];
    for rule in rules() {
        let parts: f64 = similarities.iter().map(|&similarity| rule.contribution(similarity, MEAN, 3)).sum();
        assert_eq!(rule.total(&similarities, MEAN, 3), parts, "{rule}");
        assert_eq!(rule.total(&[], MEAN, 0), 0.0);
    }
}

#[test]
fn scores_match_their_formulas() {
    let [sum, nca, knn] = rules();
    let total = |rule: &Rule| rule.score(rule.total(&[1.0, 0.5], MEAN, 2));
    let by_nca = ((64.0_f64.exp() + 32.0_f64.exp()) / 2.0).ln();
    for (rule, expected) in [(&sum, 64.0 * 0.75), (&nca, by_nca), (&knn, 64.0 * 1.5 / 5.0)] {
        assert!((total(rule) - expected).abs() < 1e-9, "{rule}: {} instead of {expected}", total(rule));
    }
}

#[test]
fn a_sum_instead_of_a_mean_grows_with_the_number_of_edges() {
    let summed = Scale { aggregate: Aggregate::Sum, ..MEAN };
    let rule = Rule::sum();
    assert_eq!(rule.contribution(0.5, summed, 100), 100.0 * rule.contribution(0.5, MEAN, 100));
}

#[test]
fn a_rule_round_trips_with_its_setting() {
    for rule in rules() {
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule, "{text}");
    }
    assert_eq!(serde_json::to_string(&rules()[1]).unwrap(), r#"{"name":"nca","temperature":64.0}"#);
    assert_ne!(Rule::knn(5).unwrap(), Rule::knn(6).unwrap());
}

#[test]
fn invalid_rules_and_settings_are_refused() {
    for text in [
        r#"{"name":"nca","temperature":0}"#,
        r#"{"name":"nca","neighbors":3}"#,
        r#"{"name":"knn","neighbors":0}"#,
        r#"{"name":"sum","temperature":1}"#,
        r#"{"name":"max"}"#,
        r#"{"name":"sum","more":1}"#,
    ] {
        assert!(serde_json::from_str::<Rule>(text).is_err(), "{text}");
    }
    assert!(Rule::nca(f32::NAN).is_err());
    assert!(Rule::nca(1.0).unwrap().check(false).is_err());
}
