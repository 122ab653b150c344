//! Findings: suspicious edges with a suggestion, and the training edges that speak for either side.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// What seems to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// The head, and perhaps the label.
    Head,
    /// The label alone.
    Label,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Head { "head" } else { "label" })
    }
}

impl FromStr for Kind {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "head" => Ok(Self::Head),
            "label" => Ok(Self::Label),
            _ => Err("there are head and label"),
        }
    }
}

/// An edge that seems to be wrong.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The line of the dependent, if a file was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column of that line that seems to be wrong: 7 (HEAD) or 8 (DEPREL).
    pub column: usize,
    /// The sentence.
    pub sent_id: String,
    /// Its words; the word with id `i` is `words[i - 1]`.
    pub words: Arc<[String]>,
    /// The id of the dependent.
    pub dependent: usize,
    /// The head that it has, 0 for ROOT.
    pub head: usize,
    /// The label that it has.
    pub label: String,
    /// What seems to be wrong.
    pub kind: Kind,
    /// The head that similar edges suggest. It is the same for a label.
    pub suggested_head: usize,
    /// The label that similar edges suggest.
    pub suggested_label: String,
    /// The expected share of errors among edges that are so suspicious.
    pub score: f64,
    /// The rule of the Universal Dependencies guidelines that it breaks, by the name that the official validator gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How many edges of other documents have the same two words and are annotated as this one is.
    pub same_words_as_it_is: usize,
    /// How many have the same words as the suggested edge, and are annotated so.
    pub same_words_as_suggested: usize,
    /// What speaks against it, in words.
    pub says: String,
    /// Similar edges that are annotated as this one is.
    pub as_it_is: Vec<Example>,
    /// Similar edges that are annotated as suggested.
    pub as_suggested: Vec<Example>,
    /// The nearest edges by the label model, with their labels. Groups are made by them.
    #[serde(skip)]
    pub(super) nearest: Vec<(u32, u32)>,
}

/// A training edge that speaks for one side.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Example {
    /// Its sentence.
    pub sent_id: String,
    /// The id of its dependent.
    pub dependent: usize,
    /// The id of its head, 0 for ROOT.
    pub head: usize,
    /// Its label.
    pub label: String,
    /// How similar it is, from the stored vectors.
    pub similarity: f32,
    /// Its words, with the dependent in brackets and the head in braces.
    pub text: String,
}

impl Finding {
    /// The form of a word, `ROOT` at 0.
    pub fn form(&self, word: usize) -> &str {
        word.checked_sub(1).and_then(|at| self.words.get(at)).map_or("ROOT", String::as_str)
    }

    /// The edge and what would replace it, in one line.
    pub fn title(&self) -> String {
        let (dependent, head) = (self.form(self.dependent), self.form(self.head));
        let own = format!("{} {dependent}: {} of {} {head}", self.dependent, self.label, self.head);
        match self.kind {
            Kind::Label => format!("{own}, or {}?", self.suggested_label),
            Kind::Head => {
                let (head, label) = (self.suggested_head, &self.suggested_label);
                format!("{own}, or {label} of {head} {}?", self.form(head))
            }
        }
    }

    /// The words around the edge, marked.
    pub fn text(&self) -> String {
        marked(&self.words, self.dependent, self.head)
    }
}

/// Words shown on each side of an edge, and at either end of a long one.
const AROUND: usize = 5;

/// The words around an edge, the dependent in brackets and the head in braces.
pub(super) fn marked(words: &[impl AsRef<str>], dependent: usize, head: usize) -> String {
    let ends = [dependent, head].map(|end| if end == 0 { dependent } else { end });
    let near = |word: usize| ends.iter().any(|&end| word.abs_diff(end) <= AROUND);
    let mut shown = Vec::new();
    let mut gap = false;
    for (word, form) in (1..).zip(words) {
        if !near(word) {
            gap = true;
            continue;
        }
        if std::mem::take(&mut gap) {
            shown.push("…".to_string());
        }
        let form = form.as_ref();
        shown.push(match word {
            _ if word == dependent => format!("[{form}]"),
            _ if word == head => format!("{{{form}}}"),
            _ => form.to_string(),
        });
    }
    if gap {
        shown.push("…".to_string());
    }
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_words_of_an_edge_are_marked_and_far_words_left_out() {
        let words: Vec<String> = (1..=30).map(|id| format!("w{id}")).collect();
        assert_eq!(marked(&words[..3], 1, 3), "[w1] w2 {w3}");
        assert_eq!(marked(&words[..2], 2, 0), "w1 [w2]");
        let far = marked(&words, 2, 20);
        assert!(
            far.starts_with("w1 [w2] w3 w4 w5 w6 w7 … w15") && far.ends_with("{w20} w21 w22 w23 w24 w25 …"),
            "{far}"
        );
    }
}
