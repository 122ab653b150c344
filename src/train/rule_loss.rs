//! Learning to decide by a rule: beside the paper's loss, a second one with the scores of the rule.
//!
//! By the NCA rule near support edges count for much and far ones for nothing, so that what an explanation cites
//! carries the decision.

use crate::edge::{EdgeModel, States};
use crate::encoder::Numbered;
use crate::error::Result;
use crate::ops::cross_entropy::{Choice, cross_entropy};
use crate::rule::Scoring;
use candle_core::Tensor;

/// Heads of each word that compete, beside the gold one: a few more than parsing by such a rule considers.
const RIVAL_HEADS: usize = 8;
/// Takes an edge out of its own evidence.
const NEVER: f32 = -1e9;

/// The mean loss of head decisions among the best heads by `scores`, flat as
/// [`candidate_scores`](EdgeModel::candidate_scores) gives them, against support edges `[edges, dims]`.
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

/// The mean loss of label decisions of edges `[edges, dims]` against each other and edges drawn beside them; an edge is
/// no evidence for itself.
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
