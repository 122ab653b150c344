//! Judges every edge by evidence that does not include its own sentence or document.

use super::same_words::SameWords;
use super::score::{HEAD_NEIGHBORS, LabelEvidence, NEIGHBORS, Votes, WordSigns, head_odds};
use super::signs::{self, Signs};
use super::subject::{Documents, Subject};
use super::vectors::{VectorSource, Vectors};
use super::words::{self, Opinions};
use super::{Kind, SEARCH_STEPS};
use crate::error::{Error, Result};
use crate::evidence::{EdgeId, Evidence};
use crate::explain::Explainer;
use crate::task::Task;
use crate::train::Flow;
use citree_index::{Hit, Space};
use rayon::prelude::*;
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
    pub words: Option<WordSigns>,
    pub signs: Signs,
    /// The other label that most of the evidence is for.
    pub other: Option<u32>,
    /// How much more of it is for the other label than for its own, from -1 to 1.
    pub margin: f64,
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

/// What would replace an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Suggestion {
    pub kind: Kind,
    pub head: usize,
    /// `None` is the label that the edge has.
    pub label: Option<u32>,
}

impl JudgedEdge {
    /// Whether anything speaks against it.
    fn doubt(&self) -> bool {
        self.votes.doubt(self.words.as_ref(), self.signs)
    }

    /// What seems to be wrong, and what would be right, if anything would be. If a rule about the label is broken, it is the
    /// label. Otherwise a head that neighbours find likelier comes first, then a label, then a head that only the words find
    /// likelier. An edge that has another sign of an error gets the next best head, or label.
    pub(super) fn suggestion(&self, own_head: usize) -> Option<Suggestion> {
        let label = |label: u32| Suggestion { kind: Kind::Label, head: own_head, label: Some(label) };
        let rival = self.rival.map(|rival| Suggestion { kind: Kind::Head, head: rival.head, label: Some(rival.label) });
        let other = self.other.filter(|_| self.margin > 0.0);
        let words = self.words.filter(|words| words.other_head != own_head);
        let by_words = words.map(|words| Suggestion { kind: Kind::Head, head: words.other_head, label: other });
        let signs = self.signs;
        let broken_label = self.other.filter(|_| signs.broken_label).map(label);
        broken_label
            .or_else(|| rival.filter(|_| self.is_rival_likelier()))
            .or_else(|| other.map(label))
            .or_else(|| by_words.filter(|_| words.is_some_and(|words| words.head_margin > 0.0)))
            .or_else(|| rival.or(by_words).filter(|_| signs.any()))
            .or_else(|| self.other.filter(|_| signs.any()).map(label))
    }

    /// Whether similar edges find the best other head likelier than its own.
    pub(super) fn is_rival_likelier(&self) -> bool {
        self.rival.is_some_and(|rival| rival.odds > self.votes.head)
    }
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
    pub subjects: &'a [Subject<'a>],
    documents: &'a Documents,
    source: VectorSource<'a>,
    /// Numbers of labels. Those that only the judged treebank has come after those of the model.
    pub labels: HashMap<&'a str, u32>,
    names: Vec<&'a str>,
    /// How many labels the model has.
    known: u32,
    factor: f64,
    signs: Vec<Vec<Signs>>,
    /// What models of the words say, if there are any.
    opinions: Option<Vec<Opinions>>,
    folds: usize,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        explainer: &'a Explainer,
        documents: &'a Documents,
        subjects: &'a [Subject<'a>],
        folds: usize,
    ) -> Result<Self> {
        let (parser, evidence) = (explainer.parser(), explainer.evidence());
        let mut names: Vec<&str> = parser.labels().iter().map(String::as_str).collect();
        let mut labels: HashMap<&str, u32> = names.iter().copied().zip(0..).collect();
        for label in subjects.iter().flat_map(|subject| (1..=subject.len()).map(|word| subject.label(word))) {
            labels.entry(label).or_insert_with(|| {
                names.push(label);
                names.len() as u32 - 1
            });
        }
        let (source, known) = (VectorSource::new(parser, evidence.edges())?, parser.labels().len() as u32);
        Ok(Self {
            evidence,
            subjects,
            documents,
            source,
            labels,
            names,
            known,
            factor: parser.by().scale.factor,
            signs: subjects.par_iter().map(signs::of).collect(),
            opinions: None,
            folds,
        })
    }

    /// How many steps [`all`](Self::all) takes.
    pub(super) fn steps(&self) -> usize {
        words::steps(self.subjects, self.folds) + SEARCH_STEPS
    }

    /// Judges all edges. `tell` receives the number of steps done.
    pub(super) fn all(&mut self, tell: &(dyn Fn(usize) -> Flow + Sync)) -> Result<JudgedEdges> {
        let number = |label: &str| self.labels[label];
        self.opinions = words::opinions(self.subjects, self.folds, self.names.len(), number, tell)?;
        let before = words::steps(self.subjects, self.folds);
        let crossing = signs::crossing_rate(self.subjects, &self.signs);
        let mut judged = Vec::new();
        let numbers: Vec<usize> = (0..self.subjects.len()).collect();
        for (chunk, numbers) in numbers.chunks(CHUNK).enumerate() {
            if tell(before + chunk * CHUNK * SEARCH_STEPS / self.subjects.len()) == Flow::Stop {
                return Err(Error::Stopped);
            }
            self.chunk(numbers, &mut judged)?;
        }
        let count = judged.len();
        judged.retain(JudgedEdge::doubt);
        for edge in &mut judged {
            let rival = edge.rival.map(|rival| rival.odds);
            edge.score = edge.votes.expected(rival, edge.words.as_ref(), edge.signs, crossing);
        }
        Ok(JudgedEdges { edges: judged, count })
    }

    /// The name of a label.
    pub(super) fn name(&self, label: u32) -> &str {
        self.names[label as usize]
    }

    /// The number of an edge's label.
    pub(super) fn label_of(&self, edge: &JudgedEdge) -> u32 {
        self.labels[self.subjects[edge.subject].label(edge.word)]
    }

    /// How many edges of other documents with the same two words are annotated as an edge is, and as suggested.
    pub(super) fn same_words(&self, all: &SameWords, edge: &JudgedEdge, suggestion: &Suggestion) -> [usize; 2] {
        let (place, own) = ((edge.subject, edge.word), self.label_of(edge));
        let head = self.subjects[edge.subject].heads[edge.word - 1];
        let count = |head, label| all.count(self.subjects, place, head, label);
        [count(head, own), count(suggestion.head, suggestion.label.unwrap_or(own))]
    }

    fn chunk(&self, numbers: &[usize], judged: &mut Vec<JudgedEdge>) -> Result<()> {
        let vectors = self.vectors(numbers)?;
        let nearby = self.nearby(&vectors)?;
        let first = judged.len();
        for (&(subject, word), near) in vectors.places.iter().zip(&nearby) {
            let own = self.labels[self.subjects[subject].label(word)];
            let (labels, by_heads) = (self.labels_of(&near.labels), self.labels_of(&near.heads));
            let opinions = self.opinions.as_ref().map(|all| (&all[subject], word));
            let LabelEvidence { votes, words, other, margin } = LabelEvidence::new(own, [&labels, &by_heads], opinions);
            let votes = Votes { head: head_odds(&near.heads, &near.rejected, self.factor), ..votes };
            let signs = self.signs[subject][word - 1];
            judged.push(JudgedEdge { subject, word, votes, words, signs, other, margin, rival: None, score: 0.0 });
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
        for (at, (edge, rivals)) in judged.iter().zip(&vectors.rivals).enumerate().filter(|(_, (edge, _))| edge.doubt())
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
            let Some(label) = most_frequent(self.labels_of(accepted)) else { continue };
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

/// The label that most have. Ties go to the first label.
fn most_frequent(mut labels: Vec<u32>) -> Option<u32> {
    labels.sort_unstable();
    let best = labels.chunk_by(|a, b| a == b).reduce(|best, own| if own.len() > best.len() { own } else { best });
    best.map(|own| own[0])
}
