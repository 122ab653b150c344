//! Findings as one self-contained web page, to be decided by keyboard. Decisions are saved as a file.

use super::{Audit, Example, Finding};
use crate::explain::html::escape;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
/// The SHA-256 of the script. The content security policy allows this script only, whatever text a treebank contains.
const SCRIPT_HASH: &str = "asmTOvQjpofSolOfng8v9LDPfr1kNKVl7ygkIZE3tH4=";
const KEYS: &str = "<kbd>j</kbd> <kbd>k</kbd> next and previous, <kbd>a</kbd> accept, <kbd>x</kbd> keep as it is, \
                    <kbd>o</kbd> other head and label, <kbd>n</kbd> note, <kbd>s</kbd> save decisions";

/// A web page with findings. It needs no other file and no network. `place` says where a finding is.
pub fn report(audit: &Audit, title: &str, place: impl Fn(&Finding) -> String) -> String {
    let findings: String = audit.findings.iter().map(|finding| article(finding, &place(finding))).collect();
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"citree {}\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n<script>{SCRIPT}</script>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n\
         <p>{} of {} findings in {} edges. <span id=\"status\" role=\"status\"></span> \
         <button id=\"save\">Save decisions</button></p>\n<p class=\"soft\">{KEYS}</p>\n</header>\n\
         <main>\n{findings}</main>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        audit.findings.len(),
        audit.found,
        audit.judged,
    )
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
