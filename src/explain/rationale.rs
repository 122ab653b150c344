//! The rationale of a decision: its score, the runner-up, the training edges behind it, and how far these carry it.

use super::Explainer;
use super::citation::{Citation, Weights};
use super::rollup::{By, RollUp};
use crate::error::{Error, Result};
use crate::evidence::{EdgeId, Side};
use crate::parse::{Analysis, Candidate, Choice, Decision, Parse, Parser};
use crate::rule::Rule;
use crate::task::Task;
use crate::treebank::{MultiwordToken, Sentence};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// Words whose decisions are compared with all training edges in one pass, if the rule needs that; bounds the memory.
const WORDS_PER_PASS: usize = 16;

/// What to explain, and in how much detail.
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
#[non_exhaustive]
pub struct Explanation {
    /// Its `sent_id`, if it has one.
    pub sent_id: Option<String>,
    /// Its words; the word with id `i` is `words[i - 1]`.
    pub words: Vec<String>,
    /// The surface tokens that stand for several words, such as `don't` for `do` and `n't`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub multiword_tokens: Vec<MultiwordToken>,
    /// Head of every word.
    pub heads: Vec<usize>,
    /// Label of every word's edge.
    pub labels: Vec<String>,
    /// Probability of every word's head and of its label.
    pub probabilities: Vec<[f32; 2]>,
    /// The rule that decided.
    pub rule: Rule,
    /// How many times the edges of a treebank count, where that is not once.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// That the sentence looks as if it were of another language than the training treebank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// The edges that were asked for.
    pub edges: Vec<EdgeExplanation>,
}

/// An edge explained: why this head, and why this label.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
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

/// The reasons for a decision.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Rationale {
    /// The score of the chosen alternative.
    pub score: f64,
    /// Its probability among the alternatives.
    pub probability: f32,
    /// The best other alternative; `None` if the decoder allows no other, or, where labels are voted for, if no other has a
    /// vote.
    pub runner_up: Option<RunnerUp>,
    /// The training edges for the choice, most similar first. For a label, only edges with that label.
    pub citations: Vec<Citation>,
    /// The training edges against it: rejected edges or, in a vote on labels, edges with other labels. Empty under rules
    /// that count nothing against a choice.
    pub against: Vec<Citation>,
    /// How much these citations carry.
    pub coverage: Coverage,
    /// Score and margin split over groups of training edges.
    pub roll_ups: Vec<RollUp>,
}

/// The best of the alternatives.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RunnerUp {
    /// The head, in a decision about heads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<usize>,
    /// The label, in a decision about labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its score.
    pub score: f64,
    /// Its probability.
    pub probability: f32,
    /// The lead of the chosen alternative; negative if the tree constraint decided for it.
    pub margin: f64,
}

/// How far citations carry a decision.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Coverage {
    /// Their share of all contributions, for and against the chosen alternative.
    pub score: f64,
    /// The share of all contributions that speaks against the chosen alternative.
    pub against: f64,
    /// Their share of the margin over the runner-up.
    pub margin: Option<f64>,
    /// How many are cited.
    pub cited: usize,
    /// How many training edges count in the decision.
    pub of: u64,
    /// Whether no nearer training edge can have been missed.
    pub exact: bool,
    /// If one can: the share of nearest edges that the search finds, measured when the index was built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<f32>,
    /// Where all that counts is estimated: the least and the most that it can be, as shares of the estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<[f64; 2]>,
}

impl Explainer {
    /// Analyses and explains sentences, in their order; `None` for one without words.
    pub fn explain(&self, sentences: &[Sentence], options: &Options) -> Result<Vec<Option<Explanation>>> {
        let analyses = self.analyse(sentences)?;
        let explain = |(sentence, analysis): (&Sentence, Option<Analysis>)| {
            analysis.map(|analysis| self.explain_analysis(sentence, &analysis, options)).transpose()
        };
        sentences.par_iter().zip(analyses).map(explain).collect()
    }

    /// Explains a sentence that was analysed.
    pub(crate) fn explain_analysis(
        &self,
        sentence: &Sentence,
        analysis: &Analysis,
        options: &Options,
    ) -> Result<Explanation> {
        self.parser.require_instances()?;
        let parse = &analysis.parse;
        let n = analysis.positions();
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
        for some in wanted.chunks(WORDS_PER_PASS) {
            let decisions = self.parser.decisions(analysis, some)?;
            self.compare_sides(analysis, &decisions, options)?;
            for (&word, [attachment, labelling]) in some.iter().zip(&decisions) {
                edges.push(EdgeExplanation {
                    dependent: word,
                    head: parse.heads[word],
                    label: parse.labels[word].clone(),
                    attachment: self.rationale(analysis, attachment, options)?,
                    labelling: self.rationale(analysis, labelling, options)?,
                });
            }
        }
        self.edges().intact()?;
        Ok(Explanation { edges, ..self.unexplained(sentence, analysis) })
    }

    /// The analysis of a sentence without explained edges.
    pub(crate) fn unexplained(&self, sentence: &Sentence, analysis: &Analysis) -> Explanation {
        Explanation::of_parse(sentence, &analysis.parse, &self.parser)
    }

    /// Compares the sides of several decisions with training edges in one pass, unless summed vectors decide. If a roll-up
    /// needs the contribution of every edge, every edge is compared, so that all figures of a rationale agree.
    fn compare_sides(&self, analysis: &Analysis, decisions: &[[Decision; 2]], options: &Options) -> Result<()> {
        for (at, task) in Task::ALL.into_iter().enumerate() {
            let mut sides = Vec::new();
            for decision in decisions.iter().map(|decisions| &decisions[at]) {
                for candidate in std::iter::once(decision.chosen()).chain(decision.runner_up()) {
                    sides.push(self.parser.side(analysis, decision, candidate)?);
                }
            }
            let rule = self.rule().of(task);
            let every = rule.exponent().is_some() && options.by.iter().any(|by| *by != By::Label);
            if every {
                self.evidence.compare(&sides)?;
            }
            self.evidence.prepare(self.parser.by(), &sides)?;
        }
        Ok(())
    }

    fn rationale(&self, analysis: &Analysis, decision: &Decision, options: &Options) -> Result<Rationale> {
        let (evidence, by) = (&self.evidence, self.parser.by());
        let side = |candidate| self.parser.side(analysis, decision, candidate);
        let (chosen, rival) = (side(decision.chosen())?, decision.runner_up().map(side).transpose()?);
        let weigh = |side: &Side| evidence.weigh(by, side);
        let (weighed, of_rival) = (weigh(chosen)?, rival.map(weigh).transpose()?);
        let found = evidence.to_cite(by, chosen, options.count)?;
        let margin = of_rival.map(|of_rival| weighed.totals.evidence() - of_rival.totals.evidence());
        // In a vote on labels all neighbours take part, those with other labels too.
        let of_labels = chosen.task == Task::Labels && by.rule.of(chosen.task).neighbors().is_some();
        let (all, against) = match of_labels {
            true => {
                // A unanimous vote differs from 1 in the last digits.
                let against = 1.0 - weighed.totals.accepted;
                (1.0, if against > 1e-12 { against } else { 0.0 })
            }
            false => (weighed.totals.accepted + weighed.totals.rejected, weighed.totals.rejected),
        };
        let rival = rival.zip(of_rival.as_ref());
        let votes = match by.rule.of(chosen.task).neighbors() {
            Some(_) => {
                let of = |side: &Side| Ok::<_, Error>(evidence.contributions(by, side)?.into_iter().collect());
                Some([of(chosen)?, rival.map_or(Ok(Default::default()), |(rival, _)| of(rival))?])
            }
            None => None,
        };
        let weights = Weights { chosen: (chosen, &weighed), rival, all, margin, votes };
        let cite = |(edge, similarity): &(EdgeId, f32)| self.cite(*edge, *similarity, &weights);
        let citations: Vec<Citation> = found.support.iter().map(cite).collect::<Result<_>>()?;
        let opposed: Vec<Citation> = found.opposed.iter().map(cite).collect::<Result<_>>()?;
        let both = || citations.iter().chain(&opposed);
        let coverage = Coverage {
            score: both().map(|citation| citation.share).sum(),
            against: share(against, all),
            margin: margin.map(|_| both().filter_map(|citation| citation.margin_share).sum()),
            cited: citations.len() + opposed.len(),
            of: evidence.counted(by, chosen)?,
            exact: found.exact,
            recall: self.recall(chosen).filter(|_| !found.exact),
            bounds: evidence.bounds(by, chosen)?,
        };
        let rival = rival.map(|(rival, _)| rival);
        // Only edges with the label count for it, so a split by label has no information.
        let telling = options.by.iter().filter(|by| **by != By::Label || chosen.label.is_none());
        let roll_ups = telling.map(|&by| self.roll_up(by, chosen, rival)).collect::<Result<_>>()?;
        Ok(Rationale {
            score: decision.chosen().score,
            probability: decision.chosen().probability,
            runner_up: decision.runner_up().map(|second| self.runner_up(decision, second)),
            citations,
            against: opposed,
            coverage,
            roll_ups,
        })
    }

    /// A candidate compared with the chosen one.
    fn runner_up(&self, decision: &Decision, other: &Candidate) -> RunnerUp {
        let (head, label) = match other.choice {
            Choice::Head(head) => (Some(head), None),
            Choice::Label(label) => (None, Some(self.edges().label(label).to_string())),
        };
        RunnerUp { head, label, score: other.score, probability: other.probability, margin: decision.margin(other) }
    }

    /// The most probable other heads and other labels of a word, without labels that have no vote where labels are voted for.
    pub fn others(&self, analysis: &Analysis, word: usize, count: usize) -> Result<[Vec<RunnerUp>; 2]> {
        let decisions = self.parser.decisions(analysis, &[word])?.pop();
        Ok(decisions.map_or([Vec::new(), Vec::new()], |decisions| {
            decisions.map(|decision| {
                let others = decision.others().into_iter().filter(|other| other.voted).take(count);
                others.map(|other| self.runner_up(&decision, other)).collect()
            })
        }))
    }
}

impl Explanation {
    /// A parse by this parser, without explained edges.
    pub(crate) fn of_parse(sentence: &Sentence, parse: &Parse, parser: &Parser) -> Self {
        let probabilities = parse.head_probabilities.iter().zip(&parse.label_probabilities);
        Self {
            sent_id: sentence.sent_id().map(str::to_string),
            words: sentence.forms().map(str::to_string).collect(),
            multiword_tokens: sentence.multiword_tokens().to_vec(),
            heads: parse.heads[1..].to_vec(),
            labels: parse.labels[1..].to_vec(),
            probabilities: probabilities.skip(1).map(|(head, label)| [*head, *label]).collect(),
            weights: parser.weights_by_name(),
            rule: parser.rule().clone(),
            warning: parser.warning(sentence),
            edges: Vec::new(),
        }
    }

    /// The form of a word by its id, `ROOT` for 0.
    pub fn form(&self, position: usize) -> &str {
        position.checked_sub(1).and_then(|at| self.words.get(at)).map_or("ROOT", String::as_str)
    }
}

/// A part of a whole; 0 if the whole is 0.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}
