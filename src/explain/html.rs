//! Explanations as one self-contained web page: trees whose edges open to show the training edges behind them.

mod arcs;
mod layout;
mod panel;
mod wording;

use super::words::{count, rule};
use super::{Explanation, Inference};
pub(crate) use layout::{runs_right_to_left, text_width};
pub(crate) use wording::escape;
use wording::isolated;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
/// The SHA-256 of the script: the page lets its browser run this and nothing else, whatever a treebank holds.
const SCRIPT_HASH: &str = "/H+6Y3qUSyapsRQhuCflBK5NxDHmOOTFBLq89mk+FVI=";

/// An edge whose head or label is less probable than this is marked.
const SUSPICIOUS: f32 = 0.8;

/// A web page that shows explained sentences; it needs no other file and no network.
pub fn page(explanations: &[Explanation], title: &str) -> String {
    let sentences: String =
        explanations.iter().zip(1..).map(|(explanation, place)| sentence(explanation, place)).collect();
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"citree {}\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n<script>{SCRIPT}</script>\n</head>\n<body>\n<header>\n<h1 dir=\"auto\">{title}</h1>\n\
         {}</header>\n<main>\n{sentences}</main>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        summary(explanations),
    )
}

/// What there is to see, and how to read it.
fn summary(explanations: &[Explanation]) -> String {
    let total = |number: &dyn Fn(&Explanation) -> usize| explanations.iter().map(number).sum::<usize>();
    let words = total(&|explanation| explanation.words.len());
    let explained = total(&|explanation| explanation.edges.len());
    let suspicious = total(&suspicious);
    let legend = |class: &str, label: &str, meaning: &str| {
        let width = label.len() * 7 + 8;
        format!(
            "<li><svg width=\"116\" height=\"24\" aria-hidden=\"true\"><g class=\"{class}\"><path class=\"arc\" d=\"M2 23V18\
             Q2 12 12 12H104Q114 12 114 18V23\"/><rect class=\"pill\" x=\"{}\" y=\"3\" width=\"{width}\" height=\"18\" rx=\"9\"/>\
             <text class=\"label\" x=\"58\" y=\"16\">{label}</text></g></svg><span>{meaning}</span></li>\n",
            58 - width / 2
        )
    };
    let rules: Vec<Inference> = explanations.iter().fold(Vec::new(), |mut rules, explanation| {
        if !rules.contains(&explanation.inference) {
            rules.push(explanation.inference);
        }
        rules
    });
    let rules: Vec<String> = rules.into_iter().map(rule).collect();
    let rules = if rules.is_empty() { String::new() } else { format!(" Rule: {}.", rules.join("; or ")) };
    let mut legends = legend("", "obj", "stronger is more probable; choose an edge to see why");
    if suspicious > 0 {
        legends.push_str(&legend("doubtful", "obj ? 62 %", "suspicious: head or label below 80 %"));
    }
    if explained < words {
        legends.push_str(&legend("silent", "obj", "not explained here"));
    }
    format!(
        "<p class=\"soft\">{}, {}: {} explained, {} suspicious.{}</p>\n<ul class=\"legend\">\n{legends}</ul>\n",
        counted(explanations.len(), "sentence"),
        counted(words, "edge"),
        count(explained as u64),
        count(suspicious as u64),
        escape(&rules),
    )
}

/// A sentence: its name, its tree, and a panel for each explained edge.
fn sentence(explanation: &Explanation, place: usize) -> String {
    let name = match &explanation.sent_id {
        Some(sent_id) => isolated(sent_id),
        None => format!("Sentence {place}"),
    };
    let mut remarks = Vec::new();
    match suspicious(explanation) {
        0 => {}
        some => remarks.push(format!("{} suspicious", counted(some, "edge"))),
    }
    match explanation.words.len().saturating_sub(explanation.edges.len()) {
        0 => {}
        some => remarks.push(format!("{} not explained here", counted(some, "edge"))),
    }
    let panels: String = explanation.edges.iter().map(|edge| panel::panel(explanation, edge, place)).collect();
    format!(
        "<article class=\"sentence\" id=\"s{place}\">\n<header><h2>{name}</h2><p class=\"soft\">{}</p></header>\n{}{panels}\
         </article>\n",
        remarks.join(", "),
        arcs::tree(explanation, place),
    )
}

/// The name of an edge in links: stable, so that it can be sent to someone.
fn anchor(place: usize, dependent: usize) -> String {
    format!("s{place}-e{dependent}")
}

/// The probability of a word's head or of its label, whichever is lower.
fn certainty(explanation: &Explanation, word: usize) -> f32 {
    let probabilities = word.checked_sub(1).and_then(|at| explanation.probabilities.get(at));
    probabilities.map_or(1.0, |[head, label]| head.min(*label))
}

fn suspicious(explanation: &Explanation) -> usize {
    (1..=explanation.words.len()).filter(|&word| certainty(explanation, word) < SUSPICIOUS).count()
}

fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::{Citation, Coverage, EdgeExplanation, Group, Rationale, RollUp, RunnerUp};
    use crate::indexing::Source;
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
            coverage: Coverage {
                score: 0.000051,
                margin: Some(0.000042),
                cited: 1,
                of: 204_585,
                exact: true,
                recall: None,
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
            heads: vec![2, 0, 2],
            labels: ["nsubj", "root", "o'bj"].map(str::to_string).to_vec(),
            probabilities: vec![[0.99, 0.98], [1.0, 1.0], [0.62, 0.9]],
            inference: Inference::Sum,
            edges: vec![edge(1, 2, "nsubj"), edge(3, 2, "o'bj")],
        }
    }

    #[test]
    fn nothing_in_a_treebank_or_a_title_becomes_an_element() {
        let page = page(&[explanation()], "</title><script>alert(0)</script>");
        assert_eq!(page.matches("<script").count(), 1, "only the page's own");
        for raw in ["<b>cake", "<i>", "train-<7>", "news & views", "o'bj", "a\">"] {
            let own_markup = page.replace("<i style", "").replace("<i class", "");
            assert!(!own_markup.contains(raw), "{raw}");
        }
        assert!(page.contains("&lt;script&gt;alert(2)&lt;/script&gt;"));
        assert!(!page.contains("http:") && !page.contains("https:"), "nothing from elsewhere");
    }

    #[test]
    fn every_explained_edge_is_a_link_to_its_panel_and_every_other_says_so() {
        let page = page(&[explanation(), explanation()], "Two");
        for anchor in ["s1-e1", "s1-e3", "s2-e1", "s2-e3"] {
            assert_eq!(
                page.matches(&format!("<a class=\"edge\" href=\"#{anchor}\"")).count()
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
            "<mark class=\"head\"><bdi>ate</bdi><small>head</small></mark>",
            "<mark class=\"dep\"><bdi>&lt;b&gt;cake&lt;/b&gt;</bdi><small>dep</small></mark>",
            "similarity <b>0.873</b>",
            "The evidence adds up to 0.8000; the margin over ‘<bdi>We</bdi>’ adds up to 0.2500.",
            "+0.3500",
            "−0.1000",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }
}
