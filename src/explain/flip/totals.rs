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
        if by_mean && evidence.has_weights() {
            return self.by_weighted_means(chosen, rival);
        }
        let rule = by.rule.of(chosen.task);
        let sorted = |side: &Side| -> Result<Vec<(EdgeId, f64)>> {
            let similarities = evidence.similarities(side)?;
            let context = Context { count: 1.0, ..evidence.context(by, side)? };
            let all = evidence.range(side).map(EdgeId::Accepted).zip(similarities.iter().copied());
            let mut weights: Vec<(EdgeId, f64)> = all
                .filter(|(edge, _)| evidence.counts(*edge))
                .map(|(edge, similarity)| (edge, evidence.weight(edge) * rule.contribution(similarity, &context)))
                .collect();
            weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            Ok(weights)
        };
        let (own, mut other) = (sorted(chosen)?, sorted(rival)?);
        other.reverse();
        let weights = |some: &[(EdgeId, f64)]| some.iter().map(|(_, weight)| *weight).collect::<Vec<_>>();
        let edges = |some: &[(EdgeId, f64)], number: usize| some[..number].iter().map(|w| w.0).collect::<Vec<_>>();
        let fewest = fewest(&weights(&own), &weights(&other), by_mean);
        Ok(fewest.map(|(gone, taken)| [edges(&other, taken), edges(&own, gone)].concat()))
    }

    /// The fewest of the most similar edges of the chosen label without which its weighted mean is below that of the other.
    fn by_weighted_means(&self, chosen: &Side, rival: &Side) -> Result<Option<Vec<EdgeId>>> {
        let (evidence, by) = (&self.evidence, self.parser.by());
        let mut parts = evidence.contributions(by, chosen)?;
        let rank = |(edge, part): &(EdgeId, f64)| part / evidence.weight(*edge);
        parts.sort_by(|a, b| rank(b).total_cmp(&rank(a)).then(a.0.cmp(&b.0)));
        // Contributions to a mean are shares of the weight of all.
        let whole = evidence.context(by, chosen)?.count;
        let other = evidence.total(by, rival)?;
        let (mut sum, mut weight, mut from) = (0.0, 0.0, None);
        for (at, (edge, part)) in parts.iter().enumerate().rev() {
            sum += part * whole;
            weight += evidence.weight(*edge);
            if sum / weight < other {
                from = Some(at);
            }
        }
        Ok(from.map(|at| parts[..at].iter().map(|(edge, _)| *edge).collect()))
    }
}

/// How many of the own weights, largest first, and how many of the others, smallest first, have to go until less is left of
/// the own than of the others: as few of both together as possible. What is left is added up, or its mean taken.
fn fewest(own: &[f64], other: &[f64], by_mean: bool) -> Option<(usize, usize)> {
    let (own_left, other_left) = (left_after(own, by_mean), left_after(other, by_mean));
    // A mean rises with every smallest one that goes, a sum only with those below zero. One has to stay.
    let most = if by_mean { other.len() } else { other.partition_point(|weight| *weight < 0.0) };
    let mut taken = most.min(other.len().saturating_sub(1));
    let mut best: Option<(usize, usize)> = None;
    for (gone, own_score) in own_left.iter().enumerate() {
        if *own_score >= other_left[taken] {
            continue;
        }
        // Fewer of the others have to go the more of the own are gone.
        while taken > 0 && *own_score < other_left[taken - 1] {
            taken -= 1;
        }
        if best.is_none_or(|(a, b)| gone + taken < a + b) {
            best = Some((gone, taken));
        }
    }
    best
}

/// What is left after taking the first so many weights away, none to all: the sum, or the mean. Added up from the end,
/// so that nothing is lost by taking large numbers away from each other.
fn left_after(weights: &[f64], by_mean: bool) -> Vec<f64> {
    let mut left = vec![0.0; weights.len() + 1];
    for (at, weight) in weights.iter().enumerate().rev() {
        left[at] = left[at + 1] + weight;
    }
    if by_mean {
        left.iter_mut().zip((1..=weights.len()).rev()).for_each(|(left, number)| *left /= number as f64);
    }
    left
}

/// The fewest parts whose removal leaves less than nothing, largest first; `None` if none do.
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

    /// The smallest number of weights that have to go, by trying all.
    fn by_trying(own: &[f64], other: &[f64], by_mean: bool) -> Option<usize> {
        let left = |some: &[f64]| {
            let sum: f64 = some.iter().rev().sum();
            if by_mean { sum / some.len().max(1) as f64 } else { sum }
        };
        let pairs = (0..=own.len()).flat_map(|gone| (0..other.len()).map(move |taken| (gone, taken)));
        let works = pairs.filter(|&(gone, taken)| left(&own[gone..]) < left(&other[taken..]));
        works.map(|(gone, taken)| gone + taken).min()
    }

    #[test]
    fn small_weights_decide_once_the_large_ones_are_gone_and_no_digit_of_them_is_lost() {
        // Taking 1 and 0.7 away from the sum of all would leave the last digits of 1.7, a hundred times as much as is there.
        let (own, other) = ([1.0, 0.7, 3.00e-18, 2.98e-18], [2.97e-18, 2.99e-18, 2.995e-18]);
        assert_eq!(left_after(&own, false)[2], 3.00e-18 + 2.98e-18);
        assert_eq!(left_after(&own, true)[2..], [2.99e-18, 2.98e-18, 0.0]);
        // The mean of the small ones is 2.99, that of the others 2.985, and 2.9925 without the smallest of them.
        assert_eq!(fewest(&own, &other, true), Some((2, 1)));
        assert_eq!(fewest(&own[..3], &other, true), Some((3, 0)));
        assert_eq!(fewest(&[1.0, 0.7, 2.99e-18, 2.98e-18, 2.98e-18], &other, true), Some((2, 0)));
        assert_eq!(fewest(&own, &other, false), Some((2, 0)));
    }

    #[test]
    fn no_fewer_weights_do_it_by_a_sum_or_by_a_mean() {
        let mut random = crate::random::Random::new(5);
        let mut found = 0;
        for round in 0..400 {
            let mut draw = |most: usize, spread: i32| -> Vec<f64> {
                let number = 1 + random.below(most);
                (0..number)
                    .map(|_| f64::from(random.normal()) * 10f64.powi(-(random.below(spread as usize) as i32)))
                    .collect()
            };
            let (mut own, mut other) = (draw(6, 1 + round % 20), draw(6, 1 + round % 20));
            own.sort_by(|a, b| b.total_cmp(a));
            other.sort_by(f64::total_cmp);
            for by_mean in [false, true] {
                let fewest = fewest(&own, &other, by_mean).map(|(gone, taken)| gone + taken);
                assert_eq!(fewest, by_trying(&own, &other, by_mean), "{own:?} {other:?}, by mean: {by_mean}");
                found += usize::from(fewest.is_some());
            }
        }
        assert!(found > 400, "{found}");
    }

    #[test]
    fn the_shortest_prefix_leaves_less_than_nothing_and_one_fewer_does_not() {
        let parts = vec![(0, 5.0), (1, -4.0), (2, 3.0), (3, -1.0)];
        assert_eq!(shortest_prefix(parts), Some(vec![0]));
        assert_eq!(shortest_prefix(vec![(0, 1.0), (1, 2.0)]), None);
        assert_eq!(shortest_prefix(vec![(0, -1.0)]), Some(vec![]));
    }
}
