//! Names of words and labels, and escaping of text.

use crate::explain::wording;

/// Escapes text for an element or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // HTML and SVG forbid these characters, even as character references.
            '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            _ => safe.push(c),
        }
    }
    safe
}

/// Escapes text of a treebank and isolates its direction from the text around it.
pub(super) fn isolated(text: &str) -> String {
    format!("<bdi>{}</bdi>", escape(text))
}

/// A share as a percentage without a line break.
pub(super) fn percent(share: f64) -> String {
    wording::percent(share).replace(' ', "\u{a0}")
}

/// The name of a word or a label.
pub(super) struct Name {
    form: Option<String>,
    /// The id of the word, if the sentence has its form twice.
    word: Option<usize>,
}

impl Name {
    /// The name of a word of a sentence; ROOT is 0.
    pub(super) fn of_word(words: &[String], word: usize) -> Self {
        let form = word.checked_sub(1).and_then(|at| words.get(at)).cloned();
        let same = words.iter().filter(|other| Some(*other) == form.as_ref()).count();
        Self { form, word: (same > 1).then_some(word) }
    }

    pub(super) fn of_label(label: &str) -> Self {
        Self { form: Some(label.to_string()), word: None }
    }

    /// The name for an attribute or a title, not escaped yet.
    pub(super) fn plain(&self) -> String {
        self.written(str::to_string)
    }

    /// The name for the page. The quotation marks stay outside of text that may run from right to left.
    pub(super) fn html(&self) -> String {
        self.written(isolated)
    }

    fn written(&self, form: impl Fn(&str) -> String) -> String {
        match (self.form.as_deref().map(form), self.word) {
            (None, _) => "ROOT".to_string(),
            (Some(form), None) => format!("‘{form}’"),
            (Some(form), Some(word)) => format!("‘{form}’ (word {word})"),
        }
    }
}
