//! Edges with their words, as JSON lines or a Parquet table.

#[cfg(feature = "parquet")]
use super::table::{Column, Table};
use super::{Export, Output};
use crate::error::Result;
use crate::evidence::{EdgeId, prefix};
use crate::files::to_json;
use serde::Serialize;

/// An edge as other programs see it.
#[derive(Serialize)]
struct NamedEdge {
    /// Its id, which stays while the evidence changes. An accepted and a rejected edge can have the same.
    id: u64,
    /// Whether it is a gold edge; otherwise its head is one that the word does not have.
    accepted: bool,
    /// The treebank that it comes from, as `citree evidence list` names it.
    treebank: String,
    /// The number of its sentence among the sentences, from 0.
    sentence: u32,
    sent_id: String,
    /// Empty if the treebank has no documents.
    document: String,
    /// The first part of the `sent_id`.
    genre: String,
    dependent: u32,
    dependent_form: String,
    /// 0 for ROOT.
    head: u32,
    head_form: String,
    /// Empty for a rejected edge.
    label: String,
}

impl Export<'_> {
    /// Writes a line for each edge.
    pub(crate) fn edges_as_jsonl(&self, mut out: Output<'_>) -> Result<()> {
        for number in self.numbers() {
            let mut line = to_json("an edge", &self.named(number)?)?;
            line.push('\n');
            out.write(line.as_bytes())?;
        }
        Ok(())
    }

    /// Writes a table with the same fields.
    #[cfg(feature = "parquet")]
    pub(crate) fn edges_as_parquet(&self, out: Output<'_>) -> Result<()> {
        const SCHEMA: &str = "message edges {
            required int64 id (INTEGER(64, false));
            required boolean accepted;
            required binary treebank (STRING);
            required int32 sentence (INTEGER(32, false));
            required binary sent_id (STRING);
            required binary document (STRING);
            required binary genre (STRING);
            required int32 dependent (INTEGER(32, false));
            required binary dependent_form (STRING);
            required int32 head (INTEGER(32, false));
            required binary head_form (STRING);
            required binary label (STRING);
        }";
        let mut table = Table::new(out.out, SCHEMA)?;
        let mut numbers = self.numbers();
        loop {
            let edges: Vec<NamedEdge> =
                numbers.by_ref().take(super::TOGETHER).map(|number| self.named(number)).collect::<Result<_>>()?;
            if edges.is_empty() {
                break;
            }
            let text = |of: fn(&NamedEdge) -> &str| Column::Text(edges.iter().map(|edge| of(edge).into()).collect());
            let number = |of: fn(&NamedEdge) -> u32| Column::Number(edges.iter().map(of).collect());
            table.write(vec![
                Column::Id(edges.iter().map(|edge| edge.id).collect()),
                Column::Flag(edges.iter().map(|edge| edge.accepted).collect()),
                text(|edge| &edge.treebank),
                number(|edge| edge.sentence),
                text(|edge| &edge.sent_id),
                text(|edge| &edge.document),
                text(|edge| &edge.genre),
                number(|edge| edge.dependent),
                text(|edge| &edge.dependent_form),
                number(|edge| edge.head),
                text(|edge| &edge.head_form),
                text(|edge| &edge.label),
            ])?;
        }
        table.finish()
    }

    fn named(&self, number: u32) -> Result<NamedEdge> {
        let edge = self.edge(number);
        let (sentence, ..) = self.edges.place(edge)?;
        let (dependent, head, source) = self.edges.source(edge)?;
        let label = match edge {
            EdgeId::Accepted(number) => self.edges.record(number).map(|record| self.edges.label(record.label)),
            EdgeId::Rejected(_) => None,
        };
        let form = |position: u32| {
            let word = (position as usize).checked_sub(1).and_then(|at| source.words.get(at));
            word.map_or("ROOT", String::as_str).to_string()
        };
        Ok(NamedEdge {
            id: self.id(number)?,
            accepted: !self.rejected,
            treebank: self.edges.treebank_name(sentence).to_string(),
            sentence,
            document: source.document.clone(),
            genre: prefix(&source.sent_id, 1).to_string(),
            dependent,
            dependent_form: form(dependent),
            head,
            head_form: form(head),
            label: label.unwrap_or_default().to_string(),
            sent_id: source.sent_id.clone(),
        })
    }
}
