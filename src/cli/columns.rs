//! Measures text in terminal columns: a Chinese character takes two, a combining mark none.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The number of columns of a text.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Pads the text with spaces to this number of columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Truncates the text to this number of columns. Truncated text ends in `…`. A character and its marks stay
/// together.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_string();
    }
    let mut kept = String::new();
    for grapheme in text.graphemes(true) {
        if width(&kept) + width(grapheme) + 1 > columns {
            break;
        }
        kept.push_str(grapheme);
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_marks_none() {
        assert_eq!(["abc", "漢字", "e\u{301}", "👩‍👩‍👧", "שָׁלוֹם"].map(width), [3, 4, 1, 2, 4]);
        assert_eq!(pad("漢", 4), "漢  ");
    }

    #[test]
    fn a_cut_text_fits_and_splits_no_character() {
        assert_eq!(cut("漢字漢字", 8), "漢字漢字");
        assert_eq!(cut("漢字漢字", 6), "漢字…");
        assert_eq!(cut("ae\u{301}xyz", 3), "ae\u{301}…");
        assert_eq!(cut("👩‍👩‍👧👩‍👩‍👧", 3), "👩‍👩‍👧…");
    }
}
