//! The layout of words, arcs and labels: arcs pass over each other and every label has room.

use super::Tree;
use unicode_segmentation::UnicodeSegmentation;

/// Room for ROOT and the labels of its edges, above all arcs.
const TOP: f32 = 54.0;
/// Space at both ends.
const MARGIN: f32 = 14.0;
/// The distance between the ends of two arcs at the same word.
const STEP: f32 = 8.0;
/// The radius of an arc's corners.
const CORNER: f32 = 10.0;
/// The size of surface tokens below their words.
pub(super) const TOKEN_SIZE: f32 = 13.0;

/// The positions of everything. Vectors have an entry for ROOT at 0.
pub(super) struct Layout {
    pub(super) heads: Vec<usize>,
    /// The label of each arc.
    pub(super) labels: Vec<String>,
    /// The width of each label.
    pub(super) pills: Vec<f32>,
    /// The width of each word.
    pub(super) widths: Vec<f32>,
    /// The middle of each word.
    pub(super) centers: Vec<f32>,
    /// The level of each arc, 1 for the lowest.
    levels: Vec<usize>,
    /// The ends of each word's arc: at its head, at the word.
    pub(super) feet: Vec<(f32, f32)>,
    level_height: f32,
    /// The distance of the ends of arcs from the top.
    pub(super) base: f32,
    pub(super) width: f32,
    /// Whether the sentence runs from right to left.
    pub(super) mirrored: bool,
}

impl Layout {
    pub(super) fn new(tree: &Tree<'_>) -> Self {
        let n = tree.words.len() + 1;
        let heads: Vec<usize> = (0..n).map(|word| tree.head(word)).collect();
        let labels: Vec<String> = (0..n).map(|word| tree.written(word)).collect();
        let pills: Vec<f32> = labels.iter().map(|label| text_width(label, 12.0) + 14.0).collect();
        let ends = ends(&heads);
        let spread = |word: usize| ends[word].len() as f32 * STEP;
        let width = |word: usize| (text_width(&tree.words[word - 1], 16.0) + 12.0).max(spread(word)).max(28.0);
        let widths: Vec<f32> = (0..n).map(|word| if word == 0 { 0.0 } else { width(word) }).collect();
        let mut centers = vec![MARGIN; n];
        for word in 1..n {
            let beside = centers[word - 1] + (widths[word - 1] + widths[word]) / 2.0 + 8.0;
            // Every label fits between the two words of its edge.
            let room = |dependent: &usize| {
                let other = heads[*dependent].min(*dependent);
                centers[other] + pills[*dependent] + 2.0 * CORNER + (spread(other) + spread(word)) / 2.0
            };
            let within = |dependent: &usize| heads[*dependent] > 0 && heads[*dependent].max(*dependent) == word;
            centers[word] = (1..n).filter(within).map(|dependent| room(&dependent)).fold(beside, f32::max);
            // A surface token fits below its words.
            for token in tree.tokens().filter(|token| token.last == word && token.first < word) {
                let start = centers[token.first] - widths[token.first] / 2.0;
                let end = start + text_width(&token.form, TOKEN_SIZE) + 8.0;
                centers[word] = centers[word].max(end - widths[word] / 2.0);
            }
            if heads[word] == 0 {
                centers[word] = centers[word].max(MARGIN + pills[word] / 2.0);
            }
        }
        let levels = levels(&heads);
        let highest = levels.iter().copied().max().unwrap_or_default().max(1);
        let level_height = (380.0 / highest as f32).clamp(22.0, 32.0);
        let last = n - 1;
        let root_label = if heads[last] == 0 { pills[last] } else { 0.0 };
        let width = centers[last] + widths[last].max(root_label) / 2.0 + MARGIN;
        let mut feet = vec![(0.0, 0.0); n];
        for word in 1..n {
            for (rank, &dependent) in ends[word].iter().enumerate() {
                let foot = centers[word] + (rank as f32 - (ends[word].len() - 1) as f32 / 2.0) * STEP;
                *(if dependent == word { &mut feet[dependent].1 } else { &mut feet[dependent].0 }) = foot;
            }
        }
        let base = TOP + highest as f32 * level_height;
        let mirrored = runs_right_to_left(tree.words);
        Self { heads, labels, pills, widths, centers, levels, feet, level_height, base, width, mirrored }
    }

    /// Converts a position from the start of the sentence to one from the left.
    pub(super) fn x(&self, from_start: f32) -> f32 {
        if self.mirrored { self.width - from_start } else { from_start }
    }

    /// The path from a word's head to the word, and the middle of its highest part.
    pub(super) fn arc(&self, word: usize) -> (String, f32, f32) {
        let (from, to) = (self.x(self.feet[word].0), self.x(self.feet[word].1));
        let (base, y) = (self.base, self.base - self.levels[word] as f32 * self.level_height);
        let turn = if to > from { CORNER } else { -CORNER };
        let path = format!(
            "M{from:.1} {base:.1}V{:.1}Q{from:.1} {y:.1} {:.1} {y:.1}H{:.1}Q{to:.1} {y:.1} {to:.1} {:.1}V{:.1}",
            y + CORNER,
            from + turn,
            to - turn,
            y + CORNER,
            base - 7.0,
        );
        (path, (from + to) / 2.0, y)
    }
}

/// The arcs that end at each word, by their dependents, in the order that keeps them from crossing at that word.
pub(super) fn ends(heads: &[usize]) -> Vec<Vec<usize>> {
    let mut ends = vec![Vec::new(); heads.len()];
    for (dependent, &head) in heads.iter().enumerate().skip(1) {
        ends[dependent].push(dependent);
        if head > 0 {
            ends[head].push(dependent);
        }
    }
    for (word, ends) in ends.iter_mut().enumerate() {
        // Arcs to the left, short ones first; then the arc from ROOT; then arcs to the right, long ones first.
        ends.sort_by_key(|&dependent| {
            let other = if dependent == word { heads[dependent] } else { dependent };
            match other {
                0 => (1, 0),
                _ if other < word => (0, word - other),
                _ => (2, heads.len() - other),
            }
        });
    }
    ends
}

/// The level that each arc needs to pass over all shorter arcs that it overlaps.
pub(super) fn levels(heads: &[usize]) -> Vec<usize> {
    let span = |dependent: usize| (dependent.min(heads[dependent]), dependent.max(heads[dependent]));
    let mut arcs: Vec<usize> = (1..heads.len()).filter(|&dependent| heads[dependent] > 0).collect();
    arcs.sort_by_key(|&dependent| (span(dependent).1 - span(dependent).0, dependent));
    let mut levels = vec![0; heads.len()];
    for (place, &arc) in arcs.iter().enumerate() {
        let (first, last) = span(arc);
        let met = |other: &&usize| span(**other).0 < last && first < span(**other).1;
        levels[arc] = 1 + arcs[..place].iter().filter(met).map(|&other| levels[other]).max().unwrap_or_default();
    }
    levels
}

/// Estimates the width of a text. Nothing here can measure it, so the estimate is generous.
pub(crate) fn text_width(text: &str, size: f32) -> f32 {
    let em = |grapheme: &str| match grapheme.chars().next() {
        Some('\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}') => {
            1.05
        }
        Some('\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f000}'..='\u{3fffd}') => 1.25,
        Some('m' | 'w' | 'M' | 'W' | '%' | '@' | '—' | '…') => 0.95,
        Some('i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | '.' | ',' | ':' | ';' | '!' | '\'' | '|' | ' ' | '\u{a0}') => {
            0.4
        }
        Some(c) if c.is_uppercase() => 0.74,
        _ => 0.62,
    };
    text.graphemes(true).map(em).sum::<f32>() * size
}

/// Whether the first letter that has a direction runs from right to left.
pub(crate) fn runs_right_to_left(words: &[String]) -> bool {
    let to_left = |c: char| {
        matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
            || matches!(c, '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
    };
    words.iter().flat_map(|word| word.chars()).find(|c| c.is_alphabetic()).is_some_and(to_left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arc_passes_over_those_inside_it_and_those_it_crosses() {
        // 1←2, 2←4, 3←4, 5←4, and 6←3, which crosses 5←4.
        assert_eq!(levels(&[0, 2, 4, 4, 0, 4, 3]), [0, 1, 2, 1, 0, 1, 3]);
    }

    #[test]
    fn arcs_at_a_word_stand_beside_each_other_in_an_order_without_crossing() {
        // 2 is the root, with 1 to its left and 3 and 4 to its right. The longer of the right arcs starts further left.
        assert_eq!(ends(&[0, 2, 0, 2, 2])[2], [1, 2, 4, 3]);
        // 4 is the head of 2, and 2 is the head of 3.
        assert_eq!(ends(&[0, 2, 4, 2, 0])[2], [1, 2, 3]);
    }

    #[test]
    fn wide_and_narrow_writing_get_their_room() {
        assert!(text_width("漢字", 16.0) > text_width("il", 16.0) * 2.0);
        assert!(runs_right_to_left(&["«".to_string(), "שלום".to_string()]));
        assert!(!runs_right_to_left(&["12".to_string(), "hello".to_string(), "שלום".to_string()]));
    }
}
