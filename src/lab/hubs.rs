//! Hubs: how often each training edge is among the nearest of the dev edges, which edges are cited most, and whether
//! that follows from the length of their vectors (Table 9, its figure, and a question the paper leaves open).

mod tables;

use super::bench::{Bench, comparing, reading, system};
use super::bundled::Subject;
use super::corpus::Corpus;
use super::geometry::Geometry;
use super::nearest::nearest;
use super::published::INSTANCE_SYSTEMS;
use super::report::Drawing;
use super::statistics::{correlation, rank_correlation};
use super::trainings::Training;
use super::{Lab, Report};
use crate::bundle::Bundle;
use crate::error::Result;
use crate::task::Task;
use crate::train::Stage;
use crate::treebank::Sentence;
use serde::{Deserialize, Serialize};
use tables::Edge;

/// The k of N_k: the number of nearest edges that each dev edge cites.
const CITED: usize = 10;
/// The number of edges on the curve.
const CURVE: usize = 100;
/// Systems whose vectors are also compared in other ways than their own.
const COMPARED: [&str; 2] = ["IId", "IIc"];

pub(super) fn trainings(lab: &Lab) -> Vec<Training> {
    match lab.bundle {
        Some(_) => Vec::new(),
        None => Training::all(&Corpus::Whole, &[Stage::Heads], &INSTANCE_SYSTEMS, &lab.seeds[..1]),
    }
}

fn one_cost(lab: &Lab) -> u64 {
    let (train, dev) = (lab.words(lab.train), lab.words(lab.dev));
    reading(2 * train + dev) + comparing(dev, train)
}

pub(super) fn cost(lab: &Lab) -> u64 {
    if lab.bundle.is_some() {
        return one_cost(lab);
    }
    (INSTANCE_SYSTEMS.len() + COMPARED.len() * Geometry::ALL.len()) as u64 * one_cost(lab)
}

/// The hub measurements of one system under one geometry.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counted {
    /// N_k of every training edge, in treebank order.
    counts: Vec<u32>,
    /// The Pearson and Spearman correlations of N_k with the length of the vector.
    with_length: [f64; 2],
    /// The Spearman correlation of N_k with the cosine to the mean of all training edges; `None` for centred vectors.
    with_mean: Option<f64>,
    /// The mean length percentile of the most cited edges: 50 if length does not matter, near 100 if the longest
    /// vectors are the hubs.
    leaders_length: f64,
}

/// The N_k of every training edge, in treebank order, and the name of the vectors that were compared.
struct Citations<'a> {
    name: &'a str,
    counts: &'a [u32],
}

pub(super) fn report(bench: &Bench) -> Result<Report> {
    let lab = bench.lab;
    if let Some(bundle) = lab.bundle {
        return report_of_bundle(bench, bundle);
    }
    let count = |name: &'static str, geometry: Geometry| {
        let key = format!("hubs-{name}-{}-{}", lab.seeds[0], geometry.name().replace(", ", "-"));
        bench.once(&Corpus::Whole, &key, one_cost(lab), || counted(bench, name, geometry))
    };
    let mut own = Vec::new();
    for name in INSTANCE_SYSTEMS {
        own.push(count(name, Geometry::of(&system(name)?))?);
    }
    let mut geometries = tables::geometry_table();
    for name in COMPARED {
        for geometry in Geometry::ALL {
            geometries.rows.push(tables::geometry_row(name, geometry, &count(name, geometry)?));
        }
    }
    let edges: Vec<Edge> = lab.train.iter().flat_map(tables::edges_of).collect();
    let cited: Vec<Citations> =
        INSTANCE_SYSTEMS.iter().zip(&own).map(|(name, own)| Citations { name, counts: &own.counts }).collect();
    let mut report = cited_most(lab, &cited, &edges);
    report.tables.insert(2, geometries);
    report.title = format!("Hubs on {}", lab.name);
    report.notes = vec![
        format!(
            "{} Edges are compared by the vectors of the head model (seed {}) and the system's own similarity. The search is \
             exact. `counts-SYSTEM.csv` lists every edge.",
            meaning(lab, edges.len()),
            lab.seeds[0]
        ),
        "Centred: the mean of all training vectors is subtracted from every vector, of training and dev edges, before they \
         are compared. Length is the length of the vector after centring, if any, and before cosine normalises it. \
         Correlations are with N, over all training edges: r is Pearson's, ρ is Spearman's rank correlation. The \
         percentile is the mean position of the most cited edges among all edges sorted by length: 50 if length does not \
         matter, 100 if they are the longest."
            .to_string(),
    ];
    Ok(report)
}

/// The hubs of a trained bundle, in the spaces of its head model and of its label model.
fn report_of_bundle(bench: &Bench, bundle: &Bundle) -> Result<Report> {
    let lab = bench.lab;
    let subject = Subject::new(lab, bundle)?;
    let edges: Vec<Edge> = lab.train.iter().flat_map(tables::edges_of).collect();
    let count = || -> Result<[Vec<u32>; 2]> {
        let heads: Vec<Vec<usize>> = lab.dev.iter().map(gold_heads).collect();
        Ok(subject.nearest(lab, &heads, CITED)?.map(|found| {
            let mut counts = vec![0; edges.len()];
            found.into_iter().flatten().for_each(|place| counts[place] += 1);
            counts
        }))
    };
    let counts = bench.once(&Corpus::Whole, &format!("hubs-{}", subject.name), one_cost(lab), count)?;
    let cited: Vec<Citations> =
        Task::ALL.iter().zip(&counts).map(|(task, counts)| Citations { name: task.name(), counts }).collect();
    let mut report = cited_most(lab, &cited, &edges);
    report.title = format!("Hubs of a bundle on {}", lab.name);
    report.notes = vec![format!(
        "{} Of the bundle {}: edges are compared by the vectors of its head model (heads) and of its label model (labels). \
         The search of its index is exact. Rejected edges are not counted. `counts-heads.csv` and `counts-labels.csv` \
         list every edge.",
        meaning(lab, edges.len()),
        subject.name
    )];
    Ok(report)
}

/// The gold heads of a sentence, with an entry for ROOT.
fn gold_heads(sentence: &Sentence) -> Vec<usize> {
    std::iter::once(0).chain(sentence.words().iter().map(|word| word.head.unwrap_or_default())).collect()
}

/// What N_k is, in words.
fn meaning(lab: &Lab, edges: usize) -> String {
    let words = lab.words(lab.dev);
    format!(
        "N{CITED} of a training edge is the number of gold dev edges, of {words}, that have it among their {CITED} nearest of \
         all {edges} training edges. If citations were spread evenly, every edge would have {:.2}.",
        (CITED as u64 * words) as f64 / edges.max(1) as f64
    )
}

/// The tables, the curve and the lists of what is cited how often.
fn cited_most(lab: &Lab, own: &[Citations], edges: &[Edge]) -> Report {
    Report {
        tables: vec![
            tables::highest(lab, own, edges),
            tables::leading(own, edges),
            tables::shares("labels", "label", own, edges, |edge| edge.label.as_str()),
            tables::shares("genres", "genre", own, edges, |edge| edge.genre.as_str()),
        ],
        drawings: vec![Drawing {
            name: "hubs".to_string(),
            caption: format!("The {CURVE} highest N{CITED} by each kind of vectors, logarithmic"),
            svg: tables::curve(own),
        }],
        files: own.iter().map(|own| (format!("counts-{}.csv", own.name), tables::list(own.counts, edges))).collect(),
        ..Report::default()
    }
}

fn counted(bench: &Bench, name: &str, geometry: Geometry) -> Result<Counted> {
    let lab = bench.lab;
    let learnt = bench.learnt(&Corpus::Whole, Stage::Heads, system(name)?, lab.seeds[0])?;
    let rows = learnt.raw_rows(&learnt.number(lab.train)?)?;
    let queries = learnt.raw_rows(&learnt.number(lab.dev)?)?;
    let seen = geometry.see(rows, queries);
    let mut counts = vec![0u32; seen.rows.count()];
    for hit in nearest(&seen.rows, &seen.queries, CITED)?.into_iter().flatten() {
        counts[hit.record as usize] += 1;
    }
    let numbers: Vec<f64> = counts.iter().map(|&count| f64::from(count)).collect();
    let with_length = [correlation(&numbers, &seen.lengths), rank_correlation(&numbers, &seen.lengths)];
    let with_mean = seen.to_mean.map(|to_mean| rank_correlation(&numbers, &to_mean));
    let leaders_length = leaders_percentile(&counts, &seen.lengths);
    Ok(Counted { counts, with_length, with_mean, leaders_length })
}

/// The indices of all edges, most cited first.
fn ranking(counts: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|&place| (std::cmp::Reverse(counts[place]), place));
    order
}

/// The mean position of the most cited edges in the order of lengths. Edges without citations are skipped.
fn leaders_percentile(counts: &[u32], lengths: &[f64]) -> f64 {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let percentile = |&place: &usize| {
        let shorter = sorted.partition_point(|length| *length < lengths[place]);
        shorter as f64 / (sorted.len().max(2) - 1) as f64 * 100.0
    };
    let leaders: Vec<usize> = ranking(counts).into_iter().take(CURVE).filter(|&place| counts[place] > 0).collect();
    leaders.iter().map(percentile).sum::<f64>() / leaders.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentile_of_the_most_cited_edges_follows_their_lengths() {
        // The longest of five is cited most, the shortest once.
        assert_eq!(leaders_percentile(&[0, 9, 0, 1, 0], &[2.0, 5.0, 3.0, 1.0, 4.0]), 50.0);
        assert_eq!(leaders_percentile(&[0, 9, 0, 0, 0], &[2.0, 5.0, 3.0, 1.0, 4.0]), 100.0);
        assert_eq!(leaders_percentile(&[], &[]), 0.0);
    }
}
