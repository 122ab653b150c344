//! Cuts the text of a pattern into tokens, each with its place.

use crate::error::{Error, Result};

/// A token of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, a number or a value without quotation marks.
    Name(String),
    /// A value in quotation marks.
    Text(String),
    /// A regular expression: `re"..."`.
    Regex(String),
    /// `{`, `->`, `<<` and so on.
    Sign(&'static str),
    End,
}

/// Longer ones first, so that `<` does not take the beginning of `<>`.
const SIGNS: [&str; 20] =
    ["]->", "-[^", "<>", "<<", "->", "-[", "{", "}", "[", "]", ";", ",", "=", "|", "<", ".", "!", ">>", ">", "^"];

/// The longest pattern, in bytes.
const LONGEST: usize = 64 << 10;

/// Cuts a pattern. A token begins at its byte.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>> {
    if text.len() > LONGEST {
        return Err(wrong(
            &text[..0],
            0,
            &format!("the pattern has {} bytes", text.len()),
            &format!("{LONGEST} are the limit"),
        ));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
        } else if c == '%' {
            // A comment, as in Grew.
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(quoted) = rest.strip_prefix("re\"") {
            let (value, length) = until_quote(quoted).ok_or_else(|| unclosed(text, at))?;
            tokens.push((at, Token::Regex(value)));
            at += 3 + length;
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let (value, length) = until_quote(quoted).ok_or_else(|| unclosed(text, at))?;
            tokens.push((at, Token::Text(value.replace("\\\\", "\\"))));
            at += 1 + length;
        } else if is_of_name(c) {
            let length = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            tokens.push((at, Token::Name(rest[..length].to_string())));
            at += length;
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            tokens.push((at, Token::Sign(sign)));
            at += sign.len();
        } else {
            return Err(wrong(
                text,
                at,
                &format!("found `{}`", c.escape_default()),
                "expected a name or a sign; values with other characters stand in \"…\"",
            ));
        }
    }
    tokens.push((text.len(), Token::End));
    Ok(tokens)
}

/// What stands before the closing quotation mark, and its length with the mark. `\"` is a quotation mark.
fn until_quote(text: &str) -> Option<(String, usize)> {
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return Some((value, at + 1)),
            '"' => {
                value.pop();
                value.push('"');
                escaped = false;
            }
            _ => {
                value.push(c);
                escaped = c == '\\' && !escaped;
            }
        }
    }
    None
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ':' | '$' | '\'')
}

fn unclosed(text: &str, at: usize) -> Error {
    wrong(
        text,
        at,
        "the quotation mark is not closed",
        "write \" at the end of the value, and \\\" for one inside of it",
    )
}

/// An error that shows the place.
pub(super) fn wrong(text: &str, at: usize, found: &str, expected: &str) -> Error {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    let (before, line) = (&text[start..at], &text[start..end]);
    // Tabs stay, so that the mark stands below its place.
    let indent: String = before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    Error::Pattern {
        line: text[..at].matches('\n').count() + 1,
        column: before.chars().count() + 1,
        found: found.to_string(),
        expected: expected.to_string(),
        shown: format!("{line}\n  {indent}^"),
    }
}
