//! One edge with the words around it, and its arc above them.

use super::{escape, runs_right_to_left, text_width};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The number of words shown on each side of an edge, and the most words shown between its ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) around: usize,
    pub(crate) between: usize,
}

/// An edge with a few words of its sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Snippet {
    words: Vec<String>,
    /// Positions among the words.
    dependent: usize,
    head: usize,
    pub(crate) label: String,
}

impl Snippet {
    /// The edge between two words of a sentence, by their ids; ROOT is 0.
    pub(crate) fn new(words: &[impl AsRef<str>], dependent: usize, head: usize, label: &str, room: Room) -> Self {
        let form = |id: usize| id.checked_sub(1).map_or("ROOT", |at| words[at].as_ref()).to_string();
        let (first, last) = (dependent.min(head), dependent.max(head));
        // ROOT is shown directly before its dependent. Words between them are skipped.
        let near = if first == 0 { last - 1 } else { first };
        let mut shown: Vec<usize> =
            (near.saturating_sub(room.around)..=(last + room.around).min(words.len())).collect();
        if first == 0 {
            shown.retain(|&id| id >= last);
            shown.insert(0, 0);
        }
        shown.retain(|&id| id > 0 || first == 0);
        let mut snippet = Self { words: Vec::new(), dependent: 0, head: 0, label: label.to_string() };
        let gap = |snippet: &mut Self| snippet.words.push("…".to_string());
        if shown.first().is_some_and(|&id| id > 1) {
            gap(&mut snippet);
        }
        let long = first > 0 && last - first - 1 > room.between;
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
    pub(crate) fn bare(&self) -> String {
        format!("{} → {}", self.words[self.head], self.words[self.dependent])
    }

    /// Its width when drawn.
    pub(crate) fn width(&self) -> f32 {
        self.lay_out().1
    }

    /// The middle of each word, and the width of all.
    fn lay_out(&self) -> (Vec<f32>, f32) {
        let mut middles = Vec::new();
        let mut x = 0.0;
        for word in &self.words {
            let width = text_width(word, 14.0) + 12.0;
            middles.push(x + width / 2.0);
            x += width;
        }
        // A label can be wider than all words.
        let label = text_width(&self.label, 12.0) + 8.0;
        let (from, to) = (middles[self.head], middles[self.dependent]);
        let before = (label / 2.0 - (from + to) / 2.0).max(0.0);
        middles.iter_mut().for_each(|middle| *middle += before);
        let width = (x + before).max((from + to) / 2.0 + before + label / 2.0);
        if runs_right_to_left(&self.words) {
            middles.iter_mut().for_each(|middle| *middle = width - *middle);
        }
        (middles, width)
    }

    /// The elements of an SVG drawing whose words stand on `base`.
    pub(crate) fn drawn(&self, base: f32) -> String {
        let (middles, _) = self.lay_out();
        let mut out = String::new();
        for (place, (word, x)) in self.words.iter().zip(&middles).enumerate() {
            let end = match place {
                _ if place == self.dependent => " class=\"end dep\"",
                _ if place == self.head => " class=\"end head\"",
                _ => "",
            };
            let _ = write!(
                out,
                "<text{end} x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                base + 14.0,
                escape(word)
            );
        }
        let (from, to) = (middles[self.head], middles[self.dependent]);
        let top = base - 34.0;
        let _ = write!(
            out,
            "<path d=\"M{from:.1} {base:.0}C{from:.1} {top:.0} {to:.1} {top:.0} {to:.1} {:.0}\"/>\
             <path class=\"tip\" d=\"M{:.1} {:.0}h9l-4.5 8z\"/>\
             <text class=\"small\" x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            base - 7.0,
            to - 4.5,
            base - 8.0,
            (from + to) / 2.0,
            top + 2.0,
            escape(&self.label)
        );
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Room = Room { around: 1, between: 3 };

    fn shown(words: usize, dependent: usize, head: usize) -> String {
        let words: Vec<String> = (1..=words).map(|id| format!("w{id}")).collect();
        let snippet = Snippet::new(&words, dependent, head, "x", NARROW);
        let head = if head == 0 { "ROOT".into() } else { format!("w{head}") };
        assert_eq!(snippet.bare(), format!("{head} → w{dependent}"));
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
        let (middles, width) = Snippet::new(&["שלום", "עולם"], 1, 2, "x", NARROW).lay_out();
        assert!(middles[0] > middles[1] && middles[0] < width, "{middles:?}");
    }

    #[test]
    fn a_label_wider_than_its_words_stays_inside() {
        let snippet = Snippet::new(&["a", "b"], 1, 2, "nmod:unmarked:very:long", NARROW);
        let (middles, width) = snippet.lay_out();
        let label = text_width(&snippet.label, 12.0) / 2.0;
        let middle = (middles[0] + middles[1]) / 2.0;
        assert!(middle >= label && middle + label <= width, "{middles:?} {width}");
    }
}
