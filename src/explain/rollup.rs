//! Splitting the whole score and the whole margin over groups of training edges: the parts add up to the whole.

use super::Explainer;
use super::rationale::share;
use crate::error::Result;
use crate::evidence::{Grouping, Side, prefix};
use crate::task::Task;
use serde::Serialize;
use std::collections::BTreeMap;

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

impl By {
    /// The groups that the index keeps for it; labels need none.
    fn grouping(self) -> Option<Grouping> {
        match self {
            Self::Label => None,
            Self::Document => Some(Grouping::Document),
            Self::Prefix(1) => Some(Grouping::Genre),
            Self::Prefix(_) => Some(Grouping::Sentence),
            Self::Dependent => Some(Grouping::Dependent),
            Self::Head => Some(Grouping::Head),
        }
    }
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
    pub(crate) fn roll_up(&self, by: By, chosen: &Side, rival: Option<&Side>) -> Result<RollUp> {
        let mut parts: BTreeMap<u32, [f64; 2]> = BTreeMap::new();
        for (place, side) in [Some(chosen), rival].into_iter().enumerate() {
            for (group, part) in side.map_or(Ok(Vec::new()), |side| self.parts(by, side))? {
                parts.entry(group).or_default()[place] += part;
            }
        }
        if let By::Prefix(depth @ 2..) = by {
            return self.named(by, self.by_prefix(parts, depth)?, rival.is_some(), |name| Ok(name.clone()));
        }
        let parts: Vec<(u32, [f64; 2])> = parts.into_iter().collect();
        let name = |group: &u32| -> Result<String> {
            Ok(match by.grouping() {
                Some(grouping) => self.edges().group_names(grouping).get(*group as usize).cloned().unwrap_or_default(),
                None => self.edges().label(*group).to_string(),
            })
        };
        self.named(by, parts, rival.is_some(), name)
    }

    /// Sorts groups by what they matter, names the first and puts the others together.
    fn named<K>(
        &self,
        by: By,
        mut parts: Vec<(K, [f64; 2])>,
        contested: bool,
        name: impl Fn(&K) -> Result<String>,
    ) -> Result<RollUp> {
        let total = |place: usize| parts.iter().map(|(_, part)| part[place]).sum::<f64>();
        let (evidence, margin) = (total(0), contested.then(|| total(0) - total(1)));
        let group = |name: String, [own, other]: [f64; 2]| Group {
            name,
            evidence: own,
            share: share(own, evidence),
            margin: margin.map(|_| own - other),
            margin_share: margin.map(|margin| share(own - other, margin)),
        };
        // A stable sort: groups that matter alike stay in their order.
        parts.sort_by(|(_, a), (_, b)| (b[0] - b[1]).abs().total_cmp(&(a[0] - a[1]).abs()));
        let rest = if parts.len() > NAMED + 1 { parts.split_off(NAMED) } else { Vec::new() };
        let mut groups = Vec::with_capacity(parts.len() + 1);
        for (key, part) in &parts {
            groups.push(group(name(key)?, *part));
        }
        if !rest.is_empty() {
            let sum = |place: usize| rest.iter().map(|(_, part)| part[place]).sum::<f64>();
            groups.push(group(format!("({} others)", rest.len()), [sum(0), sum(1)]));
        }
        Ok(RollUp { by: by.to_string(), evidence, margin, groups })
    }

    fn by_prefix(&self, sentences: BTreeMap<u32, [f64; 2]>, depth: usize) -> Result<Vec<(String, [f64; 2])>> {
        let mut parts: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        for (sentence, [own, other]) in sentences {
            let name = prefix(self.edges().sentence(sentence)?.sent_id, depth).to_string();
            let sums = parts.entry(name).or_default();
            *sums = [sums[0] + own, sums[1] + other];
        }
        Ok(parts.into_iter().collect())
    }

    /// The evidence for a side, group by group.
    fn parts(&self, by: By, side: &Side) -> Result<Vec<(u32, f64)>> {
        if let (By::Label, Some(label)) = (by, side.label) {
            return Ok(vec![(label, self.evidence.total(self.parser.by(), side)?)]);
        }
        // Sums were taken over whole spaces, so they serve where all edges count, by a linear rule, for heads.
        let summed = self.rule().is_linear() && side.task == Task::Heads;
        match by.grouping() {
            None if summed => Ok(self.evidence.totals_by_label(self.parser.by(), side)),
            Some(grouping) if summed && !self.evidence.is_partial() => Ok(self.parts_of_sums(grouping, side)),
            grouping => self.parts_of_edges(grouping, side),
        }
    }

    fn parts_of_sums(&self, grouping: Grouping, side: &Side) -> Vec<(u32, f64)> {
        let space = self.edges().space(side.task);
        let by = self.parser.by();
        let weight = by.rule.contribution(1.0, by.scale, self.evidence.count(side));
        let product = |sum: &[f32]| {
            let product: f64 = sum.iter().zip(&side.row).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            weight * product
        };
        (0..).zip(space.group_sums(grouping.place()).chunks(space.dims()).map(product)).collect()
    }

    fn parts_of_edges(&self, grouping: Option<Grouping>, side: &Side) -> Result<Vec<(u32, f64)>> {
        let index = self.edges().index();
        let groups = match grouping {
            Some(grouping) => index.groupings().get(grouping.place()).map_or(0, |groups| *groups as usize),
            None => index.manifest().classes as usize,
        };
        let mut parts: Vec<Option<f64>> = vec![None; groups];
        let group = |edge: u32| match grouping {
            Some(grouping) => index.group(grouping.place(), edge),
            None => index.record(edge).map(|record| record.class),
        };
        for (edge, part) in self.evidence.contributions(self.parser.by(), side)? {
            let sum = group(edge).and_then(|group| parts.get_mut(group as usize));
            sum.into_iter().for_each(|sum| *sum = Some(sum.unwrap_or(0.0) + part));
        }
        Ok((0..).zip(parts).filter_map(|(group, part)| Some((group, part?))).collect())
    }
}
