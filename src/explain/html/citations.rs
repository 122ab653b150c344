//! Citations as a list: each training sentence once, the two words of its edge marked.

use super::wording::{escape, isolated, percent};
use crate::explain::wording::{count, fixed, really, signed};
use crate::explain::{Citation, Repeats, repeats};

/// The number of citations shown at once. The others can be opened.
const SEEN: usize = 5;
/// The most words of a sentence that is shown whole.
const WHOLE: usize = 24;
/// In a longer sentence: words around the edge, and words beside each end if many are between them.
const AROUND: usize = 5;

/// The figure shown with each citation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// Its share of the evidence.
    Share,
    /// Its contribution to a margin.
    Contribution { margin: f64 },
}

/// Citations as a list, with links to their sentences if `linked`.
pub(super) fn citations(citations: &[Citation], part: Part, linked: bool) -> String {
    let items = repeats(citations).iter().map(|one| citation(one, part, linked)).collect();
    list(items)
}

/// A list whose first entries are shown at once.
pub(super) fn list(items: Vec<String>) -> String {
    let list = |items: &[String], start: usize| match start {
        0 => format!("<ol class=\"citations\">\n{}</ol>\n", items.concat()),
        _ => format!("<ol class=\"citations\" start=\"{}\">\n{}</ol>\n", start + 1, items.concat()),
    };
    match items.get(SEEN..) {
        Some(rest) if rest.len() > 1 => format!(
            "{}<details><summary>{} more</summary>\n{}</details>\n",
            list(&items[..SEEN], 0),
            count(rest.len() as u64),
            list(rest, SEEN)
        ),
        _ => list(&items, 0),
    }
}

/// A training sentence with the two words of the edge marked, and what the edge counts for.
fn citation(repeats: &Repeats<'_>, part: Part, linked: bool) -> String {
    let Citation { source, dependent, head, label, similarity, .. } = repeats.first;
    let document = match source.document.as_str() {
        // Many treebanks name sentences after their documents. The name is shown once.
        document if source.sent_id.starts_with(document) => String::new(),
        document => format!("<span>document {}</span>", isolated(document)),
    };
    let part = match part {
        Part::Share => format!("<b>{}</b> of the evidence", percent(repeats.share())),
        Part::Contribution { margin } => {
            let part = repeats.margin_share().map_or(String::new(), |share| signed(share * margin));
            format!("contributes <b>{part}</b>")
        }
    };
    let label = match really(repeats.first) {
        Some(really) => format!("<b class=\"rejected\">not this head</b><span>{}</span>", isolated(&really)),
        None => format!("<b>{}</b>", isolated(label)),
    };
    let times = match repeats.count() {
        1 => String::new(),
        several => format!("<span><b>{several} × the same</b></span>"),
    };
    let sources: Vec<String> = repeats
        .all()
        .map(|one| {
            let (edge, sent_id) = (one.edge, one.source.sent_id.as_str());
            // A rejected edge is no edge of the gold tree, so the link names the word alone.
            source_of(sent_id, linked.then_some((one.gold_head.is_none().then_some(edge), one.dependent)))
        })
        .collect();
    format!(
        "<li><p dir=\"auto\">{}</p><p class=\"facts\">{label}<span>similarity <b>{}</b></span><span>{part}</span>{times}\
         <span>{}</span>{document}</p></li>\n",
        marked(&source.words, *dependent, *head),
        fixed(f64::from(*similarity), 3),
        sources.join(", "),
    )
}

/// The name of a training sentence, with a link to it if an edge and a word of it are given.
pub(super) fn source_of(sent_id: &str, edge: Option<(Option<u32>, usize)>) -> String {
    let name = isolated(if sent_id.is_empty() { "its sentence" } else { sent_id });
    match edge {
        Some((edge, word)) => {
            let edge = edge.map_or(String::new(), |edge| edge.to_string());
            format!(
                "<a href=\"#\" data-cited=\"{edge}\" data-sent=\"{}\" data-word=\"{word}\">{name}</a>",
                escape(sent_id)
            )
        }
        None => name,
    }
}

/// The words of a sentence, the two of an edge marked; of a long sentence those around the edge.
pub(super) fn marked(words: &[String], dependent: usize, head: usize) -> String {
    let mark = |class: &str, name: &str, form: &str| {
        format!("<mark class=\"{class}\" title=\"{name}\">{}</mark>", isolated(form))
    };
    let mut marked: Vec<String> = Vec::with_capacity(words.len() + 1);
    if head == 0 {
        marked.push(mark("head", "head", "ROOT"));
    }
    let near = |word: usize| [dependent, head].iter().any(|&end| end > 0 && word.abs_diff(end) <= AROUND);
    let mut gap = false;
    for (form, word) in words.iter().zip(1..) {
        if words.len() > WHOLE && !near(word) {
            if !std::mem::replace(&mut gap, true) {
                marked.push("…".to_string());
            }
            continue;
        }
        gap = false;
        marked.push(match word {
            _ if word == dependent => mark("dep", "dependent", form),
            _ if word == head => mark("head", "head", form),
            _ => escape(form),
        });
    }
    marked.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(number: usize) -> Vec<String> {
        (1..=number).map(|word| format!("w{word}")).collect()
    }

    #[test]
    fn a_short_sentence_is_whole_and_a_long_one_is_cut_around_its_edge() {
        let plain = |html: String| {
            html.replace("<bdi>", "")
                .replace("</bdi>", "")
                .replace("</mark>", "]")
                .replace("<mark class=\"dep\" title=\"dependent\">", "dep[")
                .replace("<mark class=\"head\" title=\"head\">", "head[")
        };
        assert_eq!(plain(marked(&words(4), 1, 3)), "dep[w1] w2 head[w3] w4");
        assert_eq!(plain(marked(&words(2), 2, 0)), "head[ROOT] w1 dep[w2]");
        let long = plain(marked(&words(40), 3, 30));
        assert_eq!(long, "w1 w2 dep[w3] w4 w5 w6 w7 w8 … w25 w26 w27 w28 w29 head[w30] w31 w32 w33 w34 w35 …");
    }

    #[test]
    fn more_than_five_citations_open_and_their_numbers_go_on() {
        let items = |number: usize| vec!["<li></li>".to_string(); number];
        assert!(!list(items(6)).contains("<details"), "one more needs no button");
        let html = list(items(10));
        assert!(html.contains("<summary>5 more</summary>") && html.contains("start=\"6\""), "{html}");
        assert_eq!(html.matches("<li>").count(), 10);
    }
}
