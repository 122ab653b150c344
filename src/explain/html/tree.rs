//! A tree to draw: words, heads and labels, with their probabilities if they were predicted.

use super::wording::{Name, percent};
use crate::explain::Explanation;
use crate::treebank::MultiwordToken;

/// An edge whose head or label is less probable than this is marked. A margin below ln(0.8 / 0.2) = 1.39 implies such a
/// probability, so one bound finds low probabilities and small margins.
pub(super) const SUSPICIOUS: f32 = 0.8;

/// A sentence with its edges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree<'a> {
    /// The word with id `i` is `words[i - 1]`.
    pub words: &'a [String],
    /// The id of every word's head, 0 for ROOT.
    pub heads: &'a [usize],
    /// The label of every word's edge.
    pub labels: &'a [String],
    /// The surface tokens that stand for several words.
    pub tokens: &'a [MultiwordToken],
    /// For every word the probability of its head and of its label; `None` for a gold tree.
    pub probabilities: Option<&'a [[f32; 2]]>,
    /// For a parse beside a gold tree: what each word should have, where that is something else.
    pub corrections: &'a [Option<String>],
}

impl<'a> From<&'a Explanation> for Tree<'a> {
    fn from(explanation: &'a Explanation) -> Self {
        Self {
            words: &explanation.words,
            heads: &explanation.heads,
            labels: &explanation.labels,
            tokens: &explanation.multiword_tokens,
            probabilities: Some(&explanation.probabilities),
            corrections: &[],
        }
    }
}

impl Tree<'_> {
    /// The probability of a word's head or of its label, whichever is lower.
    pub(super) fn certainty(&self, word: usize) -> f32 {
        let probabilities = word.checked_sub(1).and_then(|at| self.probabilities?.get(at));
        probabilities.map_or(1.0, |[head, label]| head.min(*label))
    }

    /// The edges that need a look.
    pub(super) fn suspicious(&self) -> usize {
        (1..=self.words.len()).filter(|&word| self.certainty(word) < SUSPICIOUS).count()
    }

    /// The head of a word; ROOT if it has none that can be drawn.
    pub(super) fn head(&self, word: usize) -> usize {
        let head = word.checked_sub(1).and_then(|at| self.heads.get(at)).copied().unwrap_or_default();
        if head > self.words.len() || head == word { 0 } else { head }
    }

    pub(super) fn label(&self, word: usize) -> &str {
        word.checked_sub(1).and_then(|at| self.labels.get(at)).map_or("", String::as_str)
    }

    /// The surface tokens that can be drawn.
    pub(super) fn tokens(&self) -> impl Iterator<Item = &MultiwordToken> {
        let last = self.words.len();
        self.tokens.iter().filter(move |token| 0 < token.first && token.first <= token.last && token.last <= last)
    }

    /// The style of an edge: one of four steps by its probability, or that of a gold edge.
    pub(super) fn shade(&self, word: usize) -> &'static str {
        match word.checked_sub(1).and_then(|at| self.corrections.get(at)) {
            Some(Some(_)) => return "doubtful unlikely",
            Some(None) => return "sure",
            None if self.probabilities.is_none() => return "gold",
            None => {}
        }
        match self.certainty(word) {
            0.95.. => "sure",
            SUSPICIOUS.. => "likely",
            0.5.. => "doubtful",
            _ => "doubtful unlikely",
        }
    }

    /// The text on the arc of a word: its label and, if it is suspicious, a question mark and the probability.
    pub(super) fn written(&self, word: usize) -> String {
        let certainty = self.certainty(word);
        // Rounded down, so that a suspicious edge never shows the threshold itself.
        let percentage = (certainty.max(0.0) * 100.0).floor();
        let label = self.label(word);
        if certainty < SUSPICIOUS { format!("{label} ? {percentage}\u{a0}%") } else { label.to_string() }
    }

    /// Describes the edge of a word.
    pub(super) fn spoken(&self, word: usize) -> String {
        let mut text = format!(
            "{} is {} of {}",
            Name::of_word(self.words, word).plain(),
            self.label(word),
            Name::of_word(self.words, self.head(word)).plain(),
        );
        if let Some([head, label]) = self.probabilities.and_then(|all| all.get(word.checked_sub(1)?)) {
            let (head, label) = (percent(f64::from(*head)), percent(f64::from(*label)));
            text.push_str(&format!(": head {head}, label {label}"));
        }
        if self.certainty(word) < SUSPICIOUS {
            text.push_str("; suspicious");
        }
        if let Some(Some(correction)) = word.checked_sub(1).and_then(|at| self.corrections.get(at)) {
            text.push_str(&format!("; {correction}"));
        }
        text
    }
}
