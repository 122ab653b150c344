//! Hubs: how often each training edge is among the nearest of the dev edges, which are cited most, and whether that comes
//! from the length of their vectors (Table 9, its figure, and the question the paper leaves open).

use super::bench::{Bench, comparing, reading};
use super::chart::{self, Axis, Line};
use super::corpus::{Corpus, genre};
use super::geometry::Geometry;
use super::nearest::nearest;
use super::published::{ENGLISH, HUBS, INSTANCE_SYSTEMS};
use super::report::Drawing;
use super::statistics::{correlation, rank_correlation, skewness};
use super::trainings::Training;
use super::{Cell, Lab, Report, Table};
use crate::config::System;
use crate::error::{Error, Result};
use crate::train::Stage;
use crate::treebank::Sentence;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The k of N_k: how many nearest edges each dev edge cites.
const CITED: usize = 10;
/// Edges of the curve.
const CURVE: usize = 100;
/// Systems whose vectors are also compared in other ways than their own.
const COMPARED: [&str; 2] = ["IId", "IIc"];

pub(super) fn trainings(lab: &Lab) -> Vec<Training> {
    Training::all(&Corpus::Whole, &[Stage::Heads], &INSTANCE_SYSTEMS, &lab.seeds[..1])
}

fn one_cost(lab: &Lab) -> u64 {
    let (train, dev) = (lab.words(lab.train), lab.words(lab.dev));
    reading(2 * train + dev) + comparing(dev, train)
}

pub(super) fn cost(lab: &Lab) -> u64 {
    let others = COMPARED.len() * (Geometry::ALL.len() - 1);
    (INSTANCE_SYSTEMS.len() + others) as u64 * one_cost(lab)
}

/// What the training edges of one system are, seen by one geometry.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counted {
    /// N_k of every training edge, in the order of the treebank.
    counts: Vec<u32>,
    /// Pearson's and Spearman's correlation of N_k with the length of the vector.
    with_length: [f64; 2],
    /// Spearman's correlation of N_k with the cosine to the mean of all training edges; of what is centred there is none.
    with_mean: Option<f64>,
    /// The mean percentile, by length, of the edges that are cited most: 50 if length did not matter, near 100 if the longest
    /// vectors were the hubs.
    leaders_length: f64,
}

pub(super) fn report(bench: &Bench) -> Result<Report> {
    let lab = bench.lab;
    let count = |name: &'static str, geometry: Geometry| {
        let key = format!("hubs-{name}-{}-{}", lab.seeds[0], geometry.name().replace(", ", "-"));
        bench.once(&Corpus::Whole, &key, one_cost(lab), || counted(bench, name, geometry))
    };
    let mut own = Vec::new();
    for name in INSTANCE_SYSTEMS {
        own.push(count(name, Geometry::of(&system(name)?))?);
    }
    let mut geometries = geometry_table();
    for name in COMPARED {
        for geometry in Geometry::ALL {
            geometries.rows.push(geometry_row(name, geometry, &count(name, geometry)?));
        }
    }
    let edges: Vec<Edge> = lab.train.iter().flat_map(edges_of).collect();
    let tables = vec![
        highest(lab, &own, &edges),
        leading(&own, &edges),
        geometries,
        shares("labels", "label", &own, &edges, |edge| edge.label.as_str()),
        shares("genres", "genre", &own, &edges, |edge| edge.genre.as_str()),
    ];
    let files = INSTANCE_SYSTEMS.iter().zip(&own).map(|(name, own)| (format!("counts-{name}.csv"), list(own, &edges)));
    Ok(Report {
        title: format!("Hubs on {}", lab.name),
        notes: vec![
            format!(
                "N{CITED} of a training edge is how many of the {} dev edges (gold) have it among their {CITED} nearest of all {} \
                 training edges, by the vectors of the head model (seed {}) and the system's own similarity, searched exactly. \
                 Spread evenly every edge would have {:.2}. `counts-SYSTEM.csv` lists every edge.",
                lab.words(lab.dev),
                edges.len(),
                lab.seeds[0],
                (CITED as u64 * lab.words(lab.dev)) as f64 / edges.len().max(1) as f64
            ),
            "Centred means: the mean of all training vectors is taken from every vector, of the treebank and of the dev set, \
             before they are compared. Length is that of the vector as it is then; cosine does not look at it. Correlations \
             with N over all training edges: r is Pearson's, ρ Spearman's, of ranks. The percentile says where the most cited edges \
             stand among all, by length: 50 if it did not matter, 100 if they were the longest."
                .to_string(),
        ],
        tables,
        drawings: vec![Drawing {
            name: "hubs".to_string(),
            caption: format!("The {CURVE} highest N{CITED} of each system, logarithmic"),
            svg: curve(&own),
        }],
        files: files.collect(),
    })
}

fn system(name: &str) -> Result<System> {
    name.parse().map_err(|message| Error::Training { message })
}

fn counted(bench: &Bench, name: &str, geometry: Geometry) -> Result<Counted> {
    let lab = bench.lab;
    let learnt = bench.learnt(&Corpus::Whole, Stage::Heads, system(name)?, lab.seeds[0])?;
    let rows = learnt.raw_rows(&learnt.number(lab.train)?)?;
    let queries = learnt.raw_rows(&learnt.number(lab.dev)?)?;
    let seen = geometry.see(rows, queries);
    let mut counts = vec![0u32; seen.rows.count()];
    for hit in nearest(&seen.rows, &seen.queries, CITED)?.into_iter().flatten() {
        counts[hit.edge as usize] += 1;
    }
    let numbers: Vec<f64> = counts.iter().map(|&count| f64::from(count)).collect();
    let with_length = [correlation(&numbers, &seen.lengths), rank_correlation(&numbers, &seen.lengths)];
    let with_mean = seen.to_mean.map(|to_mean| rank_correlation(&numbers, &to_mean));
    let leaders_length = leaders_percentile(&counts, &seen.lengths);
    Ok(Counted { counts, with_length, with_mean, leaders_length })
}

/// A training edge as tables show it.
struct Edge {
    place: String,
    words: String,
    label: String,
    genre: String,
}

fn edges_of(sentence: &Sentence) -> impl Iterator<Item = Edge> {
    let form = |id: usize| id.checked_sub(1).and_then(|at| sentence.words().get(at)).map_or("ROOT", |word| &word.form);
    sentence.words().iter().zip(1..).map(move |(word, id)| {
        let head = word.head.unwrap_or_default();
        Edge {
            place: format!("{}:{id}:{head}", sentence.sent_id().unwrap_or_default()),
            words: format!("{} → {}", form(head), word.form),
            label: word.label.clone(),
            genre: genre(sentence).to_string(),
        }
    })
}

/// The places of the edges that are cited most, most first.
fn ranking(counts: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|&place| (std::cmp::Reverse(counts[place]), place));
    order
}

/// Where the most cited edges, as far as they are cited at all, stand in the order of lengths.
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

fn never(counted: &Counted) -> f64 {
    let none = counted.counts.iter().filter(|&&count| count == 0).count();
    none as f64 / counted.counts.len().max(1) as f64 * 100.0
}

fn skew(counted: &Counted) -> f64 {
    skewness(&counted.counts.iter().map(|&count| f64::from(count)).collect::<Vec<_>>())
}

fn highest(lab: &Lab, own: &[Counted], edges: &[Edge]) -> Table {
    let mut columns = vec!["system", "highest N10", "edge", "its label", "skewness", "never cited, %"];
    if lab.name == ENGLISH {
        columns.extend(["highest in the paper", "edge in the paper"]);
    }
    let mut table = Table::new("hubs", "The training edge that is cited most", columns);
    for ((name, counted), (published, published_edge)) in INSTANCE_SYSTEMS.iter().zip(own).zip(HUBS) {
        let Some(&first) = ranking(&counted.counts).first() else { continue };
        let mut row = vec![
            Cell::text(*name),
            Cell::Count(u64::from(counted.counts[first])),
            Cell::text(&edges[first].words),
            Cell::text(&edges[first].label),
            Cell::Value(skew(counted)),
            Cell::Value(never(counted)),
        ];
        if lab.name == ENGLISH {
            row.extend([Cell::Count(published), Cell::text(published_edge)]);
        }
        table.rows.push(row);
    }
    table
}

fn leading(own: &[Counted], edges: &[Edge]) -> Table {
    let columns = ["system", "rank", "N10", "edge", "label", "sentence:dependent:head"];
    let mut table = Table::new("leading", "The five most cited edges of each system", columns);
    for (name, counted) in INSTANCE_SYSTEMS.iter().zip(own) {
        for (rank, place) in (1..=5).zip(ranking(&counted.counts)) {
            let (count, edge) = (u64::from(counted.counts[place]), &edges[place]);
            let texts = [&edge.words, &edge.label, &edge.place].map(Cell::text);
            table.rows.push([vec![Cell::text(*name), Cell::Count(rank), Cell::Count(count)], texts.to_vec()].concat());
        }
    }
    table
}

fn geometry_table() -> Table {
    let columns = [
        "vectors of",
        "compared by",
        "highest N10",
        "skewness",
        "never cited, %",
        "length of the 100 most cited, percentile",
        "r with length",
        "ρ with length",
        "ρ with cosine to the mean",
    ];
    Table::new("geometry", "What makes hubs: the same vectors compared in four ways", columns)
}

fn geometry_row(name: &str, geometry: Geometry, counted: &Counted) -> Vec<Cell> {
    vec![
        Cell::text(name),
        Cell::text(geometry.name()),
        Cell::Count(counted.counts.iter().copied().max().unwrap_or_default().into()),
        Cell::Value(skew(counted)),
        Cell::Value(never(counted)),
        Cell::Value(counted.leaders_length),
        Cell::Value(counted.with_length[0]),
        Cell::Value(counted.with_length[1]),
        counted.with_mean.map_or(Cell::Nothing, Cell::Value),
    ]
}

/// How citations spread over groups of training edges, beside how the edges do.
fn shares(name: &str, kind: &str, own: &[Counted], edges: &[Edge], group: impl Fn(&Edge) -> &str) -> Table {
    let mut groups: BTreeMap<&str, (u64, [u64; INSTANCE_SYSTEMS.len()])> = BTreeMap::new();
    for (place, edge) in edges.iter().enumerate() {
        let (count, cited) = groups.entry(group(edge)).or_default();
        *count += 1;
        cited.iter_mut().zip(own).for_each(|(cited, own)| *cited += u64::from(own.counts[place]));
    }
    let totals: Vec<f64> =
        own.iter().map(|own| own.counts.iter().map(|&count| f64::from(count)).sum::<f64>().max(1.0)).collect();
    let columns = [kind, "edges", "of all edges, %"].map(String::from).into_iter();
    let columns = columns.chain(INSTANCE_SYSTEMS.map(|system| format!("{system}, % of citations")));
    let mut table = Table::new(name, &format!("Citations by {kind} of the training edge"), columns);
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(name, (count, _))| (std::cmp::Reverse(*count), *name));
    for (group, (count, cited)) in groups {
        let share = Cell::Value(count as f64 / edges.len().max(1) as f64 * 100.0);
        let cited = cited.iter().zip(&totals).map(|(&cited, total)| Cell::Value(cited as f64 / total * 100.0));
        table.rows.push([Cell::text(group), Cell::Count(count), share].into_iter().chain(cited).collect());
    }
    table.shown = Some(15);
    table
}

/// Every training edge with its N_k.
fn list(counted: &Counted, edges: &[Edge]) -> String {
    let mut out = format!("sentence:dependent:head,label,N{CITED}\n");
    for (edge, count) in edges.iter().zip(&counted.counts) {
        let cells = [&edge.place, &edge.label].map(|text| Cell::text(text).csv());
        let _ = writeln!(out, "{},{},{count}", cells[0], cells[1]);
    }
    out
}

fn curve(own: &[Counted]) -> String {
    let line = |(name, counted): (&&str, &Counted)| {
        let ranked = ranking(&counted.counts).into_iter().take(CURVE).map(|place| f64::from(counted.counts[place]));
        Line {
            name: (*name).to_string(),
            points: (1..).zip(ranked).map(|(rank, count)| (f64::from(rank), count)).collect(),
            captions: Vec::new(),
        }
    };
    let lines: Vec<Line> = INSTANCE_SYSTEMS.iter().zip(own).map(line).collect();
    let up = Axis::logarithmic(&format!("N{CITED}"), lines.iter().flat_map(|line| line.points.iter().map(|p| p.1)));
    let across = Axis::even("rank", 0.0, CURVE as f64, 10);
    chart::svg(&format!("The {CURVE} highest N{CITED} of each system"), &across, &up, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_cited_edges_stand_where_their_length_puts_them() {
        // The longest of five is cited most, the shortest once.
        assert_eq!(leaders_percentile(&[0, 9, 0, 1, 0], &[2.0, 5.0, 3.0, 1.0, 4.0]), 50.0);
        assert_eq!(leaders_percentile(&[0, 9, 0, 0, 0], &[2.0, 5.0, 3.0, 1.0, 4.0]), 100.0);
        assert_eq!(leaders_percentile(&[], &[]), 0.0);
    }

    #[test]
    fn citations_are_shared_out_over_all_groups() {
        let edge = |label: &str| Edge {
            place: String::new(),
            words: String::new(),
            label: label.to_string(),
            genre: String::new(),
        };
        let counted = |counts: &[u32]| Counted {
            counts: counts.to_vec(),
            with_length: [0.0; 2],
            with_mean: None,
            leaders_length: 0.0,
        };
        let own = [counted(&[3, 0, 1]), counted(&[0, 0, 4]), counted(&[1, 1, 2]), counted(&[0, 0, 0])];
        let edges = ["det", "obj", "det"].map(edge);
        let table = shares("labels", "label", &own, &edges, |edge| &edge.label);
        let numbers: Vec<f64> =
            table.rows[0][3..].iter().map(|cell| if let Cell::Value(v) = cell { *v } else { f64::NAN }).collect();
        assert_eq!((&table.rows[0][0], &table.rows[0][1]), (&Cell::text("det"), &Cell::Count(2)));
        assert_eq!(numbers, [100.0, 100.0, 75.0, 0.0]);
    }
}
