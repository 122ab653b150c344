//! Warns where the input looks as if it were of another language than the training treebank.

use crate::parse::Parser;
use crate::treebank::{Sentence, Unseen};
use std::io::Write;

/// One in so many sentences can look foreign without a word about it.
const TOLERATED: usize = 100;

/// What was seen of the input so far.
#[derive(Default)]
pub(super) struct Language {
    sentences: usize,
    foreign: usize,
    all: Unseen,
}

impl Language {
    /// Looks at a sentence, and notes in a comment if it looks foreign.
    pub(super) fn look(&mut self, parser: &Parser, sentence: &mut Sentence) {
        let Some(unseen) = parser.unseen(sentence) else { return };
        self.sentences += 1;
        self.all.add(&unseen);
        if unseen.is_foreign() {
            self.foreign += 1;
            sentence.set_comment("warning", &unseen.to_string());
        }
    }

    /// Says on standard error if the whole input looks foreign, or many of its sentences.
    pub(super) fn report(&self) -> std::io::Result<()> {
        let mut stderr = std::io::stderr().lock();
        if self.all.is_foreign() {
            writeln!(stderr, "warning: the input {}", self.all)?;
        } else if self.foreign * TOLERATED >= self.sentences.max(1) {
            let counted = match self.foreign {
                1 => "1 sentence looks".to_string(),
                many => format!("{many} sentences look"),
            };
            let total = self.sentences;
            writeln!(
                stderr,
                "warning: {counted} like another language than the training treebank, of {total}; `# warning` says which"
            )?;
        }
        Ok(())
    }
}
