//! Neighbours as JSON, one line per edge.

use super::{Found, Sink};
use std::io::Write;

/// Writes one line per edge.
pub(super) struct Jsonl<W> {
    out: W,
}

impl<W: Write> Jsonl<W> {
    /// Writes to `out`.
    pub(super) fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write> Sink for Jsonl<W> {
    fn write(&mut self, found: &[Found<'_>]) -> anyhow::Result<()> {
        for sentence in found {
            let (words, name) = (sentence.sentence.words(), sentence.name());
            let form = |position: usize| position.checked_sub(1).map_or("ROOT", |at| words[at].form.as_str());
            for edge in sentence.found {
                let named = edge.named(sentence.edges, &name, form)?;
                writeln!(self.out, "{}", serde_json::to_string(&named)?)?;
            }
        }
        self.out.flush()?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}
