//! Why not another head or label: the training edges that argue for the decision, and those that argue against it.

use super::rationale::share;
use super::{Citation, Expected, Explainer};
use crate::error::{Error, Result};
use crate::evidence::{EdgeId, Side, Weighed};
use crate::parse::Analysis;
use crate::task::Task;
use serde::Serialize;
use std::collections::BTreeMap;

/// A decision compared with an alternative that was asked for.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct WhyNot {
    /// The id of the dependent.
    pub dependent: usize,
    /// The chosen head against the one asked for; `None` if they are the same.
    pub head: Option<Contrast>,
    /// The label asked for against the chosen one, or against the one that the edge to the other head would get.
    pub label: Option<Contrast>,
}

/// What the training edges contribute to one choice over another.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Contrast {
    /// The head (as `id form`) or label that was chosen.
    pub chosen: String,
    /// The head or label it is compared with.
    pub alternative: String,
    /// Scores of both.
    pub scores: [f64; 2],
    /// The difference of the evidence for the two.
    pub margin: f64,
    /// The total contribution of the edges in favour, and their number.
    pub in_favour: (f64, u64),
    /// The total contribution of the edges against, and their number.
    pub against: (f64, u64),
    /// The training edges that argue most strongly for what was chosen; shares are of the margin.
    pub arguments_for: Vec<Citation>,
    /// Those that argue most strongly against it.
    pub arguments_against: Vec<Citation>,
}

impl Explainer {
    /// Compares the decisions about a word with another head, or with another label for the edge to that head.
    pub fn why_not(&self, words: &[String], analysis: &Analysis, expected: &Expected, count: usize) -> Result<WhyNot> {
        self.parser.require_instances()?;
        let Expected { dependent, head, ref label } = *expected;
        let n = analysis.positions();
        let refuse = |message: String| Err(Error::Explanation { message });
        if dependent == 0 || dependent >= n || head >= n {
            return refuse(format!("no edge {dependent}:{head}: the sentence has words 1 to {}, and 0 is ROOT", n - 1));
        }
        if dependent == head {
            return refuse(format!("word {dependent} cannot be its own head"));
        }
        let asked = match label {
            None => None,
            Some(name) => match self.parser.label(name) {
                Some(label) => Some(label as u32),
                None => return refuse(format!("no label {name}; there are {}", self.parser.labels().join(", "))),
            },
        };
        let predicted = analysis.parse.heads[dependent];
        if head == predicted && label.as_ref().is_none_or(|label| *label == analysis.parse.labels[dependent]) {
            return refuse(format!("{dependent}:{head} is what was predicted; name another head or label"));
        }
        let head_contrast = match head == predicted {
            true => None,
            false => Some(self.head_contrast(words, analysis, dependent, [predicted, head], count)?),
        };
        let label_contrast = match asked {
            None => None,
            Some(asked) => self.label_contrast(analysis, dependent, head, asked, count)?,
        };
        self.edges().intact()?;
        Ok(WhyNot { dependent, head: head_contrast, label: label_contrast })
    }

    fn head_contrast(
        &self,
        words: &[String],
        analysis: &Analysis,
        dependent: usize,
        heads: [usize; 2],
        count: usize,
    ) -> Result<Contrast> {
        let form = |position: usize| position.checked_sub(1).map_or("ROOT", |at| words[at].as_str());
        let sides = self.parser.sides(Task::Heads, analysis, &heads.map(|head| (dependent, head)))?;
        let names = heads.map(|head| format!("{head} {}", form(head)));
        self.contrast(names, &sides[0], &sides[1], count)
    }

    /// The label asked for against the chosen one, or the one for the other head; `None` if they are the same.
    fn label_contrast(
        &self,
        analysis: &Analysis,
        dependent: usize,
        head: usize,
        asked: u32,
        count: usize,
    ) -> Result<Option<Contrast>> {
        let edge = self.parser.sides(Task::Labels, analysis, &[(dependent, head)])?;
        let chosen = match head == analysis.parse.heads[dependent] {
            true => self.parser.label(&analysis.parse.labels[dependent]).unwrap_or_default() as u32,
            false => {
                let scores = self.evidence.label_scores(self.parser.by(), &edge)?;
                let scores: Vec<f32> = scores.iter().flatten().map(|&score| score as f32).collect();
                self.parser.choose_label(&scores, head) as u32
            }
        };
        if chosen == asked {
            return Ok(None);
        }
        let [own, other] = [chosen, asked].map(|label| edge[0].with_label(Some(label)));
        let names = [chosen, asked].map(|label| self.edges().label(label).to_string());
        self.contrast(names, &own, &other, count).map(Some)
    }

    fn contrast(&self, names: [String; 2], chosen: &Side, other: &Side, count: usize) -> Result<Contrast> {
        let by = self.parser.by();
        let parts = self.margin_parts(chosen, other)?;
        let weighed = self.evidence.weigh(by, chosen)?;
        let margin: f64 = parts.iter().map(|(_, part)| part).sum();
        let side = |sign: f64| {
            let some = parts.iter().filter(|(_, part)| part * sign > 0.0);
            some.fold((0.0, 0), |(sum, number), (_, part)| (sum + part, number + 1))
        };
        let mut order: Vec<&(EdgeId, f64)> = parts.iter().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let cite = |&&(edge, part): &&(EdgeId, f64)| -> Result<Citation> {
            let citation = self.cited(edge, self.similarity_for(edge, (chosen, &weighed), other)?)?;
            Ok(Citation { margin_share: Some(share(part, margin)), ..citation })
        };
        let strongest = order.iter().filter(|(_, part)| *part > 0.0).take(count);
        let weakest = order.iter().rev().filter(|(_, part)| *part < 0.0).take(count);
        let [chosen_name, alternative] = names;
        let score = |side| Ok::<_, Error>(self.evidence.weigh(by, side)?.score);
        Ok(Contrast {
            chosen: chosen_name,
            alternative,
            scores: [score(chosen)?, score(other)?],
            margin,
            in_favour: side(1.0),
            against: side(-1.0),
            arguments_for: strongest.map(cite).collect::<Result<_>>()?,
            arguments_against: weakest.map(cite).collect::<Result<_>>()?,
        })
    }

    /// The similarity of a training edge to the side for which it counts; to the first side if it counts for both.
    fn similarity_for(&self, edge: EdgeId, (chosen, weighed): (&Side, &Weighed), other: &Side) -> Result<f32> {
        let counts = self.evidence.contribution(self.parser.by(), edge, chosen, weighed)? != 0.0;
        let side = if counts { chosen } else { other };
        let similarity = match edge {
            EdgeId::Accepted(number) => self.edges().space(side.task).similarity(&side.row, number),
            EdgeId::Rejected(number) => {
                self.edges().rejected_space().and_then(|space| space.similarity(&side.row, number))
            }
        };
        Ok(similarity.unwrap_or_default())
    }

    /// What each training edge contributes to one side over another; the parts add up to the margin.
    pub(super) fn margin_parts(&self, chosen: &Side, other: &Side) -> Result<Vec<(EdgeId, f64)>> {
        let (evidence, by) = (&self.evidence, self.parser.by());
        if by.rule.of(chosen.task).is_linear() && chosen.label.is_none() {
            // Both sides are compared with the same edges, so the difference of their vectors gives the parts at once.
            let row = chosen.row.iter().zip(&other.row).map(|(a, b)| a - b).collect();
            return evidence.contributions(by, &Side::new(chosen.task, row, None));
        }
        let mut parts: BTreeMap<EdgeId, f64> = evidence.contributions(by, chosen)?.into_iter().collect();
        for (edge, part) in evidence.contributions(by, other)? {
            *parts.entry(edge).or_default() -= part;
        }
        Ok(parts.into_iter().filter(|(edge, _)| evidence.counts(*edge)).collect())
    }
}
