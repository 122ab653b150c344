//! A long sentence drawn from top to bottom: one word per row, arcs beside the words, label and head behind each word. It
//! fits any window, where a horizontal tree would show only a part.

use super::Links;
use super::arcs::linked;
use super::layout::{TOKEN_SIZE, ends, levels, runs_right_to_left, text_width};
use super::tree::Tree;
use super::wording::escape;
use crate::treebank::MultiwordToken;

/// The least height of a row.
const ROW: f32 = 26.0;
/// The distance between the ends of two arcs at the same word.
const STEP: f32 = 5.0;
/// The distance between two adjacent arcs.
const LANE: f32 = 11.0;
/// The most width that all arcs take together, so that words are visible on a phone.
const ARCS: f32 = 130.0;
/// The radius of an arc's corners.
const CORNER: f32 = 6.0;
/// Space at both sides.
const MARGIN: f32 = 4.0;
/// The width of the column of word numbers.
const NUMBER: f32 = 30.0;

/// Draws a sentence inside a page.
pub(super) fn tree(tree: &Tree<'_>, links: Links<'_>) -> String {
    let rows = Rows::new(tree);
    let direction = if rows.mirrored { "rtl" } else { "ltr" };
    let (width, height) = (rows.width, rows.height);
    let edges = (1..=tree.words.len()).map(|word| linked(tree, links, word, &rows.edge(word)));
    let edges: String = edges.chain(tree.tokens().map(|token| rows.brace(token))).collect();
    format!(
        "<div class=\"tree rows\" dir=\"{direction}\"><svg width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} \
         {height:.0}\" role=\"group\" aria-label=\"Dependency tree\">\n{edges}</svg></div>\n"
    )
}

/// The positions of everything. Vectors have an entry for ROOT at 0.
struct Rows<'a> {
    tree: &'a Tree<'a>,
    heads: Vec<usize>,
    labels: Vec<String>,
    pills: Vec<f32>,
    levels: Vec<usize>,
    /// The distance between two adjacent arcs.
    lane: f32,
    /// The middle of each row.
    middles: Vec<f32>,
    /// The height of each row.
    heights: Vec<f32>,
    /// The ends of each word's arc: at its head, at the word.
    feet: Vec<(f32, f32)>,
    /// Where arcs end and labels begin, from the start of a row.
    base: f32,
    label: f32,
    /// Where the braces of surface tokens are.
    brace: f32,
    width: f32,
    height: f32,
    /// Whether the sentence runs from right to left.
    mirrored: bool,
}

impl<'a> Rows<'a> {
    fn new(tree: &'a Tree<'a>) -> Self {
        let n = tree.words.len() + 1;
        let heads: Vec<usize> = (0..n).map(|word| tree.head(word)).collect();
        let labels: Vec<String> = (0..n).map(|word| tree.written(word)).collect();
        let pills: Vec<f32> = labels.iter().map(|label| text_width(label, 12.0) + 14.0).collect();
        let (ends, levels) = (ends(&heads), levels(&heads));
        let mut heights = vec![0.0; n];
        let mut middles = vec![0.0; n];
        let mut feet = vec![(0.0, 0.0); n];
        let mut height = MARGIN;
        for word in 1..n {
            heights[word] = ROW.max(ends[word].len() as f32 * STEP + 8.0);
            middles[word] = height + heights[word] / 2.0;
            height += heights[word];
            for (rank, &dependent) in ends[word].iter().enumerate() {
                let foot = middles[word] + (rank as f32 - (ends[word].len() - 1) as f32 / 2.0) * STEP;
                *(if dependent == word { &mut feet[dependent].1 } else { &mut feet[dependent].0 }) = foot;
            }
        }
        let lanes = levels.iter().copied().max().unwrap_or_default() as f32 + 1.0;
        let lane = LANE.min(ARCS / lanes);
        let base = MARGIN + lanes * lane + 12.0;
        let longest = tree.words.iter().map(|word| text_width(word, 16.0)).fold(0.0, f32::max);
        let label = base + NUMBER + longest + 12.0;
        let mut rows = Self {
            tree,
            heads,
            labels,
            pills,
            levels,
            lane,
            middles,
            heights,
            feet,
            base,
            label,
            brace: 0.0,
            width: 0.0,
            height: height + MARGIN,
            mirrored: runs_right_to_left(tree.words),
        };
        let ends = (1..n).map(|word| rows.label + rows.pills[word] + 8.0 + text_width(&rows.head(word), 12.0));
        rows.brace = ends.fold(0.0, f32::max) + MARGIN;
        let tokens = tree.tokens().map(|token| 16.0 + text_width(&token.form, TOKEN_SIZE));
        rows.width = rows.brace + tokens.fold(0.0, f32::max);
        rows
    }

    /// Converts a position from the start of a row to one from the left.
    fn x(&self, from_start: f32) -> f32 {
        if self.mirrored { self.width - from_start } else { from_start }
    }

    /// The head of a word, as shown behind its label.
    fn head(&self, word: usize) -> String {
        match self.heads[word] {
            0 => "ROOT".to_string(),
            head => format!("{head} {}", self.tree.words[head - 1]),
        }
    }

    /// The path from a word's head around to the word.
    fn arc(&self, word: usize) -> String {
        let (from, to) = self.feet[word];
        let end = self.x(self.base - 8.0);
        if self.heads[word] == 0 {
            return format!("M{:.1} {to:.1}H{end:.1}", self.x(MARGIN));
        }
        let lane = self.base - 12.0 - self.levels[word] as f32 * self.lane;
        let (start, lane, corner) = (self.x(self.base), self.x(lane), self.x(lane + CORNER));
        let turn = if to > from { CORNER } else { -CORNER };
        format!(
            "M{start:.1} {from:.1}H{corner:.1}Q{lane:.1} {from:.1} {lane:.1} {:.1}V{:.1}Q{lane:.1} {to:.1} {corner:.1} \
             {to:.1}H{end:.1}",
            from + turn,
            to - turn,
        )
    }

    /// A surface token behind the words that it stands for.
    fn brace(&self, token: &MultiwordToken) -> String {
        let top = self.middles[token.first] - self.heights[token.first] / 2.0 + 3.0;
        let bottom = self.middles[token.last] + self.heights[token.last] / 2.0 - 3.0;
        let (start, end, text) = (self.x(self.brace), self.x(self.brace + 5.0), self.x(self.brace + 10.0));
        format!(
            "<path class=\"brace\" d=\"M{start:.1} {top:.1}H{end:.1}V{bottom:.1}H{start:.1}\"/>\
             <text class=\"token\" x=\"{text:.1}\" y=\"{:.1}\">{}</text>\n",
            (top + bottom) / 2.0 + 4.5,
            escape(&token.form),
        )
    }

    fn edge(&self, word: usize) -> String {
        let (path, foot, middle) = (self.arc(word), self.feet[word].1, self.middles[word]);
        let pill = self.pills[word];
        let label = self.label + pill / 2.0;
        let (left, right) = (self.x(self.base + 1.0), self.x(self.brace - 1.0));
        let tip = if self.mirrored { -8.0 } else { 8.0 };
        format!(
            "<path class=\"reach\" d=\"{path}\"/><rect class=\"under\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             rx=\"5\"/><path class=\"arc\" d=\"{path}\"/><path class=\"tip\" d=\"M{:.1} {:.1}v9l{tip} -4.5z\"/>\
             <text class=\"number\" x=\"{:.1}\" y=\"{:.1}\">{word}</text>\
             <text class=\"word\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
             <rect class=\"pill\" x=\"{:.1}\" y=\"{:.1}\" width=\"{pill:.1}\" height=\"18\" rx=\"9\"/>\
             <text class=\"label\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
             <text class=\"of\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            left.min(right),
            middle - self.heights[word] / 2.0 + 1.0,
            (right - left).abs(),
            self.heights[word] - 2.0,
            self.x(self.base - 8.0),
            foot - 4.5,
            self.x(self.base + NUMBER / 2.0),
            middle + 4.0,
            self.x(self.base + NUMBER),
            middle + 5.5,
            escape(&self.tree.words[word - 1]),
            self.x(label) - pill / 2.0,
            middle - 9.0,
            self.x(label),
            middle + 4.0,
            escape(&self.labels[word]),
            self.x(self.label + pill + 6.0),
            middle + 4.0,
            escape(&self.head(word)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(number: usize, form: &str) -> Vec<String> {
        vec![form.to_string(); number]
    }

    /// The head of every word is the previous word.
    fn drawn(form: &str) -> (String, Vec<f32>) {
        let words = words(70, form);
        let (heads, labels) = ((0..70).collect::<Vec<_>>(), vec!["obj".to_string(); 70]);
        let tree =
            Tree { words: &words, heads: &heads, labels: &labels, tokens: &[], probabilities: None, corrections: &[] };
        let rows = Rows::new(&tree);
        (super::tree(&tree, Links::None), vec![rows.x(rows.base), rows.x(rows.label), rows.width])
    }

    #[test]
    fn every_word_has_a_row_and_an_arc_and_the_drawing_is_narrow() {
        let (svg, places) = drawn("word");
        assert_eq!((svg.matches("class=\"word\"").count(), svg.matches("class=\"arc\"").count()), (70, 70));
        assert!(places[2] < 360.0, "{places:?}");
    }

    #[test]
    fn many_arcs_over_each_other_leave_the_words_in_view() {
        let (words, labels) = (words(70, "word"), vec!["obj".to_string(); 70]);
        let heads: Vec<usize> = (0..70).map(|at| usize::from(at > 0)).collect();
        let rows =
            Tree { words: &words, heads: &heads, labels: &labels, tokens: &[], probabilities: None, corrections: &[] };
        assert!(Rows::new(&rows).base < 160.0);
    }

    #[test]
    fn a_sentence_from_right_to_left_has_its_arcs_at_the_right() {
        let (left, right) = (drawn("word"), drawn("מילה"));
        assert!(left.1[0] < left.1[1] && right.1[0] > right.1[1], "{:?} {:?}", left.1, right.1);
        assert!(right.0.contains("class=\"tree rows\" dir=\"rtl\""));
    }
}
