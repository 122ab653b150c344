//! The smallest set of training edges, and of training sentences, without which a decision would have fallen otherwise.
//!
//! What each edge contributes to the decision over a rival tells which to take first. That the set flips the decision,
//! and no longer does with its last member back, is checked by adding up all that is left.

use super::Explainer;
use super::votes::{MOST_IN_PAIRS, SURELY_SMALLEST};
use crate::config::Aggregate;
use crate::error::Result;
use crate::evidence::{EdgeId, Evidence, Side, Weighing};
use crate::parse::{Analysis, Choice, Decision};
use crate::rule::{Compared, Context, Totals};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// Members of a set that are named.
const NAMED: usize = 20;

/// Edges that are added to a set that does not quite change its decision.
const MOST_MENDED: usize = 8;

/// What it would take to change the decisions about a word.
#[derive(Clone, Debug, Serialize)]
pub struct Flip {
    /// The id of the dependent.
    pub dependent: usize,
    /// To another head; `None` if no removal does it.
    pub head: Option<FlipSet>,
    /// To another label; `None` if no removal does it, or the decoder allows no other.
    pub label: Option<FlipSet>,
    /// Whether the tree as a whole chose the head: another one has the higher score already, so that no evidence has
    /// to be missing for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
}

/// A set of training edges, and one of training sentences, whose removal changes a decision.
#[derive(Clone, Debug, Serialize)]
pub struct FlipSet {
    /// What would be chosen instead: a head's id, or a label.
    pub instead: String,
    /// How many edges.
    pub edges: usize,
    /// Of how many that count.
    pub of_edges: u64,
    /// Whether no smaller set of edges does it.
    pub smallest: bool,
    /// The `sent_id:dependent:head` of the first edges of the set, those that matter most; `:rejected` is added to that
    /// of a rejected edge.
    pub first_edges: Vec<String>,
    /// The smallest number found of sentences that do it together; `None` if no whole sentences do.
    pub sentences: Option<usize>,
    /// Of how many.
    pub of_sentences: u32,
    /// The `sent_id` of the first sentences of the set.
    pub first_sentences: Vec<String>,
    /// The numbers of all edges of the set, those that matter most first.
    #[serde(skip)]
    pub removed: Vec<EdgeId>,
}

impl Explainer {
    /// What it would take to change the decisions about a word.
    pub fn flip(&self, analysis: &Analysis, dependent: usize) -> Result<Flip> {
        self.parser.require_instances()?;
        let Some([attachment, labelling]) = self.parser.decisions(analysis, &[dependent])?.pop() else {
            return Ok(Flip { dependent, head: None, label: None, forced: false });
        };
        let forced = attachment.is_forced();
        let head = match forced {
            true => None,
            false => self.smallest_flip(analysis, &attachment)?,
        };
        Ok(Flip { dependent, head, label: self.smallest_flip(analysis, &labelling)?, forced })
    }

    /// The number of training edges without which a word would have another head; `None` if no removal does it.
    #[cfg(feature = "lab")]
    pub(crate) fn flip_head(&self, analysis: &Analysis, dependent: usize) -> Result<Option<usize>> {
        let Some([attachment, _]) = self.parser.decisions(analysis, &[dependent])?.pop() else { return Ok(None) };
        Ok(self.smallest_set(analysis, &attachment)?.map(|(removed, ..)| removed.len()))
    }

    /// The smallest set over all rivals that the decoder allows.
    fn smallest_flip(&self, analysis: &Analysis, decision: &Decision) -> Result<Option<FlipSet>> {
        let chosen = self.parser.side(analysis, decision, decision.chosen())?;
        let Some((removed, rival, choice)) = self.smallest_set(analysis, decision)? else { return Ok(None) };
        let by_votes = self.rule().of(chosen.task).neighbors().is_some();
        let both = self.evidence.context(self.parser.by(), chosen)?.compared == Compared::Both;
        let removed = if by_votes { Some(removed) } else { self.settled(removed, chosen, rival)? };
        let Some(removed) = removed else { return Ok(None) };
        let sentences = self.sentence_set(chosen, rival, &removed)?;
        let named = |edge: &EdgeId| -> Result<String> {
            let (dependent, head, source) = self.edges().source(*edge)?;
            let kind = if matches!(edge, EdgeId::Rejected(_)) { ":rejected" } else { "" };
            Ok(format!("{}:{dependent}:{head}{kind}", source.sent_id))
        };
        let first = sentences.iter().flatten().take(NAMED);
        Ok(Some(FlipSet {
            instead: match choice {
                Choice::Head(head) => head.to_string(),
                Choice::Label(label) => self.edges().label(label).to_string(),
            },
            edges: removed.len(),
            of_edges: self.evidence.len() + if both { self.evidence.rejected() } else { 0 },
            // Where rejected edges count too, the order in which edges go is a good one, but not certainly the best.
            smallest: match self.rule().of(chosen.task).neighbors() {
                Some(count) => removed.len() <= SURELY_SMALLEST && count <= MOST_IN_PAIRS,
                None => !both && (chosen.label.is_none() || self.parser.by().scale.aggregate == Aggregate::Mean),
            },
            first_edges: removed.iter().take(NAMED).map(named).collect::<Result<_>>()?,
            sentences: sentences.as_ref().map(Vec::len),
            of_sentences: self.edges().sentences(),
            first_sentences: first
                .map(|n| Ok(self.edges().sentence(*n)?.sent_id.to_string()))
                .collect::<Result<_>>()?,
            removed,
        }))
    }

    /// The edges of the smallest set, the rival that they hold back, and what it stands for.
    fn smallest_set<'d>(
        &self,
        analysis: &Analysis,
        decision: &'d Decision,
    ) -> Result<Option<(Vec<EdgeId>, &'d Side, Choice)>> {
        // The likeliest first: a small set found early spares the search for larger ones.
        let others = decision.others();
        self.parser.compute_sides(analysis, decision, &others)?;
        let chosen = self.parser.side(analysis, decision, decision.chosen())?;
        let both = self.evidence.context(self.parser.by(), chosen)?.compared == Compared::Both;
        let mut best: Option<(Vec<EdgeId>, &'d Side, Choice)> = None;
        for other in others {
            let rival = self.parser.side(analysis, decision, other)?;
            if self.evidence.count(rival) == 0 {
                continue;
            }
            let removed = match (self.rule().of(chosen.task).neighbors(), chosen.label) {
                (Some(neighbors), _) => {
                    self.by_votes(neighbors, chosen, rival, best.as_ref().map(|(best, ..)| best.len()))?
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

    /// Mends the last place of a set: sums that were added in another order may differ in their last digit.
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

    /// Whether a rival is ahead by what is left of the evidence.
    pub(super) fn flipped(&self, left: &Evidence, chosen: &Side, rival: &Side) -> Result<bool> {
        // What a search would miss must not decide whether a set works.
        let by = Weighing { exact: true, ..self.parser.by().clone() };
        Ok(left.weigh(&by, chosen)?.score < left.weigh(&by, rival)?.score)
    }

    /// Few edges whose removal turns a ratio of accepted to rejected edges around: those first that hold the lead most.
    fn by_ratio(&self, chosen: &Side, rival: &Side) -> Result<Option<Vec<EdgeId>>> {
        let (evidence, by) = (&self.evidence, self.parser.by());
        let rule = by.rule.of(chosen.task);
        let (own, other) = (evidence.weigh(by, chosen)?, evidence.weigh(by, rival)?);
        // All edges contribute to both sides, in the same order.
        let parts = evidence.contributions(by, chosen)?.into_iter().zip(evidence.contributions(by, rival)?);
        let share = |part: f64, whole: f64| part.abs() / whole.max(f64::MIN_POSITIVE);
        let mut order: Vec<(EdgeId, [f64; 2], f64)> = parts
            .map(|((edge, own_part), (_, other_part))| {
                let held = match edge {
                    EdgeId::Accepted(_) => {
                        share(own_part, own.totals.accepted) - share(other_part, other.totals.accepted)
                    }
                    EdgeId::Rejected(_) => {
                        share(other_part, other.totals.rejected) - share(own_part, own.totals.rejected)
                    }
                };
                (edge, [own_part.abs(), other_part.abs()], held)
            })
            .collect();
        order.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
        // Added up from the end, so that nothing is lost by taking large numbers away from each other.
        let mut left = [Totals::default(); 2];
        let mut from = None;
        for (at, (edge, parts, _)) in order.iter().enumerate().rev() {
            for (totals, part) in left.iter_mut().zip(parts) {
                match edge {
                    EdgeId::Accepted(_) => totals.accepted += part,
                    EdgeId::Rejected(_) => totals.rejected += part,
                }
            }
            if rule.score(left[0], &own.context) < rule.score(left[1], &other.context) {
                from = Some(at);
            }
        }
        Ok(from.map(|at| order[..at].iter().map(|(edge, ..)| *edge).collect()))
    }

    /// The fewest edges of two labels: the most similar ones of the chosen label and the least similar ones of the other,
    /// as few of both together as possible.
    fn by_means(&self, chosen: &Side, rival: &Side) -> Result<Option<Vec<EdgeId>>> {
        let (evidence, by) = (&self.evidence, self.parser.by());
        let by_mean = by.scale.aggregate == Aggregate::Mean;
        let rule = by.rule.of(chosen.task);
        let sorted = |side: &Side| -> Result<Vec<(EdgeId, f64)>> {
            let similarities = evidence.similarities(side)?;
            let context = Context { count: 1, ..evidence.context(by, side)? };
            let all = evidence.range(side).map(EdgeId::Accepted).zip(similarities.iter().copied());
            let mut weights: Vec<(EdgeId, f64)> = all
                .filter(|(edge, _)| evidence.counts(*edge))
                .map(|(edge, similarity)| (edge, rule.contribution(similarity, &context)))
                .collect();
            weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            Ok(weights)
        };
        let (own, mut other) = (sorted(chosen)?, sorted(rival)?);
        other.reverse();
        // What is left after taking the first so many away.
        let left = |weights: &[(EdgeId, f64)]| -> Vec<f64> {
            let mut rest: f64 = weights.iter().map(|(_, weight)| weight).sum();
            let mut left = vec![rest];
            for (taken, (_, weight)) in weights.iter().enumerate() {
                rest -= weight;
                let number = if by_mean { weights.len() - taken - 1 } else { 1 };
                left.push(if taken + 1 == weights.len() { 0.0 } else { rest / number.max(1) as f64 });
            }
            if by_mean {
                left[0] /= weights.len().max(1) as f64;
            }
            left
        };
        let (own_left, other_left) = (left(&own), left(&other));
        let mut best: Option<(usize, usize)> = None;
        // Less of the other has to go the more of the own is gone.
        let mut taken = other.len().saturating_sub(1);
        for (gone, own_score) in own_left.iter().enumerate() {
            if *own_score >= other_left[taken] {
                continue;
            }
            while taken > 0 && *own_score < other_left[taken - 1] {
                taken -= 1;
            }
            if best.is_none_or(|(a, b)| gone + taken < a + b) {
                best = Some((gone, taken));
            }
        }
        let edges =
            |weights: &[(EdgeId, f64)], number: usize| weights[..number].iter().map(|w| w.0).collect::<Vec<_>>();
        Ok(best.map(|(gone, taken)| [edges(&other, taken), edges(&own, gone)].concat()))
    }

    /// Sentences whose removal flips the decision: those first that contribute most to it, or else those of the edges
    /// that do. By a mean, a sentence that contributes can also hold the others back.
    fn sentence_set(&self, chosen: &Side, rival: &Side, removed: &[EdgeId]) -> Result<Option<Vec<u32>>> {
        let sentence = |edge: EdgeId| self.edges().sentence_of(edge);
        let mut parts: HashMap<u32, f64> = HashMap::new();
        for (edge, part) in self.margin_parts(chosen, rival)? {
            let Some(sentence) = sentence(edge) else { continue };
            *parts.entry(sentence).or_default() += part;
        }
        // The further the order is followed, the less is left of the lead, up to the first sentence against it.
        let mut order: Vec<(u32, f64)> = parts.into_iter().filter(|(_, part)| *part > 0.0).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let by_part: Vec<u32> = order.into_iter().map(|(sentence, _)| sentence).collect();
        let found = self.first_sentences(by_part, chosen, rival)?;
        if found.is_some() {
            return Ok(found);
        }
        let mut seen = HashSet::new();
        let of_edges = removed.iter().filter_map(|&edge| sentence(edge)).filter(|sentence| seen.insert(*sentence));
        self.first_sentences(of_edges.collect(), chosen, rival)
    }

    /// As many of the first sentences as flip the decision, while one fewer does not; `None` if not even all do.
    fn first_sentences(&self, mut order: Vec<u32>, chosen: &Side, rival: &Side) -> Result<Option<Vec<u32>>> {
        let flips = |number: usize| -> Result<bool> {
            let gone: HashSet<u32> = order[..number].iter().copied().collect();
            self.flipped(&self.evidence.without(|_, sentence| gone.contains(&sentence)), chosen, rival)
        };
        let (mut fails, mut works) = (0, order.len());
        if !flips(works)? {
            return Ok(None);
        }
        while fails + 1 < works {
            let middle = fails.midpoint(works);
            if flips(middle)? { works = middle } else { fails = middle }
        }
        order.truncate(works);
        Ok(Some(order))
    }
}

/// The fewest parts whose removal leaves less than nothing, largest first; `None` if none do.
fn shortest_prefix<E: Copy + Ord>(mut parts: Vec<(E, f64)>) -> Option<Vec<E>> {
    parts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    // Added up from the end, so that nothing is lost by taking large numbers away from each other.
    let mut rest = 0.0;
    let mut from = None;
    for (at, (_, part)) in parts.iter().enumerate().rev() {
        rest += part;
        if rest < 0.0 {
            from = Some(at);
        }
    }
    // Everything up to the first place from which the rest is below zero has to go.
    from.map(|at| parts[..at].iter().map(|(edge, _)| *edge).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_prefix_leaves_less_than_nothing_and_one_fewer_does_not() {
        let parts = vec![(0, 5.0), (1, -4.0), (2, 3.0), (3, -1.0)];
        assert_eq!(shortest_prefix(parts), Some(vec![0]));
        assert_eq!(shortest_prefix(vec![(0, 1.0), (1, 2.0)]), None);
        assert_eq!(shortest_prefix(vec![(0, -1.0)]), Some(vec![]));
    }
}
