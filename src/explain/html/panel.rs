//! Why an edge has its head, why its label, and the training edges behind both.

use super::wording::{Name, escape, isolated, percent};
use super::{Room, Snippet, anchor};
use crate::explain::wording::{completeness, coverage, number, signed};
use crate::explain::{Citation, EdgeExplanation, Explanation, Group, Rationale, RollUp, RunnerUp};

/// Words of a cited sentence around its edge, and between its ends, that are drawn with its arc.
const ROOM: Room = Room { around: 2, between: 6 };
/// The height of such a drawing, and of the line its words stand on.
const SNIPPET: (f32, f32) = (66.0, 46.0);

/// What the served page offers beyond a file: what else could have been chosen, likeliest first, each with a way to ask
/// why it was not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Others<'a> {
    pub(super) heads: &'a [RunnerUp],
    pub(super) labels: &'a [RunnerUp],
}

/// The panel of an edge in a file.
pub(super) fn panel(explanation: &Explanation, edge: &EdgeExplanation, place: usize) -> String {
    let anchor = anchor(place, edge.dependent);
    format!(
        "<section class=\"panel\" id=\"{anchor}\" aria-labelledby=\"{anchor}-title\">\n<header><h3 id=\"{anchor}-title\">\
         {}</h3><a class=\"close\" href=\"#s{place}\">Close</a></header>\n{}</section>\n",
        title(&explanation.words, edge.dependent, edge.head, &edge.label),
        sides(explanation, edge, None),
    )
}

/// The edge in words.
pub(super) fn title(words: &[String], dependent: usize, head: usize, label: &str) -> String {
    let word = |word| Name::of_word(words, word).html();
    format!("{} is <em>{}</em> of {}", word(dependent), isolated(label), word(head))
}

/// The two decisions about an edge.
pub(super) fn sides(explanation: &Explanation, edge: &EdgeExplanation, others: Option<Others<'_>>) -> String {
    let head = Name::of_word(&explanation.words, edge.head).html();
    let label = Name::of_label(&edge.label).html();
    let (attachment, labelling) = (&edge.attachment, &edge.labelling);
    let context = Context { explanation, edge };
    format!(
        "<div class=\"sides\">\n{}{}</div>\n",
        context.side("Why this head", &head, attachment, others.map(|others| others.heads)),
        context.side("Why this label", &label, labelling, others.map(|others| others.labels)),
    )
}

struct Context<'a> {
    explanation: &'a Explanation,
    edge: &'a EdgeExplanation,
}

impl Context<'_> {
    /// One of the two decisions; `chosen` is the name of what was chosen.
    fn side(&self, title: &str, chosen: &str, rationale: &Rationale, others: Option<&[RunnerUp]>) -> String {
        let rival = rationale.runner_up.as_ref().map(|runner_up| self.name(runner_up));
        let mut html = format!("<section><h4>{title}</h4>\n<dl class=\"odds\">");
        html.push_str(&odds("first", chosen, rationale.probability, ""));
        match others {
            Some(others) => html.extend(others.iter().map(|other| self.other(other))),
            None => html.extend(
                rationale.runner_up.iter().map(|other| odds("second", &self.name(other), other.probability, "")),
            ),
        }
        html.push_str("</dl>\n");
        match (&rationale.runner_up, &rival) {
            (Some(runner_up), Some(rival)) => {
                let margin = runner_up.margin;
                html.push_str(&format!(
                    "<p class=\"small\">Runner-up: {rival}. The margin over it is {} (score {} against {}).</p>\n",
                    number(margin),
                    number(rationale.score),
                    number(runner_up.score)
                ));
                if margin < 0.0 {
                    html.push_str(&format!(
                        "<p class=\"warning\">By itself, {rival} scores higher: {chosen} was chosen because the edges must \
                         make a tree.</p>\n"
                    ));
                }
            }
            _ => html.push_str("<p class=\"small\">There was no alternative.</p>\n"),
        }
        html.push_str(&format!("<p class=\"coverage\">{}</p>\n", coverage(rationale, rival.as_deref())));
        html.push_str(&format!("<p class=\"small\">{}</p>\n", completeness(&rationale.coverage)));
        if !rationale.citations.is_empty() {
            html.push_str("<h5>Most similar training edges</h5>\n");
            html.push_str(&citations(&rationale.citations, others.is_some()));
        }
        html.extend(rationale.roll_ups.iter().map(|roll_up| bars(roll_up, rival.as_deref())));
        html + "</section>\n"
    }

    fn name(&self, other: &RunnerUp) -> String {
        match &other.label {
            Some(label) => Name::of_label(label),
            None => Name::of_word(&self.explanation.words, other.head.unwrap_or_default()),
        }
        .html()
    }

    /// Something else that could have been chosen, with a way to ask why it was not.
    fn other(&self, other: &RunnerUp) -> String {
        let EdgeExplanation { dependent, head, .. } = self.edge;
        let alternative = match (&other.label, other.head) {
            (Some(label), _) => format!("{dependent}:{head}:{label}"),
            (None, head) => format!("{dependent}:{}", head.unwrap_or_default()),
        };
        let ask = format!(
            "<a class=\"why\" href=\"#\" data-why=\"{}\">why not<span class=\"spoken\"> {}</span>?</a>",
            escape(&alternative),
            self.name(other)
        );
        odds("second", &self.name(other), other.probability, &ask)
    }
}

/// An alternative and its probability, as a bar and a number.
fn odds(rank: &str, name: &str, probability: f32, more: &str) -> String {
    format!(
        "<dt class=\"{rank}\">{name}</dt><dd class=\"bar\" aria-hidden=\"true\"><svg viewBox=\"0 0 100 1\" \
         preserveAspectRatio=\"none\"><rect class=\"{rank}\" width=\"{:.1}\" height=\"1\"/></svg></dd>\
         <dd class=\"{rank}\">{}</dd><dd class=\"ask\">{more}</dd>",
        probability.clamp(0.0, 1.0) * 100.0,
        percent(f64::from(probability))
    )
}

/// Citations as a list; with ways to their sentences if `linked`.
pub(super) fn citations(citations: &[Citation], linked: bool) -> String {
    let items: String = citations.iter().map(|one| citation(one, linked)).collect();
    format!("<ol class=\"citations\">\n{items}</ol>\n")
}

/// A training sentence with the two words of the edge marked and its arc, and what the edge counts for.
fn citation(citation: &Citation, linked: bool) -> String {
    let words = &citation.source.words;
    let document = match citation.source.document.as_str() {
        // Many treebanks name sentences after their documents: once is enough.
        document if citation.source.sent_id.starts_with(document) => String::new(),
        document => format!("<span>document {}</span>", isolated(document)),
    };
    // What only stands in a contrast has no share of its own.
    let share = match citation.share {
        0.0 => String::new(),
        share => format!("share <b>{}</b>", percent(share)),
    };
    let comma = if share.is_empty() { "" } else { ", " };
    let margin =
        citation.margin_share.map_or(String::new(), |share| format!("{comma}{} of the margin", percent(share)));
    let sent_id = isolated(if citation.source.sent_id.is_empty() { "its sentence" } else { &citation.source.sent_id });
    let source = match linked {
        true => format!(
            "<a href=\"#\" data-cited=\"{}\" data-sent=\"{}\" data-word=\"{}\">{sent_id}</a>",
            citation.edge,
            escape(&citation.source.sent_id),
            citation.dependent
        ),
        false => sent_id,
    };
    format!(
        "<li>{}<p dir=\"auto\">{}</p><p class=\"facts\"><b>{}</b><span>similarity <b>{:.3}</b></span>\
         <span>{share}{margin}</span><span>{source}</span>{document}</p></li>\n",
        arc(words, citation.dependent, citation.head, &citation.label),
        marked(words, citation.dependent, citation.head),
        isolated(&citation.label),
        citation.similarity,
    )
}

/// An edge with the words around it and its arc.
pub(super) fn arc(words: &[String], dependent: usize, head: usize, label: &str) -> String {
    let snippet = Snippet::new(words, dependent, head, label, ROOM);
    let ((height, base), width) = (SNIPPET, snippet.width());
    format!(
        "<div class=\"snippet\" aria-hidden=\"true\"><svg width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} \
         {height:.0}\">{}</svg></div>",
        snippet.drawn(base)
    )
}

/// The words of a sentence, the two of an edge marked.
pub(super) fn marked(words: &[String], dependent: usize, head: usize) -> String {
    let mark =
        |class: &str, form: &str| format!("<mark class=\"{class}\">{}<small>{class}</small></mark>", isolated(form));
    let mut marked: Vec<String> = Vec::with_capacity(words.len() + 1);
    if head == 0 {
        marked.push(mark("head", "ROOT"));
    }
    marked.extend(words.iter().zip(1..).map(|(form, word)| match word {
        _ if word == dependent => mark("dep", form),
        _ if word == head => mark("head", form),
        _ => escape(form),
    }));
    marked.join(" ")
}

/// A score and a margin split over groups: bars for the margin, or for the score where nothing was second.
fn bars(roll_up: &RollUp, rival: Option<&str>) -> String {
    let value = |group: &Group| group.margin.unwrap_or(group.evidence);
    let lowest = roll_up.groups.iter().map(value).fold(0.0, f64::min);
    let highest = roll_up.groups.iter().map(value).fold(0.0, f64::max);
    let range = if highest > lowest { highest - lowest } else { 1.0 };
    let part = |value: f64| value / range * 100.0;
    let zero = part(-lowest);
    let over = rival.unwrap_or_default();
    let (margin_sum, margin_head) = match roll_up.margin {
        Some(margin) => {
            (format!("; the margin over {over} adds up to {}", number(margin)), "<th scope=\"col\">margin</th>")
        }
        None => (String::new(), ""),
    };
    let row = |group: &Group| {
        let value = value(group);
        let margin = group.margin.map_or(String::new(), |margin| {
            let share = group
                .margin_share
                .map_or(String::new(), |share| format!(" title=\"{} of the margin\"", percent(share)));
            format!("<td{share}>{}</td>", signed(margin))
        });
        format!(
            "<tr><th scope=\"row\">{}</th><td class=\"chart\" aria-hidden=\"true\"><svg viewBox=\"0 0 100 10\" \
             preserveAspectRatio=\"none\"><rect class=\"{}\" x=\"{:.2}\" y=\"1\" width=\"{:.2}\" height=\"8\"/>\
             <path d=\"M{zero:.2} 0V10\"/></svg></td>{margin}<td title=\"{} of the evidence\">{}</td></tr>\n",
            isolated(&group.name),
            if value < 0.0 { "against" } else { "for" },
            zero + part(value.min(0.0)),
            part(value.abs()).max(0.4),
            percent(group.share),
            number(group.evidence),
        )
    };
    let rows: String = roll_up.groups.iter().map(row).collect();
    format!(
        "<h5>By {}</h5>\n<table><caption>The evidence adds up to {}{margin_sum}.</caption>\n<thead><tr><td></td>\
         <td class=\"chart\"></td>{margin_head}<th scope=\"col\">evidence</th></tr></thead>\n<tbody>\n{rows}</tbody></table>\n",
        escape(&roll_up.by),
        number(roll_up.evidence),
    )
}
