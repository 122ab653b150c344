//! Judges every edge by evidence that does not include its own sentence or document.

use super::score::{Confusion, HEAD_NEIGHBORS, NEIGHBORS, Votes, expected, head_odds};
use super::subject::{Documents, Subject};
use super::vectors::{VectorSource, Vectors};
use crate::error::{Error, Result};
use crate::evidence::{EdgeId, Evidence};
use crate::explain::Explainer;
use crate::task::Task;
use crate::train::Flow;
use citree_index::{Hit, Space};
use std::collections::HashMap;

/// Sentences whose edges are looked up together; bounds the memory.
const CHUNK: usize = 512;

/// An edge with what its neighbours say.
#[derive(Clone, Debug)]
pub(super) struct JudgedEdge {
    pub subject: usize,
    /// The id of the dependent.
    pub word: usize,
    pub votes: Votes,
    /// The other label with most votes.
    pub other: Option<u32>,
    pub rival: Option<Rival>,
    /// The expected share of errors among edges like this.
    pub score: f64,
}

/// The edges of a treebank that are in doubt, and how many there are in all.
pub(super) struct JudgedEdges {
    pub edges: Vec<JudgedEdge>,
    pub count: usize,
}

/// The best other head of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rival {
    pub head: usize,
    /// Its log odds.
    pub odds: f64,
    /// The label that most of its nearest edges have.
    pub label: u32,
}

/// The nearest edges of an edge that is judged.
pub(super) struct Nearby {
    /// By the label model.
    pub labels: Vec<Hit>,
    /// By the head model.
    pub heads: Vec<Hit>,
    /// Rejected edges.
    pub rejected: Vec<Hit>,
}

/// Whether an edge is evidence.
type Filter<'a> = Box<dyn Fn(u32) -> bool + Sync + 'a>;

/// Judges edges of sentences.
pub(super) struct Judge<'a> {
    pub evidence: &'a Evidence,
    pub subjects: &'a [Subject],
    documents: &'a Documents,
    source: VectorSource<'a>,
    /// Numbers of labels. Those that only the judged treebank has come after those of the model.
    pub labels: HashMap<&'a str, u32>,
    /// How many labels the model has.
    known: u32,
    factor: f64,
}

impl<'a> Judge<'a> {
    pub(super) fn new(explainer: &'a Explainer, documents: &'a Documents, subjects: &'a [Subject]) -> Result<Self> {
        let (parser, evidence) = (explainer.parser(), explainer.evidence());
        let mut labels: HashMap<&str, u32> = parser.labels().iter().map(String::as_str).zip(0..).collect();
        for label in subjects.iter().flat_map(|subject| &subject.labels) {
            let next = labels.len() as u32;
            labels.entry(label).or_insert(next);
        }
        let (source, known) = (VectorSource::new(parser, evidence.edges())?, parser.labels().len() as u32);
        Ok(Self { evidence, subjects, documents, source, labels, known, factor: parser.by().scale.factor })
    }

    /// Judges all edges. `tell` receives the number of sentences done.
    pub(super) fn all(&self, tell: &dyn Fn(usize) -> Flow) -> Result<JudgedEdges> {
        let (mut judged, mut confusion) = (Vec::new(), Confusion::default());
        let numbers: Vec<usize> = (0..self.subjects.len()).collect();
        for (chunk, numbers) in numbers.chunks(CHUNK).enumerate() {
            if tell(chunk * CHUNK) == Flow::Stop {
                return Err(Error::Stopped);
            }
            self.chunk(numbers, &mut judged, &mut confusion)?;
        }
        let count = judged.len();
        judged.retain(|edge| edge.votes.doubt());
        for edge in &mut judged {
            let rate = confusion.rate(self.label_of(edge), edge.other);
            edge.score = expected(edge.votes.suspicion(edge.rival.map(|rival| rival.odds), rate));
        }
        Ok(JudgedEdges { edges: judged, count })
    }

    /// The name of a label.
    pub(super) fn name(&self, label: u32) -> &str {
        self.evidence.edges().label(label)
    }

    /// The number of an edge's label.
    pub(super) fn label_of(&self, edge: &JudgedEdge) -> u32 {
        self.labels[self.subjects[edge.subject].labels[edge.word - 1].as_str()]
    }

    fn chunk(&self, numbers: &[usize], judged: &mut Vec<JudgedEdge>, confusion: &mut Confusion) -> Result<()> {
        let vectors = self.vectors(numbers)?;
        let nearby = self.nearby(&vectors)?;
        let first = judged.len();
        for (&(subject, word), near) in vectors.places.iter().zip(&nearby) {
            let own = self.labels[self.subjects[subject].labels[word - 1].as_str()];
            let (labels, by_heads) = (self.labels_of(&near.labels), self.labels_of(&near.heads));
            confusion.add(own, &labels);
            let (mut votes, other) = Votes::count(own, [&labels, &by_heads]);
            votes.head = head_odds(&near.heads, &near.rejected, self.factor);
            judged.push(JudgedEdge { subject, word, votes, other, rival: None, score: 0.0 });
        }
        self.find_rivals(&vectors, &mut judged[first..])
    }

    /// The vectors of the edges of sentences.
    pub(super) fn vectors(&self, numbers: &[usize]) -> Result<Vectors> {
        self.source.of(&numbers.iter().map(|&at| (at, &self.subjects[at])).collect::<Vec<_>>())
    }

    /// The nearest edges of each edge.
    pub(super) fn nearby(&self, vectors: &Vectors) -> Result<Vec<Nearby>> {
        let owners: Vec<usize> = vectors.places.iter().map(|(subject, _)| *subject).collect();
        let labels = self.search(Some(Task::Labels), &vectors.labels, &owners, NEIGHBORS)?;
        let heads = self.search(Some(Task::Heads), &vectors.heads, &owners, NEIGHBORS)?;
        let rejected = self.search(None, &vectors.heads, &owners, HEAD_NEIGHBORS)?;
        let all = labels.into_iter().zip(heads).zip(rejected);
        Ok(all.map(|((labels, heads), rejected)| Nearby { labels, heads, rejected }).collect())
    }

    /// Finds the best other head of every edge in doubt.
    fn find_rivals(&self, vectors: &Vectors, judged: &mut [JudgedEdge]) -> Result<()> {
        let (mut rows, mut owners, mut of) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (edge, rivals)) in
            judged.iter().zip(&vectors.rivals).enumerate().filter(|(_, (edge, _))| edge.votes.doubt())
        {
            for (head, row) in rivals {
                rows.extend_from_slice(row);
                owners.push(edge.subject);
                of.push((at, *head));
            }
        }
        let accepted = self.search(Some(Task::Heads), &rows, &owners, NEIGHBORS)?;
        let rejected = self.search(None, &rows, &owners, HEAD_NEIGHBORS)?;
        for (((at, head), accepted), rejected) in of.into_iter().zip(&accepted).zip(&rejected) {
            let odds = head_odds(accepted, rejected, self.factor);
            let (_, Some(label)) = Votes::count(u32::MAX, [&self.labels_of(accepted), &[]]) else { continue };
            let best = &mut judged[at].rival;
            if best.is_none_or(|best| odds > best.odds) {
                *best = Some(Rival { head, odds, label });
            }
        }
        Ok(())
    }

    /// The nearest accepted edges by a model, or the nearest rejected edges, of rows. `owners` are the sentences that
    /// the rows belong to.
    pub(super) fn search(
        &self,
        task: Option<Task>,
        rows: &[f32],
        owners: &[usize],
        count: usize,
    ) -> Result<Vec<Vec<Hit>>> {
        let edges = self.evidence.edges();
        let space: Option<&Space> = task.map_or_else(|| edges.rejected_space(), |task| Some(edges.space(task)));
        let Some(space) = space else { return Ok(vec![Vec::new(); owners.len()]) };
        let filters: Vec<Filter<'_>> = owners.iter().map(|&owner| self.others(owner, task.is_some())).collect();
        let answers = space.nearest_many(rows, |at, nearest| nearest.count(count).filter(&*filters[at]))?;
        Ok(answers.into_iter().map(|answer| answer.hits).collect())
    }

    /// The nearest accepted edges with a label, by the label model.
    pub(super) fn nearest_of_label(&self, row: &[f32], owner: usize, label: u32, count: usize) -> Result<Vec<Hit>> {
        if label >= self.known {
            return Ok(Vec::new());
        }
        let filter = self.others(owner, true);
        let nearest = self.evidence.edges().space(Task::Labels).nearest(row).count(count);
        Ok(nearest.class(label).filter(&*filter).run()?.hits)
    }

    /// Whether an edge, accepted or rejected, counts and is of another sentence and document than a judged sentence.
    fn others(&self, owner: usize, accepted: bool) -> Filter<'_> {
        let (edges, own) = (self.evidence.edges(), &self.subjects[owner].own);
        Box::new(move |edge| {
            let edge = if accepted { EdgeId::Accepted(edge) } else { EdgeId::Rejected(edge) };
            let sentence = edges.sentence_of(edge);
            self.evidence.counts(edge) && !sentence.is_some_and(|sentence| self.documents.is_own(own, sentence))
        })
    }

    pub(super) fn labels_of(&self, hits: &[Hit]) -> Vec<u32> {
        hits.iter().filter_map(|hit| self.evidence.edges().record(hit.record)).map(|edge| edge.label).collect()
    }
}
