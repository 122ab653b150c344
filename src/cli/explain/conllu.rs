//! Explanations as CoNLL-U: the parse, with probabilities and citations in MISC.

use citree::explain::{Citation, Explanation};
use citree::treebank::{Sentence, write_sentence};
use std::io::Write;

/// Writes a sentence with its parse and citations.
pub fn write(out: &mut impl Write, sentence: &Sentence, explanation: &Explanation) -> anyhow::Result<()> {
    let mut sentence = sentence.clone();
    for (at, word) in sentence.words_mut().iter_mut().enumerate() {
        word.head = Some(explanation.heads[at]);
        word.label.clone_from(&explanation.labels[at]);
        word.deps = "_".to_string();
        let [head, label] = explanation.probabilities[at];
        word.set_misc("HeadProb", &format!("{head:.4}"));
        word.set_misc("LabelProb", &format!("{label:.4}"));
    }
    for edge in &explanation.edges {
        let word = &mut sentence.words_mut()[edge.dependent - 1];
        for (key, citations) in [("Cite", &edge.attachment.citations), ("CiteLabel", &edge.labelling.citations)] {
            if !citations.is_empty() {
                word.set_misc(key, &citations.iter().map(named).collect::<Vec<_>>().join(","));
            }
        }
    }
    Ok(write_sentence(out, &sentence)?)
}

/// `sent_id:dependent:head`; what would end a value or an item in MISC is written as in a URL.
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
