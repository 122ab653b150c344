//! The alternatives of a decision are those that the decoder could have chosen.

use crate::explain::rules;
use crate::sandbox::Sandbox;
use citree::explain::{Explainer, Options, RunnerUp};
use citree::parse::{Analysis, Decode, Settings};
use citree::treebank::{Sentence, starter};
use citree::{Bundle, Rule};

fn opened() -> (Sandbox, Bundle) {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let bundle = Bundle::open(sandbox.path("t.citree")).unwrap();
    (sandbox, bundle)
}

fn sentences() -> Vec<Sentence> {
    starter::dev()[..6].to_vec()
}

fn explainer(bundle: &Bundle, decode: Decode, rule: &Rule) -> Explainer {
    bundle.explainer_with(&Settings { decode, rule: Some(rule.clone()), ..Settings::default() }).unwrap()
}

/// Whether a vote decides about labels.
fn is_voted(rule: &Rule) -> bool {
    rule.to_string() == "knn"
}

/// All labels offered as alternatives to that of a word.
fn other_labels(explainer: &Explainer, analysis: &Analysis, word: usize) -> Vec<String> {
    let [_, labels] = explainer.others(analysis, word, usize::MAX).unwrap();
    labels.into_iter().map(|other: RunnerUp| other.label.unwrap()).collect()
}

#[test]
fn in_a_tree_root_is_offered_to_no_other_word_and_no_other_label_to_the_root() {
    let (_sandbox, bundle) = opened();
    let labels = bundle.parser().unwrap().labels().len();
    for rule in rules() {
        let explainer = explainer(&bundle, Decode::Tree, &rule);
        for analysis in explainer.parser().analyse(&sentences()).unwrap().iter().flatten() {
            for word in 1..analysis.parse.heads.len() {
                let offered = other_labels(&explainer, analysis, word);
                if analysis.parse.heads[word] == 0 {
                    assert_eq!(offered, [""; 0], "{rule}: the root of a tree is `root`");
                } else {
                    assert!(!offered.contains(&"root".to_string()), "{rule}: word {word} is not the root");
                    let all = labels - 2;
                    assert!(offered.len() == all || is_voted(&rule), "all but its own label and `root`");
                    assert!(offered.len() <= all, "{rule}: {offered:?}");
                }
            }
        }
    }
}

#[test]
fn in_a_tree_runner_ups_and_flips_are_labels_that_the_word_can_have() {
    let (_sandbox, bundle) = opened();
    for rule in rules() {
        let explainer = explainer(&bundle, Decode::Tree, &rule);
        let sentences = sentences();
        let analyses = explainer.parser().analyse(&sentences).unwrap();
        let explanations = explainer.explain(&sentences, &Options::default()).unwrap();
        for (analysis, explanation) in analyses.iter().flatten().zip(explanations.into_iter().flatten()) {
            for edge in explanation.edges {
                let second = edge.labelling.runner_up.and_then(|second| second.label);
                let flip = explainer.flip(analysis, edge.dependent).unwrap().label.map(|set| set.instead);
                if edge.head == 0 {
                    assert_eq!((second, flip), (None, None), "{rule}: the root of a tree is `root`");
                } else {
                    let fits = second.map_or(is_voted(&rule), |label| label != "root");
                    assert!(fits, "{rule}: word {}", edge.dependent);
                    assert!(flip.is_none_or(|label| label != "root"), "{rule}: word {}", edge.dependent);
                }
            }
        }
    }
}

#[test]
fn a_label_without_a_vote_is_no_alternative_and_the_words_say_so() {
    let (_sandbox, bundle) = opened();
    // Few neighbours agree more often.
    let explainer = explainer(&bundle, Decode::Greedy, &Rule::knn(2).unwrap());
    let sentences = sentences();
    let analyses = explainer.parser().analyse(&sentences).unwrap();
    let explanations = explainer.explain(&sentences, &Options { count: 2, ..Options::default() }).unwrap();
    let (mut unanimous, mut divided) = (0, 0);
    for (analysis, explanation) in analyses.iter().flatten().zip(explanations.into_iter().flatten()) {
        for edge in &explanation.edges {
            let mut voted: Vec<&str> = edge.labelling.against.iter().map(|vote| vote.label.as_str()).collect();
            voted.sort_unstable();
            voted.dedup();
            let second = edge.labelling.runner_up.as_ref().and_then(|second| second.label.as_deref());
            let mut offered = other_labels(&explainer, analysis, edge.dependent);
            offered.sort_unstable();
            assert_eq!(offered, voted, "word {}", edge.dependent);
            assert_eq!(second.is_some(), !voted.is_empty(), "word {}", edge.dependent);
            assert!(second.is_none_or(|second| voted.contains(&second)), "word {}", edge.dependent);
            if voted.is_empty() { unanimous += 1 } else { divided += 1 }
        }
    }
    assert!(unanimous > 1 && divided > 1, "{unanimous} unanimous, {divided} divided");
}

#[test]
fn greedy_decoding_offers_every_label_to_every_word_unless_labels_are_voted_for() {
    let (_sandbox, bundle) = opened();
    for rule in rules() {
        if is_voted(&rule) {
            continue;
        }
        let explainer = explainer(&bundle, Decode::Greedy, &rule);
        for analysis in explainer.parser().analyse(&sentences()).unwrap().iter().flatten() {
            for word in 1..analysis.parse.heads.len() {
                let mut labels = other_labels(&explainer, analysis, word);
                labels.push(analysis.parse.labels[word].clone());
                labels.sort();
                let mut all = explainer.parser().labels().to_vec();
                all.sort();
                assert_eq!(labels, all, "{rule}: word {word}");
            }
        }
    }
}
