//! Reading sentences by the rule in use: scores of heads and labels from which everything else follows.

use super::{Explainer, Inference, Side};
use crate::edge::EdgeModel;
use crate::edge::States;
use crate::error::Result;
use crate::parse::{Analysis, Parse, probability};
use crate::support::Task;
use crate::treebank::Sentence;
use rayon::prelude::*;

/// Heads of each word, the best by the summed support, that other rules choose from.
pub const SHORTLIST: usize = 6;
/// Queries that share a pass over all training edges.
const TOGETHER: usize = 32;

/// A sentence as the rule in use reads it.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What it decides.
    pub parse: Parse,
    /// Scores of the heads, `[dependent][head]`, minus infinity for those the rule did not look at.
    pub head_scores: Vec<f32>,
    /// Scores of every label for the head that was chosen, `[word][label]`, from the first word on.
    pub label_scores: Vec<f32>,
    head_states: States,
    label_states: States,
}

impl Reading {
    /// Positions, ROOT included.
    pub fn positions(&self) -> usize {
        self.parse.heads.len()
    }
}

impl Explainer {
    /// Reads sentences, in their order; `None` for one without words.
    pub fn read(&self, sentences: &[Sentence]) -> Result<Vec<Option<Reading>>> {
        self.require_instances()?;
        let analyses = self.parser.analyse(sentences)?;
        let read = |analysis: Option<Analysis>| analysis.map(|analysis| self.reading(analysis)).transpose();
        analyses.into_par_iter().map(read).collect()
    }

    /// What the parser found in a sentence as the rule in use reads it.
    pub fn reading(&self, analysis: Analysis) -> Result<Reading> {
        let Analysis { parse, head_scores, label_scores, head_states, label_states } = analysis;
        let reading = Reading { parse, head_scores, label_scores, head_states, label_states };
        match self.inference() {
            Inference::Sum if !self.settings.exact => Ok(reading),
            _ => {
                self.require_instances()?;
                self.reread(reading)
            }
        }
    }

    /// Decides anew by comparing with the training edges themselves.
    fn reread(&self, mut reading: Reading) -> Result<Reading> {
        let n = reading.positions();
        let mut candidates = Vec::new();
        let considered = if self.inference() == Inference::Sum { n } else { SHORTLIST };
        for word in 1..n {
            let row = &reading.head_scores[word * n..][..n];
            let mut heads: Vec<usize> = (0..n).filter(|&head| head != word).collect();
            heads.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
            candidates.extend(heads.into_iter().take(considered).map(|head| (word, head)));
        }
        let rows = self.vectors(Task::Heads, &reading, &candidates)?;
        reading.head_scores.fill(f32::NEG_INFINITY);
        for (&(word, head), score) in candidates.iter().zip(self.head_evidence(&rows)?) {
            reading.head_scores[word * n + head] = score as f32;
        }
        reading.parse.heads = self.parser.choose_heads(&reading.head_scores, n);
        // A tree may need an edge that was not considered.
        let heads = &reading.parse.heads;
        let unseen = |&word: &usize| reading.head_scores[word * n + heads[word]] == f32::NEG_INFINITY;
        let needed: Vec<(usize, usize)> = (1..n).filter(unseen).map(|word| (word, heads[word])).collect();
        if !needed.is_empty() {
            let rows = self.vectors(Task::Heads, &reading, &needed)?;
            for (&(word, head), score) in needed.iter().zip(self.head_evidence(&rows)?) {
                reading.head_scores[word * n + head] = score as f32;
            }
        }
        let edges: Vec<(usize, usize)> = (1..n).map(|word| (word, reading.parse.heads[word])).collect();
        let dims = self.model(Task::Labels).dims();
        let rows = self.vectors(Task::Labels, &reading, &edges)?;
        let names = self.parser.tables().vocabulary.labels();
        let mut label_scores = Vec::with_capacity(edges.len() * names.len());
        for block in rows.chunks(TOGETHER * dims) {
            let sides: Vec<Side> = block.chunks(dims).map(|row| Side::new(Task::Labels, row.to_vec(), None)).collect();
            if !matches!(self.inference(), Inference::Knn { .. }) {
                self.evidence.compare(&sides.iter().collect::<Vec<_>>())?;
            }
            for side in &sides {
                label_scores.extend(self.label_evidence(side)?.into_iter().map(|score| score as f32));
            }
        }
        for (scores, &(word, head)) in label_scores.chunks(names.len().max(1)).zip(&edges) {
            let label = self.parser.choose_label(scores, head);
            reading.parse.labels[word].clone_from(&names[label]);
            reading.parse.label_probabilities[word] = probability(scores, None, label);
            let head_scores = &reading.head_scores[word * n..][..n];
            reading.parse.head_probabilities[word] = probability(head_scores, Some(word), head);
        }
        reading.label_scores = label_scores;
        Ok(reading)
    }

    /// The scores of edges as heads, by the rule in use.
    fn head_evidence(&self, rows: &[f32]) -> Result<Vec<f64>> {
        let dims = self.model(Task::Heads).dims();
        let mut scores = Vec::with_capacity(rows.len() / dims.max(1));
        let (evidence, inference) = (&self.evidence, self.inference());
        for block in rows.chunks(TOGETHER * dims) {
            let all = Side::new(Task::Heads, block[..dims].to_vec(), None);
            let (range, count) = (evidence.range(&all), evidence.count(&all));
            if let Inference::Knn { neighbors } = inference {
                for hits in evidence.nearest_of_all(Task::Heads, block, neighbors)? {
                    let total = hits.iter().map(|hit| evidence.weight(inference, hit.similarity, count)).sum();
                    scores.push(evidence.score(inference, total));
                }
            } else {
                let similarities = evidence.edges().space(Task::Heads).similarities(block, range)?;
                let each = similarities.len() / (block.len() / dims);
                for query in 0..block.len() / dims {
                    let total = evidence.density(inference, &similarities[query * each..][..each], 0, count);
                    scores.push(evidence.score(inference, total));
                }
            }
        }
        Ok(scores)
    }

    /// The scores of all labels for one edge, by the rule in use.
    pub(super) fn label_evidence(&self, all: &Side) -> Result<Vec<f64>> {
        let (evidence, inference) = (&self.evidence, self.inference());
        let labels = self.parser.tables().vocabulary.labels().len() as u32;
        let side = |label| all.with_label(Some(label));
        if inference == Inference::Sum && !self.settings.exact {
            return Ok((0..labels).map(|label| evidence.summed(&side(label))).collect());
        }
        if let Inference::Knn { .. } = inference {
            let voters = evidence.voters(inference, all)?;
            let vote = |label| {
                let range = evidence.range(&side(label));
                let votes = voters.iter().filter(|hit| range.contains(&hit.record));
                votes.map(|hit| evidence.weight(inference, hit.similarity, 1)).fold(0.0, std::ops::Add::add)
            };
            return Ok((0..labels).map(vote).collect());
        }
        let similarities = evidence.similarities(all)?;
        let score = |label| {
            let side = side(label);
            let range = evidence.range(&side);
            let part = &similarities[range.start as usize..range.end as usize];
            evidence.score(inference, evidence.density(inference, part, range.start, evidence.count(&side)))
        };
        Ok((0..labels).map(score).collect())
    }

    /// The vectors of edges (dependent, head) of a sentence, flat.
    pub fn vectors(&self, task: Task, reading: &Reading, edges: &[(usize, usize)]) -> Result<Vec<f32>> {
        let states = match task {
            Task::Heads => &reading.head_states,
            Task::Labels => &reading.label_states,
        };
        let (dependents, heads): (Vec<u32>, Vec<u32>) =
            edges.iter().map(|&(dependent, head)| (dependent as u32, head as u32)).unzip();
        Ok(self.model(task).edge_rows(states, &dependents, &heads)?.flatten_all()?.to_vec1::<f32>()?)
    }

    fn model(&self, task: Task) -> &EdgeModel {
        self.parser.scorer(task).model()
    }
}
