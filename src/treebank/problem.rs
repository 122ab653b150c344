//! One flaw of a treebank file: its place, what was found and expected, the sentence around it, and a remedy.

use serde::Serialize;
use std::fmt;

/// The ten columns in order. A problem's `column` counts from 1.
pub(super) const COLUMNS: [&str; 10] =
    ["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"];

/// Tokens shown on either side of the token in brackets.
const TOKENS_AROUND: usize = 8;
/// Characters shown of a token.
const TOKEN_WIDTH: usize = 40;

/// One flaw of a treebank file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// The line number, from 1.
    pub line: u64,
    /// The column of the CoNLL-U line, 1 (ID) to 10 (MISC).
    pub column: usize,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
    /// The sentence with the token at fault in brackets; empty if there is none.
    pub sentence: String,
    /// What to do about it.
    pub remedy: &'static str,
    /// Whether the reader can handle it. A sentence with any other problem is refused.
    pub handled: bool,
}

impl Problem {
    /// A flaw that makes its sentence unreadable.
    pub(super) fn error(line: u64, column: usize, found: impl Into<String>, expected: impl Into<String>) -> Self {
        let (found, expected) = (found.into(), expected.into());
        Self { line, column, found, expected, sentence: String::new(), remedy: "", handled: false }
    }

    /// A flaw that the reader handles.
    pub(super) fn handled(line: u64, column: usize, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { handled: true, ..Self::error(line, column, found, expected) }
    }

    pub(super) fn remedy(self, remedy: &'static str) -> Self {
        Self { remedy, ..self }
    }

    /// Adds the sentence, with the token on the problem's line in brackets. `tokens` are ascending line numbers with
    /// forms.
    pub(super) fn show(&mut self, tokens: &[(u64, &str)]) {
        let at = tokens.binary_search_by_key(&self.line, |(line, _)| *line).ok();
        let middle = at.unwrap_or(0);
        let (from, to) = (middle.saturating_sub(TOKENS_AROUND), (middle + TOKENS_AROUND + 1).min(tokens.len()));
        let mut shown: Vec<String> = Vec::new();
        if from > 0 {
            shown.push("…".to_owned());
        }
        for (place, (_, form)) in tokens.iter().enumerate().take(to).skip(from) {
            let form = shorten(form);
            shown.push(if Some(place) == at { format!("[{form}]") } else { form });
        }
        if to < tokens.len() {
            shown.push("…".to_owned());
        }
        self.sentence = shown.join(" ");
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}, but {}", self.line, self.column, self.found, self.expected)?;
        if self.sentence.is_empty() { Ok(()) } else { write!(f, ": {}", self.sentence) }
    }
}

/// Truncates a text for a message and replaces control characters.
pub(super) fn shorten(text: &str) -> String {
    let mut shown: String =
        text.chars().take(TOKEN_WIDTH).map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
    if text.chars().nth(TOKEN_WIDTH).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sentence_is_cut_around_the_token_in_brackets() {
        let forms: Vec<String> = (1..=100).map(|i| format!("w{i}")).collect();
        let mut problem = Problem::error(50, 7, "HEAD is 101", "the sentence has 100 words");
        let tokens: Vec<(u64, &str)> =
            forms.iter().enumerate().map(|(i, form)| (i as u64 + 1, form.as_str())).collect();
        problem.show(&tokens);
        assert_eq!(
            problem.to_string(),
            "50:7: HEAD is 101, but the sentence has 100 words: … w42 w43 w44 w45 w46 w47 w48 w49 [w50] w51 w52 w53 \
             w54 w55 w56 w57 w58 …"
        );
    }

    #[test]
    fn a_long_token_is_cut_and_its_control_characters_are_replaced() {
        assert_eq!(shorten(&format!("\u{1b}[31m{}", "é".repeat(80))), format!("\u{fffd}[31m{}…", "é".repeat(35)));
    }
}
