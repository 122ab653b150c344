//! Writes decisions into CoNLL-U: HEAD and DEPREL of the decided edges change, every other byte stays.

use super::{Decision, Decisions, Verdict};
use crate::error::{Error, Result};
use crate::treebank::{LocatedSentence, Reader, Sentence, tree_faults};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// A treebank after decisions were written into it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// The treebank.
    pub text: Vec<u8>,
    /// How many edges changed.
    pub changed: usize,
    /// How many decisions change nothing: the edge is to be kept, or was corrected already.
    pub unchanged: usize,
    /// Decisions about edges that the treebank does not have, or that have changed since.
    pub stale: usize,
}

/// Writes decisions into a treebank, given as the bytes of a CoNLL-U file. `name` is the file name in messages.
///
/// # Errors
/// If the file cannot be read as trees, or if a sentence would not be a tree.
pub fn apply(treebank: &[u8], name: &Path, decisions: &Decisions) -> Result<Applied> {
    let mut of_sentences: BTreeMap<&str, Vec<&Decision>> = BTreeMap::new();
    for decision in decisions.iter() {
        of_sentences.entry(&decision.sent_id).or_default().push(decision);
    }
    let mut edits = BTreeMap::new();
    let (mut changed, mut unchanged, mut stale) = (0, 0, 0);
    let mut seen = HashSet::new();
    for LocatedSentence { sentence, word_lines } in Reader::new(treebank, name).located_trees()? {
        if let Some(again) = sentence.sent_id().filter(|sent_id| seen.contains(*sent_id)) {
            let message = format!("two sentences are called {again}, and decisions name one of them; rename one");
            return Err(Error::Audit { message });
        }
        let own = sentence.sent_id().and_then(|sent_id| of_sentences.remove(sent_id)).unwrap_or_default();
        if let Some(decided) = own.first() {
            seen.insert(decided.sent_id.clone());
        }
        let mut heads = sentence.gold_heads().unwrap_or_default();
        let before = edits.len();
        for decision in own {
            match effect(decision, &sentence)? {
                Effect::Stale => stale += 1,
                Effect::None => unchanged += 1,
                Effect::Change => {
                    heads[decision.dependent - 1] = decision.new_head;
                    edits.insert(word_lines[decision.dependent - 1], decision);
                }
            }
        }
        if edits.len() > before && !tree_faults(&heads).is_empty() {
            return Err(no_tree(&sentence));
        }
        changed += edits.len() - before;
    }
    stale += of_sentences.values().map(Vec::len).sum::<usize>();
    Ok(Applied { text: edited(treebank, &edits), changed, unchanged, stale })
}

/// What a decision does to a sentence.
enum Effect {
    Change,
    None,
    Stale,
}

fn effect(decision: &Decision, sentence: &Sentence) -> Result<Effect> {
    let word = decision.dependent.checked_sub(1).and_then(|at| sentence.words().get(at));
    let Some(word) = word.filter(|word| word.form == decision.form) else { return Ok(Effect::Stale) };
    let edge = (word.head, word.label.as_str());
    let right = (Some(decision.new_head), decision.new_label.as_str());
    if edge == right {
        return Ok(Effect::None);
    }
    if edge != (Some(decision.head), decision.label.as_str()) {
        return Ok(Effect::Stale);
    }
    if decision.decision == Verdict::Keep {
        return Ok(Effect::None);
    }
    let label = &decision.new_label;
    if decision.new_head > sentence.words().len()
        || label.is_empty()
        || label == "_"
        || label.contains(char::is_whitespace)
    {
        let message = format!(
            "the decision about word {} of {} has no possible edge: head {}, label {:?}; correct the decision",
            decision.dependent, decision.sent_id, decision.new_head, label
        );
        return Err(Error::Audit { message });
    }
    Ok(Effect::Change)
}

fn no_tree(sentence: &Sentence) -> Error {
    let sent_id = sentence.sent_id().unwrap_or_default();
    let message = format!(
        "with the decisions about {sent_id}, its heads are not a tree with one root; nothing was written; correct \
         these decisions, or decide about the other edges that have to change with them"
    );
    Error::Audit { message }
}

/// The file with HEAD and DEPREL replaced in some lines, which are numbered from 1.
fn edited(treebank: &[u8], edits: &BTreeMap<u64, &Decision>) -> Vec<u8> {
    let mut out = Vec::with_capacity(treebank.len() + edits.len() * 8);
    for (line, number) in treebank.split_inclusive(|byte| *byte == b'\n').zip(1..) {
        let Some(decision) = edits.get(&number) else {
            out.extend_from_slice(line);
            continue;
        };
        for (column, place) in line.split(|byte| *byte == b'\t').zip(1..) {
            if place > 1 {
                out.push(b'\t');
            }
            match place {
                7 => out.extend_from_slice(decision.new_head.to_string().as_bytes()),
                8 => out.extend_from_slice(decision.new_label.as_bytes()),
                _ => out.extend_from_slice(column),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TREEBANK: &str = "\u{feff}# sent_id = a\r\n1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\r\n\
        1\tdo\t_\t_\t_\t_\t3\taux\t3:aux\tX=Y\r\n2\tn't\t_\t_\t_\t_\t3\tadvmod\t_\t_\r\n\
        3\tgo\t_\t_\t_\t_\t0\troot\t_\t_\r\n3.1\te\t_\t_\t_\t_\t_\t_\t3:x\t_\r\n\r\n\r\n\
        # sent_id = b\n1\tGo\t_\t_\t_\t_\t0\troot\t_\t_";

    fn decided(dependent: usize, form: &str, was: (usize, &str), decision: Verdict, right: (usize, &str)) -> Decision {
        Decision {
            sent_id: "a".to_string(),
            dependent,
            form: form.to_string(),
            head: was.0,
            label: was.1.to_string(),
            decision,
            new_head: right.0,
            new_label: right.1.to_string(),
            note: String::new(),
        }
    }

    fn applied(decisions: &[Decision]) -> Result<Applied> {
        let mut all = Decisions::default();
        decisions.iter().for_each(|decision| all.add(decision.clone()));
        apply(TREEBANK.as_bytes(), Path::new("x.conllu"), &all)
    }

    #[test]
    fn only_the_two_columns_of_accepted_edges_change() {
        let decisions = [
            decided(1, "do", (3, "aux"), Verdict::Accept, (3, "aux:pass")),
            decided(2, "n't", (3, "advmod"), Verdict::Other, (1, "det")),
            decided(3, "go", (0, "root"), Verdict::Keep, (0, "root")),
        ];
        let Applied { text, changed, unchanged, stale } = applied(&decisions).unwrap();
        let expected = TREEBANK.replace("3\taux\t3", "3\taux:pass\t3").replace("3\tadvmod", "1\tdet");
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        assert_eq!((changed, unchanged, stale), (2, 1, 0));
    }

    #[test]
    fn what_was_decided_about_another_edge_or_is_corrected_already_changes_nothing() {
        let decisions = [
            decided(1, "do", (3, "det"), Verdict::Accept, (3, "case")),
            decided(2, "n't", (3, "det"), Verdict::Accept, (3, "advmod")),
            decided(9, "x", (3, "det"), Verdict::Accept, (3, "advmod")),
        ];
        let Applied { text, changed, unchanged, stale } = applied(&decisions).unwrap();
        assert_eq!((text.as_slice(), changed, unchanged, stale), (TREEBANK.as_bytes(), 0, 1, 2));
    }

    #[test]
    fn a_decision_about_one_of_two_sentences_of_a_name_is_refused() {
        let mut all = Decisions::default();
        all.add(decided(1, "do", (3, "aux"), Verdict::Accept, (3, "aux:pass")));
        let twice = format!("{TREEBANK}\n\n{}", TREEBANK.trim_start_matches('\u{feff}'));
        let message = apply(twice.as_bytes(), Path::new("x.conllu"), &all).unwrap_err().to_string();
        assert!(message.contains("two sentences are called a"), "{message}");
    }

    #[test]
    fn a_sentence_that_would_be_no_tree_is_refused_by_name() {
        let cycle = [
            decided(1, "do", (3, "aux"), Verdict::Accept, (2, "aux")),
            decided(2, "n't", (3, "advmod"), Verdict::Accept, (1, "advmod")),
        ];
        for decisions in [&cycle[..], &[decided(1, "do", (3, "aux"), Verdict::Other, (0, "root"))]] {
            let message = applied(decisions).unwrap_err().to_string();
            assert!(message.contains("the decisions about a"), "{message}");
        }
        assert_eq!(applied(&cycle[..1]).unwrap().changed, 1);
    }

    #[test]
    fn heads_and_labels_that_no_line_can_have_are_refused() {
        for right in [(7, "aux"), (3, "_"), (3, "a b"), (3, "")] {
            let message = applied(&[decided(1, "do", (3, "aux"), Verdict::Other, right)]).unwrap_err().to_string();
            assert!(message.contains("word 1 of a"), "{message}");
        }
    }
}
