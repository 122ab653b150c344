//! The page of a sentence with a malicious annotation.

use super::*;
use crate::evidence::Source;
use crate::explain::answer::SCHEMA;
use crate::explain::{
    Change, Citation, Contrast, Coverage, EdgeExplanation, Flip, FlipSet, Group, Rationale, RollUp, RunnerUp, WhyNot,
};
use crate::rule::Rule;
use std::sync::Arc;

fn rationale(head: Option<usize>, label: Option<&str>) -> Rationale {
    let citation = Citation {
        edge: 7,
        source: Arc::new(Source {
            sent_id: "train-<7>".to_string(),
            document: "news & views".to_string(),
            words: ["He", "ate", "<b>cake</b>"].map(str::to_string).to_vec(),
        }),
        dependent: 3,
        head: 2,
        gold_head: None,
        label: "obj".to_string(),
        similarity: 0.8731,
        share: 0.000051,
        margin_share: Some(0.000042),
    };
    let group = |name: &str, margin| Group {
        name: name.to_string(),
        evidence: 0.4,
        share: 0.5,
        margin: Some(margin),
        margin_share: Some(margin / 0.25),
    };
    Rationale {
        score: 0.8,
        probability: 0.973,
        runner_up: Some(RunnerUp {
            head,
            label: label.map(str::to_string),
            score: 0.55,
            probability: 0.02,
            margin: 0.25,
        }),
        citations: vec![citation],
        against: Vec::new(),
        coverage: Coverage {
            score: 0.000051,
            against: 0.0,
            margin: Some(0.000042),
            cited: 1,
            of: 204_585,
            exact: true,
            recall: None,
            bounds: None,
        },
        roll_ups: vec![RollUp {
            by: "genre".to_string(),
            evidence: 0.8,
            margin: Some(0.25),
            groups: vec![group("news", 0.35), group("<i>", -0.1)],
        }],
    }
}

fn explanation() -> Explanation {
    let edge = |dependent, head, label: &str| EdgeExplanation {
        dependent,
        head,
        label: label.to_string(),
        attachment: rationale(Some(1), None),
        labelling: rationale(None, Some("iobj")),
    };
    Explanation {
        sent_id: Some("a\"><script>alert(1)</script>".to_string()),
        words: ["We", "saw", "<script>alert(2)</script>"].map(str::to_string).to_vec(),
        multiword_tokens: Vec::new(),
        heads: vec![2, 0, 2],
        labels: ["nsubj", "root", "o'bj"].map(str::to_string).to_vec(),
        probabilities: vec![[0.99, 0.98], [1.0, 1.0], [0.62, 0.9]],
        rule: Rule::sum(),
        weights: Default::default(),
        warning: None,
        edges: vec![edge(1, 2, "nsubj"), edge(3, 2, "o'bj")],
    }
}

/// The page of explanations about which nothing more was asked.
fn page(explanations: &[Explanation], title: &str) -> String {
    let answer = |explanation: &Explanation| Answer {
        schema: SCHEMA,
        explanation: explanation.clone(),
        why_not: vec![],
        flips: vec![],
        changes: None,
    };
    report(&explanations.iter().map(answer).collect::<Vec<_>>(), title)
}

#[test]
fn nothing_in_a_treebank_or_a_title_becomes_an_element() {
    let page = page(&[explanation()], "</title><script>alert(0)</script>");
    assert_eq!(page.matches("<script").count(), 1, "only the page's own");
    for raw in ["<b>cake", "<i>", "train-<7>", "news & views", "o'bj", "a\">"] {
        assert!(!page.contains(raw), "{raw}");
    }
    assert!(page.contains("&lt;script&gt;alert(2)&lt;/script&gt;"));
    assert!(!page.contains("http:") && !page.contains("https:"), "nothing from elsewhere");
    assert!(!page.contains(" style="), "no style that a policy would have to allow");
}

#[test]
fn every_explained_edge_is_a_link_to_its_panel_and_every_other_says_so() {
    let page = page(&[explanation(), explanation()], "Two");
    for anchor in ["s1-e1", "s1-e3", "s2-e1", "s2-e3"] {
        assert_eq!(
            page.matches(&format!("<a class=\"edge sure\" href=\"#{anchor}\"")).count()
                + page.matches(&format!("<a class=\"edge doubtful\" href=\"#{anchor}\"")).count(),
            1,
            "{anchor}"
        );
        assert_eq!(page.matches(&format!("<section class=\"panel\" id=\"{anchor}\"")).count(), 1, "{anchor}");
    }
    assert!(!page.contains("s1-e2"));
    assert_eq!(page.matches("100\u{a0}%; not explained here</title>").count(), 2);
}

#[test]
fn an_edge_below_four_fifths_is_marked_in_words_and_in_shape() {
    let page = page(&[explanation()], "One");
    assert_eq!(page.matches("<a class=\"edge doubtful\"").count(), 1);
    assert!(page.contains("o&#39;bj ? 62\u{a0}%") && page.contains("; suspicious"));
    assert!(page.contains("1 edge suspicious, 1 edge not explained here"));
}

#[test]
fn a_panel_has_probabilities_coverage_citations_and_sums() {
    let page = page(&[explanation()], "One").replace('\u{a0}', " ");
    for text in [
        "97.3 %",
        "The margin over it is 0.2500 (score 0.8000 against 0.5500)",
        "The one cited edge carries 0.005 % of the evidence and 0.004 % of the margin over ‘<bdi>We</bdi>’ (204,585 training \
         edges count): it illustrates this decision, it does not carry it.",
        "<mark class=\"head\" title=\"head\"><bdi>ate</bdi></mark>",
        "<mark class=\"dep\" title=\"dependent\"><bdi>&lt;b&gt;cake&lt;/b&gt;</bdi></mark>",
        "similarity <b>0.873</b>",
        "The evidence adds up to 0.8000; the margin over ‘<bdi>We</bdi>’ adds up to 0.2500.",
        "+0.3500",
        "−0.1000",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn a_citation_is_shown_once_and_repeated_sentences_are_counted() {
    let mut explanation = explanation();
    let citations = &mut explanation.edges[0].attachment.citations;
    let mut again = citations[0].clone();
    again.source = Arc::new(Source { sent_id: "train-<8>".to_string(), ..(*again.source).clone() });
    citations.push(again);
    explanation.edges.truncate(1);
    let page = page(&[explanation], "One").replace('\u{a0}', " ");
    assert_eq!(page.matches("<bdi>ate</bdi>").count(), 2, "once for the head and once for the label");
    assert!(page.contains("<b>2 × the same</b>"));
    assert!(page.contains("<b>0.01 %</b> of the evidence"), "shares are added");
    assert!(page.contains("<bdi>train-&lt;7&gt;</bdi>, <bdi>train-&lt;8&gt;</bdi>"), "all sources are named");
}

#[test]
fn a_label_that_the_tree_forces_and_a_head_that_it_chose_say_so() {
    let mut explanation = explanation();
    explanation.edges[0].labelling.runner_up = None;
    if let Some(second) = &mut explanation.edges[0].attachment.runner_up {
        second.margin = -0.25;
    }
    let page = page(&[explanation], "One");
    assert_eq!(page.matches("The tree allows no other label.").count(), 1);
    assert_eq!(page.matches("The tree as a whole chose this head: ‘<bdi>We</bdi>’ has the higher score.").count(), 1);
}

#[test]
fn a_long_sentence_is_drawn_from_top_to_bottom() {
    let drawn = |words: usize| {
        let words = vec!["considerable".to_string(); words];
        let (heads, labels) = ((0..words.len()).collect::<Vec<_>>(), vec!["dep".to_string(); words.len()]);
        arcs::tree(
            &Tree { words: &words, heads: &heads, labels: &labels, tokens: &[], probabilities: None, corrections: &[] },
            Links::None,
        )
    };
    assert!(!drawn(8).contains("tree rows"));
    assert!(drawn(67).contains("tree rows"));
}

#[test]
fn a_report_has_the_answers_to_what_was_asked() {
    let explanation = explanation();
    let arguments_for = explanation.edges[0].attachment.citations.clone();
    let contrast = Contrast {
        chosen: "2 saw".to_string(),
        alternative: "1 We".to_string(),
        scores: [0.8, 0.55],
        margin: 0.25,
        in_favour: (0.5, 12),
        against: (-0.25, 3),
        arguments_for,
        arguments_against: vec![],
    };
    let set = FlipSet {
        instead: "1".to_string(),
        edges: 2,
        of_edges: 100,
        smallest: true,
        first_edges: vec!["<x>:1:2".to_string()],
        sentences: Some(1),
        of_sentences: 9,
        first_sentences: vec![],
        all_sentences: Vec::new(),
        removed: vec![],
    };
    let answer = Answer {
        schema: SCHEMA,
        explanation,
        why_not: vec![WhyNot { dependent: 3, head: Some(contrast), label: None }],
        flips: vec![
            Flip { dependent: 3, head: Some(set), label: None, forced: false, ended_early: vec!["label"] },
            Flip { dependent: 1, head: None, label: None, forced: true, ended_early: Vec::new() },
        ],
        changes: Some(vec![Change { dependent: 1, with: (2, "<a>".to_string()), without: (0, "b".to_string()) }]),
    };
    let page = report(&[answer], "Asked").replace('\u{a0}', " ");
    for text in [
        "‘<bdi>saw</bdi>’, not ‘<bdi>We</bdi>’?</h4>",
        "‘<bdi>saw</bdi>’ is ahead by 0.2500.",
        "contributes <b>+0.00001050</b>",
        "would be ‘<bdi>We</bdi>’ without 2 of 100 training edges (2.0 %); no smaller set does it.",
        "First of them: <bdi>&lt;x&gt;:1:2</bdi>",
        "The tree as a whole chose the head of ‘<bdi>We</bdi>’: ‘<bdi>We</bdi>’ has the higher score already.",
        "1 We: was &lt;a&gt; of 2 saw, is b of ROOT",
        "Without these training sentences 1 of 3 edges changes.",
    ] {
        assert!(page.contains(text), "{text}\n{page}");
    }
}
