//! Training for a rule: a second loss, with the scores of the rule, is added to the paper's loss.
//!
//! Under such a rule near support edges dominate the score, so that the edges an explanation cites carry the decision.
//! The batch holds both kinds: the gold edges of its sentences, and the hardest wrong heads of their words. A candidate
//! head is not compared with the batch's edges of its own sentence, because a parsed sentence is not in the treebank
//! either.

use crate::edge::{EdgeModel, States, best_wrong_heads};
use crate::encoder::Numbered;
use crate::error::Result;
use crate::ops::cross_entropy::{Choice, cross_entropy};
use crate::rule::Scoring;
use candle_core::Tensor;

/// Competing heads per word besides the gold head.
const RIVAL_HEADS: usize = 4;
/// How many of them, the hardest ones, are rejected edges for the other sentences.
const REJECTED: usize = 1;
/// Added to the similarity of an edge with those that must not support it.
const NEVER: f32 = -1e9;

/// The accepted edges that candidates are compared with.
#[derive(Clone, Copy)]
pub(super) struct Support<'a> {
    /// `[edges, dims]`.
    pub rows: &'a Tensor,
    /// Whether these are the gold edges of the query sentences themselves, in order.
    pub own: bool,
}

/// The mean loss of head decisions among the best heads by `scores`, against accepted support edges and the rejected
/// edges of the other sentences. `scores` is flat, as returned by
/// [`candidate_scores`](EdgeModel::candidate_scores). `None` if the rule has no loss, or there is one sentence only.
pub(super) fn head_loss(
    rule: &dyn Scoring,
    model: &EdgeModel,
    states: &States,
    sentences: &[&Numbered],
    scores: &[f32],
    support: Support<'_>,
) -> Result<Option<Tensor>> {
    if sentences.len() < 2 {
        return Ok(None);
    }
    let (mut dependents, mut heads, mut choices) = (Vec::new(), Vec::new(), Vec::new());
    // The sentence of each candidate, of each gold edge and of each rejected edge, which are candidates too.
    let (mut of_candidates, mut of_gold, mut of_rejected, mut rejected) = (vec![], vec![], vec![], vec![]);
    let (mut at, mut first) = (0, 0);
    for (place, sentence) in sentences.iter().enumerate() {
        let n = sentence.len();
        for word in 1..n {
            let gold = sentence.heads[word];
            let rivals = best_wrong_heads(&scores[at..at + n], word, gold, RIVAL_HEADS);
            choices.push(Choice { start: heads.len(), width: rivals.len() + 1, gold: 0, excluded: None });
            of_gold.push(place);
            for (rank, head) in std::iter::once(gold).chain(rivals).enumerate() {
                if (1..=REJECTED).contains(&rank) {
                    rejected.push(heads.len() as u32);
                    of_rejected.push(place);
                }
                dependents.push((first + word) as u32);
                heads.push((first + head) as u32);
                of_candidates.push(place);
            }
            at += n;
        }
        first += n;
    }
    let rows = model.edge_rows(states, &dependents, &heads)?;
    let own: &[usize] = if support.own { &of_gold } else { &[] };
    let accepted =
        (model.class_scores(&rows, support.rows)? + apart(&of_candidates, own, support.rows.dim(0)?, &rows)?)?;
    // A sentence of one word has no wrong head. Rejected edges of one sentence alone would support no other.
    let several = of_rejected.first() != of_rejected.last();
    let against = match rule.counts_rejected() && several {
        true => {
            let rows_of_rejected = rows.index_select(&Tensor::new(rejected, rows.device())?, 0)?;
            let masked = apart(&of_candidates, &of_rejected, of_rejected.len(), &rows)?;
            Some((model.class_scores(&rows, &rows_of_rejected)? + masked)?)
        }
        false => None,
    };
    let Some(scores) = rule.training_scores(&accepted, against.as_ref()) else { return Ok(None) };
    Ok(Some(cross_entropy(&scores?, choices)?))
}

/// What keeps candidates and support edges of the same sentence apart, `[candidates, edges]`: nothing where `of_edges`
/// is empty.
fn apart(of_candidates: &[usize], of_edges: &[usize], edges: usize, like: &Tensor) -> Result<Tensor> {
    let mut values = vec![0_f32; of_candidates.len() * edges];
    if !of_edges.is_empty() {
        for (row, candidate) in values.chunks_exact_mut(edges.max(1)).zip(of_candidates) {
            row.iter_mut().zip(of_edges).filter(|(_, edge)| *edge == candidate).for_each(|(value, _)| *value = NEVER);
        }
    }
    Ok(Tensor::from_vec(values, (of_candidates.len(), edges), like.device())?.to_dtype(like.dtype())?)
}

/// The mean loss of the label decisions of edges `[edges, dims]`. The support is all other edges and the drawn ones.
pub(super) fn label_loss(
    rule: &dyn Scoring,
    model: &EdgeModel,
    rows: &Tensor,
    gold: &[u32],
    drawn: Option<(&Tensor, &[u32])>,
) -> Result<Option<Tensor>> {
    let support = match drawn {
        Some((drawn, _)) => Tensor::cat(&[rows, drawn], 0)?,
        None => rows.clone(),
    };
    let labels: Vec<u32> = gold.iter().chain(drawn.map_or(&[][..], |(_, labels)| labels)).copied().collect();
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&edge| labels[edge]);
    let mut own = vec![0_f32; gold.len() * labels.len()];
    for (column, &edge) in order.iter().enumerate().filter(|(_, edge)| **edge < gold.len()) {
        own[edge * labels.len() + column] = NEVER;
    }
    let own = Tensor::from_vec(own, (gold.len(), labels.len()), rows.device())?.to_dtype(rows.dtype())?;
    let ids: Vec<u32> = order.iter().map(|&edge| edge as u32).collect();
    let support = support.index_select(&Tensor::new(ids, rows.device())?, 0)?;
    let similarities = (model.class_scores(rows, &support)? + own)?;
    let (mut scores, mut places, mut start) = (Vec::new(), std::collections::HashMap::new(), 0);
    for group in order.chunk_by(|&a, &b| labels[a] == labels[b]) {
        places.insert(labels[group[0]], scores.len());
        let Some(score) = rule.training_scores(&similarities.narrow(1, start, group.len())?, None) else {
            return Ok(None);
        };
        scores.push(score?);
        start += group.len();
    }
    let width = scores.len();
    let scores = Tensor::stack(&scores, 1)?;
    let choice =
        |(row, label): (usize, &u32)| Choice { start: row * width, width, gold: places[label], excluded: None };
    Ok(Some(cross_entropy(&scores, gold.iter().enumerate().map(choice).collect())?))
}
