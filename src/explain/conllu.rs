//! Explanations in CoNLL-U: the parse, with probabilities and citations in MISC.

use super::{Citation, Explanation};
use crate::treebank::Sentence;

impl Explanation {
    /// Writes parse and citations into the sentence that was explained. DEPS is cleared, as by a parse.
    pub fn annotate(&self, sentence: &mut Sentence) {
        if let Some(warning) = &self.warning {
            sentence.set_comment("warning", warning);
        }
        for (at, word) in sentence.words_mut().iter_mut().enumerate() {
            word.head = Some(self.heads[at]);
            word.label.clone_from(&self.labels[at]);
            word.deps = "_".to_string();
            let [head, label] = self.probabilities[at];
            word.set_misc("HeadProb", &format!("{head:.4}"));
            word.set_misc("LabelProb", &format!("{label:.4}"));
        }
        for edge in &self.edges {
            let word = &mut sentence.words_mut()[edge.dependent - 1];
            let (attachment, labelling) = (&edge.attachment, &edge.labelling);
            for (key, citations) in [
                ("Cite", &attachment.citations),
                ("CiteAgainst", &attachment.against),
                ("CiteLabel", &labelling.citations),
                ("CiteLabelAgainst", &labelling.against),
            ] {
                match citations.is_empty() {
                    // Remove the results of an earlier run.
                    true => word.remove_misc(key),
                    false => word.set_misc(key, &citations.iter().map(named).collect::<Vec<_>>().join(",")),
                }
            }
        }
    }
}

/// `sent_id:dependent:head`. Characters that would end a value or an item in MISC are percent-encoded.
fn named(citation: &Citation) -> String {
    let mut id = String::new();
    for c in citation.source.sent_id.chars() {
        match c {
            '%' | ',' | '|' | '=' | ' ' | '\t' => id.push_str(&format!("%{:02X}", c as u32)),
            other => id.push(other),
        }
    }
    format!("{id}:{}:{}", citation.dependent, citation.head)
}
