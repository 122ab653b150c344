//! What the decoder allows and chooses, given the scores of all candidates.

use super::{Parser, tree};
use crate::score::best;

/// How heads are chosen from scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decode {
    /// The best tree with one root. Only its root edge is labelled `root`.
    #[default]
    Tree,
    /// The best head of each word on its own, as in the paper. The result need not be a tree.
    Greedy,
}

impl Parser {
    /// The heads of a sentence with `n` positions, from the scores of all candidates, `[dependent][head]`.
    pub(super) fn choose_heads(&self, scores: &[f32], n: usize) -> Vec<usize> {
        match self.decode {
            Decode::Tree => tree::best_tree(scores, n),
            Decode::Greedy => tree::greedy(scores, n),
        }
    }

    /// Whether the decoder allows a label for an edge from this head.
    pub(super) fn allows_label(&self, label: usize, head: usize) -> bool {
        let fits = match (self.decode, self.root) {
            (Decode::Tree, Some(root)) => (label == root) == (head == 0) || self.labels().len() == 1,
            _ => true,
        };
        fits && !self.empty_labels.contains(&label)
    }

    /// Marks labels of which no training edge is left, so that none is chosen: nothing could be cited for it.
    pub(super) fn exclude_empty(&self, scores: &mut [f32]) {
        for scores in scores.chunks_exact_mut(self.labels().len().max(1)) {
            self.empty_labels.iter().for_each(|label| scores[*label] = f32::NEG_INFINITY);
        }
    }

    /// The label of an edge from this head, from the scores of all labels.
    pub(crate) fn choose_label(&self, scores: &[f32], head: usize) -> usize {
        match (self.decode, self.root) {
            (Decode::Tree, Some(root)) if head == 0 => root,
            (Decode::Tree, Some(root)) if scores.len() > 1 => best(scores, Some(root)),
            _ => best(scores, None),
        }
    }
}
