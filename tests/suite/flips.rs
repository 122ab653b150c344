//! Flip sets: removing one changes its decision, and removing all but its last member does not.

use crate::explain::rules;
use crate::sandbox::{Sandbox, stderr, stdout};
use citree::evidence::EdgeId;
use citree::explain::{Explainer, FlipSet};
use citree::internals::{index, total};
use citree::parse::{Analysis, Settings};
use citree::treebank::starter;
use citree::{Bundle, Evidence, Rule};
use serde_json::Value;
use std::collections::HashSet;

/// Only a few words of a few sentences are tested.
const SENTENCES: usize = 6;
const WORDS: usize = 5;

/// A decision about a word that can be flipped: the winning edge or label, what would win instead, and the flip set.
struct Flipped<'a> {
    analysis: &'a Analysis,
    chosen: ((usize, usize), Option<String>),
    rival: ((usize, usize), Option<String>),
    set: FlipSet,
}

fn flipped<'a>(explainer: &Explainer, analysis: &'a Analysis, word: usize) -> Vec<Flipped<'a>> {
    let flip = explainer.flip(analysis, word).unwrap();
    let edge = (word, analysis.parse.heads[word]);
    let of_head = flip.head.map(|set| {
        let rival = ((word, set.instead.parse().unwrap()), None);
        Flipped { analysis, chosen: (edge, None), rival, set }
    });
    let of_label = flip.label.map(|set| {
        let (chosen, rival) = (analysis.parse.labels[word].clone(), set.instead.clone());
        Flipped { analysis, chosen: (edge, Some(chosen)), rival: (edge, Some(rival)), set }
    });
    of_head.into_iter().chain(of_label).collect()
}

/// Calls `check` with every decision that can be flipped, under every rule. Returns their number for each rule.
fn for_every_flip(check: impl Fn(&Explainer, &Flipped) -> usize) -> Vec<(String, usize)> {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let bundle = Bundle::open(sandbox.path("t.citree")).unwrap();
    let checked = rules().map(|rule| {
        let explainer = bundle.explainer_with(&Settings { rule: Some(rule.clone()), ..Settings::default() }).unwrap();
        let analyses = explainer.parser().analyse(&starter::dev()[..SENTENCES]).unwrap();
        let mut checked = 0;
        for analysis in analyses.iter().flatten() {
            for word in 1..analysis.parse.heads.len().min(WORDS) {
                checked += flipped(&explainer, analysis, word).iter().map(|one| check(&explainer, one)).sum::<usize>();
            }
        }
        (rule.to_string(), checked)
    });
    checked.to_vec()
}

/// Whether the chosen side still wins, or ties, under the remaining evidence.
fn stays(explainer: &Explainer, flipped: &Flipped, left: &Evidence) -> bool {
    let total = |(edge, label): &((usize, usize), Option<String>)| {
        total(explainer, left, flipped.analysis, *edge, label.as_deref()).unwrap()
    };
    total(&flipped.chosen) >= total(&flipped.rival)
}

#[test]
fn a_set_of_edges_flips_the_decision_and_one_edge_fewer_does_not() {
    let checked = for_every_flip(|explainer, flipped| {
        let without = |gone: &[EdgeId]| explainer.evidence().without(|edge, _| gone.contains(&edge));
        let set = &flipped.set;
        assert_eq!(set.edges, set.removed.len());
        assert_eq!(set.removed.iter().collect::<HashSet<_>>().len(), set.edges, "an edge is in it twice");
        assert!(!stays(explainer, flipped, &without(&set.removed)), "{} edges do not flip it", set.edges);
        let (_, fewer) = set.removed.split_last().expect("no decision falls with nothing missing");
        assert!(stays(explainer, flipped, &without(fewer)), "{} edges flip it already", fewer.len());
        1
    });
    assert!(checked.iter().all(|(_, number)| *number > 10), "too few decisions to tell: {checked:?}");
}

/// A bundle whose index holds a few sentences, so that every set of one and of two edges can be tried.
fn few_sentences(sandbox: &Sandbox) -> Bundle {
    sandbox.trained("t.citree");
    sandbox.write_treebank("few.conllu", &starter::train()[..6]);
    let output = sandbox.citree(&["index", "t.citree", "--treebank", "few.conllu"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    Bundle::open(sandbox.path("t.citree")).unwrap()
}

#[test]
fn no_smaller_set_of_votes_changes_a_decision_where_explain_says_so() {
    let sandbox = Sandbox::new();
    let bundle = few_sentences(&sandbox);
    let settings = Settings { rule: Some(Rule::knn(5).unwrap()), ..Settings::default() };
    let explainer = bundle.explainer_with(&settings).unwrap();
    let all = explainer.evidence().edges();
    let accepted = (0..all.accepted()).map(EdgeId::Accepted);
    let edges: Vec<EdgeId> = accepted.chain((0..all.rejected()).map(EdgeId::Rejected)).collect();
    let mut tried = [0; 4];
    for analysis in explainer.parser().analyse(&starter::dev()[..12]).unwrap().iter().flatten() {
        for one in (1..analysis.parse.heads.len()).flat_map(|word| flipped(&explainer, analysis, word)) {
            let size = one.set.edges;
            assert!(one.set.smallest == (size <= 3), "{size}");
            if size > 3 || tried[size] >= [9, 9, 9, 1][size] {
                continue;
            }
            tried[size] += 1;
            let stays = |gone: &[EdgeId]| {
                stays(&explainer, &one, &explainer.evidence().without(|edge, _| gone.contains(&edge)))
            };
            for (at, first) in edges.iter().enumerate() {
                assert!(size < 2 || stays(&[*first]), "one edge is enough instead of {size}");
                for second in edges[at + 1..].iter().filter(|_| size == 3) {
                    assert!(stays(&[*first, *second]), "two edges are enough instead of three");
                }
            }
        }
    }
    assert!(tried[1..].iter().sum::<usize>() > 3, "too few decisions to tell: {tried:?}");
}

#[test]
fn a_set_of_sentences_flips_the_decision_and_one_sentence_fewer_does_not() {
    let checked = for_every_flip(|explainer, flipped| {
        let set = &flipped.set;
        if set.sentences.is_none() {
            return 0;
        }
        let numbers = explainer.sentences_named(&set.all_sentences).unwrap();
        assert_eq!(numbers.len(), set.all_sentences.len());
        let without = |gone: &HashSet<u32>| explainer.evidence().without(|_, sentence| gone.contains(&sentence));
        assert!(!stays(explainer, flipped, &without(&numbers)), "{:?} do not flip it", set.all_sentences);
        let (_, fewer) = set.all_sentences.split_last().expect("no decision falls with nothing missing");
        let fewer = if fewer.is_empty() { HashSet::new() } else { explainer.sentences_named(fewer).unwrap() };
        assert!(stays(explainer, flipped, &without(&fewer)), "{} sentences flip it already", fewer.len());
        1
    });
    assert!(checked.iter().all(|(_, number)| *number > 0), "no decision of some rule was checked: {checked:?}");
}

/// Whether sentences, tried in all combinations of an index of a few, flip a decision: the fewest that do.
fn fewest_sentences(explainer: &Explainer, one: &Flipped) -> Option<usize> {
    let flips =
        |set: &u32| !stays(explainer, one, &explainer.evidence().without(|_, sentence| set & (1 << sentence) != 0));
    (1..1u32 << explainer.evidence().edges().sentences())
        .filter(flips)
        .map(u32::count_ones)
        .min()
        .map(|fewest| fewest as usize)
}

#[test]
fn a_set_of_sentences_is_found_wherever_up_to_three_flip_the_decision() {
    let sandbox = Sandbox::new();
    let bundle = few_sentences(&sandbox);
    for rule in rules() {
        let explainer = bundle.explainer_with(&Settings { rule: Some(rule.clone()), ..Settings::default() }).unwrap();
        let (mut found, mut smallest) = (0, 0);
        for analysis in explainer.parser().analyse(&starter::dev()[..12]).unwrap().iter().flatten() {
            for one in (1..analysis.parse.heads.len()).flat_map(|word| flipped(&explainer, analysis, word)) {
                // Of the six, five can do it where no other set does. Nobody would look for them in a treebank.
                let Some(fewest) = fewest_sentences(&explainer, &one).filter(|fewest| *fewest <= 3) else { continue };
                assert!(one.set.sentences.is_some(), "{rule}: {fewest} of 6 do it, and none are named");
                found += 1;
                smallest += usize::from(one.set.sentences == Some(fewest));
            }
        }
        assert!(found > 5 && smallest * 10 >= found * 9, "{rule}: {smallest} of {found} are the smallest");
    }
}

#[test]
fn json_names_every_member_of_a_set_so_that_it_can_be_verified() {
    let checked = for_every_flip(|explainer, flipped| {
        let set = serde_json::to_value(&flipped.set).unwrap();
        let numbers = |kind: &str| -> HashSet<u64> {
            set["all_edges"][kind].as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
        };
        let (accepted, rejected) = (numbers("accepted"), numbers("rejected"));
        assert_eq!(accepted.len() + rejected.len(), flipped.set.edges);
        let left = explainer.evidence().without(|edge, _| match edge {
            EdgeId::Accepted(number) => accepted.contains(&u64::from(number)),
            EdgeId::Rejected(number) => rejected.contains(&u64::from(number)),
        });
        assert!(!stays(explainer, flipped, &left), "{} edges do not flip it", flipped.set.edges);
        let names: Vec<String> = serde_json::from_value(set["all_sentences"].clone()).unwrap();
        assert_eq!(names.len(), flipped.set.sentences.unwrap_or(0));
        if !names.is_empty() {
            let gone = explainer.sentences_named(&names).unwrap();
            let left = explainer.evidence().without(|_, sentence| gone.contains(&sentence));
            assert!(!stays(explainer, flipped, &left), "{} sentences do not flip it", names.len());
        }
        usize::from(flipped.set.edges > 20)
    });
    assert!(checked.iter().any(|(_, large)| *large > 0), "no set has more than the 20 members that are named");
}

#[test]
fn if_no_sentence_set_is_found_the_sentences_of_the_edges_do_not_flip_the_decision_either() {
    for_every_flip(|explainer, flipped| {
        let sentence = |edge: &EdgeId| match *edge {
            EdgeId::Accepted(edge) => explainer.evidence().edges().edge(edge).unwrap().0.sentence,
            EdgeId::Rejected(edge) => index(explainer.evidence().edges()).contrasts().unwrap().record(edge).unwrap().0,
        };
        let sentences: HashSet<u32> = flipped.set.removed.iter().map(sentence).collect();
        let left = explainer.evidence().without(|_, sentence| sentences.contains(&sentence));
        let of = flipped.set.removed.len();
        let known = flipped.set.sentences.is_some() || stays(explainer, flipped, &left);
        assert!(known, "the {} sentences of the {of} edges flip it, and none are named", sentences.len());
        1
    });
}

#[test]
fn without_the_sentences_that_explain_names_the_word_gets_another_head() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let explain = |rule: &str, more: &[&str]| -> Vec<Value> {
        let arguments = ["explain", "t.citree", "dev.conllu", "--format", "json", "--decode", "greedy", "--rule", rule];
        let output = sandbox.citree(&[&arguments[..], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    sandbox.write_treebank("dev.conllu", &starter::dev()[..SENTENCES]);
    for rule in ["sum", "nca", "knn"] {
        let mut compared = 0;
        for (at, answer) in explain(rule, &["--edge", "1", "--edge", "2", "--flip"]).iter().enumerate() {
            for flip in answer["flips"].as_array().unwrap() {
                let set = &flip["head"];
                let names: Vec<&str> =
                    set["first_sentences"].as_array().into_iter().flatten().map(|id| id.as_str().unwrap()).collect();
                if names.is_empty() || set["sentences"] != names.len() || compared == 4 {
                    continue;
                }
                let place = flip["dependent"].as_u64().unwrap() as usize - 1;
                let without: Vec<&str> = names.iter().flat_map(|name| ["--without", name]).collect();
                let after = explain(rule, &without)[at]["heads"][place].clone();
                assert_ne!(after, answer["heads"][place], "{rule}: {names:?}");
                compared += 1;
            }
        }
        assert!(compared > 0, "{rule}: nothing to compare");
    }
}

#[test]
fn a_head_that_the_tree_forces_is_called_forced_and_has_no_flip_set() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let bundle = Bundle::open(sandbox.path("t.citree")).unwrap();
    for rule in rules() {
        let explainer = bundle.explainer_with(&Settings { rule: Some(rule.clone()), ..Settings::default() }).unwrap();
        let mut forced = 0;
        for analysis in explainer.parser().analyse(&starter::dev()).unwrap().iter().flatten() {
            for word in 1..analysis.parse.heads.len() {
                let [heads, _] = explainer.others(analysis, word, 1).unwrap();
                if forced == 10 || heads.first().is_none_or(|best| best.margin >= 0.0) {
                    continue;
                }
                let flip = explainer.flip(analysis, word).unwrap();
                assert!(flip.forced, "{rule}: another head has the higher score");
                assert!(flip.head.is_none(), "{rule}: {:?}", flip.head);
                let json = serde_json::to_value(&flip).unwrap();
                assert_eq!((&json["forced"], &json["head"]), (&Value::Bool(true), &Value::Null));
                forced += 1;
            }
        }
        assert!(forced > 0, "{rule}: the tree forces no head");
    }
}
