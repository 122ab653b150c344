//! What the official validator of Universal Dependencies tests at levels 1 and 2 beyond what a reader needs, by its names:
//! characters, columns, enhanced graphs and comments of a sentence that can be read.

mod columns;
mod comments;
mod graph;
#[cfg(test)]
mod tests;
mod text;

use super::id::{Id, parse_id};
use super::lines::Line;
use std::borrow::Cow;
use std::collections::HashSet;

/// A rule that a line breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub line: u64,
    /// The column, 1 (ID) to 10 (MISC); 1 for a comment.
    pub column: usize,
    /// The validator's name of the rule.
    pub rule: Cow<'static, str>,
    /// What was found.
    pub found: String,
    /// What is right.
    pub expected: String,
}

/// Tests the sentences of a treebank in order. Some rules are about several sentences.
#[derive(Debug, Default)]
pub(super) struct Validator {
    /// Hashes of names, so that a large treebank takes little memory.
    sent_ids: HashSet<[u8; 16]>,
    parallel_ids: HashSet<[u8; 16]>,
    /// The first lines of the first sentence with an enhanced graph, and of the first without.
    first_graph: Option<u64>,
    first_without: Option<u64>,
    /// Whether the last token of the sentence before has no space after it.
    joined: bool,
}

/// A line of a word, a multiword token or an empty node.
struct Row<'a> {
    line: u64,
    id: Id,
    columns: [&'a str; 10],
}

impl Validator {
    /// The rules of a level and of those below it that a sentence breaks, in no order. The lines are those of a sentence that
    /// can be read.
    pub(super) fn violations(&mut self, level: u8, lines: &[Line]) -> Vec<Violation> {
        let comments: Vec<&Line> = lines.iter().filter(|line| line.text.starts_with('#')).collect();
        let rows: Vec<Row<'_>> = lines.iter().filter(|line| !line.text.starts_with('#')).filter_map(row).collect();
        let mut found = Vec::new();
        text::test(lines, &rows, &mut found);
        if level < 2 {
            return found;
        }
        rows.iter().for_each(|row| columns::test(row, &mut found));
        graph::test(&rows, &mut found);
        self.graph_everywhere(&rows, &mut found);
        self.test_comments(&comments, &rows, &mut found);
        found
    }
}

fn row(line: &Line) -> Option<Row<'_>> {
    let columns: Vec<&str> = line.text.split('\t').collect();
    let columns = <[&str; 10]>::try_from(columns).ok()?;
    Some(Row { line: line.number, id: parse_id(columns[0])?, columns })
}

impl Row<'_> {
    fn violation(&self, column: usize, rule: &'static str, found: String, expected: impl Into<String>) -> Violation {
        Violation { line: self.line, column, rule: rule.into(), found, expected: expected.into() }
    }
}

/// A name in few bytes.
fn hashed(name: &str) -> [u8; 16] {
    let mut short = [0; 16];
    blake3::Hasher::new().update(name.as_bytes()).finalize_xof().fill(&mut short);
    short
}
