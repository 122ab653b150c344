//! Learns decisions from examples that have contexts from general to specific, with backoff to the general ones.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The decision of each context. The most specific known context decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Backoff<D: Ord> {
    decisions: BTreeMap<String, D>,
}

impl<D: Clone + Ord> Backoff<D> {
    /// Learns from examples. Each is a chain of contexts with a decision; the most general context comes first, and
    /// each context implies the one before it. A context counts if at least `support(level)` examples have it. It is
    /// stored only if its decision differs from that of the more general contexts, so the table holds rules and their
    /// exceptions.
    pub(super) fn learn(examples: &[(Vec<String>, D)], support: impl Fn(usize) -> usize) -> Self {
        let mut decisions: BTreeMap<String, D> = BTreeMap::new();
        let levels = examples.iter().map(|(chain, _)| chain.len()).max().unwrap_or(0);
        for level in 0..levels {
            let mut contexts: BTreeMap<&str, (&[String], BTreeMap<&D, usize>)> = BTreeMap::new();
            for (chain, decision) in examples {
                let Some(context) = chain.get(level) else { continue };
                let (_, counts) = contexts.entry(context).or_insert_with(|| (&chain[..level], BTreeMap::new()));
                *counts.entry(decision).or_default() += 1;
            }
            for (context, (general, counts)) in contexts {
                let inherited = general.iter().rev().find_map(|context| decisions.get(context));
                let total: usize = counts.values().sum();
                let Some((&usual, &count)) = counts.iter().max_by_key(|(_, count)| **count) else { continue };
                let undecided = 2 * count == total && inherited.is_some();
                if total >= support(level) && !undecided && inherited != Some(usual) {
                    decisions.insert(context.to_owned(), usual.clone());
                }
            }
        }
        Self { decisions }
    }

    /// The decision of the most specific known context in a chain.
    pub(super) fn decide(&self, chain: &[String]) -> Option<&D> {
        chain.iter().rev().find_map(|context| self.decisions.get(context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(contexts: &[&str]) -> Vec<String> {
        contexts.iter().map(|&context| context.to_owned()).collect()
    }

    #[test]
    fn a_rule_and_its_exception_are_learnt_and_nothing_else_is_stored() {
        let mut examples = vec![(chain(&["word.", "cat."]), true), (chain(&["word.", "dog."]), true)];
        examples.extend([(chain(&["word.", "Mr."]), false), (chain(&["word.", "end."]), true)]);
        let table = Backoff::learn(&examples, |_| 1);
        assert_eq!(table.decisions, BTreeMap::from([("word.".to_owned(), true), ("Mr.".to_owned(), false)]));
        assert_eq!(table.decide(&chain(&["word.", "Mr."])), Some(&false));
        assert_eq!(table.decide(&chain(&["word.", "unseen."])), Some(&true));
        assert_eq!(table.decide(&chain(&["other", "other."])), None);
    }

    #[test]
    fn a_context_without_support_does_not_decide() {
        let examples = vec![(chain(&["a"]), true)];
        assert_eq!(Backoff::learn(&examples, |_| 2).decide(&chain(&["a"])), None);
    }
}
