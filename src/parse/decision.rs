//! A decision: the candidates that the decoder allows, the chosen one and the runner-up, under a rule. Rationales,
//! roll-ups, contrasts and flip sets are functions of a decision and its evidence.

use super::{Analysis, Parser};
use crate::error::{Error, Result};
use crate::evidence::Side;
use crate::task::Task;
use std::sync::OnceLock;

/// What a decision chooses: a head or a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The position of a head, 0 for ROOT.
    Head(usize),
    /// The number of a label.
    Label(u32),
}

/// One candidate of a decision.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// The head or the label.
    pub choice: Choice,
    /// Its score under the rule.
    pub score: f64,
    /// Its probability among the heads that the rule considered, or the labels that the decoder allows.
    pub probability: f32,
    /// Whether anything speaks for it: false for a label without a vote, where labels are voted for.
    pub voted: bool,
    side: OnceLock<Side>,
}

/// A decision about a word: its head, or the label of its edge.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// The id of the word.
    pub dependent: usize,
    /// The chosen head of the word, 0 for ROOT.
    pub head: usize,
    candidates: Vec<Candidate>,
    /// The index of the chosen candidate.
    chosen: usize,
    /// The index of the best other candidate; `None` if the decoder allows no other that anything speaks for.
    runner_up: Option<usize>,
}

impl Decision {
    /// The chosen candidate.
    pub(crate) fn chosen(&self) -> &Candidate {
        &self.candidates[self.chosen]
    }

    /// The best other candidate; `None` if the decoder allows no other that anything speaks for.
    pub(crate) fn runner_up(&self) -> Option<&Candidate> {
        self.runner_up.map(|place| &self.candidates[place])
    }

    /// The other candidates, best first. Ties stay in order.
    pub(crate) fn others(&self) -> Vec<&Candidate> {
        let mut others = self.in_order();
        others.sort_by(|a, b| b.score.total_cmp(&a.score));
        others
    }

    /// The other candidates in the order of their positions or label numbers.
    pub(crate) fn in_order(&self) -> Vec<&Candidate> {
        self.candidates.iter().enumerate().filter(|(at, _)| *at != self.chosen).map(|(_, other)| other).collect()
    }

    /// The score of the chosen candidate minus that of another. Negative if only the tree constraint decided for it.
    pub(crate) fn margin(&self, other: &Candidate) -> f64 {
        self.chosen().score - other.score
    }

    /// Whether another candidate has a higher score, so that the tree constraint decided and not the evidence.
    pub(crate) fn is_forced(&self) -> bool {
        self.runner_up().is_some_and(|second| self.margin(second) < 0.0)
    }

    fn new(dependent: usize, head: usize, candidates: Vec<Candidate>, chosen: Choice) -> Option<Self> {
        let chosen = candidates.iter().position(|candidate| candidate.choice == chosen)?;
        // Labels without votes are tied, so none of them is the second best.
        let others = (0..candidates.len()).filter(|&at| at != chosen && candidates[at].voted);
        let order = |&a: &usize, &b: &usize| candidates[a].score.total_cmp(&candidates[b].score).then(b.cmp(&a));
        let runner_up = others.max_by(order);
        Some(Self { dependent, head, candidates, chosen, runner_up })
    }
}

impl Parser {
    /// The two decisions about each word: its head, and the label of its edge. The sides of the chosen candidate and of
    /// the runner-up are computed together; those of other candidates are computed on demand.
    pub(crate) fn decisions(&self, analysis: &Analysis, words: &[usize]) -> Result<Vec<[Decision; 2]>> {
        let n = analysis.positions();
        if let Some(word) = words.iter().find(|&&word| word == 0 || word >= n) {
            let message = format!("there is no word {word}: the sentence has {} words, counted from 1", n - 1);
            return Err(Error::Explanation { message });
        }
        let missing =
            || Error::Explanation { message: "the parse has a label that the model does not know".to_string() };
        let mut decisions = Vec::with_capacity(words.len());
        for &word in words {
            let attachment = self.head_decision(analysis, word).ok_or_else(missing)?;
            decisions.push([attachment, self.label_decision(analysis, word).ok_or_else(missing)?]);
        }
        let (mut head_edges, mut label_edges) = (Vec::new(), Vec::new());
        for [attachment, labelling] in &decisions {
            let compared = std::iter::once(attachment.chosen()).chain(attachment.runner_up());
            head_edges.extend(compared.filter_map(|candidate| candidate.edge(attachment)));
            label_edges.push((labelling.dependent, labelling.head));
        }
        let mut head_sides = self.sides(Task::Heads, analysis, &head_edges)?.into_iter();
        let mut label_sides = self.sides(Task::Labels, analysis, &label_edges)?.into_iter();
        for [attachment, labelling] in &decisions {
            for candidate in std::iter::once(attachment.chosen()).chain(attachment.runner_up()) {
                head_sides.next().into_iter().for_each(|side| drop(candidate.side.set(side)));
            }
            if let Some(edge) = label_sides.next() {
                for candidate in &labelling.candidates {
                    if let Choice::Label(label) = candidate.choice {
                        let _ = candidate.side.set(edge.with_label(Some(label)));
                    }
                }
            }
        }
        Ok(decisions)
    }

    /// The side of a candidate.
    pub(crate) fn side<'a>(
        &self,
        analysis: &Analysis,
        decision: &Decision,
        candidate: &'a Candidate,
    ) -> Result<&'a Side> {
        if candidate.side.get().is_none() {
            self.compute_sides(analysis, decision, &[candidate])?;
        }
        candidate.side.get().ok_or_else(|| Error::Tensor { message: "an edge has no vector".to_string() })
    }

    /// Computes the sides of several candidates at once.
    pub(crate) fn compute_sides(
        &self,
        analysis: &Analysis,
        decision: &Decision,
        candidates: &[&Candidate],
    ) -> Result<()> {
        let new: Vec<&&Candidate> = candidates.iter().filter(|candidate| candidate.side.get().is_none()).collect();
        let edges: Vec<(usize, usize)> = new.iter().filter_map(|candidate| candidate.edge(decision)).collect();
        for (candidate, side) in new.iter().zip(self.sides(Task::Heads, analysis, &edges)?) {
            let _ = candidate.side.set(side);
        }
        Ok(())
    }

    /// The head decision: all positions except the word itself that the rule considered.
    fn head_decision(&self, analysis: &Analysis, word: usize) -> Option<Decision> {
        let (scores, chosen) = (analysis.scores_of_heads(word), analysis.parse.heads[word]);
        let allowed = (0..scores.len()).filter(|&head| head != word && scores[head] > f32::NEG_INFINITY);
        let candidate = |head: usize| {
            Candidate::new(Choice::Head(head), scores[head], self.head_probability(scores, word, head), true)
        };
        Decision::new(word, chosen, allowed.map(candidate).collect(), Choice::Head(chosen))
    }

    /// The label decision: in a tree, `root` is allowed for the edge from ROOT and for no other.
    fn label_decision(&self, analysis: &Analysis, word: usize) -> Option<Decision> {
        let (scores, head) = (analysis.scores_of_labels(word, self.labels().len()), analysis.parse.heads[word]);
        let chosen = self.label(&analysis.parse.labels[word])?;
        let allowed = (0..scores.len()).filter(|&label| self.allows_label(label, head) || label == chosen);
        let without_votes = self.by().rule.of(Task::Labels).score_without_votes().map(|score| score as f32);
        let candidate = |label: usize| {
            let probability = self.label_probability(scores, head, label);
            let voted = Some(scores[label]) != without_votes;
            Candidate::new(Choice::Label(label as u32), scores[label], probability, voted)
        };
        Decision::new(word, head, allowed.map(candidate).collect(), Choice::Label(chosen as u32))
    }
}

impl Candidate {
    fn new(choice: Choice, score: f32, probability: f32, voted: bool) -> Self {
        Self { choice, score: f64::from(score), probability, voted, side: OnceLock::new() }
    }

    /// The edge of the candidate, in a decision about heads.
    fn edge(&self, decision: &Decision) -> Option<(usize, usize)> {
        match self.choice {
            Choice::Head(head) => Some((decision.dependent, head)),
            Choice::Label(_) => None,
        }
    }
}
