//! Draws a parse for a terminal: one word per line, with its arcs, label and probabilities beside it.

use super::columns;
use crate::parse::Parse;
use crate::treebank::Sentence;
use std::fmt::Write;

/// Draws one sentence. An arrow points at the dependent. The line behind it leads to the head.
pub(super) fn draw(sentence: &Sentence, parse: &Parse) -> String {
    let mut forms = vec!["ROOT"];
    forms.extend(sentence.forms());
    let arcs = lanes(&parse.heads);
    let width = arcs.iter().map(|arc| arc.lane + 1).max().unwrap_or(0);
    let widest = forms.iter().map(|form| columns::width(form)).max().unwrap_or(0);
    let widest_label = parse.labels.iter().map(|label| columns::width(label)).max().unwrap_or(0);
    let mut out = String::new();
    for (position, form) in forms.iter().enumerate() {
        let _ = write!(out, "{position:>4}  {} {}", columns::pad(form, widest), rail(position, &arcs, width));
        if position > 0 {
            let certain = parse.head_probabilities[position].min(parse.label_probabilities[position]);
            let doubt = if certain < 0.8 { "  ?" } else { "" };
            let _ = write!(
                out,
                " {}  {:.2} {:.2}{doubt}",
                columns::pad(&parse.labels[position], widest_label),
                parse.head_probabilities[position],
                parse.label_probabilities[position]
            );
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
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
        let sentence = Sentence::from_forms(["We", "saw", "it"]);
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
        assert_eq!(draw(&sentence, &parse), expected.join("\n"));
    }

    #[test]
    fn arcs_begin_in_the_same_column_whatever_the_script() {
        let sentence = Sentence::from_forms(["猫が", "cafe\u{301}", "👩‍👩‍👧"]);
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
        assert_eq!(draw(&sentence, &parse), expected.join("\n"));
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
