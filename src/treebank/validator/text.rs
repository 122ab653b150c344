//! Rules of level 1 about characters: Unicode normal form, and white space inside of columns.

use super::{Row, Violation};
use crate::treebank::id::Id;
use crate::treebank::lines::Line;
use crate::treebank::problem::{COLUMNS, shorten};
use unicode_normalization::is_nfc;

pub(super) fn test(lines: &[Line], rows: &[Row<'_>], found: &mut Vec<Violation>) {
    for line in lines.iter().filter(|line| !line.text.is_ascii() && !is_nfc(&line.text)) {
        let column = if line.text.starts_with('#') {
            1
        } else {
            1 + line.text.split('\t').position(|column| !is_nfc(column)).unwrap_or_default()
        };
        let what = line.text.split('\t').nth(column - 1).unwrap_or_default();
        found.push(Violation {
            line: line.number,
            column,
            rule: "unicode-normalization".into(),
            found: format!("{} is not in normal form C", shorten(what)),
            expected: "letters with marks are one character, if there is one".to_string(),
        });
    }
    for row in rows {
        for (place, value) in row.columns.iter().enumerate() {
            let what = || format!("{} is {:?}", COLUMNS[place], shorten(value));
            let spaces: Vec<bool> = value.chars().map(char::is_whitespace).collect();
            if matches!(row.id, Id::Range(..)) && [1, 2].contains(&place) {
                if spaces.contains(&true) {
                    let expected = "a multiword token is one word of the text";
                    found.push(row.violation(place + 1, "invalid-whitespace-mwt", what(), expected));
                }
            } else if spaces.windows(2).any(|pair| pair[0] && pair[1]) {
                found.push(row.violation(place + 1, "repeated-whitespace", what(), "one space stands between words"));
            }
        }
    }
}
