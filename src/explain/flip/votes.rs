//! Flip sets under rules by which the nearest edges vote.
//!
//! When a vote is removed, the next nearest edge votes instead. So the search removes votes one by one. Sets of one and of
//! two are found by trying all of them. Votes are always those of the exact nearest edges.

use crate::error::Result;
use crate::evidence::{EdgeId, Neighbors, Side};
use crate::explain::Explainer;
use citree_index::Hit;
use std::collections::HashSet;

/// The most votes that the search removes before it gives up.
pub(in crate::explain) const MOST_REMOVED: usize = 500;
/// No smaller set exists for a set of this size or less, because all sets of one and of two were tried. Only removing a
/// vote for the chosen side or against the rival can change the outcome.
pub(super) const SURELY_SMALLEST: usize = 3;
/// Larger sets are not reduced by trying them without each member.
const THINNED: usize = 64;
/// With more voters, sets of one and of two are not all tried.
pub(super) const MOST_IN_PAIRS: usize = 64;

/// The edges nearest to a side, including the next ones that do not vote yet.
struct Voters<'a> {
    side: &'a Side,
    accepted: Vec<Hit>,
    rejected: Vec<Hit>,
}

impl Explainer {
    /// A small set of training edges without which the rival wins the vote; `None` if none with fewer than `below` edges
    /// is found.
    pub(super) fn by_votes(
        &self,
        count: usize,
        chosen: &Side,
        rival: &Side,
        below: Option<usize>,
    ) -> Result<Option<Vec<EdgeId>>> {
        // A larger set can lose members when it is reduced.
        let most = below.map_or(MOST_REMOVED, |below| (2 * below).min(MOST_REMOVED));
        let sides = [self.voters(chosen, count)?, self.voters(rival, count)?];
        let lead = |gone: &HashSet<EdgeId>| self.lead(&sides, count, gone);
        if lead(&HashSet::new())? < 0.0 {
            return Ok(Some(Vec::new()));
        }
        if count <= MOST_IN_PAIRS
            && let Some(few) = self.one_or_two(&sides, count)?
        {
            return Ok(Some(few));
        }
        if below.is_some_and(|below| below <= SURELY_SMALLEST) {
            return Ok(None);
        }
        let (mut removed, mut gone) = (Vec::new(), HashSet::new());
        loop {
            // The nearest vote for the chosen side and the nearest against the rival weigh most.
            let mut best: Option<(f64, EdgeId)> = None;
            for edge in self.first_votes(&sides, count, &gone) {
                gone.insert(edge);
                let left = lead(&gone)?;
                gone.remove(&edge);
                if best.is_none_or(|(least, _)| left < least) {
                    best = Some((left, edge));
                }
            }
            let Some((left, edge)) = best.filter(|_| removed.len() < most) else { return Ok(None) };
            removed.push(edge);
            gone.insert(edge);
            if left < 0.0 {
                break;
            }
        }
        if removed.len() <= THINNED {
            // Votes that were removed early can be unnecessary now. The last one is needed.
            for edge in removed.clone() {
                gone.remove(&edge);
                if lead(&gone)? < 0.0 {
                    removed.retain(|other| *other != edge);
                } else {
                    gone.insert(edge);
                }
            }
        }
        Ok(Some(removed))
    }

    /// A set of one edge, or of two, that changes the outcome.
    fn one_or_two(&self, sides: &[Voters<'_>; 2], count: usize) -> Result<Option<Vec<EdgeId>>> {
        let votes = self.votes(sides, count, &HashSet::new());
        for &edge in &votes {
            if self.lead(sides, count, &HashSet::from([edge]))? < 0.0 {
                return Ok(Some(vec![edge]));
            }
        }
        for &edge in &votes {
            // The second can be the edge that votes in its place.
            let with_next = self.votes(sides, count, &HashSet::from([edge]));
            for &second in with_next.iter().filter(|second| **second > edge || !votes.contains(second)) {
                if self.lead(sides, count, &HashSet::from([edge, second]))? < 0.0 {
                    return Ok(Some(vec![edge, second]));
                }
            }
        }
        Ok(None)
    }

    fn voters<'a>(&self, side: &'a Side, count: usize) -> Result<Voters<'a>> {
        let anyone = side.with_label(None);
        let most = count.saturating_add(MOST_REMOVED);
        let accepted = self.evidence.highest(&self.evidence.similarities(&anyone)?, 0.., most, EdgeId::Accepted);
        let rejected = match side.label {
            Some(_) => Vec::new(),
            None => self.evidence.highest(self.evidence.rejected_similarities(&anyone)?, 0.., most, EdgeId::Rejected),
        };
        Ok(Voters { side, accepted, rejected })
    }

    /// By how much the first side is ahead of the second without some edges.
    fn lead(&self, sides: &[Voters<'_>; 2], count: usize, gone: &HashSet<EdgeId>) -> Result<f64> {
        let score = |voters: &Voters<'_>| -> Result<f64> {
            Ok(self.evidence.vote(self.parser.by(), voters.side, &voters.left(count, gone))?.score)
        };
        Ok(score(&sides[0])? - score(&sides[1])?)
    }

    /// The votes for the first side and those against the second, without some edges.
    fn votes(&self, sides: &[Voters<'_>; 2], count: usize, gone: &HashSet<EdgeId>) -> Vec<EdgeId> {
        let [chosen, rival] = sides;
        let own = self.evidence.of_label(chosen.side, &chosen.left(count, gone).accepted);
        let mut votes: Vec<EdgeId> = own.iter().map(|hit| EdgeId::Accepted(hit.record)).collect();
        votes.extend(rival.left(count, gone).rejected.iter().map(|hit| EdgeId::Rejected(hit.record)));
        votes
    }

    /// The nearest of the votes for the first side, and the nearest of those against the second.
    fn first_votes(&self, sides: &[Voters<'_>; 2], count: usize, gone: &HashSet<EdgeId>) -> Vec<EdgeId> {
        let votes = self.votes(sides, count, gone);
        let first = |of_kind: fn(&EdgeId) -> bool| votes.iter().copied().find(of_kind);
        let accepted = first(|edge| matches!(edge, EdgeId::Accepted(_)));
        accepted.into_iter().chain(first(|edge| matches!(edge, EdgeId::Rejected(_)))).collect()
    }
}

impl Voters<'_> {
    /// The nearest that are left without some edges.
    fn left(&self, count: usize, gone: &HashSet<EdgeId>) -> Neighbors {
        let nearest = |hits: &[Hit], edge: fn(u32) -> EdgeId| -> Vec<Hit> {
            hits.iter().filter(|hit| !gone.contains(&edge(hit.record))).take(count).copied().collect()
        };
        let mut left = Neighbors {
            accepted: nearest(&self.accepted, EdgeId::Accepted),
            rejected: nearest(&self.rejected, EdgeId::Rejected),
            exact: true,
        };
        if self.side.label.is_none() {
            left.keep(count);
        }
        left
    }
}
