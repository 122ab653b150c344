//! The ids of CoNLL-U: words, ranges and empty nodes.

/// An ID as written: `7`, `7-8` or `7.1`.
pub(super) enum Id {
    Word(usize),
    Range(usize, usize),
    Empty(usize, usize),
}

/// Parses an ID; `None` if it is invalid.
pub(super) fn parse_id(text: &str) -> Option<Id> {
    if let Some((first, last)) = text.split_once('-') {
        return Some(Id::Range(parse_number(first).filter(|&id| id > 0)?, parse_number(last)?));
    }
    if let Some((after, number)) = text.split_once('.') {
        return Some(Id::Empty(parse_number(after)?, parse_number(number).filter(|&id| id > 0)?));
    }
    parse_number(text).map(Id::Word)
}

/// Parses a number as CoNLL-U writes it: digits, no sign, no leading zero, so that writing it gives the same bytes.
pub(super) fn parse_number(text: &str) -> Option<usize> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    // No sentence has a billion words, and the limit avoids overflow when ids are incremented.
    if plain && text.len() <= 9 { text.parse().ok() } else { None }
}
