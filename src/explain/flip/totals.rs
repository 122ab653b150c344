//! Flip sets under rules by which every training edge counts.

use crate::config::Aggregate;
use crate::error::Result;
use crate::evidence::{EdgeId, Side};
use crate::explain::Explainer;
use crate::rule::{Context, Totals};

impl Explainer {
    /// A small set of edges whose removal flips a ratio of accepted to rejected edges. Edges that support the margin most are
    /// removed first.
    pub(super) fn by_ratio(&self, chosen: &Side, rival: &Side) -> Result<Option<Vec<EdgeId>>> {
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
        // Added up from the end, because subtracting large numbers loses precision.
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

    /// The fewest edges of two labels together: the most similar ones of the chosen label and the least similar ones of the
    /// other.
    pub(super) fn by_means(&self, chosen: &Side, rival: &Side) -> Result<Option<Vec<EdgeId>>> {
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
        // The score that is left after removing the first n edges, for every n.
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
        // The more edges of the chosen label are removed, the fewer of the other need to be.
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
}

/// The fewest parts, largest first, without which the sum is below zero; `None` if there are none.
pub(super) fn shortest_prefix<E: Copy + Ord>(mut parts: Vec<(E, f64)>) -> Option<Vec<E>> {
    parts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    // Added up from the end, because subtracting large numbers loses precision.
    let mut rest = 0.0;
    let mut from = None;
    for (at, (_, part)) in parts.iter().enumerate().rev() {
        rest += part;
        if rest < 0.0 {
            from = Some(at);
        }
    }
    // `from` is the first place from which the rest is below zero. All parts before it are removed.
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
