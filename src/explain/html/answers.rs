//! Answers to what was asked about a sentence: why not another, what would have to be missing, what changes.

use super::citations::{Part, citations};
use super::panel::MARKS;
use super::wording::{Name, escape, isolated};
use crate::explain::wording::{self, ENDED_EARLY, MOST_IS_MISSING, MOST_OF_ALL};
use crate::explain::{Answer, Contrast, EdgeExplanation, Explanation, Flip, FlipSet, WhyNot};
use crate::task::Task;

/// The most edges and sentences of a set that are named.
const NAMED: usize = 5;

/// All answers about a sentence in a file; empty if nothing was asked.
pub(super) fn answers(answer: &Answer) -> String {
    let explanation = &answer.explanation;
    let mut html = String::new();
    if let Some(changes) = &answer.changes {
        let count = wording::change_count(changes.len(), explanation.words.len());
        let items: String = changes
            .iter()
            .map(|change| format!("<li dir=\"auto\">{}</li>\n", escape(&wording::change(change, explanation))))
            .collect();
        html.push_str(&format!("<h3>What changes</h3>\n<p>{count}</p>\n<ul>\n{items}</ul>\n"));
    }
    html.extend(answer.why_not.iter().map(|why| contrasts(&explanation.words, why, false)));
    if !answer.flips.is_empty() {
        let flips: String = answer.flips.iter().map(|one| flip(explanation, one)).collect();
        html.push_str(&format!("<details open><summary>What would have to be missing</summary>\n<ul class=\"flips\">\n{flips}</ul></details>\n"));
    }
    if html.is_empty() { html } else { format!("<section class=\"answers\">\n{html}</section>\n") }
}

/// Why a decision about a word differs from the expected one.
pub(super) fn contrasts(words: &[String], why: &WhyNot, linked: bool) -> String {
    let word = Name::of_word(words, why.dependent).html();
    // A head is named by its id and form. Here its form is enough, unless the sentence has that form twice.
    let head = |name: &str| {
        let id = name.split(' ').next().and_then(|id| id.parse().ok()).unwrap_or_default();
        Name::of_word(words, id).html()
    };
    let label = |name: &str| Name::of_label(name).html();
    // With another head, the label is the one that the edge to that head would get.
    let under = why.head.as_ref().map_or(String::new(), |other| format!(" under {}", head(&other.alternative)));
    let heads = why.head.iter().map(|one| contrast(&format!("head of {word}"), one, &head, linked));
    let labels = why.label.iter().map(|one| contrast(&format!("label of {word}{under}"), one, &label, linked));
    heads.chain(labels).collect()
}

/// The answer in a sentence, then the training edges that argue most strongly.
fn contrast(what: &str, contrast: &Contrast, name: &dyn Fn(&str) -> String, linked: bool) -> String {
    let (chosen, alternative) = (name(&contrast.chosen), name(&contrast.alternative));
    let mut html = format!(
        "<h4 tabindex=\"-1\">Why is the {what} {chosen}, not {alternative}?</h4>\n<p>{}</p>\n<div class=\"sides\">\n",
        wording::contrast(contrast, &chosen, &alternative),
    );
    for (side, arguments) in [("for", &contrast.arguments_for), ("against", &contrast.arguments_against)] {
        if !arguments.is_empty() {
            html.push_str(&format!(
                "<section><h5>The strongest {side} {chosen}: {MARKS}</h5>\n{}</section>\n",
                citations(arguments, Part::Contribution { margin: contrast.margin }, linked),
            ));
        }
    }
    html + "</div>\n"
}

/// What would have to be missing for a word to have another head, and another label.
fn flip(explanation: &Explanation, flip: &Flip) -> String {
    let name = |word: usize| Name::of_word(&explanation.words, word).html();
    let word = name(flip.dependent);
    let edge = explanation.edges.iter().find(|edge| edge.dependent == flip.dependent);
    let rival = |edge: &EdgeExplanation| edge.attachment.runner_up.as_ref().and_then(|second| second.head);
    let what = format!("the head of {word}");
    let early = |decision| if flip.ended_early.contains(&decision) { format!(" {ENDED_EARLY}") } else { String::new() };
    let head = match (edge, edge.and_then(rival)) {
        (_, Some(rival)) if flip.forced => wording::flip_by_tree(&what, &name(rival)),
        (Some(edge), None) => wording::no_alternative("head", &edge.attachment, &explanation.rule),
        _ => {
            let instead = flip.head.as_ref().and_then(|set| set.instead.parse().ok()).map_or(String::new(), name);
            flip_set(explanation, Task::Heads, &what, flip.head.as_ref(), &instead) + &early("head")
        }
    };
    let label = match edge {
        Some(edge) if edge.labelling.runner_up.is_none() && flip.found_nothing_for_label() => {
            wording::no_alternative("label", &edge.labelling, &explanation.rule)
        }
        _ => {
            let instead = flip.label.as_ref().map_or(String::new(), |set| Name::of_label(&set.instead).html());
            flip_set(explanation, Task::Labels, &format!("the label of {word}"), flip.label.as_ref(), &instead)
                + &early("label")
        }
    };
    format!("<li><b>{word}</b>: {head} {label}</li>\n")
}

fn flip_set(explanation: &Explanation, task: Task, what: &str, set: Option<&FlipSet>, instead: &str) -> String {
    let mut html = wording::flip(what, set, instead, explanation.rule.of(task));
    let Some(set) = set.filter(|set| set.edges > 0) else { return html };
    html.push_str(&format!(" {}", wording::flip_sentences(set)));
    if set.edges as f64 > MOST_OF_ALL * set.of_edges as f64 {
        html.push_str(&format!(" {MOST_IS_MISSING}"));
    } else if set.edges > 0 {
        let first: Vec<String> = set.first_edges.iter().take(NAMED).map(|edge| isolated(edge)).collect();
        html.push_str(&format!(" <span class=\"small\">First of them: {}.</span>", first.join(", ")));
    }
    html
}
