//! The identical subclass test: whether the nearest training edge has the label of the edge that it explains (Table 6).

use super::bench::{Bench, comparing, reading, system};
use super::bundled::{Subject, rule_key, rule_title};
use super::corpus::Corpus;
use super::nearest::nearest;
use super::published::{ENGLISH, INSTANCE_SYSTEMS, SUBCLASS, figure};
use super::trainings::Training;
use super::{Cell, Lab, Report, Table};
use crate::bundle::Bundle;
use crate::error::Result;
use crate::parse::{Decode, Settings};
use crate::rule::Rule;
use crate::train::Stage;

pub(super) fn trainings(lab: &Lab) -> Vec<Training> {
    match lab.bundle {
        Some(_) => Vec::new(),
        None => Training::all(&Corpus::Whole, &[Stage::Heads], &INSTANCE_SYSTEMS, lab.seeds),
    }
}

pub(super) fn cost(lab: &Lab) -> u64 {
    let (train, dev) = (lab.words(lab.train), lab.words(lab.dev));
    if let Some(bundle) = lab.bundle {
        return rules(bundle).len() as u64 * cost_of_rule(lab);
    }
    (INSTANCE_SYSTEMS.len() * lab.seeds.len()) as u64 * (reading(train + 2 * dev) + comparing(dev, train))
}

pub(super) fn report(bench: &Bench) -> Result<Report> {
    let lab = bench.lab;
    if let Some(bundle) = lab.bundle {
        return report_of_bundle(bench, bundle);
    }
    let cost = cost(lab) / (INSTANCE_SYSTEMS.len() * lab.seeds.len()).max(1) as u64;
    // For each system and seed: the share of correct heads, and of correct heads whose nearest edge has the gold label.
    let mut measured: Vec<Vec<[f64; 2]>> = Vec::new();
    for name in INSTANCE_SYSTEMS {
        let mut own = Vec::new();
        for &seed in lab.seeds {
            own.push(bench.once(&Corpus::Whole, &format!("subclass-{name}-{seed}"), cost, || test(bench, name, seed))?);
        }
        measured.push(own);
    }
    let columns = std::iter::once("").chain(INSTANCE_SYSTEMS);
    let mut table = Table::new("subclass", "LAS, %, where the label is that of the nearest training edge", columns);
    let row = |name: &str, at: usize| {
        let cells = measured.iter().map(|own| Cell::mean(&own.iter().map(|shares| shares[at]).collect::<Vec<_>>()));
        std::iter::once(Cell::text(name)).chain(cells).collect::<Vec<_>>()
    };
    table.rows.push(row(&format!("{}, dev", lab.name), 1));
    for (name, figures) in SUBCLASS.iter().filter(|_| lab.name == ENGLISH) {
        let cells = figures.map(figure);
        table.rows.push(std::iter::once(Cell::text(format!("{name} in the paper, dev"))).chain(cells).collect());
    }
    table.rows.push(row("for comparison: UAS", 0));
    Ok(Report {
        title: format!("Identical subclass test on {}", lab.name),
        notes: vec![
            "The head models never see a label. Each word's head is chosen greedily. The chosen edge takes the label of the \
             nearest training edge, found by an exact search. A word counts as correct if its head is correct and this label \
             is the gold label, subtypes included. UAS is the upper bound."
                .to_string(),
        ],
        tables: vec![table],
        ..Report::default()
    })
}

fn test(bench: &Bench, name: &str, seed: u64) -> Result<[f64; 2]> {
    let lab = bench.lab;
    let learnt = bench.learnt(&Corpus::Whole, Stage::Heads, system(name)?, seed)?;
    let (train, dev) = (learnt.number(lab.train)?, learnt.number(lab.dev)?);
    let chosen = learnt.heads(&dev, lab)?;
    let hits = nearest(&learnt.gold_rows(&train)?, &learnt.rows_to(&dev, &chosen)?, 1)?;
    let labels: Vec<&str> = lab.train.iter().flat_map(|s| s.words()).map(|word| word.label.as_str()).collect();
    let taken: Vec<Option<&str>> = hits.iter().map(|hits| labels.get(hits.first()?.record as usize).copied()).collect();
    Ok(shares(lab, &chosen, &[&taken]))
}

/// The share of dev words with the right head, in percent, and the shares of those that have the right label besides,
/// if each takes the labels in one of the lists.
fn shares<const N: usize>(lab: &Lab, chosen: &[Vec<usize>], taken: &[&[Option<&str>]]) -> [f64; N] {
    let heads = chosen.iter().flat_map(|heads| heads.iter().skip(1));
    let mut right = [0u64; N];
    let mut words = 0u64;
    for (at, (word, head)) in lab.dev.iter().flat_map(|sentence| sentence.words()).zip(heads).enumerate() {
        words += 1;
        if word.head != Some(*head) {
            continue;
        }
        let has_label = |labels: &&[Option<&str>]| labels.get(at).copied().flatten() == Some(word.label.as_str());
        let counted = std::iter::once(true).chain(taken.iter().map(has_label));
        right.iter_mut().zip(counted).for_each(|(right, counts)| *right += u64::from(counts));
    }
    right.map(|right| right as f64 / words.max(1) as f64 * 100.0)
}

/// The rules by which the heads of a bundle are decided: the paper's, and the bundle's own.
fn rules(bundle: &Bundle) -> Vec<Rule> {
    let own = bundle.rules().own.clone();
    if own == Rule::sum() { vec![own] } else { vec![Rule::sum(), own] }
}

fn cost_of_rule(lab: &Lab) -> u64 {
    let (train, dev) = (lab.words(lab.train), lab.words(lab.dev));
    reading(3 * dev) + 2 * comparing(dev, train)
}

/// The test of a trained bundle: heads by the rules that it has, the nearest edges from its index.
fn report_of_bundle(bench: &Bench, bundle: &Bundle) -> Result<Report> {
    let lab = bench.lab;
    let subject = Subject::new(lab, bundle)?;
    let columns = ["heads by", "subclass, %", "the same by the label model, %", "for comparison: UAS, %"];
    let mut table = Table::new("subclass", "LAS, %, where the label is that of the nearest training edge", columns);
    for rule in rules(bundle) {
        let name = format!("subclass-{}-{}", subject.name, rule_key(&rule));
        let measure = || test_bundle(lab, &subject, &rule);
        let [uas, by_heads, by_labels] = bench.once(&Corpus::Whole, &name, cost_of_rule(lab), measure)?;
        let values = [by_heads, by_labels, uas].map(Cell::Value);
        table.rows.push(std::iter::once(Cell::text(rule_title(&rule))).chain(values).collect());
    }
    let mut notes = vec![format!(
        "Of the bundle {}. Each word's head is chosen greedily by the rule. The chosen edge takes the label of the training edge \
         that is nearest by the vectors of the head model, found by an exact search of the bundle's index. A word counts as \
         correct if its head is correct and this label is the gold label, subtypes included. UAS is the upper bound. The \
         paper's test is that of the first column of figures, with heads by the sum.",
        subject.name
    )];
    if bundle.config().share_encoder {
        notes.push(
            "The two models of this bundle share an encoder, which was trained with labels too. In the paper the head model \
             never sees a label."
                .to_string(),
        );
    }
    let title = format!("Identical subclass test of a bundle on {}", lab.name);
    Ok(Report { title, notes, tables: vec![table], ..Report::default() })
}

fn test_bundle(lab: &Lab, subject: &Subject<'_>, rule: &Rule) -> Result<[f64; 3]> {
    let settings = Settings { decode: Decode::Greedy, rule: Some(rule.clone()), ..Settings::default() };
    let parses = subject.bundle.parser_with(&settings)?.parse(lab.dev)?;
    let chosen: Vec<Vec<usize>> = parses.into_iter().map(|parse| parse.heads).collect();
    let labels: Vec<&str> = lab.train.iter().flat_map(|s| s.words()).map(|word| word.label.as_str()).collect();
    let [by_heads, by_labels] = subject.nearest(lab, &chosen, 1)?.map(|found| -> Vec<Option<&str>> {
        found.iter().map(|places| labels.get(*places.first()?).copied()).collect()
    });
    Ok(shares(lab, &chosen, &[&by_heads, &by_labels]))
}
