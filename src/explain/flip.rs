//! Flip sets: the smallest set of training edges, and of training sentences, whose removal changes a decision.
//!
//! Edges are removed in the order of their contribution to the margin over a rival. The set is then checked by adding up
//! the remaining evidence: the whole set flips the decision, and the set without its last member does not.

mod sentences;
mod totals;
mod votes;

use super::Explainer;
use crate::error::Result;
use crate::evidence::{EdgeId, Evidence, Side, Weighing};
use crate::parse::{Analysis, Choice, Decision};
use crate::rule::Compared;
use serde::{Serialize, Serializer};
use std::collections::HashSet;
use totals::shortest_prefix;
pub(super) use votes::MOST_REMOVED;
use votes::{Budget, MOST_IN_PAIRS, SURELY_SMALLEST};

/// The most members of a set that are named.
const NAMED: usize = 20;

/// The most edges that are added to a set that fails the check.
const MOST_MENDED: usize = 8;

/// What has to be removed to change the decisions about a word.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Flip {
    /// The id of the dependent.
    pub dependent: usize,
    /// To another head; `None` if no removal does it.
    pub head: Option<FlipSet>,
    /// To another label; `None` if no removal does it, or the decoder allows no other.
    pub label: Option<FlipSet>,
    /// Whether the tree constraint forced the head: another head has a higher score already, so no evidence needs to be
    /// removed for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// The decisions, `head` or `label`, about which the search ended before everything was tried, because it would have
    /// taken too long. A set, or a smaller one, may exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended_early: Vec<&'static str>,
}

/// A set of training edges, and one of training sentences, whose removal changes a decision.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FlipSet {
    /// What would be chosen instead: a head's id, or a label.
    pub instead: String,
    /// The number of edges in the set.
    pub edges: usize,
    /// The number of edges that count.
    pub of_edges: u64,
    /// Whether no smaller set of edges does it.
    pub smallest: bool,
    /// The `sent_id:dependent:head` of the first edges of the set, those that matter most; `:rejected` is added to that
    /// of a rejected edge.
    pub first_edges: Vec<String>,
    /// The smallest number of sentences found whose removal does it; `None` if none was found.
    pub sentences: Option<usize>,
    /// The number of sentences in the index.
    pub of_sentences: u32,
    /// The `sent_id` of the first sentences of the set.
    pub first_sentences: Vec<String>,
    /// The numbers of all edges of the set, those that matter most first.
    #[serde(rename = "all_edges", serialize_with = "by_kind")]
    pub removed: Vec<EdgeId>,
    /// The `sent_id` of all sentences of the set.
    pub all_sentences: Vec<String>,
}

/// The numbers of edges of each kind.
fn by_kind<S: Serializer>(edges: &[EdgeId], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    #[derive(Default, Serialize)]
    struct ByKind {
        accepted: Vec<u32>,
        rejected: Vec<u32>,
    }
    let mut kinds = ByKind::default();
    for edge in edges {
        match *edge {
            EdgeId::Accepted(number) => kinds.accepted.push(number),
            EdgeId::Rejected(number) => kinds.rejected.push(number),
        }
    }
    kinds.serialize(serializer)
}

impl Flip {
    /// Whether everything was tried and no set changes the label.
    pub(crate) fn found_nothing_for_label(&self) -> bool {
        self.label.is_none() && !self.ended_early.contains(&"label")
    }
}

impl Explainer {
    /// What has to be removed to change the decisions about a word.
    pub fn flip(&self, analysis: &Analysis, dependent: usize) -> Result<Flip> {
        self.parser.require_instances()?;
        let Some([attachment, labelling]) = self.parser.decisions(analysis, &[dependent])?.pop() else {
            return Ok(Flip { dependent, head: None, label: None, forced: false, ended_early: Vec::new() });
        };
        let forced = attachment.is_forced();
        let budgets = [Budget::new(), Budget::new()];
        let head = match forced {
            true => None,
            false => self.smallest_flip(analysis, &attachment, &budgets[0])?,
        };
        let label = self.smallest_flip(analysis, &labelling, &budgets[1])?;
        let named = ["head", "label"].into_iter().zip(&budgets);
        let ended_early = named.filter(|(_, budget)| budget.is_spent()).map(|(name, _)| name).collect();
        self.edges().intact()?;
        Ok(Flip { dependent, head, label, forced, ended_early })
    }

    /// The number of training edges without which a word would have another head; `None` if no removal does it.
    #[cfg(feature = "lab")]
    pub(crate) fn flip_head(&self, analysis: &Analysis, dependent: usize) -> Result<Option<usize>> {
        let Some([attachment, _]) = self.parser.decisions(analysis, &[dependent])?.pop() else { return Ok(None) };
        Ok(self.smallest_set(analysis, &attachment, &Budget::new())?.map(|(removed, ..)| removed.len()))
    }

    /// The smallest set over all rivals that the decoder allows.
    fn smallest_flip(&self, analysis: &Analysis, decision: &Decision, budget: &Budget) -> Result<Option<FlipSet>> {
        let chosen = self.parser.side(analysis, decision, decision.chosen())?;
        let Some((removed, rival, choice)) = self.smallest_set(analysis, decision, budget)? else { return Ok(None) };
        let by_votes = self.rule().of(chosen.task).neighbors().is_some();
        let both = self.evidence.context(self.parser.by(), chosen)?.compared == Compared::Both;
        let weighted = self.evidence.has_weights();
        let additive = self.rule().of(chosen.task).is_linear() && chosen.label.is_none();
        let removed = if by_votes { Some(removed) } else { self.settled(removed, chosen, rival)? };
        let Some(removed) = removed else { return Ok(None) };
        let sentences = self.sentence_set(chosen, rival, &removed)?;
        let named = |edge: &EdgeId| -> Result<String> {
            let (dependent, head, source) = self.edges().source(*edge)?;
            let kind = if matches!(edge, EdgeId::Rejected(_)) { ":rejected" } else { "" };
            Ok(format!("{}:{dependent}:{head}{kind}", source.sent_id))
        };
        let names: Vec<String> = sentences
            .iter()
            .flatten()
            .map(|number| Ok(self.edges().sentence(*number)?.sent_id.to_string()))
            .collect::<Result<_>>()?;
        Ok(Some(FlipSet {
            instead: match choice {
                Choice::Head(head) => head.to_string(),
                Choice::Label(label) => self.edges().label(label).to_string(),
            },
            edges: removed.len(),
            of_edges: self.evidence.len() + if both { self.evidence.rejected() } else { 0 },
            // If rejected edges count too, the order of removal is a heuristic. Where treebanks have weights, removing a vote
            // for the rival can let in one that weighs more, and a mean has no best order of removal.
            smallest: match self.rule().of(chosen.task).neighbors() {
                _ if weighted && !additive => false,
                Some(count) => removed.len() <= SURELY_SMALLEST && count <= MOST_IN_PAIRS && !budget.is_spent(),
                None => !both,
            },
            first_edges: removed.iter().take(NAMED).map(named).collect::<Result<_>>()?,
            sentences: sentences.as_ref().map(Vec::len),
            of_sentences: self.edges().sentences(),
            first_sentences: names.iter().take(NAMED).cloned().collect(),
            all_sentences: names,
            removed,
        }))
    }

    /// The edges of the smallest set, the rival that wins without them, and its head or label.
    fn smallest_set<'d>(
        &self,
        analysis: &Analysis,
        decision: &'d Decision,
        budget: &Budget,
    ) -> Result<Option<(Vec<EdgeId>, &'d Side, Choice)>> {
        // The most probable first: a small set found early shortens the search for others.
        let others = decision.others();
        self.parser.compute_sides(analysis, decision, &others)?;
        let chosen = self.parser.side(analysis, decision, decision.chosen())?;
        let both = self.evidence.context(self.parser.by(), chosen)?.compared == Compared::Both;
        let neighbors = self.rule().of(chosen.task).neighbors();
        let voters = neighbors.map(|count| self.voters(chosen, count)).transpose()?;
        let mut best: Option<(Vec<EdgeId>, &'d Side, Choice)> = None;
        for other in others {
            let rival = self.parser.side(analysis, decision, other)?;
            if self.evidence.count(rival) == 0 {
                continue;
            }
            let removed = match (neighbors.zip(voters.as_ref()), chosen.label) {
                (Some((count, voters)), _) => {
                    self.by_votes(count, voters, rival, best.as_ref().map(|(best, ..)| best.len()), budget)?
                }
                (None, None) if both => self.by_ratio(chosen, rival)?,
                (None, None) => shortest_prefix(self.margin_parts(chosen, rival)?),
                (None, Some(_)) => self.by_means(chosen, rival)?,
            };
            let fewer = |removed: &Vec<EdgeId>| best.as_ref().is_none_or(|(best, ..)| removed.len() < best.len());
            if let Some(removed) = removed.filter(fewer) {
                best = Some((removed, rival, other.choice));
            }
        }
        Ok(best)
    }

    /// Adds a few edges to a set, or drops its last one, if needed: sums added in another order can differ in the last
    /// digits.
    fn settled(&self, mut removed: Vec<EdgeId>, chosen: &Side, rival: &Side) -> Result<Option<Vec<EdgeId>>> {
        let flips = |removed: &[EdgeId]| -> Result<bool> {
            let gone: HashSet<EdgeId> = removed.iter().copied().collect();
            self.flipped(&self.evidence.without(|edge, _| gone.contains(&edge)), chosen, rival)
        };
        if !flips(&removed)? {
            let taken: HashSet<EdgeId> = removed.iter().copied().collect();
            let mut parts = self.margin_parts(chosen, rival)?;
            parts.retain(|(edge, _)| !taken.contains(edge));
            parts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            for (edge, _) in parts.into_iter().take(MOST_MENDED) {
                removed.push(edge);
                if flips(&removed)? {
                    return Ok(Some(removed));
                }
            }
            return Ok(None);
        } else if removed.len() > 1 && flips(&removed[..removed.len() - 1])? {
            removed.pop();
        }
        Ok(Some(removed))
    }

    /// Whether the rival wins under the remaining evidence.
    fn flipped(&self, left: &Evidence, chosen: &Side, rival: &Side) -> Result<bool> {
        // Exact, because a neighbour that a search misses would falsify the check.
        let by = Weighing { exact: true, ..self.parser.by().clone() };
        Ok(left.weigh(&by, chosen)?.score < left.weigh(&by, rival)?.score)
    }
}

#[cfg(test)]
mod tests;
