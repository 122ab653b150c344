//! Flip sets under rules by which the nearest edges vote.
//!
//! When a vote is removed, the next nearest edge votes instead. So the search removes votes one by one. Sets of one and of
//! two are found by trying all of them. Votes are always those of the exact nearest edges.

use crate::error::Result;
use crate::evidence::{EdgeId, Neighbors, Side};
use crate::explain::Explainer;
use citree_index::Hit;
use std::cell::Cell;
use std::collections::HashSet;

/// The most votes that the search removes before it gives up.
pub(in crate::explain) const MOST_REMOVED: usize = 500;
/// No smaller set exists for a set of this size or less, because all sets of one and of two were tried. Only removing a
/// vote that keeps the rival behind can change the outcome.
pub(super) const SURELY_SMALLEST: usize = 3;
/// Larger sets are not reduced by trying them without each member.
const THINNED: usize = 64;
/// With more voters, sets of one and of two are not all tried.
pub(super) const MOST_IN_PAIRS: usize = 64;
/// How often votes are counted before the search about a decision ends, so that it ends on a large treebank too.
const MOST_COUNTS: usize = 20_000;

/// How often votes may still be counted in the search about a decision, whatever the number of rivals.
pub(super) struct Budget(Cell<usize>);

impl Budget {
    pub(super) fn new() -> Self {
        Self::of(MOST_COUNTS)
    }

    pub(super) fn of(counts: usize) -> Self {
        Self(Cell::new(counts))
    }

    /// Whether the search ended before everything was tried.
    pub(super) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }

    fn spend(&self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

/// The edges nearest to a side, including the next ones that do not vote yet.
#[derive(Clone)]
pub(super) struct Voters<'a> {
    side: &'a Side,
    accepted: Vec<Hit>,
    rejected: Vec<Hit>,
}

impl Explainer {
    /// A small set of training edges without which the rival wins the vote; `None` if none with fewer than `below` edges
    /// is found, or none before the budget is spent.
    pub(super) fn by_votes(
        &self,
        count: usize,
        chosen: &Voters<'_>,
        rival: &Side,
        below: Option<usize>,
        budget: &Budget,
    ) -> Result<Option<Vec<EdgeId>>> {
        let sides = [chosen.clone(), self.rival_voters(chosen, rival, count)?];
        // As many have to go before the first edge of a rival's label votes.
        let needed = match rival.label {
            Some(_) => {
                let range = self.evidence.range(rival);
                let first = chosen.accepted.iter().position(|hit| range.contains(&hit.record));
                first.map_or(usize::MAX, |first| (first + 1).saturating_sub(count))
            }
            None => 0,
        };
        if needed >= below.unwrap_or(MOST_REMOVED + 1) {
            return Ok(None);
        }
        // A larger set loses a few of its members when it is thinned.
        let most = below.map_or(MOST_REMOVED, |below| (2 * below).min(MOST_REMOVED));
        let lead = |gone: &HashSet<EdgeId>| {
            budget.spend();
            self.lead(&sides, count, &|edge| gone.contains(&edge))
        };
        if lead(&HashSet::new())? < 0.0 {
            return Ok(Some(Vec::new()));
        }
        if count <= MOST_IN_PAIRS
            && needed <= 2
            && let Some(few) = self.one_or_two(&sides, count, budget, &lead)?
        {
            return Ok(Some(few));
        }
        if below.is_some_and(|below| below <= SURELY_SMALLEST) {
            return Ok(None);
        }
        let (mut removed, mut gone) = (Vec::new(), HashSet::new());
        loop {
            // The nearest votes weigh most.
            let mut best: Option<(f64, EdgeId)> = None;
            if budget.is_spent() {
                return Ok(None);
            }
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
                if budget.is_spent() {
                    break;
                }
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
    fn one_or_two(
        &self,
        sides: &[Voters<'_>; 2],
        count: usize,
        budget: &Budget,
        lead: &dyn Fn(&HashSet<EdgeId>) -> Result<f64>,
    ) -> Result<Option<Vec<EdgeId>>> {
        let votes = self.votes(sides, count, &|_| false);
        for &edge in &votes {
            if lead(&HashSet::from([edge]))? < 0.0 {
                return Ok(Some(vec![edge]));
            }
        }
        for &edge in &votes {
            if budget.is_spent() {
                break;
            }
            // The second can be the edge that votes in its place.
            let with_next = self.votes(sides, count, &|other| other == edge);
            for &second in with_next.iter().filter(|second| **second > edge || !votes.contains(second)) {
                if lead(&HashSet::from([edge, second]))? < 0.0 {
                    return Ok(Some(vec![edge, second]));
                }
            }
        }
        Ok(None)
    }

    /// The edges nearest to a rival: for another label of the same edge, those nearest to the chosen one.
    pub(super) fn rival_voters<'a>(&self, chosen: &Voters<'a>, rival: &'a Side, count: usize) -> Result<Voters<'a>> {
        match rival.label {
            Some(_) => Ok(Voters { side: rival, ..chosen.clone() }),
            None => self.voters(rival, count),
        }
    }

    pub(super) fn voters<'a>(&self, side: &'a Side, count: usize) -> Result<Voters<'a>> {
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
    pub(super) fn lead(&self, sides: &[Voters<'_>; 2], count: usize, gone: &dyn Fn(EdgeId) -> bool) -> Result<f64> {
        let score = |voters: &Voters<'_>| -> Result<f64> {
            Ok(self.evidence.vote(self.parser.by(), voters.side, &voters.left(count, gone))?.score)
        };
        Ok(score(&sides[0])? - score(&sides[1])?)
    }

    /// The votes that keep the second side behind the first, without some edges: those for the first and those against the
    /// second. A vote for a third label is one of the latter, because the next nearest edge takes its place.
    pub(super) fn votes(&self, sides: &[Voters<'_>; 2], count: usize, gone: &dyn Fn(EdgeId) -> bool) -> Vec<EdgeId> {
        let [chosen, rival] = sides;
        let for_rival = rival.side.label.map(|_| self.evidence.range(rival.side));
        let holds = |hit: &Hit| for_rival.as_ref().is_none_or(|range| !range.contains(&hit.record));
        let accepted = chosen.left(count, gone).accepted.into_iter().filter(holds);
        let mut votes: Vec<EdgeId> = accepted.map(|hit| EdgeId::Accepted(hit.record)).collect();
        votes.extend(rival.left(count, gone).rejected.iter().map(|hit| EdgeId::Rejected(hit.record)));
        votes
    }

    /// The nearest of these votes of each kind: for the first side, for a third label, and against the second side.
    fn first_votes(&self, sides: &[Voters<'_>; 2], count: usize, gone: &HashSet<EdgeId>) -> Vec<EdgeId> {
        let votes = self.votes(sides, count, &|edge| gone.contains(&edge));
        let own = self.evidence.range(sides[0].side);
        let kind = |edge: &EdgeId| match edge {
            EdgeId::Accepted(number) => usize::from(!own.contains(number)),
            EdgeId::Rejected(_) => 2,
        };
        (0..3).filter_map(|wanted| votes.iter().copied().find(|edge| kind(edge) == wanted)).collect()
    }
}

impl Voters<'_> {
    /// The nearest that are left without some edges.
    fn left(&self, count: usize, gone: &dyn Fn(EdgeId) -> bool) -> Neighbors {
        let nearest = |hits: &[Hit], edge: fn(u32) -> EdgeId| -> Vec<Hit> {
            hits.iter().filter(|hit| !gone(edge(hit.record))).take(count).copied().collect()
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
