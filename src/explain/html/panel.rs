//! Why an edge has its head, why its label, and the training edges behind both.

use super::anchor;
use super::citations::{Part, citations};
use super::wording::{Name, escape, isolated, percent};
use crate::explain::wording::{self, UNUSUAL_SHARES, completeness, has_unusual_shares, number, signed};
use crate::explain::{EdgeExplanation, Explanation, Group, Rationale, RollUp, RunnerUp};

/// The legend of the marks in citations.
pub(super) const MARKS: &str = "<mark class=\"dep\">dependent</mark> and <mark class=\"head\">head</mark>";

/// What the served page offers beyond a file: the alternatives, most probable first, each with a button that asks why it
/// was not chosen.
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
        context.side("head", &head, attachment, others.map(|others| others.heads)),
        context.side("label", &label, labelling, others.map(|others| others.labels)),
    )
}

struct Context<'a> {
    explanation: &'a Explanation,
    edge: &'a EdgeExplanation,
}

impl Context<'_> {
    /// One of the two decisions, about a head or a label; `chosen` is the name of what was chosen.
    fn side(&self, what: &str, chosen: &str, rationale: &Rationale, others: Option<&[RunnerUp]>) -> String {
        let rival = rationale.runner_up.as_ref().map(|runner_up| self.name(runner_up));
        let mut html = format!("<section><h4>Why this {what}</h4>\n<dl class=\"odds\">");
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
                html.push_str(&format!(
                    "<p class=\"small\">Runner-up: {rival}. The margin over it is {} (score {} against {}).</p>\n",
                    number(runner_up.margin),
                    number(rationale.score),
                    number(runner_up.score)
                ));
                if rationale.is_chosen_by_tree() {
                    html.push_str(&format!("<p class=\"warning\">{}</p>\n", wording::chosen_by_tree(what, rival)));
                }
            }
            _ => {
                let reason = wording::no_alternative(what, rationale, &self.explanation.rule);
                html.push_str(&format!("<p class=\"small\">{reason}</p>\n"));
            }
        }
        html.push_str(&format!("<p class=\"coverage\">{}</p>\n", rationale.in_words(rival.as_deref())));
        if has_unusual_shares(rationale) {
            html.push_str(&format!("<p class=\"small\">{UNUSUAL_SHARES}</p>\n"));
        }
        if let Some(votes) = wording::votes(rationale) {
            html.push_str(&format!("<p class=\"small\">{votes}</p>\n"));
        }
        html.push_str(&format!("<p class=\"small\">{}</p>\n", completeness(&rationale.coverage)));
        let title = match rationale.against.is_empty() {
            true => "Most similar training edges".to_string(),
            false => format!("For {chosen}"),
        };
        for (title, cited) in [(title, &rationale.citations), (format!("Against {chosen}"), &rationale.against)] {
            if !cited.is_empty() {
                html.push_str(&format!("<h5>{title}: {MARKS}</h5>\n"));
                html.push_str(&citations(cited, Part::Share, others.is_some()));
            }
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

    /// An alternative, with a button that asks why it was not chosen.
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

/// A score and a margin split over groups: bars for the margin, or for the score if there is no runner-up.
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
            // A negative margin has no shares.
            let share = group.margin_share.filter(|_| roll_up.margin.is_some_and(|margin| margin > 0.0));
            let share = share.map_or(String::new(), |share| format!(" title=\"{} of the margin\"", percent(share)));
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
        "<details class=\"roll-up\"><summary>By {}</summary>\n<table><caption>The evidence adds up to {}{margin_sum}.</caption>\n<thead><tr><td></td>\
         <td class=\"chart\"></td>{margin_head}<th scope=\"col\">evidence</th></tr></thead>\n<tbody>\n{rows}</tbody></table></details>\n",
        escape(&roll_up.by),
        number(roll_up.evidence),
    )
}
