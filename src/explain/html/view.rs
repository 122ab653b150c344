//! The parts of the served page, made one by one as they are asked for; all text in them is escaped.

use super::panel::{self, Others};
use super::tree::Tree;
use super::wording::{Name, escape, isolated};
use super::{Links, arcs, counted};
use crate::explain::wording::{completeness, count, number, signed};
use crate::explain::{Contrast, Coverage, EdgeExplanation, Explanation, NamedEdge, RunnerUp, WhyNot};

/// A sentence as a tree whose edges can be chosen.
pub(crate) fn sentence(explanation: &Explanation) -> String {
    let tree = Tree::from(explanation);
    let name = explanation.sent_id.as_ref().map_or_else(|| "Sentence".to_string(), |sent_id| isolated(sent_id));
    let doubt = match tree.suspicious() {
        0 => "no suspicious edge".to_string(),
        some => format!("<b class=\"doubt\">{} suspicious</b>", counted(some, "edge")),
    };
    format!(
        "<article class=\"sentence\">\n<header><h2>{name}</h2><p class=\"soft\">{}, {doubt}. Rule: {}.</p></header>\n{}</article>\n",
        counted(explanation.words.len(), "word"),
        escape(&explanation.rule.describe()),
        arcs::tree(&tree, Links::Page),
    )
}

/// Why an edge has its head and its label, with what else they could have been.
pub(crate) fn edge(
    explanation: &Explanation,
    edge: &EdgeExplanation,
    heads: &[RunnerUp],
    labels: &[RunnerUp],
) -> String {
    format!(
        "<header><h3 tabindex=\"-1\">{}</h3><a class=\"close\" href=\"#\" data-close>Close</a></header>\n{}",
        panel::title(&explanation.words, edge.dependent, edge.head, &edge.label),
        panel::sides(explanation, edge, Some(Others { heads, labels })),
    )
}

/// What argues for a decision and what against it.
pub(crate) fn why_not(words: &[String], why: &WhyNot) -> String {
    let word = Name::of_word(words, why.dependent).html();
    // A head is named by its id and form; here its form is enough, unless it comes twice.
    let head = |name: &str| {
        let id = name.split(' ').next().and_then(|id| id.parse().ok()).unwrap_or_default();
        Name::of_word(words, id).html()
    };
    let label = |name: &str| Name::of_label(name).html();
    let heads = why.head.iter().map(|contrast| contrasted(&format!("head of {word}"), contrast, &head));
    let labels = why.label.iter().map(|contrast| contrasted(&format!("label of {word}"), contrast, &label));
    let contrasts: String = heads.chain(labels).collect();
    format!("<section class=\"contrast\"><a class=\"close\" href=\"#\" data-why=\"\">Close</a>{contrasts}</section>\n")
}

fn contrasted(what: &str, contrast: &Contrast, name: &dyn Fn(&str) -> String) -> String {
    let (chosen, alternative) = (name(&contrast.chosen), name(&contrast.alternative));
    let [score, other] = contrast.scores;
    let mut html = format!(
        "<h4 tabindex=\"-1\">Why is the {what} {chosen}, not {alternative}?</h4>\n\
         <p>Score {} against {}; all training edges together speak for {chosen} by {}.</p>\n<div class=\"sides\">\n",
        number(score),
        number(other),
        number(contrast.margin),
    );
    let sides = [
        ("for", contrast.in_favour, &contrast.arguments_for),
        ("against", contrast.against, &contrast.arguments_against),
    ];
    for (name, (sum, edges), arguments) in sides {
        html.push_str(&format!(
            "<section><h5>{} training edge{} argue{} {name} {chosen}, by {} together{}</h5>\n{}</section>\n",
            count(edges),
            if edges == 1 { "" } else { "s" },
            if edges == 1 { "s" } else { "" },
            signed(sum),
            if arguments.is_empty() { "" } else { "; most strongly" },
            panel::citations(arguments, true),
        ));
    }
    html + "</div>\n"
}

/// A training sentence with the tree that people gave it.
pub(crate) fn training(tree: &Tree<'_>, number: u32, sent_id: &str, document: &str) -> String {
    let name = if sent_id.is_empty() { format!("training sentence {number}") } else { isolated(sent_id) };
    let document = match document {
        "" => String::new(),
        document => format!(", document {}", isolated(document)),
    };
    format!(
        "<article class=\"sentence training\">\n<header><h2>{name}</h2><p class=\"soft\">Gold tree of the training treebank, {}\
         {document}. Choose an edge to see the training edges most like it.</p></header>\n{}</article>\n",
        counted(tree.words.len(), "word"),
        arcs::tree(tree, Links::Page),
    )
}

/// A training edge with its neighbours in the eyes of one model.
#[derive(Clone, Debug)]
pub(crate) struct Neighborhood {
    /// Whose eyes.
    pub similar_to: &'static str,
    /// The edge and its neighbours.
    pub edge: NamedEdge,
    /// The words of each neighbour's sentence.
    pub sentences: Vec<Vec<String>>,
    /// The share of nearest edges that the search finds, if that was measured.
    pub recall: Option<f32>,
}

/// A training edge's neighbours, model by model.
pub(crate) fn neighbors(tree: &Tree<'_>, found: &[Neighborhood]) -> String {
    let Some(Neighborhood { edge, .. }) = found.first() else { return String::new() };
    let title = panel::title(tree.words, edge.dependent, edge.head, &edge.label);
    let mut html = format!(
        "<header><h3 tabindex=\"-1\">{title}</h3><a class=\"close\" href=\"#\" data-close>Close</a></header>\n<div class=\"sides\">\n"
    );
    for Neighborhood { similar_to, edge, sentences, recall } in found {
        let coverage = Coverage {
            score: 0.0,
            margin: None,
            cited: edge.neighbors.len(),
            of: 0,
            exact: edge.exact,
            recall: *recall,
        };
        let same = edge.neighbors.iter().filter(|near| near.label == edge.label).count();
        html.push_str(&format!(
            "<section><h4>Most similar {}</h4>\n<p class=\"coverage\">{} of {} {} labelled <em>{}</em> too.</p>\n\
             <p class=\"small\">{}</p>\n<ol class=\"citations\">\n",
            escape(similar_to),
            same,
            counted(edge.neighbors.len(), "neighbour"),
            if same == 1 { "is" } else { "are" },
            isolated(&edge.label),
            completeness(&coverage),
        ));
        for (near, words) in edge.neighbors.iter().zip(sentences) {
            let (dependent, head) = (near.dependent as usize, near.head as usize);
            let other = if near.label == edge.label { "" } else { " class=\"other\"" };
            html.push_str(&format!(
                "<li{other}>{}<p dir=\"auto\">{}</p><p class=\"facts\"><b>{}</b><span>similarity <b>{:.3}</b></span><span>\
                 <a href=\"#\" data-cited=\"{}\" data-sent=\"{}\" data-word=\"{dependent}\">{}</a></span></p></li>\n",
                panel::arc(words, dependent, head, &near.label),
                panel::marked(words, dependent, head),
                isolated(&near.label),
                near.similarity,
                near.edge,
                escape(&near.sent_id),
                isolated(if near.sent_id.is_empty() { "its sentence" } else { &near.sent_id }),
            ));
        }
        html.push_str("</ol>\n</section>\n");
    }
    html + "</div>\n"
}

/// Training sentences in a list: number, `sent_id` and text of each, from a place in a list of `total` that is shown by so
/// many.
pub(crate) fn found(sentences: &[(u32, &str, &str)], from: usize, total: usize, shown: usize) -> String {
    if sentences.is_empty() && from > 0 {
        return "<p>There are no more.</p>\n".to_string();
    }
    if total == 0 {
        return "<p>No training sentence has that in its text, or as the beginning of its sent_id.</p>\n".to_string();
    }
    let items: String = sentences
        .iter()
        .map(|(number, sent_id, text)| {
            format!(
                "<li><a href=\"#\" data-sentence=\"{number}\" data-sent=\"{}\"><bdi>{}</bdi></a> <span class=\"soft\">{}</span></li>\n",
                escape(sent_id),
                escape(text),
                isolated(sent_id)
            )
        })
        .collect();
    let (first, last) = (from + 1, from + sentences.len());
    let more = |place: usize, name: &str| format!("<a href=\"#\" data-from=\"{place}\">{name}</a> ");
    let before = if from > 0 { more(from.saturating_sub(shown), "‹ before") } else { String::new() };
    let after = if last < total { more(last, "more ›") } else { String::new() };
    format!(
        "<p class=\"soft\">{} to {} of {}. {before}{after}</p>\n<ul class=\"found\">\n{items}</ul>\n",
        count(first as u64),
        count(last as u64),
        counted(total, "training sentence"),
    )
}
