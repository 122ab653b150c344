//! The vectors of edges that are judged and of their rivals, the hardest wrong heads: from the index, or encoded.

use super::subject::Subject;
use crate::edge::best_wrong_heads;
use crate::error::Result;
use crate::evidence::{EdgeId, TrainingEdges};
use crate::parse::Parser;
use crate::task::Task;
use std::collections::HashMap;

/// Rivals per word, as many as the index has by default.
const RIVALS: usize = 2;

/// The vectors of all edges of some sentences.
#[derive(Default)]
pub(super) struct Vectors {
    /// The sentence and the word of each edge. Words are ids, from 1.
    pub places: Vec<(usize, usize)>,
    /// The vectors of the edges by the head model, one after another.
    pub heads: Vec<f32>,
    /// The vectors of the edges by the label model, one after another.
    pub labels: Vec<f32>,
    /// The rivals of each edge: wrong heads with their vectors by the head model.
    pub rivals: Vec<Vec<(usize, Vec<f32>)>>,
}

impl Vectors {
    /// Those of some edges.
    pub(super) fn only(&self, wanted: impl Fn((usize, usize)) -> bool) -> Self {
        let [heads, labels] = [&self.heads, &self.labels].map(|rows| rows.len() / self.places.len().max(1));
        let mut found = Self::default();
        for (row, place) in self.places.iter().enumerate().filter(|(_, place)| wanted(**place)) {
            found.places.push(*place);
            found.heads.extend_from_slice(&self.heads[row * heads..][..heads]);
            found.labels.extend_from_slice(&self.labels[row * labels..][..labels]);
            found.rivals.push(self.rivals[row].clone());
        }
        found
    }

    /// The vector of an edge by the label model.
    pub(super) fn label_row(&self, row: usize) -> &[f32] {
        let dims = self.labels.len() / self.places.len().max(1);
        &self.labels[row * dims..][..dims]
    }
}

/// Finds vectors.
pub(super) struct VectorSource<'a> {
    parser: &'a Parser,
    edges: &'a TrainingEdges,
    /// The rejected edges of each word of the index, by sentence and dependent.
    rejected: HashMap<(u32, u32), Vec<(u32, u32)>>,
}

impl<'a> VectorSource<'a> {
    pub(super) fn new(parser: &'a Parser, edges: &'a TrainingEdges) -> Result<Self> {
        let mut rejected: HashMap<(u32, u32), Vec<(u32, u32)>> = HashMap::new();
        for edge in 0..edges.rejected() {
            let (sentence, dependent, head) = edges.place(EdgeId::Rejected(edge))?;
            rejected.entry((sentence, dependent)).or_default().push((head, edge));
        }
        Ok(Self { parser, edges, rejected })
    }

    /// The vectors of the edges of sentences, given with their numbers. A word whose label the index leaves out has none.
    pub(super) fn of(&self, subjects: &[(usize, &Subject<'_>)]) -> Result<Vectors> {
        let (stored, new): (Vec<_>, Vec<_>) = subjects.iter().partition(|(_, subject)| subject.stored.is_some());
        let mut found = Vectors::default();
        for (at, subject) in stored {
            self.add_stored(&mut found, at, subject)?;
        }
        let bare: Vec<_> = new.iter().map(|(_, subject)| subject.bare()).collect();
        for ((at, subject), analysis) in new.into_iter().zip(self.parser.analyse_by_sums(&bare)?) {
            let Some(analysis) = analysis else { continue };
            let gold: Vec<(usize, usize)> = (1..).zip(subject.heads.iter().copied()).collect();
            found.places.extend(gold.iter().map(|(word, _)| (at, *word)));
            found.heads.extend(self.parser.vectors(Task::Heads, &analysis, &gold)?);
            found.labels.extend(self.parser.vectors(Task::Labels, &analysis, &gold)?);
            for (word, head) in gold {
                let wrong = match self.edges.rejected() {
                    0 => Vec::new(),
                    _ => best_wrong_heads(analysis.scores_of_heads(word), word, head, RIVALS),
                };
                let rivals: Vec<(usize, usize)> = wrong.iter().map(|&head| (word, head)).collect();
                let rows = self.parser.vectors(Task::Heads, &analysis, &rivals)?;
                let dims = self.edges.space(Task::Heads).dims();
                found.rivals.push(wrong.into_iter().zip(rows.chunks(dims.max(1)).map(<[f32]>::to_vec)).collect());
            }
        }
        Ok(found)
    }

    fn add_stored(&self, found: &mut Vectors, at: usize, subject: &Subject<'_>) -> Result<()> {
        let Some(number) = subject.stored else { return Ok(()) };
        let [heads, labels] = Task::ALL.map(|task| self.edges.space(task));
        for word in 1..=subject.len() {
            let Some(edge) = self.edges.edge_at(number, word)? else { continue };
            let (Some(head_row), Some(label_row)) = (heads.row(edge), labels.row(edge)) else { continue };
            found.places.push((at, word));
            found.heads.extend_from_slice(head_row);
            found.labels.extend_from_slice(label_row);
            let rejected = self.rejected.get(&(number, word as u32)).map_or(&[][..], Vec::as_slice);
            let row = |rejected: u32| self.edges.rejected_space().and_then(|space| space.row(rejected));
            let rivals = rejected.iter().filter_map(|&(head, edge)| Some((head as usize, row(edge)?.to_vec())));
            found.rivals.push(rivals.collect());
        }
        Ok(())
    }
}
