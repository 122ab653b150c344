//! The identical subclass test: whether the nearest training edge has the label of the edge that it explains (Table 6).

use super::bench::{Bench, comparing, reading, system};
use super::corpus::Corpus;
use super::nearest::nearest;
use super::published::{ENGLISH, INSTANCE_SYSTEMS, SUBCLASS, figure};
use super::trainings::Training;
use super::{Cell, Lab, Report, Table};
use crate::error::Result;
use crate::train::Stage;

pub(super) fn trainings(lab: &Lab) -> Vec<Training> {
    Training::all(&Corpus::Whole, &[Stage::Heads], &INSTANCE_SYSTEMS, lab.seeds)
}

pub(super) fn cost(lab: &Lab) -> u64 {
    let (train, dev) = (lab.words(lab.train), lab.words(lab.dev));
    (INSTANCE_SYSTEMS.len() * lab.seeds.len()) as u64 * (reading(train + 2 * dev) + comparing(dev, train))
}

pub(super) fn report(bench: &Bench) -> Result<Report> {
    let lab = bench.lab;
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
    let (mut right_heads, mut right_labels, mut words) = (0, 0, 0);
    let mut hits = hits.into_iter();
    for (sentence, chosen) in lab.dev.iter().zip(&chosen) {
        for (word, (&head, hits)) in sentence.words().iter().zip(chosen.iter().skip(1).zip(&mut hits)) {
            words += 1;
            let right = word.head == Some(head);
            let taken = hits.first().and_then(|hit| labels.get(hit.record as usize).copied());
            right_heads += usize::from(right);
            right_labels += usize::from(right && taken == Some(word.label.as_str()));
        }
    }
    Ok([right_heads, right_labels].map(|right| right as f64 / f64::from(words.max(1)) * 100.0))
}
