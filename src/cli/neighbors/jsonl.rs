//! Neighbours as JSON, a line an edge.

use super::{Found, Sink};
use serde_json::json;
use std::io::Write;

/// Writes a line an edge.
pub struct Jsonl<W> {
    out: W,
}

impl<W: Write> Jsonl<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write> Sink for Jsonl<W> {
    fn write(&mut self, found: &[Found<'_>]) -> anyhow::Result<()> {
        for sentence in found {
            let (words, name) = (sentence.sentence.words(), sentence.name());
            let form = |position: usize| position.checked_sub(1).map_or("ROOT", |at| words[at].form.as_str());
            for edge in sentence.found {
                let mut neighbors = Vec::with_capacity(edge.hits.len());
                for hit in &edge.hits {
                    let (record, cited) = sentence.edges.edge(hit.edge)?;
                    neighbors.push(json!({
                        "edge": hit.edge,
                        "similarity": hit.similarity,
                        "sent_id": cited.sent_id,
                        "dependent": record.dependent,
                        "dependent_form": cited.form(record.dependent as usize),
                        "head": record.head,
                        "head_form": cited.form(record.head as usize),
                        "label": sentence.edges.label(record.label),
                    }));
                }
                let line = json!({
                    "sent_id": name,
                    "dependent": edge.dependent,
                    "dependent_form": form(edge.dependent),
                    "head": edge.head,
                    "head_form": form(edge.head),
                    "label": edge.label,
                    "exact": edge.exact,
                    "neighbors": neighbors,
                });
                writeln!(self.out, "{line}")?;
            }
        }
        self.out.flush()?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}
