//! Findings as one self-contained web page, to be decided by keyboard. Decisions are saved as a file.

use super::{Audit, Example, Finding};
use crate::explain::html::{Frame, escape};

const FRAME: Frame = Frame {
    style: include_str!("html/page.css"),
    script: include_str!("html/page.js"),
    script_hash: "Y5SNIy5XEL9Dk4hsdB9e9Kvik4Q4BOs0BMKk1DCIuaA=",
};
const KEYS: &str = "<kbd>j</kbd> <kbd>k</kbd> next and previous, <kbd>a</kbd> accept, <kbd>x</kbd> keep as it is, \
                    <kbd>o</kbd> other head and label, <kbd>n</kbd> note, <kbd>s</kbd> save decisions";

/// A web page with findings. It needs no other file and no network. `place` says where a finding is.
pub fn report(audit: &Audit, title: &str, place: impl Fn(&Finding) -> String) -> String {
    let findings: String = audit.findings.iter().map(|finding| article(finding, &place(finding))).collect();
    let header = format!(
        // The button comes first, so that it does not move when the status changes while it is pressed.
        "<p>{} of {} findings in {} edges. <button id=\"save\">Save decisions</button> \
         <span id=\"status\" role=\"status\"></span></p>\n<p class=\"soft\">{KEYS}</p>\n",
        audit.findings.len(),
        audit.found,
        audit.judged,
    );
    FRAME.page(title, &header, &findings)
}

fn article(finding: &Finding, place: &str) -> String {
    let Finding { sent_id, dependent, head, label, suggested_head, suggested_label, score, says, .. } = finding;
    let [sent_id, label, new_label, form] = [sent_id, label, suggested_label, finding.form(*dependent)].map(escape);
    format!(
        "<article tabindex=\"-1\" data-sent-id=\"{sent_id}\" data-dependent=\"{dependent}\" data-form=\"{form}\" \
         data-head=\"{head}\" data-label=\"{label}\" data-new-head=\"{suggested_head}\" data-new-label=\"{new_label}\" \
         data-words=\"{}\">\n<h2>{}</h2>\n<p class=\"soft\">{} · expected errors {score:.2}</p>\n<p dir=\"auto\">{}</p>\n\
         <p>{}</p>\n<div class=\"sides\">{}{}</div>\n\
         <p><button value=\"accept\">Accept</button> <button value=\"keep\">Keep</button> \
         <label>Other <input class=\"edge\" size=\"14\" placeholder=\"head label\"></label> \
         <label>Note <input class=\"note\"></label> <span class=\"verdict\" role=\"status\"></span></p>\n</article>\n",
        finding.words.len(),
        escape(&finding.title()),
        escape(place),
        marks(&finding.text()),
        escape(says),
        side("As it is", &finding.as_it_is),
        side("As suggested", &finding.as_suggested),
    )
}

fn side(name: &str, examples: &[Example]) -> String {
    if examples.is_empty() {
        return String::new();
    }
    let example = |example: &Example| {
        let (label, text, sent_id) = (escape(&example.label), marks(&example.text), escape(&example.sent_id));
        format!(
            "<li><span dir=\"auto\">{text}</span> <b>{label}</b> <span class=\"soft\">{:.4} {sent_id}</span></li>\n",
            example.similarity
        )
    };
    let examples: String = examples.iter().map(example).collect();
    format!("<section><h3>{name}</h3>\n<ul>\n{examples}</ul></section>")
}

/// Words with the marked ones in bold. Only a whole word can be a mark: brackets of the text stay.
fn marks(text: &str) -> String {
    let word = |word: &str| {
        let inside = |open: char, close: char| word.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        match (inside('[', ']').filter(|form| !form.is_empty()), inside('{', '}').filter(|form| !form.is_empty())) {
            (Some(form), _) => format!("<b class=\"dependent\">[{}]</b>", escape(form)),
            (None, Some(form)) => format!("<b class=\"head\">{{{}}}</b>", escape(form)),
            (None, None) => escape(word),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_treebank_cannot_become_markup() {
        assert_eq!(
            marks("<i> [a&b] {\"c\"}"),
            "&lt;i&gt; <b class=\"dependent\">[a&amp;b]</b> <b class=\"head\">{&quot;c&quot;}</b>"
        );
        assert_eq!(marks("[ ] {}"), "[ ] {}");
    }
}
