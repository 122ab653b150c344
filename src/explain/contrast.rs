//! Why not another head or label: the training edges that argue for the decision, and those that argue against it.

use super::rationale::share;
use super::{Citation, Explainer, Inference, Reading, Side};
use crate::error::{Error, Result};
use crate::support::Task;
use citree_index::Hit;
use serde::Serialize;
use std::collections::BTreeMap;

/// A decision set against an alternative that somebody asked for.
#[derive(Clone, Debug, Serialize)]
pub struct WhyNot {
    /// The id of the dependent.
    pub dependent: usize,
    /// The head that was chosen against the one asked for; `None` where they are the same.
    pub head: Option<Contrast>,
    /// The label that was chosen, or that would be for the other head, against the one asked for.
    pub label: Option<Contrast>,
}

/// What the training edges say to one choice over another.
#[derive(Clone, Debug, Serialize)]
pub struct Contrast {
    /// The head (as `id form`) or label that was chosen.
    pub chosen: String,
    /// The one it is set against.
    pub alternative: String,
    /// Scores of both.
    pub scores: [f64; 2],
    /// All that the training edges say for the chosen one over the other, added up: the margin as evidence.
    pub margin: f64,
    /// How much of that the edges in favour bring, and how many they are.
    pub in_favour: (f64, u64),
    /// How much the edges against take away, and how many they are.
    pub against: (f64, u64),
    /// The training edges that argue most strongly for what was chosen; shares are of the margin.
    pub arguments_for: Vec<Citation>,
    /// Those that argue most strongly against it.
    pub arguments_against: Vec<Citation>,
}

impl Explainer {
    /// Sets the decisions about a word against another head, or another label for the edge to that head.
    pub fn why_not(
        &self,
        words: &[String],
        reading: &Reading,
        dependent: usize,
        head: usize,
        label: Option<&str>,
        count: usize,
    ) -> Result<WhyNot> {
        self.require_instances()?;
        let n = reading.positions();
        let refuse = |message: String| Err(Error::Explanation { message });
        if dependent == 0 || dependent >= n || head >= n {
            return refuse(format!("no edge {dependent}:{head}: the sentence has words 1 to {}, and 0 is ROOT", n - 1));
        }
        if dependent == head {
            return refuse(format!("word {dependent} cannot be its own head"));
        }
        let predicted = reading.parse.heads[dependent];
        let vocabulary = &self.parser.tables().vocabulary;
        let asked = match label {
            None => None,
            Some(name) => match vocabulary.label(name) {
                Some(label) => Some(label),
                None => return refuse(format!("no label {name}; there are {}", vocabulary.labels().join(", "))),
            },
        };
        if head == predicted && label.is_none_or(|label| label == reading.parse.labels[dependent]) {
            return refuse(format!("{dependent}:{head} is what was predicted; name another head or label"));
        }
        let form = |position: usize| position.checked_sub(1).map_or("ROOT", |at| words[at].as_str());
        let heads = if head == predicted {
            None
        } else {
            let rows = self.vectors(Task::Heads, reading, &[(dependent, predicted), (dependent, head)])?;
            let [chosen, other] =
                [0, 1].map(|at| Side::new(Task::Heads, rows[at * rows.len() / 2..][..rows.len() / 2].to_vec(), None));
            let names = [predicted, head].map(|head| format!("{head} {}", form(head)));
            Some(self.contrast(names, &chosen, &other, count)?)
        };
        let labels = match asked {
            None => None,
            Some(asked) => {
                let all = Side::new(Task::Labels, self.vectors(Task::Labels, reading, &[(dependent, head)])?, None);
                let chosen = if head == predicted {
                    vocabulary.label(&reading.parse.labels[dependent]).unwrap_or_default()
                } else {
                    let scores: Vec<f32> = self.label_evidence(&all)?.into_iter().map(|score| score as f32).collect();
                    self.parser.choose_label(&scores, head) as u32
                };
                if chosen == asked {
                    None
                } else {
                    let side = |label| all.with_label(Some(label));
                    let names = [chosen, asked].map(|label| self.edges().label(label).to_string());
                    Some(self.contrast(names, &side(chosen), &side(asked), count)?)
                }
            }
        };
        Ok(WhyNot { dependent, head: heads, label: labels })
    }

    fn contrast(&self, names: [String; 2], chosen: &Side, other: &Side, count: usize) -> Result<Contrast> {
        let parts = self.margin_parts(chosen, other)?;
        let margin: f64 = parts.iter().map(|(_, part)| part).sum();
        let side = |sign: f64| {
            let some = parts.iter().filter(|(_, part)| part * sign > 0.0);
            some.fold((0.0, 0), |(sum, number), (_, part)| (sum + part, number + 1))
        };
        let mut order: Vec<&(u32, f64)> = parts.iter().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let cite = |&&(edge, part): &&(u32, f64)| -> Result<Citation> {
            let own = if self.evidence.range(chosen).contains(&edge) { chosen } else { other };
            let similarity = self.edges().space(chosen.task).similarity(own.row(), edge).unwrap_or_default();
            let citation = self.cite(&Hit { record: edge, similarity }, chosen, None, 0.0, None)?;
            Ok(Citation { margin_share: Some(share(part, margin)), ..citation })
        };
        let strongest = order.iter().filter(|(_, part)| *part > 0.0).take(count);
        let weakest = order.iter().rev().filter(|(_, part)| *part < 0.0).take(count);
        let inference = self.inference();
        let [chosen_name, alternative] = names;
        let score = |side| Ok::<_, Error>(self.evidence.score(inference, self.evidence.total(inference, side)?));
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

    /// What each training edge says for one side over another; the parts add up to the margin.
    pub(super) fn margin_parts(&self, chosen: &Side, other: &Side) -> Result<Vec<(u32, f64)>> {
        let (evidence, inference) = (&self.evidence, self.inference());
        if let (Inference::Sum, None) = (inference, chosen.label) {
            // Both sides are compared with the same edges, so the difference of their vectors says it at once.
            let row = chosen.row().iter().zip(other.row()).map(|(a, b)| a - b).collect();
            return self.side_parts(&Side::new(chosen.task, row, None));
        }
        let mut parts: BTreeMap<u32, f64> = self.side_parts(chosen)?.into_iter().collect();
        for (edge, part) in self.side_parts(other)? {
            *parts.entry(edge).or_default() -= part;
        }
        Ok(parts.into_iter().filter(|(edge, _)| evidence.counts(*edge)).collect())
    }

    fn side_parts(&self, side: &Side) -> Result<Vec<(u32, f64)>> {
        let (evidence, inference) = (&self.evidence, self.inference());
        let count = evidence.count(side);
        if let Inference::Knn { .. } = inference {
            let voters = evidence.voters(inference, side)?;
            return Ok(voters
                .iter()
                .map(|hit| (hit.record, evidence.weight(inference, hit.similarity, count)))
                .collect());
        }
        let similarities = evidence.similarities(side)?;
        let counted = evidence.range(side).zip(similarities.iter()).filter(|(edge, _)| evidence.counts(*edge));
        Ok(counted.map(|(edge, similarity)| (edge, evidence.weight(inference, *similarity, count))).collect())
    }
}
