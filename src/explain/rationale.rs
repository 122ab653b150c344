//! The rationale of a decision: what speaks for it, what comes next, which training edges are behind both, and how far
//! these carry it.

use super::rollup::{By, RollUp};
use super::{Explainer, Inference, Reading, Side};
use crate::error::{Error, Result};
use crate::indexing::Source;
use crate::parse::probability;
use crate::support::Task;
use crate::treebank::Sentence;
use citree_index::Hit;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Arc;

/// Words whose decisions are compared with all training edges in one pass, where the rule needs that; bounds the memory.
const TOGETHER: usize = 16;

/// What to explain, and how far.
#[derive(Clone, Debug)]
pub struct Options {
    /// Training edges to cite for each decision.
    pub count: usize,
    /// How to split scores and margins over groups of training edges.
    pub by: Vec<By>,
    /// Only the edges of these words; all if empty.
    pub words: Vec<usize>,
    /// Only edges whose head or label is less probable than this.
    pub below: Option<f32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { count: 10, by: vec![By::Label], words: Vec::new(), below: None }
    }
}

/// A sentence explained.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Its `sent_id`, if it has one.
    pub sent_id: Option<String>,
    /// Its words; the word with id `i` is `words[i - 1]`.
    pub words: Vec<String>,
    /// Head of every word.
    pub heads: Vec<usize>,
    /// Label of every word's edge.
    pub labels: Vec<String>,
    /// Probability of every word's head and of its label.
    pub probabilities: Vec<[f32; 2]>,
    /// The rule that decided.
    pub inference: Inference,
    /// The edges that were asked for.
    pub edges: Vec<EdgeExplanation>,
}

/// An edge explained: why this head, and why this label.
#[derive(Clone, Debug, Serialize)]
pub struct EdgeExplanation {
    /// The id of the dependent.
    pub dependent: usize,
    /// The id of the head, 0 for ROOT.
    pub head: usize,
    /// The label.
    pub label: String,
    /// Why this head.
    pub attachment: Rationale,
    /// Why this label.
    pub labelling: Rationale,
}

/// Why a decision fell as it did.
#[derive(Clone, Debug, Serialize)]
pub struct Rationale {
    /// The score of what was chosen.
    pub score: f64,
    /// Its probability among the alternatives.
    pub probability: f32,
    /// The best of the others.
    pub runner_up: Option<RunnerUp>,
    /// The training edges most similar to the edge, most similar first; of the chosen label where that is decided on.
    pub citations: Vec<Citation>,
    /// How much these citations carry.
    pub coverage: Coverage,
    /// Score and margin split over groups of training edges.
    pub roll_ups: Vec<RollUp>,
}

/// The best of the alternatives.
#[derive(Clone, Debug, Serialize)]
pub struct RunnerUp {
    /// The head, where heads are decided on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<usize>,
    /// The label, where labels are decided on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its score.
    pub score: f64,
    /// Its probability.
    pub probability: f32,
    /// How much the chosen one is ahead; below zero where only the tree as a whole spoke for it.
    pub margin: f64,
}

/// A training edge that is cited.
#[derive(Clone, Debug, Serialize)]
pub struct Citation {
    /// Its number in the index.
    pub edge: u32,
    /// Where it is from: `sent_id`, document, words.
    #[serde(flatten)]
    pub source: Arc<Source>,
    /// The id of its dependent.
    pub dependent: usize,
    /// The id of its head.
    pub head: usize,
    /// Its label.
    pub label: String,
    /// How similar it is, from the stored vectors.
    pub similarity: f32,
    /// Its share of the evidence for what was chosen.
    pub share: f64,
    /// Its share of the margin over the runner-up.
    pub margin_share: Option<f64>,
}

/// How far citations carry a decision.
#[derive(Clone, Debug, Serialize)]
pub struct Coverage {
    /// Their share of the evidence for what was chosen.
    pub score: f64,
    /// Their share of the margin over the runner-up.
    pub margin: Option<f64>,
    /// How many are cited.
    pub cited: usize,
    /// How many training edges count in the decision.
    pub of: u64,
    /// Whether no nearer training edge can have been missed.
    pub exact: bool,
    /// Where it can: the share of nearest edges that the search finds, measured when the index was built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<f32>,
}

impl Explainer {
    /// Reads and explains sentences, in their order; `None` for one without words.
    pub fn explain(&self, sentences: &[Sentence], options: &Options) -> Result<Vec<Option<Explanation>>> {
        let readings = self.read(sentences)?;
        let explain = |(sentence, reading): (&Sentence, Option<Reading>)| {
            reading.map(|reading| self.explain_reading(sentence, &reading, options)).transpose()
        };
        sentences.par_iter().zip(readings).map(explain).collect()
    }

    /// Explains a sentence that was read.
    pub fn explain_reading(&self, sentence: &Sentence, reading: &Reading, options: &Options) -> Result<Explanation> {
        self.require_instances()?;
        let parse = &reading.parse;
        let n = reading.positions();
        if let Some(word) = options.words.iter().find(|&&word| word == 0 || word >= n) {
            let message = format!("there is no word {word}: the sentence has {} words, counted from 1", n - 1);
            return Err(Error::Explanation { message });
        }
        let certain = |word: usize| parse.head_probabilities[word].min(parse.label_probabilities[word]);
        let wanted: Vec<usize> = (1..n)
            .filter(|word| options.words.is_empty() || options.words.contains(word))
            .filter(|&word| options.below.is_none_or(|below| certain(word) < below))
            .collect();
        let mut edges = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(TOGETHER) {
            let decisions = self.sides(reading, some)?;
            if let Inference::Nca { .. } = self.inference() {
                let heads = decisions.iter().flat_map(|[attachment, _]| attachment.both());
                self.evidence.compare(&heads.collect::<Vec<_>>())?;
            }
            for (&word, [attachment, labelling]) in some.iter().zip(&decisions) {
                edges.push(EdgeExplanation {
                    dependent: word,
                    head: parse.heads[word],
                    label: parse.labels[word].clone(),
                    attachment: self.rationale(attachment, options)?,
                    labelling: self.rationale(labelling, options)?,
                });
            }
        }
        Ok(Explanation { edges, ..self.unexplained(sentence, reading) })
    }

    /// How a sentence was read, with no edge explained.
    pub fn unexplained(&self, sentence: &Sentence, reading: &Reading) -> Explanation {
        let parse = &reading.parse;
        let probabilities = parse.head_probabilities.iter().zip(&parse.label_probabilities);
        Explanation {
            sent_id: sentence.sent_id().map(str::to_string),
            words: sentence.forms().map(str::to_string).collect(),
            heads: parse.heads[1..].to_vec(),
            labels: parse.labels[1..].to_vec(),
            probabilities: probabilities.skip(1).map(|(head, label)| [*head, *label]).collect(),
            inference: self.inference(),
            edges: Vec::new(),
        }
    }

    /// The two decisions about each of some words: its head, and its label.
    pub(super) fn sides(&self, reading: &Reading, words: &[usize]) -> Result<Vec<[Decision; 2]>> {
        let (n, parse) = (reading.positions(), &reading.parse);
        let vocabulary = &self.parser.tables().vocabulary;
        let rivals: Vec<Option<usize>> = words
            .iter()
            .map(|&word| second(&reading.head_scores[word * n..][..n], &[word, parse.heads[word]]))
            .collect();
        let pairs: Vec<(usize, usize)> = words
            .iter()
            .zip(&rivals)
            .flat_map(|(&word, rival)| [(word, parse.heads[word]), (word, rival.unwrap_or(parse.heads[word]))])
            .collect();
        let own: Vec<(usize, usize)> = words.iter().map(|&word| (word, parse.heads[word])).collect();
        let head_rows = self.vectors(Task::Heads, reading, &pairs)?;
        let label_rows = self.vectors(Task::Labels, reading, &own)?;
        let (head_dims, label_dims) = (head_rows.len() / pairs.len().max(1), label_rows.len() / own.len().max(1));
        let labels = vocabulary.labels().len();
        let mut decisions = Vec::with_capacity(words.len());
        for (at, &word) in words.iter().enumerate() {
            let head_side =
                |place: usize| Side::new(Task::Heads, head_rows[place * head_dims..][..head_dims].to_vec(), None);
            let scores = &reading.head_scores[word * n..][..n];
            let attachment = Decision {
                chosen: head_side(2 * at),
                score: f64::from(scores[parse.heads[word]]),
                probability: parse.head_probabilities[word],
                rival: rivals[at].map(|head| (head_side(2 * at + 1), head)),
                rival_score: rivals[at].map_or(0.0, |head| f64::from(scores[head])),
                rival_probability: rivals[at].map_or(0.0, |head| probability(scores, Some(word), head)),
            };
            let scores = &reading.label_scores[(word - 1) * labels..][..labels];
            let label = vocabulary.label(&parse.labels[word]).unwrap_or_default();
            let rival = second(scores, &[label as usize]);
            let edge = Side::new(Task::Labels, label_rows[at * label_dims..][..label_dims].to_vec(), None);
            let label_side = |label: usize| edge.with_label(Some(label as u32));
            let labelling = Decision {
                chosen: label_side(label as usize),
                score: f64::from(scores[label as usize]),
                probability: parse.label_probabilities[word],
                rival: rival.map(|rival| (label_side(rival), rival)),
                rival_score: rival.map_or(0.0, |rival| f64::from(scores[rival])),
                rival_probability: rival.map_or(0.0, |rival| probability(scores, None, rival)),
            };
            decisions.push([attachment, labelling]);
        }
        Ok(decisions)
    }

    fn rationale(&self, decision: &Decision, options: &Options) -> Result<Rationale> {
        let (evidence, inference) = (&self.evidence, self.inference());
        let chosen = &decision.chosen;
        let rival = decision.rival.as_ref().map(|(side, _)| side);
        let (hits, exact) = match inference {
            Inference::Sum => evidence.nearest(chosen, options.count, self.settings.exact)?,
            // These rules look at every training edge anyway.
            Inference::Nca { .. } => {
                (evidence.highest(&evidence.similarities(chosen)?, evidence.range(chosen).start, options.count), true)
            }
            Inference::Knn { .. } => {
                let mut voters = evidence.voters(inference, chosen)?;
                voters.truncate(options.count);
                (voters, true)
            }
        };
        let total = evidence.total(inference, chosen)?;
        let margin = rival.map(|rival| Ok::<_, Error>(total - evidence.total(inference, rival)?)).transpose()?;
        let citations: Vec<Citation> =
            hits.iter().map(|hit| self.cite(hit, chosen, rival, total, margin)).collect::<Result<_>>()?;
        let coverage = Coverage {
            score: citations.iter().map(|citation| citation.share).sum(),
            margin: margin.map(|_| citations.iter().filter_map(|citation| citation.margin_share).sum()),
            cited: citations.len(),
            of: evidence.voices(inference, chosen)?,
            exact,
            recall: self.recall(chosen.task).filter(|_| !exact),
        };
        // All that speaks for a label are its own edges, so that splitting by label says nothing there.
        let telling = options.by.iter().filter(|by| **by != By::Label || chosen.label.is_none());
        let roll_ups = telling.map(|&by| self.roll_up(by, chosen, rival)).collect::<Result<_>>()?;
        let runner_up = decision.rival.as_ref().map(|(side, place)| RunnerUp {
            head: side.label.is_none().then_some(*place),
            label: side.label.map(|label| self.edges().label(label).to_string()),
            score: decision.rival_score,
            probability: decision.rival_probability,
            margin: decision.score - decision.rival_score,
        });
        let (score, probability) = (decision.score, decision.probability);
        Ok(Rationale { score, probability, runner_up, citations, coverage, roll_ups })
    }

    /// A citation with its shares of the chosen side's evidence and of the margin over the rival's.
    pub(super) fn cite(
        &self,
        hit: &Hit,
        chosen: &Side,
        rival: Option<&Side>,
        total: f64,
        margin: Option<f64>,
    ) -> Result<Citation> {
        let (record, source) = self.edges().source(hit.record)?;
        let own = self.says(hit.record, chosen)?;
        let difference = rival.map(|rival| Ok::<_, Error>(own - self.says(hit.record, rival)?)).transpose()?;
        Ok(Citation {
            edge: hit.record,
            source,
            dependent: record.dependent as usize,
            head: record.head as usize,
            label: self.edges().label(record.label).to_string(),
            similarity: hit.similarity,
            share: share(own, total),
            margin_share: difference.zip(margin).map(|(part, margin)| share(part, margin)),
        })
    }

    /// What one training edge says for a side, by the rule in use.
    pub(super) fn says(&self, edge: u32, side: &Side) -> Result<f64> {
        let (evidence, inference) = (&self.evidence, self.inference());
        if !evidence.range(side).contains(&edge) || !evidence.counts(edge) {
            return Ok(0.0);
        }
        if let Inference::Knn { .. } = inference {
            let voters = evidence.voters(inference, side)?;
            let vote = voters.iter().find(|hit| hit.record == edge);
            return Ok(vote.map_or(0.0, |hit| evidence.weight(inference, hit.similarity, 1)));
        }
        let similarity = self.edges().space(side.task).similarity(side.row(), edge).unwrap_or_default();
        Ok(evidence.weight(inference, similarity, evidence.count(side)))
    }

    /// The share of nearest edges that a search finds, measured when the index was built; `None` where all are compared.
    pub fn recall(&self, task: Task) -> Option<f32> {
        self.edges().facts(task).graph.map(|graph| graph.recall)
    }
}

impl Explanation {
    /// The form of a word by its id, `ROOT` for 0.
    pub fn form(&self, position: usize) -> &str {
        position.checked_sub(1).and_then(|at| self.words.get(at)).map_or("ROOT", String::as_str)
    }
}

/// A choice that was made, and the best of those that were not.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) chosen: Side,
    pub(super) score: f64,
    probability: f32,
    pub(super) rival: Option<(Side, usize)>,
    rival_score: f64,
    rival_probability: f32,
}

impl Decision {
    fn both(&self) -> impl Iterator<Item = &Side> {
        std::iter::once(&self.chosen).chain(self.rival.iter().map(|(side, _)| side))
    }
}

/// The best choice but for some; `None` where no other was considered.
fn second(scores: &[f32], others: &[usize]) -> Option<usize> {
    let considered = (0..scores.len()).filter(|at| !others.contains(at) && scores[*at] > f32::NEG_INFINITY);
    considered.max_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(b.cmp(&a)))
}

/// A part of a whole; 0 of nothing.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}
