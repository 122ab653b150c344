//! The parts of the served page, each rendered on request. All text in them is escaped.

use super::citations::{list, marked, source_of};
use super::panel::{self, MARKS, Others};
use super::tree::Tree;
use super::wording::{escape, isolated};
use super::{Links, answers, arcs, counted};
use crate::error::{Error, Result};
use crate::explain::wording::{completeness, count, fixed};
use crate::explain::{Coverage, EdgeExplanation, Explanation, NamedEdge, NamedNeighbor, RunnerUp, WhyNot};
use crate::treebank::{Sentence, write_sentence};
use std::path::Path;

/// A sentence as a tree whose edges can be chosen.
pub(crate) fn sentence(explanation: &Explanation) -> String {
    let tree = Tree::from(explanation);
    let name = explanation.sent_id.as_ref().map_or_else(|| "Sentence".to_string(), |sent_id| isolated(sent_id));
    let doubt = match tree.suspicious() {
        0 => "no suspicious edge".to_string(),
        some => format!("<b class=\"doubt\">{} suspicious</b>", counted(some, "edge")),
    };
    let warning = explanation.warning.as_ref();
    let warning = warning.map_or_else(String::new, |text| format!("<p class=\"warning\">This {}.</p>\n", escape(text)));
    format!(
        "<article class=\"sentence\">\n<header><h2>{name}</h2><p class=\"soft\">{}, {doubt}. Rule: {}.</p></header>\n{warning}{}</article>\n",
        counted(explanation.words.len(), "word"),
        escape(&crate::explain::wording::rule(explanation)),
        arcs::tree(&tree, Links::Page),
    )
}

/// A sentence as CoNLL-U, for the script of the page.
pub(crate) fn conllu(sentence: &Sentence) -> Result<String> {
    let mut text = Vec::new();
    write_sentence(&mut text, sentence).map_err(Error::io(Path::new("the page")))?;
    Ok(format!("<pre class=\"conllu\" hidden>\n{}</pre>\n", escape(&String::from_utf8_lossy(&text))))
}

/// Why an edge has its head and its label, with the alternatives.
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
    let contrasts = answers::contrasts(words, why, true);
    format!("<section class=\"contrast\"><a class=\"close\" href=\"#\" data-why=\"\">Close</a>{contrasts}</section>\n")
}

/// A training sentence with its gold tree.
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

/// A training edge with its neighbours in the vector space of one model.
#[derive(Clone, Debug)]
pub(crate) struct Neighborhood {
    /// The name of the model.
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
            against: 0.0,
            margin: None,
            cited: edge.neighbors.len(),
            of: 0,
            exact: edge.exact,
            recall: *recall,
            bounds: None,
        };
        let same = edge.neighbors.iter().filter(|near| near.label == edge.label).count();
        html.push_str(&format!(
            "<section><h4>Most similar {}</h4>\n<p class=\"coverage\">{} of {} {} labelled <em>{}</em> too.</p>\n\
             <p class=\"small\">{}</p>\n<h5>The neighbours: {MARKS}</h5>\n",
            escape(similar_to),
            same,
            counted(edge.neighbors.len(), "neighbour"),
            if same == 1 { "is" } else { "are" },
            isolated(&edge.label),
            completeness(&coverage),
        ));
        let neighbor = |(near, words): (&NamedNeighbor, &Vec<String>)| {
            let (dependent, head) = (near.dependent as usize, near.head as usize);
            format!(
                "<li{}><p dir=\"auto\">{}</p><p class=\"facts\"><b>{}</b><span>similarity <b>{}</b></span><span>{}</span></p>\
                 </li>\n",
                if near.label == edge.label { "" } else { " class=\"other\"" },
                marked(words, dependent, head),
                isolated(&near.label),
                fixed(f64::from(near.similarity), 3),
                source_of(&near.sent_id, Some((Some(near.edge), dependent))),
            )
        };
        html.push_str(&list(edge.neighbors.iter().zip(sentences).map(neighbor).collect()));
        html.push_str("</section>\n");
    }
    html + "</div>\n"
}

/// One page of a list of training sentences: number, `sent_id` and text of each. It starts at `from`, a page has `shown`
/// entries, and the whole list has `total`.
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
