//! Training for a rule: a second loss, with the scores of the rule, is added to the paper's loss.
//!
//! Under the NCA rule near support edges dominate the score, so that the edges an explanation cites carry the decision.

use crate::edge::{EdgeModel, States};
use crate::encoder::Numbered;
use crate::error::Result;
use crate::ops::cross_entropy::{Choice, cross_entropy};
use crate::rule::Scoring;
use candle_core::Tensor;

/// Competing heads per word besides the gold head: a few more than the parser considers under such a rule.
const RIVAL_HEADS: usize = 8;
/// Added to the similarity of an edge with itself, so that it is not its own support.
const NEVER: f32 = -1e9;

/// The mean loss of head decisions among the best heads by `scores`, against support edges `[edges, dims]`. `scores` is
/// flat, as returned by [`candidate_scores`](EdgeModel::candidate_scores).
pub(super) fn head_loss(
    rule: &dyn Scoring,
    model: &EdgeModel,
    states: &States,
    sentences: &[&Numbered],
    scores: &[f32],
    support: &Tensor,
) -> Result<Option<Tensor>> {
    let (mut dependents, mut heads, mut choices) = (Vec::new(), Vec::new(), Vec::new());
    let (mut at, mut first) = (0, 0);
    for sentence in sentences {
        let n = sentence.len();
        for word in 1..n {
            let row = &scores[at..at + n];
            let gold = sentence.heads[word];
            let mut rivals: Vec<usize> = (0..n).filter(|&head| head != word && head != gold).collect();
            rivals.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
            rivals.truncate(RIVAL_HEADS);
            choices.push(Choice { start: heads.len(), width: rivals.len() + 1, gold: 0, excluded: None });
            for head in std::iter::once(gold).chain(rivals) {
                dependents.push((first + word) as u32);
                heads.push((first + head) as u32);
            }
            at += n;
        }
        first += n;
    }
    let rows = model.edge_rows(states, &dependents, &heads)?;
    let Some(scores) = rule.training_scores(&model.class_scores(&rows, support)?) else { return Ok(None) };
    Ok(Some(cross_entropy(&scores?, choices)?))
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
        let Some(score) = rule.training_scores(&similarities.narrow(1, start, group.len())?) else { return Ok(None) };
        scores.push(score?);
        start += group.len();
    }
    let width = scores.len();
    let scores = Tensor::stack(&scores, 1)?;
    let choice =
        |(row, label): (usize, &u32)| Choice { start: row * width, width, gold: places[label], excluded: None };
    Ok(Some(cross_entropy(&scores, gold.iter().enumerate().map(choice).collect())?))
}
