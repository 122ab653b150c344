//! The training sentences whose removal flips a decision.

use crate::error::Result;
use crate::evidence::{EdgeId, Side};
use crate::explain::Explainer;
use crate::rule::{Compared, Totals};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Sentences that are taken away one by one before the search is given up.
const MOST_SENTENCES: usize = 32;
/// Sets of sentences that are extended at a time.
const SETS: usize = 16;

/// A rest that is a smaller share of the whole than this has too few digits as a difference.
const LITTLE: f64 = 1e-6;

/// What some training edges contribute to a side, and the weights of the accepted ones, added up.
#[derive(Clone, Copy, Default)]
struct Part {
    totals: Totals,
    weight: f64,
}

impl Part {
    fn add(&mut self, edge: EdgeId, part: f64, weight: f64) {
        match edge {
            EdgeId::Accepted(_) => {
                self.totals.accepted += part;
                self.weight += weight;
            }
            EdgeId::Rejected(_) => self.totals.rejected -= part,
        }
    }

    fn plus(self, other: &Self) -> Self {
        let totals = Totals {
            accepted: self.totals.accepted + other.totals.accepted,
            rejected: self.totals.rejected + other.totals.rejected,
        };
        Self { totals, weight: self.weight + other.weight }
    }

    /// What is left without a part of it; `None` if that is too little to be computed as a difference.
    fn minus(self, other: &Self) -> Option<Self> {
        let less = |whole: f64, part: f64| Some(whole - part).filter(|rest| rest.abs() > LITTLE * whole.abs());
        let totals = Totals {
            accepted: less(self.totals.accepted, other.totals.accepted)?,
            rejected: match self.totals.rejected {
                0.0 => 0.0,
                whole => less(whole, other.totals.rejected)?,
            },
        };
        Some(Self { totals, weight: self.weight - other.weight })
    }
}

/// Takes sentences away one by one until nothing is left of the lead, and keeps a few sets that leave the smallest;
/// `None` if something still is left after the last. `leads` gives the lead without each of the candidates and what is
/// gone already.
fn one_by_one(leads: impl Fn(&BTreeSet<u32>) -> Result<Vec<(u32, f64)>>) -> Result<Option<Vec<u32>>> {
    let mut kept: Vec<Vec<u32>> = vec![Vec::new()];
    for _ in 0..MOST_SENTENCES {
        let mut found: Vec<(f64, usize, u32)> = Vec::new();
        for (at, order) in kept.iter().enumerate() {
            let gone = order.iter().copied().collect();
            found.extend(leads(&gone)?.into_iter().map(|(sentence, lead)| (lead, at, sentence)));
        }
        let by_lead =
            |a: &(f64, usize, u32), b: &(f64, usize, u32)| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2)));
        // A set comes from each kept one at most once.
        if found.len() > SETS * SETS {
            found.select_nth_unstable_by(SETS * SETS, by_lead);
            found.truncate(SETS * SETS);
        }
        found.sort_unstable_by(by_lead);
        let extended = |&(_, at, sentence): &(f64, usize, u32)| [&kept[at][..], &[sentence]].concat();
        if let Some(best) = found.first().filter(|(lead, ..)| *lead < 0.0) {
            return Ok(Some(extended(best)));
        }
        let mut seen = HashSet::new();
        let new = |order: &Vec<u32>| seen.insert(order.iter().copied().collect::<BTreeSet<u32>>());
        kept = found.iter().map(extended).filter(new).take(SETS).collect();
    }
    Ok(None)
}

impl Explainer {
    /// Sentences whose removal flips the decision: those that contribute most or, if that fails, those of the removed
    /// edges or, if that fails too, those that leave the smallest lead one after another. Under a vote or a mean, removing
    /// a sentence with a positive contribution can also raise the lead.
    pub(super) fn sentence_set(&self, chosen: &Side, rival: &Side, removed: &[EdgeId]) -> Result<Option<Vec<u32>>> {
        let sentence = |edge: EdgeId| self.edges().sentence_of(edge);
        let mut parts: HashMap<u32, f64> = HashMap::new();
        for (edge, part) in self.margin_parts(chosen, rival)? {
            let Some(sentence) = sentence(edge) else { continue };
            *parts.entry(sentence).or_default() += part;
        }
        // Only positive contributions: removing more of them lowers the margin further.
        let mut order: Vec<(u32, f64)> = parts.into_iter().filter(|(_, part)| *part > 0.0).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let by_part: Vec<u32> = order.into_iter().map(|(sentence, _)| sentence).collect();
        let found = self.first_sentences(by_part, chosen, rival)?;
        if found.is_some() {
            return Ok(found);
        }
        let mut seen = HashSet::new();
        let of_edges = removed.iter().filter_map(|&edge| sentence(edge)).filter(|sentence| seen.insert(*sentence));
        let found = self.first_sentences(of_edges.collect(), chosen, rival)?;
        if found.is_some() {
            return Ok(found);
        }
        let order = match self.rule().of(chosen.task).neighbors() {
            Some(count) => self.one_by_one_by_votes(count, chosen, rival)?,
            None => self.one_by_one_by_totals(chosen, rival)?,
        };
        order.map_or(Ok(None), |order| self.first_sentences(order, chosen, rival))
    }

    /// Sentences that are taken away one by one, where the nearest edges vote.
    fn one_by_one_by_votes(&self, count: usize, chosen: &Side, rival: &Side) -> Result<Option<Vec<u32>>> {
        let own = self.voters(chosen, count)?;
        let other = self.rival_voters(&own, rival, count)?;
        let sides = [own, other];
        let sentence = |edge: EdgeId| self.edges().sentence_of(edge);
        one_by_one(|gone| {
            let goes = |edge, more| sentence(edge).is_some_and(|own| Some(own) == more || gone.contains(&own));
            let votes = self.votes(&sides, count, &|edge| goes(edge, None));
            let candidates: BTreeSet<u32> = votes.into_iter().filter_map(sentence).collect();
            let lead = |own: u32| Ok((own, self.lead(&sides, count, &|edge| goes(edge, Some(own)))?));
            candidates.into_iter().map(lead).collect()
        })
    }

    /// Sentences that are taken away one by one, where all training edges count.
    fn one_by_one_by_totals(&self, chosen: &Side, rival: &Side) -> Result<Option<Vec<u32>>> {
        let (evidence, by) = (&self.evidence, self.parser.by());
        let rule = by.rule.of(chosen.task);
        let mut parts: BTreeMap<u32, [Part; 2]> = BTreeMap::new();
        for (at, side) in [chosen, rival].into_iter().enumerate() {
            for (edge, part) in evidence.contributions(by, side)? {
                let Some(sentence) = self.edges().sentence_of(edge) else { continue };
                parts.entry(sentence).or_default()[at].add(edge, part, evidence.weight(edge));
            }
        }
        let contexts = [evidence.weigh(by, chosen)?.context, evidence.weigh(by, rival)?.context];
        let score = |at: usize, left: Part| {
            // Contributions to a mean are shares of the number of edges, which are fewer now.
            let grown = match contexts[at].compared {
                Compared::Both => 1.0,
                Compared::Accepted | Compared::Label => {
                    by.scale.share(left.weight) / by.scale.share(contexts[at].count)
                }
            };
            rule.score(Totals { accepted: left.totals.accepted * grown, ..left.totals }, &contexts[at])
        };
        one_by_one(|gone| {
            by.interrupt.check()?;
            let left: Vec<(u32, &[Part; 2])> =
                parts.iter().filter(|(own, _)| !gone.contains(own)).map(|(own, part)| (*own, part)).collect();
            let sum = |at: usize, without: Option<u32>| {
                left.iter()
                    .filter(|(own, _)| Some(*own) != without)
                    .fold(Part::default(), |sum, (_, part)| sum.plus(&part[at]))
            };
            let all = [sum(0, None), sum(1, None)];
            let lead = |&(own, part): &(u32, &[Part; 2])| {
                // Where little is left it is added up again, because a difference of large numbers has no digits of it.
                let [chosen, rival] =
                    [0, 1].map(|at| score(at, all[at].minus(&part[at]).unwrap_or_else(|| sum(at, Some(own)))));
                Ok((own, chosen - rival))
            };
            left.iter().map(lead).collect()
        })
    }

    /// The shortest prefix of the sentences that flips the decision, by bisection; `None` if not even all of them do.
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
