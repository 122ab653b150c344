//! Text for a terminal. Control characters of a treebank, which could move the cursor or change the title of the window,
//! are shown as `\u{1b}`.

use std::io::Write;

/// The start of a colour, and the characters between it and its end.
const COLOUR: &str = "\x1b[";
const OF_COLOUR: &str = "0123456789;";

/// The text with its control characters escaped, except for line breaks and tabs.
pub(super) fn printable(text: &str) -> String {
    escaped(text, false)
}

fn escaped(text: &str, colours: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let after = rest
            .strip_prefix(COLOUR)
            .filter(|_| colours)
            .map(|after| after.trim_start_matches(|c| OF_COLOUR.contains(c)));
        let length = match after.and_then(|after| after.strip_prefix('m')) {
            Some(after) => {
                let length = rest.len() - after.len();
                shown.push_str(&rest[..length]);
                length
            }
            None => {
                match character {
                    '\n' | '\t' => shown.push(character),
                    control if control.is_control() => shown.extend(control.escape_unicode()),
                    _ => shown.push(character),
                }
                character.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    shown
}

/// Writes text with its control characters escaped. Colours pass if we write some.
pub(super) struct Printable<W> {
    out: W,
    colours: bool,
}

impl<W: Write> Printable<W> {
    pub(super) fn new(out: W, colours: bool) -> Self {
        Self { out, colours }
    }
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // `write!` writes whole strings.
        self.out.write_all(escaped(&String::from_utf8_lossy(bytes), self.colours).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_nothing_else_changes() {
        assert_eq!(printable("a\x1b]0;title\x07b\x7f\r\u{9b}2J"), "a\\u{1b}]0;title\\u{7}b\\u{7f}\\u{d}\\u{9b}2J");
        assert_eq!(printable("tab\tline\nnaïve 漢字 שלום 👩‍👧"), "tab\tline\nnaïve 漢字 שלום 👩‍👧");
    }

    #[test]
    fn colours_pass_where_we_write_them_and_no_other_sequence() {
        let text = "\x1b[1;32mword\x1b[0m \x1b[2J\x1b[1";
        assert_eq!(escaped(text, true), "\x1b[1;32mword\x1b[0m \\u{1b}[2J\\u{1b}[1");
        assert!(!escaped(text, false).contains('\x1b'));
    }
}
