//! An analysis: a parse with the scores and states behind it, from which explanations are computed.

use super::{Parse, Parser};
use crate::config::Aggregate;
use crate::edge::States;
use crate::error::Result;
use crate::evidence::Side;
use crate::task::Task;
use std::collections::HashMap;

/// The number of heads per word, best first by the summed support, that non-linear rules choose from.
const CANDIDATE_HEADS: usize = 6;
/// Heads that score lower than the best by more than this are not candidates: by the sum rule, uncalibrated, their
/// probability is below e⁻⁸ of the best one's. Probabilities are fitted to the candidates that this leaves, so another gap
/// would make those of existing bundles wrong.
const CANDIDATE_GAP: f32 = 8.0;
/// So many are candidates in any case, so that there is an alternative.
const FEWEST_CANDIDATES: usize = 2;

/// A parse with the scores and states behind it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Analysis {
    /// The parse.
    pub parse: Parse,
    /// Scores of the heads, `[dependent][head]`; minus infinity for heads that the rule did not consider. The row of
    /// ROOT is not used.
    pub(crate) head_scores: Vec<f32>,
    /// Scores of every label for the chosen head, `[word][label]`, from the first word on.
    pub(crate) label_scores: Vec<f32>,
    /// The states of the sentence under the head model, one row per position.
    pub(super) head_states: States,
    /// The states of the sentence under the label model, one row per position.
    pub(super) label_states: States,
    /// The sides of the heads and of the labels that the rule weighed, by dependent and head, with the neighbours or
    /// densities that it found. Explanations use them again. Empty where summed vectors decide.
    pub(super) sides: [HashMap<(usize, usize), Side>; 2],
}

impl Analysis {
    /// Number of positions, ROOT included.
    pub(crate) fn positions(&self) -> usize {
        self.parse.heads.len()
    }

    /// The scores of all heads of a word.
    pub(crate) fn scores_of_heads(&self, word: usize) -> &[f32] {
        let n = self.positions();
        &self.head_scores[word * n..][..n]
    }

    /// The scores of all labels of a word's edge.
    pub(crate) fn scores_of_labels(&self, word: usize, labels: usize) -> &[f32] {
        &self.label_scores[(word - 1) * labels..][..labels]
    }
}

impl Parser {
    /// Turns an analysis of fast mode into one under the rule in use.
    pub(crate) fn decide(&self, mut analysis: Analysis) -> Result<Analysis> {
        let [heads, labels] = Task::ALL.map(|task| self.by.uses_sums(task));
        if !heads {
            self.decide_heads(&mut analysis)?;
        }
        if !(heads && labels) {
            self.decide_labels(&mut analysis)?;
        }
        self.judge(&mut analysis);
        self.intact()?;
        Ok(analysis)
    }

    /// Computes the probabilities of the choices.
    fn judge(&self, analysis: &mut Analysis) {
        let (n, labels) = (analysis.positions(), self.labels().len());
        let (mut of_heads, mut of_labels) = (vec![1.0; n], vec![1.0; n]);
        for word in 1..n {
            let head = analysis.parse.heads[word];
            of_heads[word] = self.head_probability(analysis.scores_of_heads(word), word, head);
            if let Some(label) = self.label(&analysis.parse.labels[word]) {
                let scores = analysis.scores_of_labels(word, labels);
                of_labels[word] = self.label_probability(scores, head, label);
            }
        }
        analysis.parse.head_probabilities = of_heads;
        analysis.parse.label_probabilities = of_labels;
    }

    /// Decides about heads by comparing the best candidates of fast mode with individual training edges.
    fn decide_heads(&self, analysis: &mut Analysis) -> Result<()> {
        self.require_instances()?;
        let n = analysis.positions();
        let all = self.by.rule.of(Task::Heads).is_linear();
        let considered = if all { n } else { CANDIDATE_HEADS };
        // Sums over many edges have other units than the means that probabilities are made of.
        let gap = if all || self.by.scale.aggregate == Aggregate::Sum { f32::INFINITY } else { CANDIDATE_GAP };
        let mut candidates = Vec::new();
        for word in 1..n {
            let row = analysis.scores_of_heads(word);
            let mut heads: Vec<usize> = (0..n).filter(|&head| head != word).collect();
            heads.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
            let best = heads.first().map_or(0.0, |&head| row[head]);
            let near = |&(rank, head): &(usize, usize)| rank < FEWEST_CANDIDATES || best - row[head] <= gap;
            let near = heads.into_iter().take(considered).enumerate().take_while(near);
            candidates.extend(near.map(|(_, head)| (word, head)));
        }
        analysis.head_scores.fill(f32::NEG_INFINITY);
        self.score_heads(analysis, &candidates)?;
        analysis.parse.heads = self.choose_heads(&analysis.head_scores, n);
        // A tree can need an edge that was not considered.
        let heads = &analysis.parse.heads;
        let unseen = |&word: &usize| analysis.head_scores[word * n + heads[word]] == f32::NEG_INFINITY;
        let needed: Vec<(usize, usize)> = (1..n).filter(unseen).map(|word| (word, heads[word])).collect();
        self.score_heads(analysis, &needed)
    }

    /// Decides about the labels of the edges that were chosen.
    fn decide_labels(&self, analysis: &mut Analysis) -> Result<()> {
        self.require_instances()?;
        let edges: Vec<(usize, usize)> =
            (1..analysis.positions()).map(|word| (word, analysis.parse.heads[word])).collect();
        let sides = self.sides(Task::Labels, analysis, &edges)?;
        let scores = self.evidence()?.label_scores(&self.by, &sides)?;
        self.keep(Task::Labels, analysis, &edges, sides)?;
        analysis.label_scores = scores.iter().flatten().map(|&score| score as f32).collect();
        self.exclude_empty(&mut analysis.label_scores);
        let names = self.labels();
        for (word, head) in edges {
            let scores = analysis.scores_of_labels(word, names.len());
            let label = self.choose_label(scores, head);
            analysis.parse.labels[word].clone_from(&names[label]);
        }
        Ok(())
    }

    /// Scores edges (dependent, head) by the rule in use.
    fn score_heads(&self, analysis: &mut Analysis, edges: &[(usize, usize)]) -> Result<()> {
        let (sides, n) = (self.sides(Task::Heads, analysis, edges)?, analysis.positions());
        let scores = self.evidence()?.head_scores(&self.by, &sides)?;
        for (&(word, head), score) in edges.iter().zip(scores) {
            analysis.head_scores[word * n + head] = score as f32;
        }
        self.keep(Task::Heads, analysis, edges, sides)
    }

    /// Keeps what was found out about edges for explanations, if it is small.
    fn keep(&self, task: Task, analysis: &mut Analysis, edges: &[(usize, usize)], sides: Vec<Side>) -> Result<()> {
        if self.evidence()?.caches_little(&self.by, task) {
            analysis.sides[task as usize].extend(edges.iter().copied().zip(sides));
        }
        Ok(())
    }

    /// The sides of edges (dependent, head) of a sentence, for comparison with all training edges.
    pub(crate) fn sides(&self, task: Task, analysis: &Analysis, edges: &[(usize, usize)]) -> Result<Vec<Side>> {
        let kept = &analysis.sides[task as usize];
        let new: Vec<(usize, usize)> = edges.iter().filter(|edge| !kept.contains_key(edge)).copied().collect();
        let rows = self.vectors(task, analysis, &new)?;
        let dims = self.scorer(task).model().dims();
        let mut rows = rows.chunks(dims.max(1));
        let side = |edge| match kept.get(edge) {
            Some(side) => side.carried_over(),
            None => Side::new(task, rows.next().unwrap_or_default().to_vec(), None),
        };
        Ok(edges.iter().map(side).collect())
    }

    /// The vectors of edges (dependent, head) of a sentence, flat.
    pub fn vectors(&self, task: Task, analysis: &Analysis, edges: &[(usize, usize)]) -> Result<Vec<f32>> {
        if edges.is_empty() {
            return Ok(Vec::new());
        }
        let states = match task {
            Task::Heads => &analysis.head_states,
            Task::Labels => &analysis.label_states,
        };
        let (dependents, heads): (Vec<u32>, Vec<u32>) =
            edges.iter().map(|&(dependent, head)| (dependent as u32, head as u32)).unzip();
        let rows = self.scorer(task).model().edge_rows(states, &dependents, &heads)?;
        Ok(rows.flatten_all()?.to_vec1::<f32>()?)
    }
}
