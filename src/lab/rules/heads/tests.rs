//! Tests of the rules for heads: hand-made cases, and agreement with the parser.

#![allow(clippy::unwrap_used)]
use super::super::tests::fresh;
use super::*;
use crate::lab::nearest::Rows;
use crate::score::accuracies;
use crate::task::Task;
use candle_core::Device;

#[test]
fn nearest_rules_and_nca_follow_near_edges_and_the_sum_follows_all() {
    let many_alike = Weighed::new(&[0.5; 200]);
    let few_near = Weighed::new(&[&[0.9; 10][..], &[0.1; 190]].concat());
    let candidates = [many_alike, few_near];
    assert_eq!(Measured::ALL.map(|rule| rule.choose(&candidates).0), [0, 0, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn the_nearest_edges_cover_the_whole_mean_of_the_nearest() {
    let weighed = Weighed::new(&[&[0.8; 10][..], &[0.4; 190]].concat());
    let coverage = |rule: Measured| CITED.map(|count| (rule.coverage(&weighed, count) * 1e4).round() / 1e4);
    assert_eq!(coverage(Measured::Nearest(0)), [1.0, 1.0]);
    assert_eq!(coverage(Measured::Nearest(1)), [0.1818, 1.0]);
}

#[test]
fn batched_scores_match_each_rule() {
    const PLAIN: crate::rule::Scale = crate::rule::Scale { factor: 1.0, aggregate: Aggregate::Sum };
    let mut random = crate::random::Random::new(11);
    let similarities: Vec<f32> = (0..3000).map(|_| (0.3 * random.normal()).clamp(-1.0, 1.0)).collect();
    let weighed = Weighed::new(&similarities);
    for measured in Measured::ALL {
        let rule = measured.rule();
        let mut counted = similarities.clone();
        counted.sort_by(|a, b| b.total_cmp(a));
        counted.truncate(rule.neighbors().unwrap_or(counted.len()));
        let expected = rule.score(rule.total(&counted, PLAIN, 1));
        let found = measured.score(&weighed);
        assert!((found - expected).abs() < 1e-4 * expected.abs().max(1.0), "{rule:?}: {found} instead of {expected}");
    }
}

/// Four training edges along the axes. The candidates of the first word lie along two of them, the better one first.
#[test]
fn words_of_a_block_are_decided_separately_and_flips_are_counted_on_request() {
    let support = Support::new(Rows { values: vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0], dims: 2 }).unwrap();
    let word = |gold: usize, heads: &[usize], rows: &[f32], flips: bool| Word {
        gold,
        heads: heads.to_vec(),
        rows: rows.to_vec(),
        flips,
    };
    let block = [
        word(3, &[3, 0], &[1.0, 0.0, 0.0, 1.0], true),
        word(1, &[0], &[0.0, 1.0], true),
        word(0, &[0], &[0.0, 1.0], false),
    ];
    let decided = decide(&support, &block).unwrap();
    assert_eq!(decided.iter().map(|own| own.right).collect::<Vec<_>>(), [[true; 8], [false; 8], [true; 8]]);
    assert_eq!(decided[0].flips[0], Some(Flip { edges: 3, of: 4 }));
    assert!(decided[1..].iter().all(|own| own.flips.iter().all(Option::is_none)));
    assert!(decided[0].flips.iter().filter(|flip| flip.is_some()).count() == Measured::FLIPPED.len());
}

#[test]
fn the_sum_chooses_the_heads_of_the_parser() {
    let fresh = fresh(Task::Heads);
    let scorer = fresh.model.scorer(Aggregate::Mean, &Device::Cpu).unwrap();
    let support = Support::new(fresh.gold_rows(&fresh.train)).unwrap();
    let mut decided = Vec::new();
    for batch in length_batches(&fresh.dev) {
        let words = words(&scorer, &fresh.dev, &batch).unwrap();
        decided.extend(decide(&support, &words).unwrap());
    }
    let (found, wanted) = (tally(&decided, 0), accuracies(&[(Task::Heads, &scorer)], &fresh.dev).unwrap()[0]);
    assert_eq!(found.decisions, fresh.dev.iter().map(|sentence| sentence.len() - 1).sum::<usize>());
    assert!((found.rules[0].accuracy - wanted).abs() < 1e-9, "{} instead of {wanted}", found.rules[0].accuracy);
}

#[test]
fn the_shortlist_starts_with_the_best_candidate() {
    let fresh = fresh(Task::Heads);
    let scorer = fresh.model.scorer(Aggregate::Mean, &Device::Cpu).unwrap();
    let support = Support::new(fresh.gold_rows(&fresh.train)).unwrap();
    for word in words(&scorer, &fresh.dev, &length_batches(&fresh.dev)[0]).unwrap() {
        let similarities = support.similarities(word.rows).unwrap();
        let totals: Vec<f64> = similarities.chunks_exact(support.count()).map(added).collect();
        assert!(totals.is_sorted_by(|a, b| *a >= b - 1e-3), "{totals:?}");
    }
}
