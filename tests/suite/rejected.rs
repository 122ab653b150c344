//! Rejected edges: what they are, how they are searched, and what they do to decisions and explanations.

use crate::frozen::thawed;
use crate::sandbox::{Sandbox, stderr, stdout};
use citree::explain::{Citation, Explanation, Options};
use citree::internals::{edge_row, index};
use citree::parse::{Decode, Settings};
use citree::treebank::starter;
use citree::{Bundle, Rule};
use serde_json::Value;

fn run(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.citree(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn trained() -> (Sandbox, Bundle) {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let bundle = Bundle::open(sandbox.path("t.citree")).unwrap();
    (sandbox, bundle)
}

#[test]
fn no_rejected_edge_is_a_gold_edge_and_every_word_has_its_share_of_them() {
    let (_sandbox, bundle) = trained();
    let edges = bundle.index().unwrap();
    let contrasts = index(edges).contrasts().unwrap();
    let mut per_word = std::collections::BTreeMap::new();
    for number in 0..edges.rejected() {
        let (sentence, [dependent, head]) = contrasts.record(number).unwrap();
        let words = edges.sentence(sentence).unwrap().words;
        assert_ne!(words[dependent as usize - 1].head, head as usize, "a gold edge is rejected");
        assert!(dependent != head && head as usize <= words.len());
        *per_word.entry((sentence, dependent)).or_insert(0) += 1;
    }
    for number in 0..edges.sentences() {
        let words = edges.sentence(number).unwrap().words.len();
        for word in 1..=words {
            let found = per_word.get(&(number, word as u32)).copied().unwrap_or(0);
            assert_eq!(found, 2.min(words - 1), "word {word} of sentence {number} with {words} words");
        }
    }
}

#[test]
fn rejected_edges_are_the_wrong_heads_that_the_parser_ranks_highest() {
    let (_sandbox, bundle) = trained();
    let settings = Settings { decode: Decode::Greedy, rule: Some(Rule::sum()), ..Settings::default() };
    let explainer = bundle.explainer_with(&settings).unwrap();
    let edges = bundle.index().unwrap();
    let contrasts = index(edges).contrasts().unwrap();
    let train = starter::train();
    let (mut same, mut all) = (0, 0);
    for number in 0..edges.rejected() {
        let (sentence, [dependent, head]) = contrasts.record(number).unwrap();
        if sentence >= 20 {
            break;
        }
        let analysis =
            explainer.parser().analyse(&train[sentence as usize..=sentence as usize]).unwrap().pop().flatten().unwrap();
        let gold = train[sentence as usize].words()[dependent as usize - 1].head.unwrap();
        let [others, _] = explainer.others(&analysis, dependent as usize, 99).unwrap();
        let chosen = analysis.parse.heads[dependent as usize];
        let ranked = std::iter::once(chosen).chain(others.iter().filter_map(|other| other.head));
        let wrong: Vec<usize> = ranked.filter(|&other| other != gold).take(2).collect();
        same += usize::from(wrong.contains(&(head as usize)));
        all += 1;
    }
    // They are chosen by the mean of a sample, which here is all sentences; ties may fall either way.
    assert!(same * 100 >= all * 98 && all > 100, "{same} of {all}");
}

#[test]
fn a_number_of_rejected_edges_can_be_asked_for_or_none() {
    let (sandbox, _) = trained();
    for (number, expected) in [("0", 0), ("1", 1)] {
        run(&sandbox, &["index", "t.citree", "--treebank", "train.conllu", "--rejected", number]);
        let edges = Bundle::open(sandbox.path("t.citree")).unwrap();
        let edges = edges.index().unwrap();
        assert_eq!(edges.rejected(), expected * edges.accepted());
        run(&sandbox, &["verify", "t.citree"]);
        run(&sandbox, &["parse", "t.citree", "dev.conllu", "--rule", "knn"]);
        run(&sandbox, &["parse", "t.citree", "dev.conllu", "--rule", "nca"]);
    }
    let output = sandbox.citree(&["index", "t.citree", "--treebank", "train.conllu", "--rejected", "99"]);
    assert!(stderr(&output).contains("0 to 16"), "{}", stderr(&output));
}

fn explained(bundle: &Bundle, rule: Rule, exact: bool) -> Vec<Explanation> {
    let settings = Settings { decode: Decode::Greedy, rule: Some(rule), exact, ..Settings::default() };
    let options = Options { count: 20, ..Options::default() };
    let explainer = bundle.explainer_with(&settings).unwrap();
    explainer.explain(&starter::dev()[..30], &options).unwrap().into_iter().flatten().collect()
}

/// A bundle of all starter sentences, whose spaces are large enough for graphs.
fn with_graphs() -> (Sandbox, Bundle) {
    let (sandbox, bundle) = trained();
    bundle.build_index(&starter::train(), &|_| citree::Flow::Continue).unwrap();
    let bundle = Bundle::open(sandbox.path("t.citree")).unwrap();
    let manifest = index(bundle.index().unwrap()).manifest().clone();
    assert!(manifest.spaces[0].graph.is_some() && manifest.contrasts.unwrap().space.graph.is_some());
    (sandbox, bundle)
}

#[test]
fn votes_found_by_the_graph_are_those_of_a_scan_but_for_the_stated_recall() {
    let (_sandbox, bundle) = with_graphs();
    let (by_graph, by_scan) =
        (explained(&bundle, Rule::knn(20).unwrap(), false), explained(&bundle, Rule::knn(20).unwrap(), true));
    let (mut found, mut all, mut same_heads, mut words) = (0, 0, 0, 0);
    for (graph, scan) in by_graph.iter().zip(&by_scan) {
        for (own, exact) in graph.edges.iter().zip(&scan.edges) {
            words += 1;
            same_heads += usize::from(own.head == exact.head);
            assert!(exact.attachment.coverage.exact && !own.attachment.coverage.exact);
            assert!(own.attachment.coverage.recall.is_some_and(|recall| recall > 0.9));
            if own.head != exact.head {
                continue;
            }
            let ids = |of: &[Citation]| of.iter().map(|one| (one.gold_head.is_some(), one.edge)).collect::<Vec<_>>();
            let cited = |edge: &citree::explain::EdgeExplanation| {
                [ids(&edge.attachment.citations), ids(&edge.attachment.against)].concat()
            };
            let truth = cited(exact);
            found += cited(own).iter().filter(|id| truth.contains(id)).count();
            all += truth.len();
        }
    }
    assert!(found as f64 >= 0.97 * all as f64, "{found} of {all} voters");
    assert!(same_heads as f64 >= 0.98 * words as f64, "{same_heads} of {words} heads");
}

#[test]
fn similarities_of_citations_are_those_of_the_stored_rows_and_votes_carry_the_whole_decision() {
    let (_sandbox, bundle) = with_graphs();
    let index = index(bundle.index().unwrap());
    let [heads, _] = index.spaces();
    let (mut against, mut checked) = (0, 0);
    let settings = Settings { decode: Decode::Greedy, rule: Some(Rule::knn(20).unwrap()), ..Settings::default() };
    let explainer = bundle.explainer_with(&settings).unwrap();
    let analyses = explainer.parser().analyse(&starter::dev()[..30]).unwrap();
    let explanations = explained(&bundle, Rule::knn(20).unwrap(), false);
    for (analysis, explanation) in analyses.iter().flatten().zip(&explanations) {
        for edge in &explanation.edges {
            let rationale = &edge.attachment;
            let row = edge_row(&explainer, analysis, (edge.dependent, edge.head)).unwrap();
            let stored = |one: &Citation| match one.gold_head {
                Some(_) => index.contrasts().unwrap().space().similarity(&row, one.edge),
                None => heads.similarity(&row, one.edge),
            };
            for one in rationale.citations.iter().chain(&rationale.against) {
                assert!((stored(one).unwrap() - one.similarity).abs() < 1e-4, "{one:?}");
            }
            let voters = rationale.citations.len() + rationale.against.len();
            assert_eq!((voters, rationale.coverage.of), (20, 20));
            let shares: f64 = rationale.citations.iter().chain(&rationale.against).map(|one| one.share).sum();
            assert!((shares - 1.0).abs() < 1e-9, "{shares}");
            assert!((rationale.coverage.score - 1.0).abs() < 1e-9);
            for one in &rationale.against {
                assert_ne!(one.gold_head, Some(one.head), "the head that it really has is another");
                against += 1;
            }
            let labels = &edge.labelling;
            assert!(labels.citations.iter().all(|one| one.label == edge.label));
            assert!(labels.against.iter().all(|one| one.label != edge.label && one.gold_head.is_none()));
            checked += 1;
        }
    }
    assert!(checked > 100 && against > 10, "{checked} {against}");
    assert!(heads.count() > 2000);
}

#[test]
fn densities_decide_as_every_single_edge_does() {
    let (_sandbox, bundle) = with_graphs();
    let rule = Rule::nca(64.0).unwrap();
    let (fast, exact) = (explained(&bundle, rule.clone(), false), explained(&bundle, rule, true));
    let (mut same, mut words, mut bounded) = (0, 0, 0);
    for (own, truth) in fast.iter().zip(&exact) {
        for (own, truth) in own.edges.iter().zip(&truth.edges) {
            words += 1;
            same += usize::from((own.head, &own.label) == (truth.head, &truth.label));
            if own.head == truth.head {
                let difference = (own.attachment.coverage.score - truth.attachment.coverage.score).abs();
                // The vectors of the tests have 16 dimensions, so that each estimate is coarse.
                assert!(difference < 0.04, "coverage differs by {difference}");
                // What a citation weighs is known. Only the whole, of which it has a share, is estimated.
                let [nearest, same] = [&own.attachment.citations[0], &truth.attachment.citations[0]];
                assert!(truth.attachment.coverage.bounds.is_none(), "every edge was compared");
                if nearest.edge != same.edge {
                    continue;
                }
                let whole = nearest.share / same.share;
                let bounds = own.attachment.coverage.bounds;
                let [low, high] = bounds.unwrap_or([0.9999, 1.0001]);
                assert!((low..=high).contains(&whole), "{whole} is outside of {low} and {high}");
                assert!(low < 1.0 && high > 1.0);
                bounded += usize::from(bounds.is_some());
            }
        }
    }
    assert!(same as f64 >= 0.99 * words as f64, "{same} of {words}");
    assert!(2 * bounded > words, "{bounded} of {words} were estimated");
}

#[test]
fn an_index_of_version_1_votes_with_accepted_edges_alone() {
    let sandbox = thawed();
    let explained = run(
        &sandbox,
        &["explain", "en.citree", "one.txt", "--text", "--format", "json", "--rule", "knn", "--count", "20"],
    );
    let answer: Value = serde_json::from_str(explained.trim()).unwrap();
    for edge in answer["edges"].as_array().unwrap() {
        assert_eq!(edge["attachment"]["against"], serde_json::json!([]));
        assert_eq!(edge["attachment"]["citations"].as_array().unwrap().len(), 20);
    }
    run(&sandbox, &["verify", "en.citree"]);
}

#[test]
fn left_out_sentences_take_their_rejected_edges_with_them() {
    let (_sandbox, bundle) = trained();
    let settings = Settings { rule: Some(Rule::knn(20).unwrap()), ..Settings::default() };
    let explainer = bundle.explainer_with(&settings).unwrap();
    let fewer = explainer.without(|sentence| sentence < 30).unwrap();
    let ids: Vec<String> =
        (0..30).map(|n| explainer.evidence().edges().sentence(n).unwrap().sent_id.to_string()).collect();
    for explanation in fewer.explain(&starter::dev()[..10], &Options::default()).unwrap().into_iter().flatten() {
        for edge in explanation.edges {
            let cited = edge.attachment.citations.iter().chain(&edge.attachment.against);
            cited.for_each(|one| assert!(!ids.contains(&one.source.sent_id), "{}", one.source.sent_id));
        }
    }
}

#[test]
fn conllu_names_what_speaks_for_a_head_and_what_against_it() {
    let (sandbox, _) = trained();
    let text = run(&sandbox, &["explain", "t.citree", "dev.conllu", "--format", "conllu", "--rule", "knn"]);
    for key in ["Cite=", "CiteAgainst=", "CiteLabel=", "CiteLabelAgainst="] {
        assert!(text.contains(key), "{key}");
    }
}
