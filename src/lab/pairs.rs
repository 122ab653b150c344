//! Draws two edges side by side, each with the words around it and its arc above them.

use crate::explain::html::{Room, Snippet, escape};
use crate::treebank::Sentence;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Each edge has little room, because two are side by side.
const ROOM: Room = Room { around: 1, between: 3 };

/// An edge and the training edge nearest to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pair {
    pub(super) query: Shown,
    pub(super) support: Shown,
    pub(super) similarity: f32,
}

/// An edge with a few words of its sentence, and the `sent_id`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Shown {
    #[serde(flatten)]
    pub(super) edge: Snippet,
    pub(super) sent_id: String,
}

impl Shown {
    /// The edge of the word with this id.
    pub(super) fn new(sentence: &Sentence, dependent: usize) -> Self {
        let word = &sentence.words()[dependent - 1];
        let forms: Vec<&str> = sentence.forms().collect();
        Self {
            edge: Snippet::new(&forms, dependent, word.head.unwrap_or_default(), &word.label, ROOM),
            sent_id: sentence.sent_id().unwrap_or_default().to_string(),
        }
    }
}

const ROW: f32 = 84.0;
const BASE: f32 = 62.0;
const COLUMN: f32 = 430.0;

/// Draws pairs below each other, queries on the left.
pub(super) fn draw(title: &str, pairs: &[Pair]) -> String {
    let height = 24.0 + ROW * pairs.len() as f32;
    let widest = |shown: fn(&Pair) -> &Shown| pairs.iter().map(|pair| shown(pair).edge.width()).fold(COLUMN, f32::max);
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
        let same = pair.query.edge.label == pair.support.edge.label;
        for (shown, x) in [(&pair.query, 8.0), (&pair.support, left + 16.0)] {
            let class = if same { "" } else { " class=\"other\"" };
            let _ = writeln!(out, "<g transform=\"translate({x:.0} {top:.0})\"{class}>{}</g>", shown.edge.drawn(BASE));
        }
    }
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_escaped_and_pairs_with_different_labels_are_marked() {
        let mut sentence = Sentence::from_forms(["<b>", "x"]);
        sentence.words_mut()[0].head = Some(2);
        let query = Shown::new(&sentence, 1);
        let mut support = query.clone();
        support.edge.label = "other".to_string();
        let svg = draw("t", &[Pair { query, support, similarity: 1.0 }]);
        assert!(svg.contains("&lt;b&gt;") && !svg.contains("<b>"), "{svg}");
        assert!(svg.contains("class=\"other\"") && !svg.contains("NaN"), "{svg}");
    }
}
