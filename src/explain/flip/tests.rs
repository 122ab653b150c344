//! Tests with a small real bundle of how far a search for flip sets goes.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::bundle::Bundle;
use crate::config::{Config, Preset};
use crate::parse::Settings;
use crate::rule::Rule;
use crate::treebank::starter;

#[test]
fn a_search_for_votes_that_ends_early_says_so_and_claims_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.citree");
    let config = Config { epochs: 1, lstm_units: 8, edge_dim: 8, word_dim: 8, ..Config::preset(Preset::Demo) };
    let treebank = &starter::train()[..40];
    Bundle::train(&path, &config, treebank, treebank).unwrap();
    let settings = Settings { rule: Some(Rule::knn(6).unwrap()), ..Settings::default() };
    let explainer = Bundle::open(&path).unwrap().explainer_with(&settings).unwrap();
    let (mut early, mut found) = (0, 0);
    for analysis in explainer.analyse(&starter::dev()[..6]).unwrap().iter().flatten() {
        for word in 1..analysis.positions() {
            for decision in explainer.parser.decisions(analysis, &[word]).unwrap().concat() {
                let whole = Budget::new();
                let set = explainer.smallest_flip(analysis, &decision, &whole).unwrap();
                assert!(!whole.is_spent(), "everything can be tried in a small treebank");
                let Some(set) = set.filter(|set| set.edges > 2) else { continue };
                found += 1;
                let little = Budget::of(5);
                let hasty = explainer.smallest_flip(analysis, &decision, &little).unwrap();
                early += usize::from(little.is_spent());
                // What was found still works, and is not called the smallest.
                assert!(hasty.is_none_or(|hasty| hasty.edges >= set.edges && !hasty.smallest));
            }
        }
    }
    assert!(found > 5 && early == found, "{early} of {found}");
}
