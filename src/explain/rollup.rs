//! Splits the whole score and the whole margin over groups of training edges. The parts add up to the whole.

use super::Explainer;
use super::rationale::share;
use crate::error::Result;
use crate::evidence::{EdgeId, Grouping, Side, TrainingEdges, prefix};
use crate::task::Task;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// The number of named groups. The others are merged into one.
const NAMED: usize = 12;
/// The group of rejected edges in a split by label, because they have no label.
const REJECTED: &str = "(rejected)";

/// What to split by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum By {
    /// The label of the training edge.
    Label,
    /// The treebank of its sentence.
    Treebank,
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
    /// The grouping of the index that it uses; none for labels.
    fn grouping(self) -> Option<Grouping> {
        match self {
            Self::Label => None,
            Self::Document => Some(Grouping::Document),
            Self::Prefix(1) => Some(Grouping::Genre),
            Self::Prefix(_) | Self::Treebank => Some(Grouping::Sentence),
            Self::Dependent => Some(Grouping::Dependent),
            Self::Head => Some(Grouping::Head),
        }
    }
}

impl std::fmt::Display for By {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Label => f.write_str("label"),
            Self::Treebank => f.write_str("treebank"),
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
            "treebank" => Ok(Self::Treebank),
            "document" => Ok(Self::Document),
            "genre" => Ok(Self::Prefix(1)),
            "dependent" => Ok(Self::Dependent),
            "head" => Ok(Self::Head),
            _ => name.strip_prefix("prefix:").and_then(parts).ok_or_else(|| {
                "there are label, treebank, document, genre, prefix:N (the first N parts of a sent_id), dependent and head"
                    .to_string()
            }),
        }
    }
}

/// A score and a margin split over groups.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RollUp {
    /// What it is split by.
    pub by: String,
    /// The evidence for the chosen alternative. Under the sum rule, this is the score.
    pub evidence: f64,
    /// Its lead over the evidence for the runner-up.
    pub margin: Option<f64>,
    /// The groups with the largest parts of the margin (or of the score, if there is no runner-up), then the rest as one.
    pub groups: Vec<Group>,
}

/// A group of training edges.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its part of the evidence for the chosen alternative.
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
        let mut new_groups = NewGroups::default();
        for (place, side) in [Some(chosen), rival].into_iter().enumerate() {
            for (group, part) in side.map_or(Ok(Vec::new()), |side| self.parts(by, side, &mut new_groups))? {
                parts.entry(group).or_default()[place] += part;
            }
        }
        self.edges().intact()?;
        if let By::Prefix(2..) | By::Treebank = by {
            return self.named(by, self.by_sentence(by, parts)?, rival.is_some(), |name| Ok(name.clone()));
        }
        let parts: Vec<(u32, [f64; 2])> = parts.into_iter().collect();
        let name = |group: &u32| -> Result<String> {
            if let Some(name) = new_groups.name(*group) {
                return Ok(name.to_string());
            }
            Ok(match by.grouping() {
                Some(grouping) => self.edges().group_name(grouping, *group).to_string(),
                None => self.edges().label(*group).to_string(),
            })
        };
        self.named(by, parts, rival.is_some(), name)
    }

    /// Sorts groups by the size of their parts, names the first and merges the others.
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
        // The sort is stable, so ties stay in order.
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

    /// Adds up the parts of sentences that have the same treebank or prefix.
    fn by_sentence(&self, by: By, sentences: BTreeMap<u32, [f64; 2]>) -> Result<Vec<(String, [f64; 2])>> {
        let mut parts: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        for (sentence, [own, other]) in sentences {
            let name = match by {
                By::Prefix(depth) => prefix(self.edges().sentence(sentence)?.sent_id, depth).to_string(),
                _ => self.edges().treebank_name(sentence).to_string(),
            };
            let sums = parts.entry(name).or_default();
            *sums = [sums[0] + own, sums[1] + other];
        }
        Ok(parts.into_iter().collect())
    }

    /// The evidence for a side, group by group.
    fn parts(&self, by: By, side: &Side, new_groups: &mut NewGroups) -> Result<Vec<(u32, f64)>> {
        if let (By::Label, Some(label)) = (by, side.label) {
            return Ok(vec![(label, self.evidence.total(self.parser.by(), side)?)]);
        }
        if let (By::Label, Some(found)) = (by, self.evidence.densities_by_label(self.parser.by(), side)?) {
            let mut parts = found.accepted;
            if found.rejected != 0.0 {
                parts.push((new_groups.number(REJECTED, None, parts.len() as u32), found.rejected));
            }
            return Ok(parts);
        }
        // The sums of the index cover all edges. They apply to heads under a linear rule if no edge is left out.
        let summed = side.task == Task::Heads && self.rule().of(side.task).is_linear();
        match by.grouping() {
            None if summed => self.evidence.totals_by_label(self.parser.by(), side),
            Some(grouping) if summed && self.evidence.is_whole() => self.parts_of_sums(grouping, side),
            grouping => self.parts_of_edges(grouping, side, new_groups),
        }
    }

    fn parts_of_sums(&self, grouping: Grouping, side: &Side) -> Result<Vec<(u32, f64)>> {
        let weight = self.evidence.unit_contribution(self.parser.by(), side)?;
        let product = |sum: &[f32]| {
            let product: f64 = sum.iter().zip(&side.row).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            weight * product
        };
        let sums = self.edges().group_sums(side.task, grouping);
        // The sum of a group that lost all its edges is zero.
        let sums = sums.filter(|(_, sum)| sum.iter().any(|value| *value != 0.0));
        Ok(sums.map(|(group, sum)| (group, product(sum))).collect())
    }

    fn parts_of_edges(
        &self,
        grouping: Option<Grouping>,
        side: &Side,
        new_groups: &mut NewGroups,
    ) -> Result<Vec<(u32, f64)>> {
        let groups = match grouping {
            Some(grouping) => self.edges().group_count(grouping),
            None => self.edges().index().manifest().classes as usize,
        };
        let mut parts: Vec<Option<f64>> = vec![None; groups];
        let group = |edge: u32| match grouping {
            Some(grouping) => self.edges().group(grouping, edge),
            None => self.edges().record(edge).map(|record| record.label),
        };
        for (edge, part) in self.evidence.contributions(self.parser.by(), side)? {
            let group = match edge {
                EdgeId::Accepted(edge) => group(edge),
                EdgeId::Rejected(_) => Some(self.group_of_rejected(edge, grouping, groups as u32, new_groups)?),
            };
            let Some(group) = group else { continue };
            if parts.len() <= group as usize {
                parts.resize(group as usize + 1, None);
            }
            let sum = &mut parts[group as usize];
            *sum = Some(sum.unwrap_or(0.0) + part);
        }
        Ok((0..).zip(parts).filter_map(|(group, part)| Some((group, part?))).collect())
    }

    /// The group of a rejected edge: one that accepted edges have too, or a new one.
    fn group_of_rejected(
        &self,
        edge: EdgeId,
        grouping: Option<Grouping>,
        groups: u32,
        new_groups: &mut NewGroups,
    ) -> Result<u32> {
        let Some(grouping) = grouping else { return Ok(new_groups.number(REJECTED, None, groups)) };
        let (sentence, dependent, head) = self.edges().place(edge)?;
        if let Some(group) = new_groups.of_sentences.get(&sentence) {
            return Ok(*group);
        }
        // Also checks that there is such a sentence.
        let source = self.edges().sentence(sentence)?;
        let group = match grouping {
            Grouping::Sentence => sentence,
            _ => {
                let name = grouping.name_of(&source, dependent, head);
                new_groups.number(&name, Some((self.edges(), grouping)), groups)
            }
        };
        if matches!(grouping, Grouping::Document | Grouping::Genre | Grouping::Sentence) {
            new_groups.of_sentences.insert(sentence, group);
        }
        Ok(group)
    }
}

/// Numbers of groups by name, and groups that only rejected edges have, numbered after all others.
#[derive(Default)]
struct NewGroups {
    /// The groups of sentences whose edges are all in one group.
    of_sentences: HashMap<u32, u32>,
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    first: u32,
}

impl NewGroups {
    /// The number of a group; `known` has the names of the first `groups` groups, if they have any.
    fn number(&mut self, name: &str, known: Option<(&TrainingEdges, Grouping)>, groups: u32) -> u32 {
        if self.numbers.is_empty() {
            self.first = groups;
            let known = known.into_iter().flat_map(|(edges, grouping)| edges.named_groups(grouping));
            self.numbers = known.map(|(number, name)| (name.clone(), number)).collect();
        }
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.first + self.names.len() as u32;
        self.names.push(name.to_string());
        self.numbers.insert(name.to_string(), number);
        number
    }

    /// The name of a group that only rejected edges have.
    fn name(&self, group: u32) -> Option<&str> {
        let at = group.checked_sub(self.first)?;
        self.names.get(at as usize).map(String::as_str)
    }
}
