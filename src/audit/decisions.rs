//! Decisions of people about findings: a file of JSON lines that can be committed beside the treebank.
//!
//! A decision is about an edge as it stood: `sent_id`, dependent, head and label. It holds while the edge stands so, or
//! stands as the decision says. If the treebank has something else there now, the edge is judged again.

use super::Finding;
use crate::error::{Error, Result};
use crate::files::{to_json, write_atomically};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// What was decided about an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Verdict {
    /// The suggestion is right.
    Accept,
    /// The edge is right as it is.
    Keep,
    /// Something else is right.
    Other,
}

/// A decision about one edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The sentence.
    pub sent_id: String,
    /// The id of the dependent.
    pub dependent: usize,
    /// The form of the dependent.
    pub form: String,
    /// The head that the edge had.
    pub head: usize,
    /// The label that the edge had.
    pub label: String,
    /// What was decided.
    pub decision: Verdict,
    /// The right head.
    pub new_head: usize,
    /// The right label.
    pub new_label: String,
    /// A remark.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Decision {
    /// A decision about a finding: `right` is the right head and label.
    pub fn about(finding: &Finding, decision: Verdict, right: (usize, &str), note: &str) -> Self {
        Self {
            sent_id: finding.sent_id.clone(),
            dependent: finding.dependent,
            form: finding.form(finding.dependent).to_string(),
            head: finding.head,
            label: finding.label.clone(),
            decision,
            new_head: right.0,
            new_label: right.1.to_string(),
            note: note.to_string(),
        }
    }

    /// Whether it is about an edge that has this dependent form, head and label.
    fn holds_for(&self, form: &str, head: usize, label: &str) -> bool {
        let was = (self.head, self.label.as_str());
        let is = (self.new_head, self.new_label.as_str());
        self.form == form && [was, is].contains(&(head, label))
    }
}

/// All decisions about a treebank, the last one about each edge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decisions(BTreeMap<(String, usize), Decision>);

impl Decisions {
    /// Reads a file of decisions. A missing file has none.
    pub fn read(path: &Path) -> Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Error::io(path)(error)),
        };
        let mut all = Self::default();
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
            let decision: Decision = serde_json::from_str(line).map_err(|error| Error::Audit {
                message: format!("{}:{number}: not a decision: {error}; correct or remove the line", path.display()),
            })?;
            all.add(decision);
        }
        Ok(all)
    }

    /// Writes all decisions, ordered by sentence and word. The file is replaced as a whole.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut text = String::new();
        for decision in self.0.values() {
            text.push_str(&to_json("a decision", decision)?);
            text.push('\n');
        }
        write_atomically(path, text.as_bytes())
    }

    /// Adds a decision. An earlier one about the same edge is replaced.
    pub fn add(&mut self, decision: Decision) {
        self.0.insert((decision.sent_id.clone(), decision.dependent), decision);
    }

    /// Whether an edge was decided and has not been changed in another way since. A sentence without a name has no
    /// decisions.
    pub fn holds_for(&self, sent_id: &str, dependent: usize, form: &str, head: usize, label: &str) -> bool {
        if sent_id.is_empty() {
            return false;
        }
        let decision = self.0.get(&(sent_id.to_string(), dependent));
        decision.is_some_and(|decision| decision.holds_for(form, head, label))
    }

    /// The decisions, ordered by sentence and word.
    pub fn iter(&self) -> impl Iterator<Item = &Decision> {
        self.0.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn decision(dependent: usize, decision: Verdict) -> Decision {
        Decision {
            sent_id: "s".to_string(),
            dependent,
            form: "New".to_string(),
            head: 2,
            label: "compound".to_string(),
            decision,
            new_head: 2,
            new_label: "amod".to_string(),
            note: String::new(),
        }
    }

    #[test]
    fn decisions_are_read_as_they_were_written_and_the_last_one_about_an_edge_holds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decisions.jsonl");
        assert!(Decisions::read(&path).unwrap().is_empty());
        let mut all = Decisions::default();
        for own in [decision(7, Verdict::Keep), decision(1, Verdict::Accept), decision(7, Verdict::Other)] {
            all.add(own);
        }
        all.write(&path).unwrap();
        assert_eq!(Decisions::read(&path).unwrap(), all);
        assert_eq!(all.iter().map(|own| own.decision).collect::<Vec<_>>(), [Verdict::Accept, Verdict::Other]);
    }

    #[test]
    fn a_decision_holds_while_the_edge_stands_as_it_was_or_as_it_was_decided() {
        let mut all = Decisions::default();
        all.add(decision(1, Verdict::Accept));
        assert!(all.holds_for("s", 1, "New", 2, "compound"));
        assert!(all.holds_for("s", 1, "New", 2, "amod"));
        assert!(!all.holds_for("s", 1, "New", 2, "flat"), "another label");
        assert!(!all.holds_for("s", 1, "New", 3, "amod"), "another head");
        assert!(!all.holds_for("s", 1, "York", 2, "amod"), "other words");
        assert!(!all.holds_for("t", 1, "New", 2, "amod"), "another sentence");
    }

    #[test]
    fn a_line_that_is_no_decision_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decisions.jsonl");
        std::fs::write(&path, "\n{\"sent_id\": 3}\n").unwrap();
        let message = Decisions::read(&path).unwrap_err().to_string();
        assert!(message.contains("decisions.jsonl:2: not a decision"), "{message}");
    }
}
