//! Whether two treebanks in one bundle decide as one treebank of both: the training set is split by genre.

use super::{Copied, Options};
use crate::search::say;
use anyhow::ensure;
use citree::explain::{EdgeExplanation, Explanation};
use citree::parse::Settings;
use citree::treebank::{Sentence, read_trees};
use citree::{Bundle, Rule};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Dev sentences that are explained, evenly spaced.
const EXPLAINED: usize = 100;

/// What differs between two bundles.
#[derive(Default)]
struct Difference {
    decisions: usize,
    other: usize,
    /// Citations, and how many of them the other bundle has in the same place.
    citations: usize,
    same: usize,
    /// The largest difference of a score, relative to it.
    score: f64,
}

/// Builds both bundles and compares their explanations by every rule.
pub fn split(copied: &Copied, options: &Options) -> anyhow::Result<String> {
    let train = read_trees(&options.train)?;
    let (first, second) = by_genre(&train);
    ensure!(!second.is_empty(), "{}: its sent_ids name no genres", options.train.display());
    let stride = copied.dev.len().div_ceil(EXPLAINED);
    let asked: Vec<Sentence> = copied.dev.iter().step_by(stride).cloned().collect();
    let bundle = copied.open()?;
    say("split: both as one treebank")?;
    bundle.build_index(&[&first[..], &second].concat(), &|_| citree::Flow::Continue)?;
    let whole = explained(&copied.open()?, &asked)?;
    say("split: one treebank, and the other added to it")?;
    bundle.build_index(&first, &|_| citree::Flow::Continue)?;
    bundle.evidence().to_treebank("second").add(&second)?.commit("")?;
    let two = explained(&copied.open()?, &asked)?;
    let mut out = format!(
        "The training set split by genre into treebanks of {} and {} sentences, and as one; {} dev sentences explained:\n\n\
         | rule | decisions | that differ | citations | the same in both, % | largest difference of a score, relative |\n\
         |---|---:|---:|---:|---:|---:|\n",
        first.len(),
        second.len(),
        asked.len()
    );
    for ((name, whole), (_, two)) in whole.iter().zip(&two) {
        let mut found = Difference::default();
        let edges = |explained: &[Explanation]| explained.iter().flat_map(|one| one.edges.clone()).collect::<Vec<_>>();
        edges(whole).iter().zip(&edges(two)).for_each(|(own, other)| found.compare(own, other));
        let share = 100.0 * found.same as f64 / found.citations.max(1) as f64;
        let Difference { decisions, other, citations, score, .. } = found;
        let _ = writeln!(out, "| {name} | {decisions} | {other} | {citations} | {share:.3} | {score:.1e} |");
    }
    Ok(out)
}

/// The sentences of some genres, about half of them, and those of the others, each in their order.
fn by_genre(train: &[Sentence]) -> (Vec<Sentence>, Vec<Sentence>) {
    let genre = |sentence: &Sentence| sentence.sent_id().and_then(|id| id.split('-').next()).unwrap_or("").to_string();
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    train.iter().for_each(|sentence| *sizes.entry(genre(sentence)).or_default() += 1);
    let mut taken = 0;
    sizes.retain(|_, size| {
        let room = 2 * taken < train.len();
        taken += *size;
        room
    });
    train.iter().cloned().partition(|sentence| sizes.contains_key(&genre(sentence)))
}

/// The explanations by each rule, by its name.
fn explained(bundle: &Bundle, asked: &[Sentence]) -> anyhow::Result<Vec<(String, Vec<Explanation>)>> {
    let mut all = Vec::new();
    for (rule, exact) in
        [(Rule::sum(), false), (Rule::knn(Rule::NEIGHBORS)?, true), (Rule::knn(Rule::NEIGHBORS)?, false)]
    {
        let name = format!("{rule}{}", if exact { ", every edge compared" } else { "" });
        let settings = Settings { rule: Some(rule), exact, ..Settings::default() };
        let found = bundle.explainer_with(&settings)?.explain(asked, &Default::default())?;
        all.push((name, found.into_iter().flatten().collect()));
    }
    Ok(all)
}

impl Difference {
    fn compare(&mut self, own: &EdgeExplanation, other: &EdgeExplanation) {
        self.decisions += 2;
        self.other += usize::from(own.head != other.head) + usize::from(own.label != other.label);
        for (own, other) in [(&own.attachment, &other.attachment), (&own.labelling, &other.labelling)] {
            self.score = self.score.max((own.score - other.score).abs() / own.score.abs().max(1.0));
            for (own, other) in [(&own.citations, &other.citations), (&own.against, &other.against)] {
                self.citations += own.len();
                let place = |one: &citree::explain::Citation| (one.source.sent_id.clone(), one.dependent, one.head);
                self.same += own.iter().zip(other.iter()).filter(|(own, other)| place(own) == place(other)).count();
            }
        }
    }
}
