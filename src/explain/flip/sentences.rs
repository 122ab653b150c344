//! The training sentences whose removal flips a decision.

use crate::error::Result;
use crate::evidence::{EdgeId, Side};
use crate::explain::Explainer;
use std::collections::{HashMap, HashSet};

impl Explainer {
    /// Sentences whose removal flips the decision: those that contribute most or, if that fails, those of the removed
    /// edges. Under a mean, removing a sentence with a positive contribution can raise the mean of the others.
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
        self.first_sentences(of_edges.collect(), chosen, rival)
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
