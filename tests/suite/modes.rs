//! Comparing with the summed support gives the same predictions as comparing with every training edge, as in the paper.

use crate::sandbox::Sandbox;
use citree::Bundle;
use citree::internals::{heads_in_both_modes, labels_in_both_modes};
use citree::rule::Aggregate;
use citree::treebank::starter;

fn bundle() -> (Sandbox, Bundle) {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let bundle = Bundle::open(sandbox.path("t.citree")).unwrap();
    (sandbox, bundle)
}

#[test]
fn fast_mode_finds_the_heads_that_every_training_edge_together_would_find() {
    let (_sandbox, bundle) = bundle();
    for choice in heads_in_both_modes(&bundle, &starter::train()[..60], &starter::dev()).unwrap() {
        let [fast, explained] = choice.chosen();
        assert_eq!(fast, explained);
        choice.fast.iter().zip(&choice.explained).for_each(|(a, b)| assert!((a - b).abs() < 1e-3, "{a} {b}"));
    }
}

#[test]
fn fast_mode_finds_the_labels_that_every_training_edge_together_would_find() {
    let (_sandbox, bundle) = bundle();
    for aggregate in [Aggregate::Mean, Aggregate::Sum] {
        for choice in labels_in_both_modes(&bundle, aggregate, &starter::train()[..60], &starter::dev()).unwrap() {
            let [fast, explained] = choice.chosen();
            assert_eq!(fast, explained);
            let close = |(a, b): (&f32, &f32)| assert!((a - b).abs() < 1e-3 * b.abs().max(1.0), "{a} {b}");
            choice.fast.iter().zip(&choice.explained).for_each(close);
        }
    }
}
