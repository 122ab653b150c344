//! Bulk retrieval: the training edges nearest to every edge of many sentences.

use super::Explainer;
use crate::edge::edge_vectors;
use crate::error::{Error, Result};
use crate::evidence::{EdgeId, TrainingEdges};
use crate::task::Task;
use crate::treebank::Sentence;
use citree_index::Hit;
use serde::Serialize;

/// Edges whose neighbours are searched together. Between these it is asked whether to go on.
const SEARCHED_TOGETHER: usize = 512;

/// What to retrieve.
#[derive(Clone, Copy, Debug)]
pub struct NeighborQuery {
    /// The model whose vectors are compared.
    pub space: Task,
    /// How many neighbours of each edge.
    pub count: usize,
    /// Whether to use the edges of the sentences instead of predicted ones.
    pub gold: bool,
    /// Whether to find the exact nearest edges by a scan.
    pub exact: bool,
    /// Whether to leave out the training sentence with the same `sent_id`.
    pub others: bool,
}

/// An edge and the training edges nearest to it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EdgeNeighbors {
    /// The id of the dependent.
    pub dependent: usize,
    /// The id of the head, 0 for ROOT.
    pub head: usize,
    /// The label.
    pub label: String,
    /// The nearest training edges, most similar first.
    pub hits: Vec<Hit>,
    /// Whether these are certainly the nearest.
    pub exact: bool,
}

impl Explainer {
    /// The neighbours of every edge of the sentences, one list per sentence.
    pub fn neighbors(&self, sentences: &[Sentence], query: NeighborQuery) -> Result<Vec<Vec<EdgeNeighbors>>> {
        let (edges, rows) =
            if query.gold { self.gold_edges(sentences, query)? } else { self.predicted(sentences, query)? };
        let own: Vec<Option<u32>> = match query.others {
            true => {
                let number = |sentence: &Sentence| self.edges().sentence_named(&sentence.name());
                sentences.iter().map(number).collect::<Result<_>>()?
            }
            false => vec![None; sentences.len()],
        };
        let own: Vec<Option<u32>> =
            edges.iter().zip(own).flat_map(|(edges, own)| std::iter::repeat_n(own, edges.len())).collect();
        let counts = |edge| self.evidence.counts(EdgeId::Accepted(edge));
        let space = self.edges().space(query.space);
        let mut answers = Vec::with_capacity(own.len());
        for (rows, own) in rows.chunks(SEARCHED_TOGETHER * space.dims()).zip(own.chunks(SEARCHED_TOGETHER)) {
            self.parser.by().interrupt.check()?;
            answers.extend(space.nearest_many(rows, |at, nearest| {
                let nearest = nearest.count(query.count);
                let nearest = if self.evidence.is_partial() { nearest.filter(&counts) } else { nearest };
                let nearest = if query.exact { nearest.exact() } else { nearest };
                own[at].map_or(nearest, |own| nearest.except_source(own))
            })?);
        }
        let mut answers = answers.into_iter();
        let mut edges = edges;
        for (edge, answer) in edges.iter_mut().flatten().zip(&mut answers) {
            (edge.hits, edge.exact) = (answer.hits, answer.exact);
        }
        self.edges().intact()?;
        Ok(edges)
    }

    /// The training edges nearest to a training edge, without itself.
    pub fn neighbors_of(&self, edge: u32, query: NeighborQuery) -> Result<EdgeNeighbors> {
        let (record, _) = self.edges().edge(edge)?;
        let label = self.edges().label(record.label);
        let mut found = EdgeNeighbors::of(record.dependent as usize, record.head as usize, label);
        let space = self.edges().space(query.space);
        if let Some(row) = space.row(edge) {
            let nearest = space.nearest(row).count(query.count);
            let nearest = if query.exact { nearest.exact() } else { nearest };
            let another = |other| other != edge && self.evidence.counts(EdgeId::Accepted(other));
            let nearest = nearest.filter(&another);
            let nearest = if query.others { nearest.except_source(record.sentence) } else { nearest };
            let answer = nearest.run()?;
            (found.hits, found.exact) = (answer.hits, answer.exact);
        }
        Ok(found)
    }

    fn predicted(&self, sentences: &[Sentence], query: NeighborQuery) -> Result<(Vec<Vec<EdgeNeighbors>>, Vec<f32>)> {
        let (mut edges, mut rows) = (Vec::with_capacity(sentences.len()), Vec::new());
        for analysis in self.parser.analyse(sentences)? {
            let Some(analysis) = analysis else {
                edges.push(Vec::new());
                continue;
            };
            let words = 1..analysis.positions();
            let (heads, labels) = (&analysis.parse.heads, &analysis.parse.labels);
            let predicted: Vec<(usize, usize)> = words.clone().map(|word| (word, heads[word])).collect();
            rows.extend(self.parser.vectors(query.space, &analysis, &predicted)?);
            edges.push(words.map(|word| EdgeNeighbors::of(word, heads[word], &labels[word])).collect());
        }
        Ok((edges, rows))
    }

    fn gold_edges(&self, sentences: &[Sentence], query: NeighborQuery) -> Result<(Vec<Vec<EdgeNeighbors>>, Vec<f32>)> {
        if let Some(sentence) = sentences.iter().find(|sentence| sentence.gold_heads().is_none()) {
            let sentence = sentence.sent_id().unwrap_or("(no sent_id)");
            let message = format!("sentence {sentence} has words without a head; leave out --gold to parse it");
            return Err(Error::Explanation { message });
        }
        let numbered = self.parser.number(sentences)?;
        let heads: Vec<&[usize]> = numbered.iter().map(|sentence| sentence.heads.as_slice()).collect();
        let model = self.parser.scorer(query.space).model();
        let rows = edge_vectors(&[model], false, &numbered, &heads)?.concat().concat();
        let edges = sentences.iter().map(|sentence| {
            let words = sentence.words().iter().zip(1..);
            words.map(|(word, at)| EdgeNeighbors::of(at, word.head.unwrap_or_default(), &word.label)).collect()
        });
        Ok((edges.collect(), rows))
    }
}

/// An edge with its words and those of its neighbours: a line of `citree neighbors`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct NamedEdge {
    /// What names its sentence.
    pub sent_id: String,
    /// The id of the dependent.
    pub dependent: usize,
    /// The form of the dependent.
    pub dependent_form: String,
    /// The id of the head, 0 for ROOT.
    pub head: usize,
    /// The form of the head.
    pub head_form: String,
    /// The label.
    pub label: String,
    /// Whether no nearer training edge can have been missed.
    pub exact: bool,
    /// The nearest training edges, most similar first.
    pub neighbors: Vec<NamedNeighbor>,
}

/// A training edge near to another one, with its words.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct NamedNeighbor {
    /// Its number in the index.
    pub edge: u32,
    /// How similar it is, from the stored vectors.
    pub similarity: f32,
    /// The `sent_id` of its sentence.
    pub sent_id: String,
    /// The id of the dependent.
    pub dependent: u32,
    /// The form of the dependent.
    pub dependent_form: String,
    /// The id of the head, 0 for ROOT.
    pub head: u32,
    /// The form of the head.
    pub head_form: String,
    /// Its label.
    pub label: String,
}

impl EdgeNeighbors {
    /// The same with words. `name` is the name of the sentence, and `form` maps ids to its words.
    pub fn named<'a>(&self, edges: &TrainingEdges, name: &str, form: impl Fn(usize) -> &'a str) -> Result<NamedEdge> {
        let named = |hit: &Hit| {
            let (record, cited) = edges.edge(hit.record)?;
            Ok(NamedNeighbor {
                edge: hit.record,
                similarity: hit.similarity,
                sent_id: cited.sent_id.to_string(),
                dependent: record.dependent,
                dependent_form: cited.form(record.dependent as usize).to_string(),
                head: record.head,
                head_form: cited.form(record.head as usize).to_string(),
                label: edges.label(record.label).to_string(),
            })
        };
        Ok(NamedEdge {
            sent_id: name.to_string(),
            dependent: self.dependent,
            dependent_form: form(self.dependent).to_string(),
            head: self.head,
            head_form: form(self.head).to_string(),
            label: self.label.clone(),
            exact: self.exact,
            neighbors: self.hits.iter().map(named).collect::<Result<_>>()?,
        })
    }

    fn of(dependent: usize, head: usize, label: &str) -> Self {
        Self { dependent, head, label: label.to_string(), hits: Vec::new(), exact: false }
    }
}
