//! What opens below a sentence: why an edge has its head, why its label, and the training edges behind both.

use super::anchor;
use super::wording::{Name, escape, isolated, percent};
use crate::explain::words::{completeness, coverage, number, signed};
use crate::explain::{Citation, EdgeExplanation, Explanation, Group, Rationale, RollUp};

/// The panel of an edge.
pub(super) fn panel(explanation: &Explanation, edge: &EdgeExplanation, place: usize) -> String {
    let anchor = anchor(place, edge.dependent);
    let head = Name::of_word(explanation, edge.head).html();
    let label = Name::of_label(&edge.label).html();
    format!(
        "<section class=\"panel\" id=\"{anchor}\" aria-labelledby=\"{anchor}-title\">\n<header><h3 id=\"{anchor}-title\">\
         {} is <em>{}</em> of {}</h3><a class=\"close\" href=\"#s{place}\">Close</a></header>\n<div class=\"sides\">\n\
         {}{}</div>\n</section>\n",
        Name::of_word(explanation, edge.dependent).html(),
        isolated(&edge.label),
        head,
        side("Why this head", &head, &edge.attachment, explanation),
        side("Why this label", &label, &edge.labelling, explanation),
    )
}

/// One of the two decisions about an edge; `chosen` is the name of what was chosen.
fn side(title: &str, chosen: &str, rationale: &Rationale, explanation: &Explanation) -> String {
    let rival = rationale.runner_up.as_ref().map(|runner_up| Name::of_runner_up(explanation, runner_up).html());
    let mut html = format!("<section><h4>{title}</h4>\n<dl class=\"odds\">");
    html.push_str(&odds("first", chosen, rationale.probability));
    match (&rationale.runner_up, &rival) {
        (Some(runner_up), Some(rival)) => {
            html.push_str(&odds("second", rival, runner_up.probability));
            html.push_str("</dl>\n");
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
        _ => html.push_str("</dl>\n<p class=\"small\">There was no alternative.</p>\n"),
    }
    html.push_str(&format!("<p class=\"coverage\">{}</p>\n", coverage(rationale, rival.as_deref())));
    html.push_str(&format!("<p class=\"small\">{}</p>\n", completeness(&rationale.coverage)));
    if !rationale.citations.is_empty() {
        html.push_str("<h5>Most similar training edges</h5>\n<ol class=\"citations\">\n");
        html.extend(rationale.citations.iter().map(citation));
        html.push_str("</ol>\n");
    }
    html.extend(rationale.roll_ups.iter().map(|roll_up| bars(roll_up, rival.as_deref())));
    html + "</section>\n"
}

/// An alternative and its probability, as a bar and a number.
fn odds(rank: &str, name: &str, probability: f32) -> String {
    format!(
        "<dt class=\"{rank}\">{}</dt><dd class=\"bar\" aria-hidden=\"true\"><i style=\"width:{:.1}%\"></i></dd>\
         <dd class=\"{rank}\">{}</dd>",
        name,
        probability.clamp(0.0, 1.0) * 100.0,
        percent(f64::from(probability))
    )
}

/// A training sentence with the two words of the edge marked, and what the edge counts for.
fn citation(citation: &Citation) -> String {
    let mark =
        |class: &str, form: &str| format!("<mark class=\"{class}\">{}<small>{class}</small></mark>", isolated(form));
    let mut words: Vec<String> = Vec::with_capacity(citation.source.words.len() + 1);
    if citation.head == 0 {
        words.push(mark("head", "ROOT"));
    }
    words.extend(citation.source.words.iter().zip(1..).map(|(form, word)| match word {
        _ if word == citation.dependent => mark("dep", form),
        _ if word == citation.head => mark("head", form),
        _ => escape(form),
    }));
    let document = match citation.source.document.as_str() {
        // Many treebanks name sentences after their documents: once is enough.
        document if citation.source.sent_id.starts_with(document) => String::new(),
        document => format!("<span>document {}</span>", isolated(document)),
    };
    let margin = citation.margin_share.map_or(String::new(), |share| format!(", {} of the margin", percent(share)));
    format!(
        "<li><p dir=\"auto\">{}</p><p class=\"facts\"><b>{}</b><span>similarity <b>{:.3}</b></span>\
         <span>share <b>{}</b>{margin}</span><span>{}</span>{document}</p></li>\n",
        words.join(" "),
        isolated(&citation.label),
        citation.similarity,
        percent(citation.share),
        isolated(&citation.source.sent_id),
    )
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
            "<tr><th scope=\"row\">{}</th><td class=\"chart\" aria-hidden=\"true\"><div style=\"--zero:{zero:.2}%\"><i \
             class=\"{}\" style=\"--from:{:.2}%;--length:{:.2}%\"></i></div></td>{margin}<td title=\"{} of the \
             evidence\">{}</td></tr>\n",
            isolated(&group.name),
            if value < 0.0 { "against" } else { "for" },
            zero + part(value.min(0.0)),
            part(value.abs()),
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
