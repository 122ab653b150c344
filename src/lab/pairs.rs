//! Two edges side by side, each with the words around it and its arc above them.

use crate::explain::html::{escape, runs_right_to_left, text_width};
use crate::treebank::Sentence;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Words shown on each side of an edge, and most words shown between its ends.
const AROUND: usize = 1;
const BETWEEN: usize = 3;

/// An edge and the training edge nearest to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pair {
    pub(super) query: Snippet,
    pub(super) support: Snippet,
    pub(super) similarity: f32,
}

/// An edge with a few words of its sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Snippet {
    words: Vec<String>,
    /// Places among the words.
    dependent: usize,
    head: usize,
    pub(super) label: String,
    pub(super) sent_id: String,
}

impl Snippet {
    /// The edge of the word with this id.
    pub(super) fn new(sentence: &Sentence, dependent: usize) -> Self {
        let words = sentence.words();
        let word = &words[dependent - 1];
        let head = word.head.unwrap_or_default();
        let form = |id: usize| id.checked_sub(1).map_or("ROOT", |at| &words[at].form).to_string();
        let (first, last) = (dependent.min(head), dependent.max(head));
        // ROOT stands directly before the word whose head it is, whatever lies between.
        let near = if first == 0 { last - 1 } else { first };
        let mut shown: Vec<usize> = (near.saturating_sub(AROUND)..=(last + AROUND).min(words.len())).collect();
        if first == 0 {
            shown.retain(|&id| id >= last);
            shown.insert(0, 0);
        }
        shown.retain(|&id| id > 0 || first == 0);
        let mut snippet = Self {
            words: Vec::new(),
            dependent: 0,
            head: 0,
            label: word.label.clone(),
            sent_id: sentence.sent_id().unwrap_or_default().to_string(),
        };
        let gap = |snippet: &mut Self| snippet.words.push("…".to_string());
        if shown.first().is_some_and(|&id| id > 1) {
            gap(&mut snippet);
        }
        let long = first > 0 && last - first - 1 > BETWEEN;
        for (at, &id) in shown.iter().enumerate() {
            let inside = long && id > first + 1 && id + 1 < last;
            if inside && id > first + 2 {
                continue;
            }
            let after_root = id == 0 && shown.get(at + 1).is_some_and(|&next| next > 1);
            match id {
                _ if id == dependent => snippet.dependent = snippet.words.len(),
                _ if id == head => snippet.head = snippet.words.len(),
                _ => {}
            }
            snippet.words.push(if inside { "…".to_string() } else { form(id) });
            if after_root {
                gap(&mut snippet);
            }
        }
        if shown.last().is_some_and(|&id| id < words.len()) {
            gap(&mut snippet);
        }
        snippet
    }

    /// The two words alone.
    pub(super) fn bare(&self) -> String {
        format!("{} → {}", self.words[self.head], self.words[self.dependent])
    }
}

const ROW: f32 = 84.0;
const BASE: f32 = 62.0;
const COLUMN: f32 = 430.0;

/// Draws pairs under each other, queries on the left.
pub(super) fn draw(title: &str, pairs: &[Pair]) -> String {
    let height = 24.0 + ROW * pairs.len() as f32;
    let widest =
        |snippet: fn(&Pair) -> &Snippet| pairs.iter().map(|pair| lay_out(snippet(pair)).1).fold(COLUMN, f32::max);
    let (left, right) = (widest(|pair| &pair.query), widest(|pair| &pair.support));
    let width = left + right + 24.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{}\">\n\
         <style>text{{font:14px system-ui,sans-serif;fill:#333}}.end{{font-weight:600}}.small{{font-size:12px}}\
         path{{fill:none;stroke:#0b6e99;stroke-width:2}}.other path{{stroke:#b3541e}}.tip{{fill:#0b6e99;stroke:none}}\
         .other .tip{{fill:#b3541e;stroke:none}}.rule{{stroke:#ddd}}@media(prefers-color-scheme:dark){{text{{fill:#ddd}}.rule{{stroke:#444}}\
         path{{stroke:#5fc3e4}}.tip{{fill:#5fc3e4;stroke:none}}.other path{{stroke:#f0975a}}.other .tip{{fill:#f0975a;stroke:none}}}}</style>\n\
         <text class=\"small\" x=\"8\" y=\"14\">edge of the dev set</text>\
         <text class=\"small\" x=\"{:.0}\" y=\"14\">nearest training edge</text>\n",
        escape(title),
        left + 16.0
    );
    for (row, pair) in pairs.iter().enumerate() {
        let top = 24.0 + ROW * row as f32;
        let _ = writeln!(out, "<line class=\"rule\" x1=\"0\" x2=\"{width:.0}\" y1=\"{top:.0}\" y2=\"{top:.0}\"/>");
        let same = pair.query.label == pair.support.label;
        for (snippet, x) in [(&pair.query, 8.0), (&pair.support, left + 16.0)] {
            let class = if same { "" } else { " class=\"other\"" };
            let _ = writeln!(out, "<g transform=\"translate({x:.0} {top:.0})\"{class}>{}</g>", drawn(snippet));
        }
    }
    out + "</svg>\n"
}

/// The middle of each word, and the width of all.
fn lay_out(snippet: &Snippet) -> (Vec<f32>, f32) {
    let mut middles = Vec::new();
    let mut x = 0.0;
    for word in &snippet.words {
        let width = text_width(word, 14.0) + 12.0;
        middles.push(x + width / 2.0);
        x += width;
    }
    if runs_right_to_left(&snippet.words) {
        middles.iter_mut().for_each(|middle| *middle = x - *middle);
    }
    (middles, x)
}

fn drawn(snippet: &Snippet) -> String {
    let (middles, _) = lay_out(snippet);
    let mut out = String::new();
    for (place, (word, x)) in snippet.words.iter().zip(&middles).enumerate() {
        let end = if place == snippet.dependent || place == snippet.head { " class=\"end\"" } else { "" };
        let _ = write!(
            out,
            "<text{end} x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            BASE + 14.0,
            escape(word)
        );
    }
    let (from, to) = (middles[snippet.head], middles[snippet.dependent]);
    let top = BASE - 34.0;
    let _ = write!(
        out,
        "<path d=\"M{from:.1} {BASE:.0}C{from:.1} {top:.0} {to:.1} {top:.0} {to:.1} {:.0}\"/>\
         <path class=\"tip\" d=\"M{:.1} {:.0}h9l-4.5 8z\"/>\
         <text class=\"small\" x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
        BASE - 7.0,
        to - 4.5,
        BASE - 8.0,
        (from + to) / 2.0,
        top + 2.0,
        escape(&snippet.label)
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippet(words: usize, dependent: usize, head: usize) -> Snippet {
        let mut sentence = Sentence::from_forms((1..=words).map(|id| format!("w{id}")));
        sentence.words_mut()[dependent - 1].head = Some(head);
        Snippet::new(&sentence, dependent)
    }

    fn shown(words: usize, dependent: usize, head: usize) -> String {
        let snippet = snippet(words, dependent, head);
        assert_eq!(
            snippet.bare(),
            format!("{} → w{dependent}", if head == 0 { "ROOT".into() } else { format!("w{head}") })
        );
        snippet.words.join(" ")
    }

    #[test]
    fn an_edge_is_shown_with_a_word_on_each_side_and_dots_for_what_is_left_out() {
        assert_eq!(shown(9, 4, 5), "… w3 w4 w5 w6 …");
        assert_eq!(shown(2, 2, 1), "w1 w2");
        assert_eq!(shown(20, 15, 5), "… w4 w5 w6 … w14 w15 w16 …");
        assert_eq!(shown(9, 8, 4), "… w3 w4 w5 w6 w7 w8 w9");
    }

    #[test]
    fn root_stands_before_the_word_whose_head_it_is() {
        assert_eq!(shown(9, 5, 0), "ROOT … w5 w6 …");
        assert_eq!(shown(2, 1, 0), "ROOT w1 w2");
    }

    #[test]
    fn what_is_written_from_right_to_left_is_drawn_so() {
        let mut sentence = Sentence::from_forms(["שלום", "עולם"]);
        sentence.words_mut()[0].head = Some(2);
        let (middles, width) = lay_out(&Snippet::new(&sentence, 1));
        assert!(middles[0] > middles[1] && middles[0] < width, "{middles:?}");
    }

    #[test]
    fn drawn_words_are_escaped_and_pairs_of_unlike_labels_look_other() {
        let mut sentence = Sentence::from_forms(["<b>", "x"]);
        sentence.words_mut()[0].head = Some(2);
        let query = Snippet::new(&sentence, 1);
        let support = Snippet { label: "other".to_string(), ..query.clone() };
        let svg = draw("t", &[Pair { query, support, similarity: 1.0 }]);
        assert!(svg.contains("&lt;b&gt;") && !svg.contains("<b>"), "{svg}");
        assert!(svg.contains("class=\"other\"") && !svg.contains("NaN"), "{svg}");
    }
}
