//! Edges of the dev set with the training edge nearest to each, drawn as arcs (Tables 7 and 8).

use super::bench::{Bench, comparing, reading, system};
use super::corpus::Corpus;
use super::nearest::{Rows, nearest};
use super::pairs::{Pair, Shown, draw};
use super::published::INSTANCE_SYSTEMS;
use super::report::Drawing;
use super::trainings::Training;
use super::{Cell, Lab, Report, Table};
use crate::error::Result;
use crate::random::Random;
use crate::train::Stage;

/// The number of edges shown.
const SHOWN: usize = 8;

pub(super) fn trainings(lab: &Lab) -> Vec<Training> {
    Training::all(&Corpus::Whole, &[Stage::Heads], &INSTANCE_SYSTEMS, &lab.seeds[..1])
}

fn one_cost(lab: &Lab) -> u64 {
    let (train, dev) = (lab.words(lab.train), lab.words(lab.dev));
    reading(2 * train + dev) + comparing(SHOWN as u64, train)
}

pub(super) fn cost(lab: &Lab) -> u64 {
    INSTANCE_SYSTEMS.len() as u64 * one_cost(lab)
}

pub(super) fn report(bench: &Bench) -> Result<Report> {
    let lab = bench.lab;
    let seed = lab.seeds[0];
    let asked = asked(lab);
    let columns =
        ["system", "edge", "its label", "nearest training edge", "its label", "same label", "similarity", "from"];
    let mut table = Table::new("neighbors", "Edges of the dev set and the training edge nearest to each", columns);
    let mut drawings = Vec::new();
    for name in INSTANCE_SYSTEMS {
        let key = format!("neighbors-{name}-{seed}");
        let pairs: Vec<Pair> = bench.once(&Corpus::Whole, &key, one_cost(lab), || pairs(bench, name, &asked))?;
        for Pair { query, support, similarity } in &pairs {
            let same = if query.edge.label == support.edge.label { "yes" } else { "no" };
            table.rows.push(vec![
                Cell::text(name),
                Cell::text(query.edge.bare()),
                Cell::text(&query.edge.label),
                Cell::text(support.edge.bare()),
                Cell::text(&support.edge.label),
                Cell::text(same),
                Cell::Value(f64::from(*similarity)),
                Cell::text(&support.sent_id),
            ]);
        }
        drawings.push(Drawing {
            name: format!("neighbors-{name}"),
            caption: format!("{name}: edges of the dev set, left, and the training edge nearest to each, right"),
            svg: draw(&format!("Nearest training edges, {name}"), &pairs),
        });
    }
    Ok(Report {
        title: format!("Nearest training edges on {}", lab.name),
        notes: vec![format!(
            "The same {SHOWN} gold edges of the dev set are looked up in every system. They are drawn at random (seed {seed}), not \
             selected. The table shows the training edge that is nearest by the vectors of the system's head model. Head models \
             never see a label. Similarities of systems with dot products have no fixed scale; a cosine is at most 1."
        )],
        tables: vec![table],
        drawings,
        files: Vec::new(),
    })
}

/// The edges to look up: sentence and word, from 0.
fn asked(lab: &Lab) -> Vec<(usize, usize)> {
    let count = |(at, sentence): (usize, &crate::treebank::Sentence)| (0..sentence.words().len()).map(move |w| (at, w));
    let mut all: Vec<(usize, usize)> = lab.dev.iter().enumerate().flat_map(count).collect();
    Random::branch(lab.seeds[0], "edges to ask about").shuffle(&mut all);
    all.truncate(SHOWN);
    all
}

fn pairs(bench: &Bench, name: &str, asked: &[(usize, usize)]) -> Result<Vec<Pair>> {
    let lab = bench.lab;
    let learnt = bench.learnt(&Corpus::Whole, Stage::Heads, system(name)?, lab.seeds[0])?;
    let rows = learnt.gold_rows(&learnt.number(lab.train)?)?;
    let dev = learnt.number(lab.dev)?;
    let mut queries = Rows { values: Vec::new(), dims: rows.dims };
    for &(sentence, word) in asked {
        let own = learnt.gold_rows(&dev[sentence..=sentence])?;
        queries.values.extend(own.iter().nth(word).unwrap_or_default());
    }
    let places: Vec<(usize, usize)> =
        lab.train.iter().enumerate().flat_map(|(at, s)| (0..s.words().len()).map(move |word| (at, word))).collect();
    let mut pairs = Vec::new();
    for (&(sentence, word), hits) in asked.iter().zip(nearest(&rows, &queries, 1)?) {
        let Some(hit) = hits.first() else { continue };
        let (found, found_word) = places[hit.record as usize];
        pairs.push(Pair {
            query: Shown::new(&lab.dev[sentence], word + 1),
            support: Shown::new(&lab.train[found], found_word + 1),
            similarity: hit.similarity,
        });
    }
    Ok(pairs)
}
