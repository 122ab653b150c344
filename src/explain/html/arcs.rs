//! A sentence drawn as SVG: its words in a row, and an arc above for every edge.

use super::layout::Layout;
use super::wording::{Name, escape, percent};
use super::{SUSPICIOUS, anchor, certainty};
use crate::explain::Explanation;

/// Room for words and their numbers, below all arcs.
const BOTTOM: f32 = 48.0;

/// Draws the sentence with number `place`.
pub(super) fn tree(explanation: &Explanation, place: usize) -> String {
    let layout = Layout::new(explanation);
    let edges: String = (1..=explanation.words.len()).map(|word| edge(explanation, &layout, place, word)).collect();
    let (width, height) = (layout.width, layout.base + BOTTOM);
    let direction = if layout.mirrored { "rtl" } else { "ltr" };
    format!(
        "<div class=\"tree\" dir=\"{direction}\"><svg width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 \
         {width:.0} {height:.0}\" role=\"group\" aria-label=\"Dependency tree\">\n{edges}</svg></div>\n"
    )
}

/// The arc into a word, with the word: a link to its explanation, where there is one.
fn edge(explanation: &Explanation, layout: &Layout, place: usize, word: usize) -> String {
    let head = layout.heads[word];
    let certainty = certainty(explanation, word);
    let doubtful = certainty < SUSPICIOUS;
    let (foot, base) = (layout.x(layout.feet[word].1), layout.base);
    let (path, label_x, label_y) = match head {
        0 => (format!("M{foot:.1} 22V{:.1}", base - 7.0), foot, 38.0),
        _ => layout.arc(word),
    };
    let top =
        if head == 0 { format!("<text class=\"top\" x=\"{foot:.1}\" y=\"15\">ROOT</text>") } else { String::new() };
    let label = escape(&layout.labels[word]);
    let pill = layout.pills[word];
    let (x, half, word_y) = (layout.x(layout.centers[word]), layout.widths[word] / 2.0, base + 22.0);
    let sure = ((certainty - SUSPICIOUS) / (1.0 - SUSPICIOUS)).clamp(0.0, 1.0);
    let drawing = format!(
        "<path class=\"reach\" d=\"{path}\"/><path class=\"arc\" d=\"{path}\" style=\"--sure:{sure:.2}\"/>\
         <path class=\"tip\" d=\"M{:.1} {:.1}h9l-4.5 8z\" style=\"--sure:{sure:.2}\"/>{top}\
         <rect class=\"pill\" x=\"{:.1}\" y=\"{:.1}\" width=\"{pill:.1}\" height=\"18\" rx=\"9\"/>\
         <text class=\"label\" x=\"{label_x:.1}\" y=\"{:.1}\">{label}</text>\
         <rect class=\"under\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"40\" rx=\"7\"/>\
         <text class=\"word\" x=\"{x:.1}\" y=\"{word_y:.1}\">{}</text>\
         <text class=\"number\" x=\"{x:.1}\" y=\"{:.1}\">{word}</text>",
        foot - 4.5,
        base - 8.0,
        label_x - pill / 2.0,
        label_y - 9.0,
        label_y + 4.0,
        x - half,
        base + 3.0,
        2.0 * half,
        escape(&explanation.words[word - 1]),
        base + 38.0,
    );
    let mark = if doubtful { " doubtful" } else { "" };
    let spoken = spoken(explanation, word);
    if explanation.edges.iter().any(|edge| edge.dependent == word) {
        let anchor = anchor(place, word);
        return format!(
            "<a class=\"edge{mark}\" href=\"#{anchor}\" aria-controls=\"{anchor}\" aria-label=\"{spoken}\">\
             <title>{spoken}</title>{drawing}</a>\n"
        );
    }
    format!(
        "<g class=\"edge silent{mark}\" role=\"img\" aria-label=\"{spoken}; not explained here\">\
         <title>{spoken}; not explained here</title>{drawing}</g>\n"
    )
}

/// The edge of a word in words, escaped.
fn spoken(explanation: &Explanation, word: usize) -> String {
    let head = explanation.heads.get(word - 1).copied().unwrap_or_default();
    let label = explanation.labels.get(word - 1).map_or("", String::as_str);
    let [head_probability, label_probability] = explanation.probabilities.get(word - 1).copied().unwrap_or([1.0; 2]);
    let text = format!(
        "{} is {label} of {}: head {}, label {}{}",
        Name::of_word(explanation, word).plain(),
        Name::of_word(explanation, head).plain(),
        percent(f64::from(head_probability)),
        percent(f64::from(label_probability)),
        if certainty(explanation, word) < SUSPICIOUS { "; suspicious" } else { "" },
    );
    escape(&text)
}
