//! Bulk retrieval: the training edges nearest to every edge of many sentences.

use super::Explainer;
use crate::edge::edge_vectors;
use crate::error::{Error, Result};
use crate::support::Task;
use crate::treebank::Sentence;
use citree_index::Hit;
use std::collections::HashMap;

/// What to retrieve.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// By the vectors of which model.
    pub space: Task,
    /// How many neighbours of each edge.
    pub count: usize,
    /// For the edges that the sentences come with, rather than for those that the parser predicts.
    pub gold: bool,
    /// The nearest for certain, by a scan.
    pub exact: bool,
    /// Leave out the training sentence with the same `sent_id`: the sentence itself, where it was trained on.
    pub others: bool,
}

/// An edge and the training edges nearest to it.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeNeighbors {
    /// The id of the dependent.
    pub dependent: usize,
    /// The id of the head, 0 for ROOT.
    pub head: usize,
    /// The label.
    pub label: String,
    /// The nearest training edges, most similar first.
    pub hits: Vec<Hit>,
    /// Whether these are the nearest for certain.
    pub exact: bool,
}

impl Explainer {
    /// The neighbours of every edge of the sentences, a list a sentence.
    pub fn neighbors(&self, sentences: &[Sentence], ask: Ask) -> Result<Vec<Vec<EdgeNeighbors>>> {
        let (edges, rows) = if ask.gold { self.gold_edges(sentences, ask)? } else { self.predicted(sentences, ask)? };
        let own: Vec<Option<u32>> = match ask.others {
            true => {
                let numbers = self.sentence_numbers()?;
                sentences.iter().map(|s| s.sent_id().and_then(|id| numbers.get(id).copied())).collect()
            }
            false => vec![None; sentences.len()],
        };
        let own: Vec<Option<u32>> =
            edges.iter().zip(own).flat_map(|(edges, own)| std::iter::repeat_n(own, edges.len())).collect();
        let answers = self.edges().space(ask.space).nearest_many(&rows, |at, nearest| {
            let nearest = nearest.count(ask.count);
            let nearest = if ask.exact { nearest.exact() } else { nearest };
            own[at].map_or(nearest, |own| nearest.except_sentence(own))
        })?;
        let mut answers = answers.into_iter();
        let mut edges = edges;
        for (edge, answer) in edges.iter_mut().flatten().zip(&mut answers) {
            (edge.hits, edge.exact) = (answer.hits, answer.exact);
        }
        Ok(edges)
    }

    fn predicted(&self, sentences: &[Sentence], ask: Ask) -> Result<(Vec<Vec<EdgeNeighbors>>, Vec<f32>)> {
        let (mut edges, mut rows) = (Vec::with_capacity(sentences.len()), Vec::new());
        for analysis in self.parser.analyse(sentences)? {
            let Some(analysis) = analysis else {
                edges.push(Vec::new());
                continue;
            };
            let words = 1..analysis.parse.heads.len();
            let states = match ask.space {
                Task::Heads => &analysis.head_states,
                Task::Labels => &analysis.label_states,
            };
            let (heads, labels) = (&analysis.parse.heads, &analysis.parse.labels);
            let dependents: Vec<u32> = words.clone().map(|word| word as u32).collect();
            let head_rows: Vec<u32> = words.clone().map(|word| heads[word] as u32).collect();
            let vectors = self.parser.scorer(ask.space).model().edge_rows(states, &dependents, &head_rows)?;
            rows.extend(vectors.flatten_all()?.to_vec1::<f32>()?);
            edges.push(words.map(|word| EdgeNeighbors::of(word, heads[word], &labels[word])).collect());
        }
        Ok((edges, rows))
    }

    fn gold_edges(&self, sentences: &[Sentence], ask: Ask) -> Result<(Vec<Vec<EdgeNeighbors>>, Vec<f32>)> {
        if let Some(sentence) = sentences.iter().find(|sentence| sentence.gold_heads().is_none()) {
            let sentence = sentence.sent_id().unwrap_or("(no sent_id)");
            let message = format!("sentence {sentence} has words without a head; leave out --gold to parse it");
            return Err(Error::Explanation { message });
        }
        let numbered = self.parser.number(sentences)?;
        let heads: Vec<&[usize]> = numbered.iter().map(|sentence| sentence.heads.as_slice()).collect();
        let model = self.parser.scorer(ask.space).model();
        let rows = edge_vectors(&[model], false, &numbered, &heads)?.concat().concat();
        let edges = sentences.iter().map(|sentence| {
            let words = sentence.words().iter().zip(1..);
            words.map(|(word, at)| EdgeNeighbors::of(at, word.head.unwrap_or_default(), &word.label)).collect()
        });
        Ok((edges.collect(), rows))
    }

    /// The number of the training sentence with each `sent_id`.
    fn sentence_numbers(&self) -> Result<HashMap<String, u32>> {
        let named = |number| Ok((self.edges().sentence(number)?.sent_id.to_string(), number));
        (0..self.edges().sentences()).map(named).collect()
    }
}

impl EdgeNeighbors {
    fn of(dependent: usize, head: usize, label: &str) -> Self {
        Self { dependent, head, label: label.to_string(), hits: Vec::new(), exact: false }
    }
}
