//! How suspicious an edge is: a sum of four numbers, and the share of real errors to expect at such a sum.
//!
//! 1. and 2. The log odds of another label against the edge's own, among the nearest edges by the label model, and by
//!    the head model. The two models saw different losses, so an error that one has learned by heart can stand out in the other.
//! 3. Half the log odds of the best other head against the edge's own, each by its nearest accepted and rejected edges.
//! 4. Minus half the log of how often neighbours say that other label of edges with this label. Where two labels are
//!    confused everywhere, the distinction is hard, and a single disagreement says little.
//!
//! `docs/howto/audit.md` says how this was chosen and what it measures.

use citree_index::Hit;
use std::collections::HashMap;

/// How many of the nearest edges vote on a label.
pub(super) const NEIGHBORS: usize = 20;
/// How many of the nearest accepted and how many of the nearest rejected edges vote on a head.
pub(super) const HEAD_NEIGHBORS: usize = 10;
/// Added to shares, so that a label without a vote has finite odds.
const PRIOR: f64 = 0.05;
/// Added to rates of confusion, for pairs of labels that are hardly ever confused.
const RARE: f64 = 0.001;
/// Edges below this sum of label odds and odds against the head are no findings, and their rivals are not looked at.
const DOUBTED: f64 = -5.0;
/// The slope and the offset that turn the sum of a finding into an expected share of errors, fitted on documents of
/// English-EWT 2.7.
const EXPECTED: [f64; 2] = [0.15, -1.48];

/// What the nearest edges say about an edge. Pairs are of the label model and of the head model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Votes {
    /// How many voted.
    pub all: [usize; 2],
    /// How many have the edge's own label.
    pub own: [usize; 2],
    /// How many have the other label.
    pub other: [usize; 2],
    /// The log odds of the edge's head.
    pub head: f64,
}

impl Votes {
    /// The votes of neighbours, given by their labels, and the other label that has most. `None` if all have the own label.
    pub(super) fn count(own: u32, labels: [&[u32]; 2]) -> (Self, Option<u32>) {
        let share = |label: u32| -> f64 {
            labels
                .iter()
                .map(|votes| votes.iter().filter(|&&vote| vote == label).count() as f64 / votes.len().max(1) as f64)
                .sum()
        };
        let mut others: Vec<u32> = labels.concat().into_iter().filter(|&label| label != own).collect();
        others.sort_unstable();
        others.dedup();
        // Ties go to the first label.
        let other = others.into_iter().reduce(|best, label| if share(label) > share(best) { label } else { best });
        let count = |label: Option<u32>| labels.map(|votes| votes.iter().filter(|&&vote| Some(vote) == label).count());
        (Self { all: labels.map(<[u32]>::len), own: count(Some(own)), other: count(other), head: 0.0 }, other)
    }

    fn share(&self, votes: [usize; 2], at: usize) -> f64 {
        votes[at] as f64 / self.all[at].max(1) as f64
    }

    /// The log odds of the other label, by both models together.
    fn label_odds(&self) -> f64 {
        let odds = |at| ((self.share(self.other, at) + PRIOR) / (self.share(self.own, at) + PRIOR)).ln();
        odds(0) + odds(1)
    }

    /// Whether the other label has more votes than the own one.
    pub(super) fn say_another_label(&self) -> bool {
        let both = |votes| self.share(votes, 0) + self.share(votes, 1);
        both(self.other) > both(self.own)
    }

    /// Whether anything is in doubt, so that other heads are worth a look.
    pub(super) fn doubt(&self) -> bool {
        self.label_odds() - self.head > DOUBTED
    }

    /// How suspicious the edge is. `rival` has the log odds of the best other head, and `confusion` is the rate at which
    /// neighbours of edges with this label have the other one.
    pub(super) fn suspicion(&self, rival: Option<f64>, confusion: f64) -> f64 {
        let head = rival.map_or(0.0, |rival| rival - self.head);
        self.label_odds() + 0.5 * head - 0.5 * (confusion + RARE).ln()
    }
}

/// How often the nearest edges of edges with one label have another one, by the label model.
#[derive(Debug, Default)]
pub(super) struct Confusion {
    /// The shares of the second label around edges with the first, added up.
    shares: HashMap<(u32, u32), f64>,
    /// How many edges have a label.
    edges: HashMap<u32, f64>,
}

impl Confusion {
    /// Adds an edge, given by its label and those of its neighbours.
    pub(super) fn add(&mut self, own: u32, neighbors: &[u32]) {
        *self.edges.entry(own).or_default() += 1.0;
        for &label in neighbors {
            *self.shares.entry((own, label)).or_default() += 1.0 / neighbors.len() as f64;
        }
    }

    /// The mean share of another label around edges with a label; 0 if there is no other.
    pub(super) fn rate(&self, own: u32, other: Option<u32>) -> f64 {
        let shares = other.and_then(|other| self.shares.get(&(own, other)));
        shares.map_or(0.0, |shares| shares / self.edges.get(&own).copied().unwrap_or(1.0))
    }
}

/// The log odds of a head by its nearest accepted and rejected edges; 0 if there are none of one kind. `factor` scales
/// similarities as the model does.
pub(super) fn head_odds(accepted: &[Hit], rejected: &[Hit], factor: f64) -> f64 {
    let weight = |hits: &[Hit]| {
        let scaled = || hits.iter().take(HEAD_NEIGHBORS).map(|hit| factor * f64::from(hit.similarity));
        let highest = scaled().fold(f64::NEG_INFINITY, f64::max);
        highest + scaled().map(|own| (own - highest).exp()).sum::<f64>().ln()
    };
    if accepted.is_empty() || rejected.is_empty() { 0.0 } else { weight(accepted) - weight(rejected) }
}

/// The share of real errors to expect among edges that are so suspicious.
pub(super) fn expected(suspicion: f64) -> f64 {
    let [slope, offset] = EXPECTED;
    1.0 / (1.0 + (-(slope * suspicion + offset)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMOD: u32 = 1;
    const COMPOUND: u32 = 2;
    const FLAT: u32 = 3;

    fn votes(labels: &[u32], by_heads: &[u32]) -> Votes {
        Votes::count(COMPOUND, [labels, by_heads]).0
    }

    #[test]
    fn the_label_with_most_votes_in_both_spaces_is_suggested() {
        let (votes, other) = Votes::count(COMPOUND, [&[AMOD, AMOD, FLAT, COMPOUND], &[FLAT, FLAT, FLAT, COMPOUND]]);
        assert_eq!((votes.all, votes.own, votes.other, other), ([4, 4], [1, 1], [1, 3], Some(FLAT)));
        assert!(votes.say_another_label());
        assert_eq!(Votes::count(COMPOUND, [&[COMPOUND], &[]]).1, None);
    }

    #[test]
    fn more_votes_for_another_label_a_likelier_rival_and_a_rarer_confusion_are_more_suspicious() {
        let (few, many) = (votes(&[AMOD, COMPOUND, COMPOUND], &[]), votes(&[AMOD, AMOD, COMPOUND], &[]));
        assert!(many.suspicion(None, 0.1) > few.suspicion(None, 0.1));
        assert!(few.suspicion(Some(1.0), 0.1) > few.suspicion(Some(0.5), 0.1));
        assert!(few.suspicion(None, 0.01) > few.suspicion(None, 0.1));
    }

    #[test]
    fn confusion_is_a_mean_over_all_edges_with_a_label() {
        let mut confusion = Confusion::default();
        confusion.add(COMPOUND, &[AMOD, AMOD, COMPOUND, FLAT]);
        confusion.add(COMPOUND, &[COMPOUND]);
        confusion.add(AMOD, &[COMPOUND]);
        assert_eq!([Some(AMOD), Some(FLAT), None].map(|other| confusion.rate(COMPOUND, other)), [0.25, 0.125, 0.0]);
        assert_eq!(confusion.rate(FLAT, Some(AMOD)), 0.0);
    }

    #[test]
    fn an_edge_that_all_neighbours_have_as_it_is_is_not_doubted_unless_its_head_is() {
        let sure = votes(&[COMPOUND; 20], &[COMPOUND; 20]);
        assert!(!sure.doubt());
        assert!(Votes { head: -1.5, ..sure }.doubt());
    }

    #[test]
    fn nearer_accepted_edges_speak_for_a_head_and_nearer_rejected_ones_against_it() {
        let hit = |similarity| [Hit { record: 0, similarity }];
        assert!(head_odds(&hit(0.9), &hit(0.8), 64.0) > 0.0);
        assert!(head_odds(&hit(0.8), &hit(0.9), 64.0) < 0.0);
        assert_eq!(head_odds(&hit(0.8), &[], 64.0), 0.0);
    }

    #[test]
    fn what_is_expected_grows_with_suspicion_and_stays_a_share() {
        let shares = [-20.0, -5.0, 0.0, 5.0, 20.0].map(expected);
        assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
    }
}
