//! Tests of the rules for labels: hand-made cases, and agreement with fast mode.

#![allow(clippy::unwrap_used)]
use super::super::tests::fresh;
use super::*;
use crate::treebank::starter;
use candle_core::Device;

/// A frequent label with edges of low similarity, and a rare one with two edges of high similarity.
fn frequent_and_rare() -> (Vec<f32>, [Range<usize>; 2]) {
    ([&[0.3; 98][..], &[0.95; 2]].concat(), [0..98, 98..100])
}

#[test]
fn the_sum_follows_frequency_and_the_mean_similarity() {
    let (similarities, ranges) = frequent_and_rare();
    let decided = decide(&similarities, &ranges, Some(1), false);
    let right = |rule: Measured| Measured::ALL.iter().position(|own| *own == rule).map(|at| decided.right[at]);
    assert_eq!(right(Measured::All(Aggregate::Sum)), Some(false));
    assert_eq!(right(Measured::All(Aggregate::Mean)), Some(true));
    assert_eq!(right(Measured::Nca(0, Aggregate::Sum)), Some(true));
    // Two votes of 0.95 against eight of 0.3.
    assert_eq!(right(Measured::Nearest(0)), Some(false));
}

#[test]
fn a_label_missing_from_the_training_set_is_wrong_under_every_rule() {
    let (similarities, ranges) = frequent_and_rare();
    assert_eq!(decide(&similarities, &ranges, None, false).right, [false; Measured::ALL.len()]);
}

#[test]
fn coverage_grows_to_all_of_the_evidence_of_the_chosen_label() {
    let (similarities, ranges) = frequent_and_rare();
    for (rule, [ten, hundred]) in Measured::ALL.iter().zip(decide(&similarities, &ranges, None, false).coverage) {
        assert!(ten <= hundred + 1e-9 && (hundred - 1.0).abs() < 1e-5, "{rule:?}: {ten} {hundred}");
    }
    let by_sum = decide(&similarities, &ranges, None, false).coverage[1];
    assert!((by_sum[0] - 10.0 / 98.0).abs() < 1e-5, "{by_sum:?}");
}

#[test]
fn edges_are_removed_until_the_label_falls_below_the_other() {
    let (similarities, ranges) = frequent_and_rare();
    let flips = decide(&similarities, &ranges, None, true).flips;
    // By the mean both edges of the rare label; by the sum 92 of 98, because six times 0.3 is below twice 0.95.
    assert_eq!(flips[0], Some(Flip { edges: 2, of: 2 }));
    assert_eq!(flips[1], Some(Flip { edges: 92, of: 98 }));
    assert!(flips[2].is_none() && flips[3].is_none());
}

#[test]
fn votes_are_those_of_the_nearest_of_all_labels() {
    let labels = [Weighed::new(&[0.1, 0.5, 0.4]), Weighed::new(&[0.6]), Weighed::new(&[0.2])];
    assert_eq!(votes(&labels, 3), [vec![0.5, 0.4], vec![0.6], vec![]]);
}

#[test]
fn rows_are_ordered_by_label_and_keep_their_order_within_it() {
    let rows = Rows { values: vec![1.0, 2.0, 3.0, 4.0], dims: 1 };
    let (ordered, ranges) = by_label(rows, &[Some(1), Some(0), Some(1), Some(0)], 3);
    assert_eq!((ordered.values, ranges), (vec![2.0, 4.0, 1.0, 3.0], vec![0..2, 2..4, 4..4]));
}

#[test]
fn the_sum_and_the_mean_choose_the_labels_that_fast_mode_chooses() {
    let fresh = fresh(Task::Labels);
    let count = fresh.vocabulary.labels().len();
    let (rows, ranges) = by_label(fresh.gold_rows(&fresh.train), &labels(&fresh.vocabulary, &starter::train()), count);
    let support = Support::new(rows).unwrap();
    let (edges, gold) = (fresh.gold_rows(&fresh.dev), labels(&fresh.vocabulary, &starter::dev()));
    let similarities = support.similarities(edges.values).unwrap();
    let edges = similarities.chunks_exact(support.count()).zip(gold);
    let decided: Vec<_> =
        edges.map(|(own, gold)| decide(own, &ranges, gold.map(|label| label as usize), false)).collect();
    let tally = tally(&decided, Measured::BASE);
    for (at, aggregate) in [(0, Aggregate::Mean), (1, Aggregate::Sum)] {
        assert_eq!(Measured::ALL[at], Measured::All(aggregate));
        let scorer = fresh.model.scorer(aggregate, &Device::Cpu).unwrap();
        let wanted = accuracies(&[(Task::Labels, &scorer)], &fresh.dev).unwrap()[0];
        let found = tally.rules[at].accuracy;
        assert!((found - wanted).abs() < 1e-9, "{aggregate:?}: {found} instead of {wanted}");
    }
}
