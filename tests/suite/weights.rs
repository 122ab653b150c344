//! Weights of treebanks: what they change in scores, where they are kept, and flip sets under them.

use crate::sandbox::Sandbox;
use crate::treebanks::{HALF, assert_close, exactly, explained, indexed, of_two, open, rules, scores};
use citree::explain::Citation;
use citree::parse::Settings;
use citree::rule::RuleSettings;
use citree::treebank::starter;
use citree::{Bundle, Rule};

#[test]
fn a_treebank_with_the_weight_two_counts_as_if_its_sentences_were_there_twice() {
    let sandbox = Sandbox::new();
    let bundle = of_two(&sandbox);
    let mut doubled = starter::train()[..2 * HALF].to_vec();
    for sentence in &starter::train()[HALF..2 * HALF] {
        let mut again = sentence.clone();
        again.set_comment("sent_id", &format!("{}-again", sentence.sent_id().unwrap()));
        doubled.push(again);
    }
    let doubled = indexed(&sandbox, "doubled.citree", &doubled);
    // The nearest edges are others once each is there twice, so kNN has no such equal.
    for rule in &rules()[..2] {
        let weighted = Settings { weights: vec![("second".to_string(), 2.0)], ..exactly(rule) };
        let own = scores(&explained(&bundle, &weighted));
        assert_close(&own, &scores(&explained(&doubled, &exactly(rule))), &rule.to_string());
        assert_ne!(own, scores(&explained(&bundle, &exactly(rule))), "{rule}");
        let alike = Settings { weights: vec![("second".to_string(), 1.0)], ..exactly(rule) };
        assert_eq!(scores(&explained(&bundle, &alike)), scores(&explained(&bundle, &exactly(rule))));
    }
}

#[test]
fn the_weight_of_a_treebank_is_that_of_its_votes() {
    let sandbox = Sandbox::new();
    let bundle = of_two(&sandbox);
    let rule = Rule::knn(6).unwrap();
    let edges = bundle.index().unwrap();
    let sentences: Vec<String> =
        (0..edges.sentences()).map(|number| edges.sentence(number).unwrap().sent_id.to_string()).collect();
    let second = |sent_id: &str| sentences.iter().position(|own| own == sent_id).unwrap() >= HALF;
    let weighted = Settings { weights: vec![("second".to_string(), 3.0)], ..exactly(&rule) };
    let (plain, weighted) = (explained(&bundle, &exactly(&rule)), explained(&bundle, &weighted));
    let mut compared = 0;
    for (plain, weighted) in plain.iter().zip(&weighted) {
        for (plain, weighted) in plain.edges.iter().zip(&weighted.edges) {
            if (plain.head, &plain.label) != (weighted.head, &weighted.label) {
                continue;
            }
            // Shares of the first citations of both: the ratio is that of the weights.
            let both = plain.attachment.citations.iter().zip(&weighted.attachment.citations);
            let ratios: Vec<(bool, f64)> = both
                .filter(|(own, other)| own.edge == other.edge && own.share > 1e-6)
                .map(|(own, other)| (second(&own.source.sent_id), other.share / own.share))
                .collect();
            let of = |wanted: bool| ratios.iter().find(|(second, _)| *second == wanted).map(|(_, ratio)| *ratio);
            if let (Some(first), Some(second)) = (of(false), of(true)) {
                assert!((second / first - 3.0).abs() < 1e-6, "{second} {first}");
                compared += 1;
            }
        }
    }
    assert!(compared > 3, "{compared}");
}

#[test]
fn by_votes_a_score_is_computed_from_weighted_votes() {
    let sandbox = Sandbox::new();
    let bundle = of_two(&sandbox);
    let settings = RuleSettings { temperature: Some(16.0), neighbors: Some(6) };
    let rule = Rule::named("knn", settings).unwrap();
    let edges = bundle.index().unwrap();
    let all = starter::train();
    let second: Vec<&str> = all[HALF..2 * HALF].iter().map(|sentence| sentence.sent_id().unwrap()).collect();
    assert_eq!(edges.treebanks().collect::<Vec<_>>(), ["treebank", "second"]);
    let weighted = Settings { weights: vec![("second".to_string(), 3.0)], ..exactly(&rule) };
    let votes = |citations: &[Citation]| -> f64 {
        let weight = |citation: &Citation| if second.contains(&&*citation.source.sent_id) { 3.0 } else { 1.0 };
        citations.iter().map(|citation| weight(citation) * (16.0 * f64::from(citation.similarity)).exp()).sum()
    };
    let mut compared = 0;
    for edge in explained(&bundle, &weighted).iter().flat_map(|explanation| &explanation.edges) {
        let [heads, labels] = [&edge.attachment, &edge.labelling];
        assert_eq!((heads.citations.len(), heads.against.len()), (3, 3), "all votes are cited");
        let ratio = votes(&heads.citations).ln() - votes(&heads.against).ln();
        assert!((heads.score - ratio).abs() < 1e-4 * (1.0 + ratio.abs()), "{} {ratio}", heads.score);
        if labels.citations.len() + labels.against.len() == 6 {
            let [own, others] = [&labels.citations, &labels.against].map(|citations| votes(citations));
            // A label that no neighbour has keeps a thousandth.
            let score = (own / (own + others) + 1e-3).ln();
            assert!((labels.score - score).abs() < 1e-4, "{} {score}", labels.score);
            compared += 1;
        }
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn a_weight_that_the_bundle_keeps_counts_like_one_that_is_asked_for() {
    let sandbox = Sandbox::new();
    let plain = of_two(&sandbox);
    let asked = |rule: &Rule| Settings { weights: vec![("second".to_string(), 3.0)], ..exactly(rule) };
    // A snapshot from before.
    plain.index().unwrap();
    plain.evidence().weigh("second", 3.0, "it was checked twice").unwrap();
    let kept = open(&sandbox, "two.citree");
    for rule in rules() {
        let own = explained(&kept, &exactly(&rule));
        assert_eq!(own[0].weights.get("second"), Some(&3.0));
        assert_eq!(scores(&own), scores(&explained(&plain, &asked(&rule))), "{rule}");
        let once = Settings { weights: vec![("second".to_string(), 1.0)], ..exactly(&rule) };
        let once = explained(&kept, &once);
        assert!(once[0].weights.is_empty());
        assert_eq!(scores(&once), scores(&explained(&plain, &exactly(&rule))), "asking for another weight: {rule}");
        assert_ne!(scores(&own), scores(&once), "{rule}");
    }
    let weights = |bundle: &Bundle| bundle.index().unwrap().weights().to_vec();
    assert_eq!(kept.evidence().log().unwrap().last().unwrap().what, "gave second the weight 3");

    // What is added, merged and joined to a treebank has its weight.
    let new = &starter::dev()[..2];
    kept.evidence().to_treebank("second").with_new_labels().add(&new[..1]).unwrap().commit("").unwrap();
    kept.evidence().with_new_labels().with_weight(0.5).add(&new[1..]).unwrap().commit("").unwrap();
    assert_eq!(weights(&open(&sandbox, "two.citree")), [1.0, 3.0, 0.5]);
    kept.evidence().merge("", &|_| citree::Flow::Continue).unwrap();
    assert_eq!(weights(&open(&sandbox, "two.citree")), [1.0, 3.0, 0.5]);
    kept.evidence().rename("added", "second", "").unwrap();
    assert_eq!(weights(&open(&sandbox, "two.citree")), [1.0, 3.0]);
    assert!(kept.evidence().list().unwrap().iter().all(|part| part.name.is_empty() || part.weight == 3.0));
    kept.evidence().undo("").unwrap();
    assert_eq!(weights(&open(&sandbox, "two.citree")), [1.0, 3.0, 0.5]);
    open(&sandbox, "two.citree").verify().unwrap().unwrap();
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
        let message = kept.evidence().weigh("second", wrong, "").unwrap_err().to_string();
        assert!(message.contains("above 0"), "{message}");
    }
    assert!(kept.evidence().weigh("third", 2.0, "").unwrap_err().to_string().contains("`third`"));
}

#[test]
fn without_the_sentences_of_a_flip_set_another_head_is_chosen_also_where_treebanks_have_weights() {
    let sandbox = Sandbox::new();
    let bundle = of_two(&sandbox);
    let mut flipped = 0;
    for rule in rules() {
        let settings = Settings { weights: vec![("second".to_string(), 3.0)], ..exactly(&rule) };
        let explainer = bundle.explainer_with(&settings).unwrap();
        let sentence = &starter::dev()[..1];
        let before = explainer.parser().parse(sentence).unwrap().remove(0);
        let analysis = explainer.parser().analyse(sentence).unwrap().remove(0).unwrap();
        for word in 1..=sentence[0].words().len() {
            let flip = explainer.flip(&analysis, word).unwrap();
            for (set, label) in [(flip.head, false), (flip.label, true)] {
                let Some(names) = set.map(|set| set.all_sentences).filter(|names| !names.is_empty()) else { continue };
                let gone = explainer.sentences_named(&names).unwrap();
                let after =
                    explainer.without(|number| gone.contains(&number)).unwrap().parser().parse(sentence).unwrap();
                // Labels are compared where the head stays, because another head has labels of its own.
                match label {
                    false => assert_ne!(after[0].heads[word], before.heads[word], "{rule}, word {word}"),
                    true if after[0].heads[word] == before.heads[word] => {
                        assert_ne!(after[0].labels[word], before.labels[word], "{rule}, word {word}");
                    }
                    true => continue,
                }
                flipped += 1;
            }
        }
    }
    assert!(flipped > 10, "{flipped}");
}
