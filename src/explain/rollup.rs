//! Splitting the whole score and the whole margin over groups of training edges: the parts add up to the whole.

use super::rationale::share;
use super::{Explainer, Inference, Side};
use crate::error::Result;
use crate::indexing::{Grouping, prefix};
use crate::support::Task;
use serde::Serialize;
use std::collections::HashMap;

/// Groups that are named; the others are put together.
const NAMED: usize = 12;

/// What to split by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The label of the training edge.
    Label,
    /// The document of its sentence.
    Document,
    /// The first so many parts of the `sent_id` of its sentence; one is the genre in many treebanks.
    Prefix(usize),
    /// The form of its dependent.
    Dependent,
    /// The form of its head.
    Head,
}

impl std::fmt::Display for By {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Label => f.write_str("label"),
            Self::Document => f.write_str("document"),
            Self::Prefix(1) => f.write_str("genre"),
            Self::Prefix(parts) => write!(f, "prefix:{parts}"),
            Self::Dependent => f.write_str("dependent"),
            Self::Head => f.write_str("head"),
        }
    }
}

impl std::str::FromStr for By {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let parts = |text: &str| text.parse().ok().filter(|parts| *parts > 0).map(Self::Prefix);
        match name {
            "label" => Ok(Self::Label),
            "document" => Ok(Self::Document),
            "genre" => Ok(Self::Prefix(1)),
            "dependent" => Ok(Self::Dependent),
            "head" => Ok(Self::Head),
            _ => name.strip_prefix("prefix:").and_then(parts).ok_or_else(|| {
                "there are label, document, genre, prefix:N (the first N parts of a sent_id), dependent and head"
                    .to_string()
            }),
        }
    }
}

/// A score and a margin split over groups.
#[derive(Clone, Debug, Serialize)]
pub struct RollUp {
    /// What it is split by.
    pub by: String,
    /// All the evidence for what was chosen: the score itself under the sum rule.
    pub evidence: f64,
    /// By how much that is more than the runner-up's.
    pub margin: Option<f64>,
    /// The groups that matter most to the margin (or to the score, where nothing was second), then the rest as one.
    pub groups: Vec<Group>,
}

/// A group of training edges.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its part of the evidence for what was chosen.
    pub evidence: f64,
    /// The same as a share.
    pub share: f64,
    /// Its part of the margin.
    pub margin: Option<f64>,
    /// The same as a share.
    pub margin_share: Option<f64>,
}

impl Explainer {
    /// Splits the evidence for a side, and for its lead over another.
    pub fn roll_up(&self, by: By, chosen: &Side, rival: Option<&Side>) -> Result<RollUp> {
        let mut parts: HashMap<String, [f64; 2]> = HashMap::new();
        for (place, side) in [Some(chosen), rival].into_iter().enumerate() {
            let Some(side) = side else { continue };
            for (name, part) in self.parts(by, side)? {
                parts.entry(name).or_default()[place] += part;
            }
        }
        let parts: Vec<(String, [f64; 2])> = parts.into_iter().collect();
        let total = |place: usize| parts.iter().map(|(_, part)| part[place]).sum::<f64>();
        let (evidence, margin) = (total(0), rival.map(|_| total(0) - total(1)));
        let group = |name: String, [own, other]: [f64; 2]| Group {
            name,
            evidence: own,
            share: share(own, evidence),
            margin: margin.map(|_| own - other),
            margin_share: margin.map(|margin| share(own - other, margin)),
        };
        let mut groups: Vec<Group> = parts.iter().map(|(name, part)| group(name.clone(), *part)).collect();
        let weight = |group: &Group| group.margin.unwrap_or(group.evidence).abs();
        groups.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then_with(|| a.name.cmp(&b.name)));
        if groups.len() > NAMED + 1 {
            let rest = groups.split_off(NAMED);
            let own: f64 = rest.iter().map(|group| group.evidence).sum();
            let lead: f64 = rest.iter().filter_map(|group| group.margin).sum();
            groups.push(group(format!("({} others)", rest.len()), [own, own - lead]));
        }
        Ok(RollUp { by: by.to_string(), evidence, margin, groups })
    }

    /// The evidence for a side, group by group.
    fn parts(&self, by: By, side: &Side) -> Result<Vec<(String, f64)>> {
        if let (By::Label, Some(label)) = (by, side.label) {
            let total = self.evidence.total(self.inference(), side)?;
            return Ok(vec![(self.edges().label(label).to_string(), total)]);
        }
        // Sums were taken for whole spaces, so they serve where all edges count, by the sum rule, for heads.
        let summed = self.inference() == Inference::Sum && side.task == Task::Heads && !self.evidence.is_partial();
        if summed { self.parts_of_sums(by, side) } else { self.parts_of_edges(by, side) }
    }

    fn parts_of_sums(&self, by: By, side: &Side) -> Result<Vec<(String, f64)>> {
        let space = self.edges().space(side.task);
        let count = self.evidence.count(side);
        let product = |sum: &[f32]| {
            let product: f64 = sum.iter().zip(&side.row).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            self.evidence.weight(Inference::Sum, 1.0, count) * product
        };
        let grouping = match by {
            By::Label => {
                let sums = space.sums();
                let weight = self.evidence.weight(Inference::Sum, 1.0, count);
                let parts = sums.sums().chunks(sums.dims()).zip(0..).map(|(sum, label)| {
                    let product: f64 = sum.iter().zip(&side.row).map(|(a, b)| a * f64::from(*b)).sum();
                    (self.edges().label(label).to_string(), weight * product)
                });
                return Ok(parts.collect());
            }
            By::Document => Grouping::Document,
            By::Prefix(1) => Grouping::Genre,
            By::Prefix(_) => Grouping::Sentence,
            By::Dependent => Grouping::Dependent,
            By::Head => Grouping::Head,
        };
        let sums = space.group_sums(grouping.place()).chunks(space.dims()).map(product);
        if let By::Prefix(parts @ 2..) = by {
            let named = |(number, part)| Ok((prefix(self.edges().sentence(number)?.sent_id, parts).to_string(), part));
            return (0..).zip(sums).map(named).collect();
        }
        let names = self.edges().group_names(grouping);
        Ok(names.iter().cloned().zip(sums).collect())
    }

    fn parts_of_edges(&self, by: By, side: &Side) -> Result<Vec<(String, f64)>> {
        let (index, inference) = (self.edges().index(), self.inference());
        let mut parts: HashMap<u32, f64> = HashMap::new();
        let grouping = match by {
            By::Label => None,
            By::Document => Some(Grouping::Document),
            By::Prefix(1) => Some(Grouping::Genre),
            By::Prefix(_) => Some(Grouping::Sentence),
            By::Dependent => Some(Grouping::Dependent),
            By::Head => Some(Grouping::Head),
        };
        let group = |edge: u32| match grouping {
            Some(grouping) => index.group(grouping.place(), edge),
            None => index.edge(edge).map(|edge| edge.label),
        };
        let mut add = |edge: u32, part: f64| *parts.entry(group(edge).unwrap_or(u32::MAX)).or_default() += part;
        if let Inference::Knn { .. } = inference {
            for hit in self.evidence.voters(inference, side)? {
                add(hit.edge, self.evidence.weight(inference, hit.similarity, 1));
            }
        } else {
            let (similarities, count) = (self.evidence.similarities(side)?, self.evidence.count(side));
            for (edge, &similarity) in self.evidence.range(side).zip(&similarities) {
                if self.evidence.counts(edge) {
                    add(edge, self.evidence.weight(inference, similarity, count));
                }
            }
        }
        let name = |number: u32| -> Result<String> {
            Ok(match (by, grouping) {
                (By::Prefix(parts @ 2..), _) => prefix(self.edges().sentence(number)?.sent_id, parts).to_string(),
                (_, Some(grouping)) => {
                    self.edges().group_names(grouping).get(number as usize).cloned().unwrap_or_default()
                }
                (_, None) => self.edges().label(number).to_string(),
            })
        };
        parts.into_iter().map(|(number, part)| Ok((name(number)?, part))).collect()
    }
}
