//! Draws a tree for a terminal: one word per line, with its arcs, its label and more beside it. A surface token that stands for
//! several words has a line of its own above them.

use super::columns;
use crate::parse::Parse;
use crate::treebank::MultiwordToken;
use std::fmt::Write;

/// A line of a drawing.
pub(super) struct Line {
    /// The word, 0 for ROOT; none for a surface token.
    pub(super) word: Option<usize>,
    /// What is drawn.
    pub(super) text: String,
}

/// Draws a parse, with the probabilities of each head and label.
pub(super) fn draw(forms: &[&str], tokens: &[MultiwordToken], parse: &Parse) -> String {
    let mut out = String::new();
    for Line { word, mut text } in lines(forms, tokens, &parse.heads, &parse.labels) {
        if let Some(word) = word.filter(|word| *word > 0) {
            let (head, label) = (parse.head_probabilities[word], parse.label_probabilities[word]);
            let doubt = if head.min(label) < 0.8 { "  ?" } else { "" };
            let _ = write!(text, "  {head:.2} {label:.2}{doubt}");
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out
}

/// Draws the lines of a tree. An arrow points at the dependent. The line behind it leads to the head. Heads and labels have an
/// entry for ROOT. Labels are padded to one width.
pub(super) fn lines(forms: &[&str], tokens: &[MultiwordToken], heads: &[usize], labels: &[String]) -> Vec<Line> {
    let all = || std::iter::once("ROOT").chain(forms.iter().copied());
    let arcs = lanes(heads);
    let width = arcs.iter().map(|arc| arc.lane + 1).max().unwrap_or(0);
    let ranges: Vec<String> = tokens.iter().map(|token| format!("{}-{}", token.first, token.last)).collect();
    let numbers = ranges.iter().map(String::len).max().unwrap_or(0).max(4);
    let shown = all().chain(tokens.iter().map(|token| token.form.as_str()));
    let widest = shown.map(columns::width).max().unwrap_or(0);
    let widest_label = labels.iter().map(|label| columns::width(label)).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (word, form) in all().enumerate() {
        for (token, range) in tokens.iter().zip(&ranges).filter(|(token, _)| token.first == word) {
            let text = format!("{range:>numbers$}  {} {}", columns::pad(&token.form, widest), gap(word, &arcs, width));
            lines.push(Line { word: None, text });
        }
        let mut text = format!("{word:>numbers$}  {} {}", columns::pad(form, widest), rail(word, &arcs, width));
        if word > 0 {
            let _ = write!(text, " {}", columns::pad(&labels[word], widest_label));
        }
        lines.push(Line { word: Some(word), text });
    }
    lines
}

struct Arc {
    dependent: usize,
    head: usize,
    lane: usize,
}

impl Arc {
    fn span(&self) -> (usize, usize) {
        (self.dependent.min(self.head), self.dependent.max(self.head))
    }
}

/// Gives every arc the innermost lane that no shorter arc over the same lines has taken.
fn lanes(heads: &[usize]) -> Vec<Arc> {
    let mut arcs: Vec<Arc> =
        (1..heads.len()).map(|dependent| Arc { dependent, head: heads[dependent], lane: 0 }).collect();
    arcs.sort_by_key(|arc| (arc.span().1 - arc.span().0, arc.dependent));
    for at in 0..arcs.len() {
        let (from, to) = arcs[at].span();
        // Arcs that share an end take different lanes too.
        let meets = |other: &Arc| other.span().0 <= to && from <= other.span().1;
        arcs[at].lane = (0..).find(|&lane| !arcs[..at].iter().any(|a| a.lane == lane && meets(a))).unwrap_or(0);
    }
    arcs
}

/// The characters beside a line that stands above that of a word and has no word itself: the arcs that pass.
fn gap(below: usize, arcs: &[Arc], width: usize) -> String {
    let passes = |lane: usize| arcs.iter().any(|arc| arc.lane == lane && arc.span().0 < below && below <= arc.span().1);
    std::iter::once(' ').chain((0..width).map(|lane| if passes(lane) { '│' } else { ' ' })).collect()
}

/// The characters beside one line: lanes from the words outwards.
fn rail(line: usize, arcs: &[Arc], width: usize) -> String {
    let mut cells = vec![' '; width];
    for arc in arcs {
        let (from, to) = arc.span();
        if line == from || line == to {
            cells[arc.lane] = if line == from { '╮' } else { '╯' };
        } else if from < line && line < to {
            cells[arc.lane] = '│';
        }
    }
    // An arc that ends on this line runs through the lanes before its own, and crosses vertical lines there.
    let ends: Vec<&Arc> = arcs.iter().filter(|arc| arc.span().0 == line || arc.span().1 == line).collect();
    let reach = ends.iter().map(|arc| arc.lane).max();
    let incoming = ends.iter().any(|arc| arc.dependent == line);
    if let Some(reach) = reach {
        for cell in cells.iter_mut().take(reach) {
            *cell = match *cell {
                ' ' => '─',
                '│' => '┼',
                '╮' => '┬',
                '╯' => '┴',
                other => other,
            };
        }
    }
    let lead = match (reach.is_some(), incoming) {
        (true, true) => '◂',
        (true, false) => '─',
        _ => ' ',
    };
    std::iter::once(lead).chain(cells).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_lead_from_the_line_of_the_head_to_an_arrow_at_the_dependent() {
        let parse = Parse {
            heads: vec![0, 2, 0, 2],
            labels: ["", "nsubj", "root", "obj"].map(String::from).to_vec(),
            head_probabilities: vec![1.0, 0.9, 1.0, 0.5],
            label_probabilities: vec![1.0, 0.95, 1.0, 1.0],
        };
        let expected = [
            "   0  ROOT ───╮",
            "   1  We   ◂╮ │ nsubj  0.90 0.95",
            "   2  saw  ◂┴┬╯ root   1.00 1.00",
            "   3  it   ◂─╯  obj    0.50 1.00  ?",
            "",
        ];
        assert_eq!(draw(&["We", "saw", "it"], &[], &parse), expected.join("\n"));
    }

    #[test]
    fn a_surface_token_stands_above_its_words_and_arcs_pass_it() {
        let parse = Parse {
            heads: vec![0, 4, 4, 4, 0],
            labels: ["", "nsubj", "aux", "advmod", "root"].map(String::from).to_vec(),
            head_probabilities: vec![1.0; 5],
            label_probabilities: vec![1.0; 5],
        };
        let tokens = [MultiwordToken::new(2, 3, "didn't")];
        let expected = [
            "   0  ROOT   ────╮",
            "   1  He     ◂──╮│ nsubj   1.00 1.00",
            " 2-3  didn't    ││",
            "   2  did    ◂─╮││ aux     1.00 1.00",
            "   3  n't    ◂╮│││ advmod  1.00 1.00",
            "   4  go     ◂┴┴┴╯ root    1.00 1.00",
            "",
        ];
        assert_eq!(draw(&["He", "did", "n't", "go"], &tokens, &parse), expected.join("\n"));
    }

    #[test]
    fn arcs_begin_in_the_same_column_whatever_the_script() {
        let parse = Parse {
            heads: vec![0, 2, 0, 2],
            labels: ["", "nsubj", "root", "obj"].map(String::from).to_vec(),
            head_probabilities: vec![1.0; 4],
            label_probabilities: vec![1.0; 4],
        };
        let expected = [
            "   0  ROOT ───╮",
            "   1  猫が ◂╮ │ nsubj  1.00 1.00",
            "   2  cafe\u{301} ◂┴┬╯ root   1.00 1.00",
            "   3  👩‍👩‍👧   ◂─╯  obj    1.00 1.00",
            "",
        ];
        assert_eq!(draw(&["猫が", "cafe\u{301}", "👩‍👩‍👧"], &[], &parse), expected.join("\n"));
    }

    #[test]
    fn arcs_over_the_same_lines_take_different_lanes() {
        let arcs = lanes(&[0, 3, 1, 0, 3]);
        for (at, a) in arcs.iter().enumerate() {
            for b in &arcs[at + 1..] {
                let apart = a.span().1 < b.span().0 || b.span().1 < a.span().0;
                assert!(apart || a.lane != b.lane);
            }
        }
    }
}
