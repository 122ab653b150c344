//! Fast mode: heads and labels for whole sentences, from scores against the summed support.

pub mod tree;

use crate::config::Aggregate;
use crate::edge::States;
use crate::encoder::{Batch, Numbered, Pretrained, length_batches};
use crate::error::{Error, Result};
use crate::model::{Model, Tables};
use crate::score::{Scorer, best};
use crate::support::{Task, support_rows};
use crate::treebank::Sentence;
use candle_core::Device;
use citree_index::sums::Sums;
use rayon::prelude::*;

/// Longer sentences are refused: the candidates grow with the square of the length.
pub const MOST_WORDS: usize = 4000;

/// How heads are chosen from their scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decode {
    /// The best tree with one root; its root edge, and no other, is labelled `root`.
    #[default]
    Tree,
    /// The best head of every word by itself, as in the paper; may not be a tree.
    Greedy,
}

/// A parse with all that led to it.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// What the parser decided.
    pub parse: Parse,
    /// Scores of every candidate head, `[dependent][head]`; the row of ROOT means nothing.
    pub head_scores: Vec<f32>,
    /// Scores of every label for the head that was chosen, `[word][label]`, from the first word on.
    pub label_scores: Vec<f32>,
    /// The sentence as the head model sees it, a row a position.
    pub head_states: States,
    /// The sentence as the label model sees it, a row a position.
    pub label_states: States,
}

/// A parser ready to run; cheap to clone, safe to share.
#[derive(Clone, Debug)]
pub struct Parser {
    tables: Tables,
    pretrained: Pretrained,
    /// Whether both scorers have the same encoder, which then runs once.
    shared: bool,
    heads: Scorer,
    labels: Scorer,
    decode: Decode,
    /// The label of edges from ROOT in UD, if the treebank has it.
    root: Option<usize>,
}

/// What the parser says of one sentence. All vectors start at ROOT, whose values mean nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Parse {
    /// Head of every word.
    pub heads: Vec<usize>,
    /// Label of every edge.
    pub labels: Vec<String>,
    /// Probability of the head among all positions.
    pub head_probabilities: Vec<f32>,
    /// Probability of the label among all labels.
    pub label_probabilities: Vec<f32>,
}

impl Parser {
    /// A parser from a model; `aggregate` other than the one it was trained with is for experiments.
    pub fn new(model: &Model, decode: Decode, aggregate: Aggregate, device: &Device) -> Result<Self> {
        let scorers = [model.heads.scorer(aggregate, device)?, model.labels.scorer(aggregate, device)?];
        Ok(Self::with_scorers(model, decode, scorers))
    }

    /// A parser that compares with another support than the one its model was trained on.
    pub fn with_support(
        model: &Model,
        decode: Decode,
        aggregate: Aggregate,
        support: impl Fn(Task) -> Sums,
        device: &Device,
    ) -> Result<Self> {
        let scorer = |task, edges| Scorer::new(edges, support_rows(&support(task), aggregate, device)?);
        let scorers = [scorer(Task::Heads, &model.heads.edges)?, scorer(Task::Labels, &model.labels.edges)?];
        Ok(Self::with_scorers(model, decode, scorers))
    }

    fn with_scorers(model: &Model, decode: Decode, [heads, labels]: [Scorer; 2]) -> Self {
        let root = model.tables.vocabulary.labels().iter().position(|label| label == "root");
        let (tables, pretrained) = (model.tables.clone(), model.pretrained.clone());
        Self { tables, pretrained, shared: model.config.share_encoder, heads, labels, decode, root }
    }

    /// Cuts a line of plain text into the words of one sentence, as the training treebank would.
    pub fn split(&self, line: &str) -> Sentence {
        self.tables.splits.split(line)
    }

    /// Parses sentences, in their order. What they have as heads and labels is not looked at.
    pub fn parse(&self, sentences: &[Sentence]) -> Result<Vec<Parse>> {
        let analyses = self.analyse(sentences)?;
        Ok(analyses.into_iter().map(|analysis| analysis.map_or_else(Parse::empty, |analysis| analysis.parse)).collect())
    }

    /// Parses sentences and keeps what led to each parse; `None` for a sentence without words.
    pub fn analyse(&self, sentences: &[Sentence]) -> Result<Vec<Option<Analysis>>> {
        if let Some(sentence) = sentences.iter().find(|s| s.words().len() > MOST_WORDS) {
            return Err(Error::SentenceTooLong {
                sentence: sentence.sent_id().unwrap_or("(no sent_id)").to_string(),
                words: sentence.words().len(),
                most: MOST_WORDS,
            });
        }
        let numbered = self.number(sentences)?;
        let batches = length_batches(&numbered);
        let analysed: Result<Vec<Vec<Analysis>>> =
            batches.par_iter().map(|batch| self.analyse_batch(&numbered, batch)).collect();
        let mut analyses = vec![None; sentences.len()];
        for (at, analysis) in batches.concat().into_iter().zip(analysed?.into_iter().flatten()) {
            analyses[at] = Some(analysis);
        }
        Ok(analyses)
    }

    /// The scorer of one of the two decisions.
    pub fn scorer(&self, task: Task) -> &Scorer {
        match task {
            Task::Heads => &self.heads,
            Task::Labels => &self.labels,
        }
    }

    /// The tables of the model.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Sentences as the models read them.
    pub fn number(&self, sentences: &[Sentence]) -> Result<Vec<Numbered>> {
        self.pretrained.number(&self.tables.vocabulary, sentences)
    }

    fn analyse_batch(&self, numbered: &[Numbered], batch: &[usize]) -> Result<Vec<Analysis>> {
        let sentences: Vec<&Numbered> = batch.iter().map(|&s| &numbered[s]).collect();
        let packed = Batch::new(&sentences);
        let states = self.heads.model().encoder().states(&packed, None)?;
        let encoded = self.heads.encode_from(&states, &packed)?;
        let scores = self.heads.head_scores(&encoded)?;
        let mut rest = scores.as_slice();
        let mut parses = Vec::with_capacity(batch.len());
        let mut matrices = Vec::with_capacity(batch.len());
        for sentence in &sentences {
            let n = sentence.len();
            let (rows, after) = rest.split_at((n - 1) * n);
            rest = after;
            // The decoder's matrix has a row for ROOT too.
            let matrix = [&vec![0.0; n], rows].concat();
            let heads = self.choose_heads(&matrix, n);
            let probability = |word: usize| probability(&matrix[word * n..][..n], Some(word), heads[word]);
            let head_probabilities = std::iter::once(1.0).chain((1..n).map(probability)).collect();
            parses.push(Parse { heads, head_probabilities, ..Parse::empty() });
            matrices.push(matrix);
        }
        let heads: Vec<&[usize]> = parses.iter().map(|parse| parse.heads.as_slice()).collect();
        let names = self.tables.vocabulary.labels();
        let label_encoded = match self.shared {
            true => self.labels.encode_from(&states, &packed)?,
            false => self.labels.encode(&packed)?,
        };
        let scores = self.labels.label_scores(&label_encoded, &heads)?;
        let mut rest = scores.as_slice();
        let mut analyses = Vec::with_capacity(batch.len());
        let states = encoded.by_sentence()?.into_iter().zip(label_encoded.by_sentence()?);
        for ((mut parse, head_scores), (head_states, label_states)) in parses.into_iter().zip(matrices).zip(states) {
            let (label_scores, after) = rest.split_at((parse.heads.len() - 1) * names.len());
            rest = after;
            for (row, word) in label_scores.chunks_exact(names.len().max(1)).zip(1..) {
                let label = self.choose_label(row, parse.heads[word]);
                parse.labels.push(names[label].clone());
                parse.label_probabilities.push(probability(row, None, label));
            }
            let label_scores = label_scores.to_vec();
            analyses.push(Analysis { parse, head_scores, label_scores, head_states, label_states });
        }
        Ok(analyses)
    }

    /// The heads of a sentence of `n` positions from the scores of all candidates, `[dependent][head]`.
    pub fn choose_heads(&self, scores: &[f32], n: usize) -> Vec<usize> {
        match self.decode {
            Decode::Tree => tree::best_tree(scores, n),
            Decode::Greedy => tree::greedy(scores, n),
        }
    }

    /// The label of an edge to this head from the scores of all labels.
    pub fn choose_label(&self, scores: &[f32], head: usize) -> usize {
        match (self.decode, self.root) {
            (Decode::Tree, Some(root)) if head == 0 => root,
            (Decode::Tree, Some(root)) if scores.len() > 1 => best(scores, Some(root)),
            _ => best(scores, None),
        }
    }
}

impl Parse {
    fn empty() -> Self {
        Self {
            heads: vec![0],
            labels: vec![String::new()],
            head_probabilities: vec![1.0],
            label_probabilities: vec![1.0],
        }
    }

    /// Writes heads and labels into the sentence, and probabilities into MISC if asked for. DEPS is cleared: an
    /// enhanced graph belongs to the analysis that was there before.
    pub fn annotate(&self, sentence: &mut Sentence, scores: bool) {
        for (index, word) in sentence.words_mut().iter_mut().enumerate() {
            let position = index + 1;
            word.head = Some(self.heads[position]);
            word.label.clone_from(&self.labels[position]);
            word.deps = "_".to_string();
            if scores {
                word.set_misc("HeadProb", &format!("{:.4}", self.head_probabilities[position]));
                word.set_misc("LabelProb", &format!("{:.4}", self.label_probabilities[position]));
            }
        }
    }
}

/// The probability of one choice among those not excluded.
pub fn probability(scores: &[f32], excluded: Option<usize>, chosen: usize) -> f32 {
    let allowed = || scores.iter().enumerate().filter(|&(at, _)| Some(at) != excluded).map(|(_, &s)| f64::from(s));
    let largest = allowed().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = allowed().map(|s| (s - largest).exp()).sum();
    ((f64::from(scores[chosen]) - largest).exp() / total) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_add_up_to_one_without_the_excluded_choice() {
        let scores = [1.0, 2.0, 300.0, -4.0];
        let total: f32 = [0, 1, 3].map(|chosen| probability(&scores, Some(2), chosen)).iter().sum();
        assert!((total - 1.0).abs() < 1e-6);
    }
}
