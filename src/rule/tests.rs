//! Tests of the built-in rules: totals, scores, serialisation and refused settings.

#![allow(clippy::unwrap_used)]
use super::*;

const SCALE: Scale = Scale { factor: 64.0, aggregate: Aggregate::Mean };

fn context(compared: Compared) -> Context {
    Context { scale: SCALE, compared, count: 3.0, nearest: 0.9, whole: 1.0 }
}

fn rules() -> [Rule; 3] {
    [Rule::sum(), Rule::nca(64.0).unwrap(), Rule::knn(5).unwrap()]
}

/// The context of contributions that are shares, if the rule gives such.
fn whole(rule: &dyn Scoring, accepted: &[f32], rejected: &[f32], context: Context) -> Context {
    match rule.gives_shares(context.compared) {
        true => Context { whole: rule.total(accepted, &context) + rule.total(rejected, &context), ..context },
        false => context,
    }
}

/// The totals and the score of a side with these similarities.
fn weighed(rule: &dyn Scoring, accepted: &[f32], rejected: &[f32], compared: Compared) -> (Totals, f64) {
    let context = context(compared);
    let context = whole(rule, accepted, rejected, context);
    let totals = Totals { accepted: rule.total(accepted, &context), rejected: rule.total(rejected, &context) };
    (totals, rule.score(totals, &context))
}

#[test]
fn a_total_is_the_sum_of_the_contributions() {
    let similarities = [0.9_f32, -0.2, 0.4];
    for rule in rules() {
        for compared in [Compared::Accepted, Compared::Both, Compared::Label] {
            let (rule, context) = (rule.of(Task::Heads), context(compared));
            let parts: f64 = similarities.iter().map(|&similarity| rule.contribution(similarity, &context)).sum();
            assert_eq!(rule.total(&similarities, &context), parts, "{rule:?}");
            assert_eq!(rule.total(&[], &context), 0.0);
        }
    }
}

#[test]
fn scores_against_accepted_edges_match_their_formulas() {
    let [sum, nca, knn] = rules();
    let near = [0.9_f32, 0.5, 0.1];
    let exponentials: f64 = near.iter().map(|&x| (64.0 * f64::from(x)).exp()).sum();
    let mean: f64 = near.iter().map(|&x| 64.0 * f64::from(x)).sum::<f64>() / 3.0;
    for (rule, expected) in [(&sum, mean), (&nca, (exponentials / 3.0).ln()), (&knn, (exponentials / 5.0).ln())] {
        let (_, score) = weighed(rule.of(Task::Heads), &near, &[], Compared::Accepted);
        assert!((score - expected).abs() < 1e-6, "{rule}: {score} instead of {expected}");
    }
}

#[test]
fn with_rejected_edges_the_score_is_the_log_of_a_ratio_and_contributions_are_shares_of_a_vote() {
    let weight = |x: f32| (64.0 * f64::from(x)).exp();
    let (accepted, rejected) = ([0.9_f32, 0.88], [0.87_f32, 0.86]);
    let [yes, no] = [&accepted, &rejected].map(|some| some.iter().map(|&x| weight(x)).sum::<f64>());
    let [sum, nca, knn] = rules();
    let (totals, score) = weighed(nca.of(Task::Heads), &accepted, &rejected, Compared::Both);
    assert!((score - (yes / no).ln()).abs() < 1e-6);
    assert!((totals.accepted + totals.rejected - 1.0).abs() < 1e-9);
    let (totals, score) = weighed(knn.of(Task::Heads), &accepted, &rejected, Compared::Both);
    assert!((score - (yes / no).ln()).abs() < 1e-6, "{score}");
    assert!((totals.evidence() - (yes - no) / (yes + no)).abs() < 1e-9);
    assert!(!sum.of(Task::Heads).counts_rejected());
}

#[test]
fn a_nearer_edge_for_a_head_raises_its_score_and_a_nearer_one_against_it_lowers_it() {
    for rule in &rules()[1..] {
        let score = |accepted: &[f32], rejected: &[f32]| {
            let rule = rule.of(Task::Heads);
            let nearest = accepted.iter().chain(rejected).copied().fold(f32::MIN, f32::max);
            let context = Context { nearest, ..context(Compared::Both) };
            let context = whole(rule, accepted, rejected, context);
            let totals = Totals { accepted: rule.total(accepted, &context), rejected: rule.total(rejected, &context) };
            rule.score(totals, &context)
        };
        let (accepted, rejected) = ([0.9_f32, 0.8, 0.6], [0.85_f32, 0.75, 0.55]);
        let usual = score(&accepted, &rejected);
        assert!(usual.is_finite());
        for at in 0..3 {
            let nearer = |of: [f32; 3]| -> [f32; 3] {
                std::array::from_fn(|place| of[place] + if place == at { 0.05 } else { 0.0 })
            };
            assert!(score(&nearer(accepted), &rejected) > usual, "{rule}");
            assert!(score(&accepted, &nearer(rejected)) < usual, "{rule}");
        }
    }
}

#[test]
fn votes_for_labels_are_shares_of_all_neighbours() {
    let rule = rules()[2].clone();
    let rule = rule.of(Task::Labels);
    let all = [0.9_f32, 0.9, 0.9, 0.9];
    let context = context(Compared::Label);
    let context = whole(rule, &all, &[], context);
    assert!((rule.total(&all[..3], &context) - 0.75).abs() < 1e-9);
    assert!((rule.total(&all, &context) - 1.0).abs() < 1e-9);
}

#[test]
fn a_sum_instead_of_a_mean_grows_with_the_number_of_edges() {
    let mean = Context { count: 100.0, ..context(Compared::Accepted) };
    let summed = Context { scale: Scale { aggregate: Aggregate::Sum, ..SCALE }, ..mean };
    let rule = Rule::sum();
    let rule = rule.of(Task::Heads);
    assert_eq!(rule.contribution(0.5, &summed), 100.0 * rule.contribution(0.5, &mean));
}

#[test]
fn a_rule_round_trips_with_its_settings() {
    let two = Rule::each(&Rule::knn(7).unwrap(), &Rule::sum());
    for rule in rules().into_iter().chain([two]) {
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule, "{text}");
    }
    assert_eq!(serde_json::to_string(&rules()[1]).unwrap(), r#"{"name":"nca","temperature":64.0}"#);
    assert_ne!(Rule::knn(5).unwrap(), Rule::knn(6).unwrap());
    let unsaid = Rule::named("nca", RuleSettings::default()).unwrap();
    assert_eq!(serde_json::to_string(&unsaid).unwrap(), r#"{"name":"nca"}"#);
}

#[test]
fn nca_without_a_temperature_has_that_of_the_model() {
    let unsaid = Rule::named("nca", RuleSettings::default()).unwrap();
    let scale = Scale { factor: 24.0, ..SCALE };
    assert_eq!(unsaid.with_scale(scale), Rule::nca(24.0).unwrap());
    assert_eq!(Rule::nca(64.0).unwrap().with_scale(scale), Rule::nca(64.0).unwrap(), "one that is given wins");
    for compared in [Compared::Accepted, Compared::Both, Compared::Label] {
        let [a, b] = [&unsaid, &Rule::nca(64.0).unwrap()].map(|rule| {
            let (totals, score) = weighed(rule.of(Task::Heads), &[0.9, 0.2], &[0.8], compared);
            (totals, score)
        });
        assert_eq!(a, b, "{compared:?}");
    }
}

#[test]
fn votes_are_found_without_reading_all_edges_only_where_there_is_a_graph() {
    let [sum, nca, knn] = rules();
    let mixed = Rule::each(&sum, &knn);
    for (rule, cosine, dot) in [(sum, false, false), (nca, true, true), (knn, false, true), (mixed, false, true)] {
        assert_eq!((rule.reads_all(true), rule.reads_all(false)), (cosine, dot), "{rule}");
    }
}

#[test]
fn heads_and_labels_can_have_a_rule_each() {
    let settings = RuleSettings { neighbors: Some(4), ..RuleSettings::default() };
    let rule = Rule::named("heads=knn,labels=sum", settings).unwrap();
    assert_eq!(rule, Rule::each(&Rule::knn(4).unwrap(), &Rule::sum()));
    assert_eq!(rule.to_string(), "heads=knn,labels=sum");
    assert_eq!(Rule::named("labels=knn,heads=knn", settings).unwrap(), Rule::knn(4).unwrap());
    for wrong in ["heads=knn", "heads=max,labels=sum", "heads=knn,heads=knn", "knn,sum", "words=knn,labels=sum", ""] {
        assert!(Rule::named(wrong, RuleSettings::default()).is_err(), "{wrong}");
    }
}

#[test]
fn invalid_rules_and_settings_are_refused() {
    for text in [
        r#"{"name":"nca","temperature":0}"#,
        r#"{"name":"nca","neighbors":3}"#,
        r#"{"name":"knn","neighbors":0}"#,
        r#"{"name":"knn","temperature":-1}"#,
        r#"{"name":"sum","temperature":1}"#,
        r#"{"name":"max"}"#,
        r#"{"name":"sum","more":1}"#,
        r#"{"heads":{"name":"sum"}}"#,
    ] {
        assert!(serde_json::from_str::<Rule>(text).is_err(), "{text}");
    }
    assert!(Rule::nca(f32::NAN).is_err());
    assert!(Rule::nca(1.0).unwrap().check(false).is_err());
}
