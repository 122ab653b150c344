//! Compares rules over the same similarities, for heads and for labels: sum, mean, nearest neighbours and NCA.

mod density;
mod heads;
mod labels;
mod tally;
mod weigh;

use super::bench::{Bench, comparing, reading};
use super::chart::{self, Axis, Line};
use super::corpus::Corpus;
use super::published::INSTANCE_SYSTEMS;
use super::report::Drawing;
use super::trainings::Training;
use super::{Cell, Lab, Report, Table};
use crate::config::{Basis, Similarity};
use crate::encoder::Vocabulary;
use crate::error::{Error, Result};
use crate::parse::CANDIDATE_HEADS;
use crate::train::{Flow, Stage};
use heads::Measured;
use tally::{FLIPS, Summary, Tally};

/// One seed is enough to compare rules, because all of them use the same similarities.
pub(super) fn trainings(lab: &Lab) -> Vec<Training> {
    if lab.bundle.is_some() {
        return Vec::new();
    }
    let all = |stage, systems: &[&str]| Training::all(&Corpus::Whole, &[stage], systems, &lab.seeds[..1]);
    [all(Stage::Heads, &["IIc"]), all(Stage::Labels, &INSTANCE_SYSTEMS)].concat()
}

pub(super) fn cost(lab: &Lab) -> u64 {
    let systems = if lab.bundle.is_some() { 0 } else { INSTANCE_SYSTEMS.len() as u64 };
    weighing(lab, CANDIDATE_HEADS as u64) + weighing(lab, 1) + systems * summing(lab)
}

/// The cost of comparing this number of candidates per word with all training edges.
fn weighing(lab: &Lab, candidates: u64) -> u64 {
    let (train, dev) = (lab.words(lab.train), lab.words(lab.dev));
    reading(train + dev) + comparing(candidates * dev, train)
}

/// The cost of comparing every word with the summed training edges.
fn summing(lab: &Lab) -> u64 {
    reading(lab.words(lab.train) + 2 * lab.words(lab.dev))
}

pub(super) fn report(bench: &Bench) -> Result<Report> {
    let (lab, seed) = (bench.lab, bench.lab.seeds[0]);
    let subject = subject(lab)?;
    let once = |name: &str, cost: u64, measure: fn(&Bench, u64) -> Result<Tally>| {
        bench.once(&Corpus::Whole, &format!("rules-{name}-{subject}"), cost, || measure(bench, seed))
    };
    let heads = once("heads", weighing(lab, CANDIDATE_HEADS as u64), heads::measure)?;
    let labels = once("labels", weighing(lab, 1), labels::measure)?;
    let mut by_system =
        Table::new("labels-by-system", "Labels of gold edges, % right", ["system", "by the sum", "by the mean"]);
    for name in INSTANCE_SYSTEMS.into_iter().filter(|_| lab.bundle.is_none()) {
        let shares = bench.once(&Corpus::Whole, &format!("rules-sum-and-mean-{name}-{seed}"), summing(lab), || {
            labels::by_sum_and_mean(bench, name, seed)
        })?;
        by_system.rows.push([vec![Cell::text(name)], shares.map(percent).to_vec()].concat());
    }
    let caption = "UAS, coverage, and the share of all training edges that must go until the runner-up wins";
    let names = Measured::ALL.map(Measured::name);
    let of_heads = table("heads", caption, ["UAS, %", "less that of the sum, points"], &names, &heads);
    let caption = "Labels of gold edges, coverage, and the share of the label's training edges that must go until the \
                   runner-up wins";
    let names = labels::Measured::ALL.map(labels::Measured::name);
    let of_labels = table("labels", caption, ["right, %", "less that of the mean, points"], &names, &labels);
    Ok(Report {
        title: format!("Rules of deciding on {}", lab.name),
        notes: notes(&subject, &heads, &labels),
        tables: [of_heads, of_labels, by_system].into_iter().filter(|table| !table.rows.is_empty()).collect(),
        drawings: vec![Drawing {
            name: "rules".to_string(),
            caption: "UAS by the share of the evidence that the 10 nearest edges carry".to_string(),
            svg: plot(&heads.rules),
        }],
        files: Vec::new(),
    })
}

/// A name for the measured model.
fn subject(lab: &Lab) -> Result<String> {
    let Some(model) = lab.bundle.map(|bundle| bundle.model()) else { return Ok(format!("IIc-{}", lab.seeds[0])) };
    let system = model.config.system;
    if system.similarity != Similarity::Cosine || system.inference != Basis::Instances {
        let message =
            format!("rules can be compared where training edges decide by cosine, as in WIc and IIc, not in {system}");
        return Err(Error::Explanation { message });
    }
    let support = model.heads.sums.as_ref().map(|sums| sums.counts().iter().sum::<u64>());
    if model.tables.vocabulary != Vocabulary::new(lab.train, model.config.min_count)
        || support != Some(lab.words(lab.train))
    {
        let message =
            "the bundle was trained on another treebank than --train: its rules would see other edges than it does";
        return Err(Error::Explanation { message: message.to_string() });
    }
    let fingerprint = model.fingerprint()?;
    Ok(format!("{system}-{}", fingerprint.iter().take(5).map(|byte| format!("{byte:02x}")).collect::<String>()))
}

fn notes(subject: &str, heads: &Tally, labels: &Tally) -> Vec<String> {
    vec![
        format!(
            "Every rule sees the same: the cosines of an edge with all training edges, in the models of {subject}. **Heads**: {} words, greedy; every rule chooses among the {CANDIDATE_HEADS} heads that \
             the sum likes best. The mean of all divides every head's sum by the same number, so that the two choose alike \
             and share a row. **Labels**: {} gold edges, the head being given. A label's evidence is from the training edges \
             that have it, so that sum and mean choose differently; a label that training never showed is wrong.",
            heads.decisions, labels.decisions
        ),
        "NCA counts each training edge by exp(T · cosine); for labels these are added up, which keeps the frequency of \
         labels, or averaged, which takes it out. The mean of the nearest looks at each head's own nearest edges; in votes of \
         the nearest each of the edges nearest of all counts for its own label, by its cosine."
            .to_string(),
        "Differences are paired by word, with one standard error; words of a sentence are not independent, so that it is \
         rather more. Carried is the share of the evidence for the chosen head or label that its 10 or 100 nearest edges \
         have, on average over words; where others are against it, that can be more than all."
            .to_string(),
        format!(
            "What must go: the edges that say most for the choice go first, until the runner-up by the same rule wins; the \
             median over the words of the first {FLIPS} sentences that have a runner-up ({} for heads, {} for labels). For \
             labels only edges of the chosen label go, and the share is of these. It is not counted for the nearest, where \
             other edges take the place of those that go, nor beyond T = 256, where the weights of far edges are too small \
             to be told from nothing.",
            heads.flipped, labels.flipped
        ),
        "Sum or mean for labels: the paper's formula adds up, which multiplies each label's score by its frequency. Every \
         model here was trained by the `aggregate` of the settings below, and is only decided with by both."
            .to_string(),
    ]
}

fn table(name: &str, caption: &str, [right, less]: [&str; 2], rules: &[String], tally: &Tally) -> Table {
    let columns = [
        "rule",
        right,
        less,
        "standard error",
        "10 nearest carry, %",
        "100 nearest carry, %",
        "must go, edges",
        "must go, %",
    ];
    let mut table = Table::new(name, caption, columns);
    for (rule, Summary { accuracy, gain, error, coverage, flip, flip_edges }) in rules.iter().zip(&tally.rules) {
        let mut row = vec![Cell::text(rule)];
        row.extend([*accuracy, *gain, *error, coverage[0], coverage[1]].map(percent));
        row.push(flip_edges.map_or(Cell::Nothing, |edges| Cell::Count(edges as u64)));
        row.push(flip.map_or(Cell::Nothing, percent));
        table.rows.push(row);
    }
    table
}

fn percent(share: f64) -> Cell {
    Cell::Value(100.0 * share)
}

/// A line of the plot: its name, and a test for the rules on it.
type Kind = (&'static str, fn(Measured) -> bool);

/// The accuracy by coverage, one line per kind of rule.
fn plot(summaries: &[Summary]) -> String {
    let kinds: [Kind; 3] = [
        ("sum of all", |rule| rule == Measured::Sum),
        ("k nearest", |rule| matches!(rule, Measured::Nearest(_))),
        ("NCA", |rule| matches!(rule, Measured::Nca(_))),
    ];
    let point = |summary: &Summary| (100.0 * summary.coverage[0], 100.0 * summary.accuracy);
    let line = |(name, of_kind): Kind| {
        let members = || Measured::ALL.into_iter().zip(summaries).filter(|(rule, _)| of_kind(*rule));
        Line {
            name: name.to_string(),
            points: members().map(|(_, summary)| point(summary)).collect(),
            captions: members().map(|(rule, _)| rule.caption()).collect(),
        }
    };
    let across =
        Axis::logarithmic("share of the evidence that the 10 nearest carry, %", summaries.iter().map(|s| point(s).0));
    let up = Axis::around("UAS, %", summaries.iter().map(|summary| point(summary).1));
    chart::svg("Accuracy by coverage", &across, &up, &kinds.map(line))
}

/// Reports the progress of a long measurement, and fails if it should stop.
fn go_on(bench: &Bench, what: &str) -> Result<()> {
    match bench.watcher.done(0, what) {
        Flow::Continue => Ok(()),
        Flow::Stop => Err(Error::Stopped),
    }
}

#[cfg(test)]
mod tests;
