//! The citation counts as tables, lists and a curve.

use super::{CITED, CURVE, Citations, Counted, ranking};
use crate::lab::chart::{self, Axis, Line};
use crate::lab::corpus::genre;
use crate::lab::geometry::Geometry;
use crate::lab::published::{ENGLISH, HUBS, INSTANCE_SYSTEMS};
use crate::lab::statistics::skewness;
use crate::lab::{Cell, Lab, Table};
use crate::treebank::Sentence;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A training edge as shown in tables.
pub(super) struct Edge {
    place: String,
    words: String,
    pub(super) label: String,
    pub(super) genre: String,
}

pub(super) fn edges_of(sentence: &Sentence) -> impl Iterator<Item = Edge> {
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

fn never(counts: &[u32]) -> f64 {
    let none = counts.iter().filter(|&&count| count == 0).count();
    none as f64 / counts.len().max(1) as f64 * 100.0
}

fn skew(counts: &[u32]) -> f64 {
    skewness(&counts.iter().map(|&count| f64::from(count)).collect::<Vec<_>>())
}

pub(super) fn highest(lab: &Lab, own: &[Citations], edges: &[Edge]) -> Table {
    let mut columns = vec!["vectors of", "highest N10", "edge", "its label", "skewness", "never cited, %"];
    let published = |name: &str| HUBS.get(INSTANCE_SYSTEMS.iter().position(|system| *system == name)?);
    let compared = lab.name == ENGLISH && own.iter().all(|own| published(own.name).is_some());
    if compared {
        columns.extend(["highest in the paper", "edge in the paper"]);
    }
    let mut table = Table::new("hubs", "The training edge that is cited most", columns);
    for Citations { name, counts } in own {
        let Some(&first) = ranking(counts).first() else { continue };
        let mut row = vec![
            Cell::text(*name),
            Cell::Count(u64::from(counts[first])),
            Cell::text(&edges[first].words),
            Cell::text(&edges[first].label),
            Cell::Value(skew(counts)),
            Cell::Value(never(counts)),
        ];
        if let Some((published, edge)) = published(name).filter(|_| compared) {
            row.extend([Cell::Count(*published), Cell::text(*edge)]);
        }
        table.rows.push(row);
    }
    table
}

pub(super) fn leading(own: &[Citations], edges: &[Edge]) -> Table {
    let columns = ["vectors of", "rank", "N10", "edge", "label", "sentence:dependent:head"];
    let mut table = Table::new("leading", "The five most cited edges by each kind of vectors", columns);
    for Citations { name, counts } in own {
        for (rank, place) in (1..=5).zip(ranking(counts)) {
            let (count, edge) = (u64::from(counts[place]), &edges[place]);
            let texts = [&edge.words, &edge.label, &edge.place].map(Cell::text);
            table.rows.push([vec![Cell::text(*name), Cell::Count(rank), Cell::Count(count)], texts.to_vec()].concat());
        }
    }
    table
}

pub(super) fn geometry_table() -> Table {
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

pub(super) fn geometry_row(name: &str, geometry: Geometry, counted: &Counted) -> Vec<Cell> {
    vec![
        Cell::text(name),
        Cell::text(geometry.name()),
        Cell::Count(counted.counts.iter().copied().max().unwrap_or_default().into()),
        Cell::Value(skew(&counted.counts)),
        Cell::Value(never(&counted.counts)),
        Cell::Value(counted.leaders_length),
        Cell::Value(counted.with_length[0]),
        Cell::Value(counted.with_length[1]),
        counted.with_mean.map_or(Cell::Nothing, Cell::Value),
    ]
}

/// The distribution of citations over groups of training edges, next to that of the edges themselves.
pub(super) fn shares(
    name: &str,
    kind: &str,
    own: &[Citations],
    edges: &[Edge],
    group: impl Fn(&Edge) -> &str,
) -> Table {
    let mut groups: BTreeMap<&str, (u64, Vec<u64>)> = BTreeMap::new();
    for (place, edge) in edges.iter().enumerate() {
        let (count, cited) = groups.entry(group(edge)).or_insert_with(|| (0, vec![0; own.len()]));
        *count += 1;
        cited.iter_mut().zip(own).for_each(|(cited, own)| *cited += u64::from(own.counts[place]));
    }
    let totals: Vec<f64> =
        own.iter().map(|own| own.counts.iter().map(|&count| f64::from(count)).sum::<f64>().max(1.0)).collect();
    let columns = [kind, "edges", "of all edges, %"].map(String::from).into_iter();
    let columns = columns.chain(own.iter().map(|own| format!("{}, % of citations", own.name)));
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
pub(super) fn list(counts: &[u32], edges: &[Edge]) -> String {
    let mut out = format!("sentence:dependent:head,label,N{CITED}\n");
    for (edge, count) in edges.iter().zip(counts) {
        let cells = [&edge.place, &edge.label].map(|text| Cell::text(text).csv());
        let _ = writeln!(out, "{},{},{count}", cells[0], cells[1]);
    }
    out
}

pub(super) fn curve(own: &[Citations]) -> String {
    let line = |Citations { name, counts }: &Citations| {
        let ranked = ranking(counts).into_iter().take(CURVE).map(|place| f64::from(counts[place]));
        Line {
            name: (*name).to_string(),
            points: (1..).zip(ranked).map(|(rank, count)| (f64::from(rank), count)).collect(),
            captions: Vec::new(),
        }
    };
    let lines: Vec<Line> = own.iter().map(line).collect();
    let up = Axis::logarithmic(&format!("N{CITED}"), lines.iter().flat_map(|line| line.points.iter().map(|p| p.1)));
    let across = Axis::even("rank", 0.0, CURVE as f64, 10);
    chart::svg(&format!("The {CURVE} highest N{CITED} by each kind of vectors"), &across, &up, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citation_shares_cover_all_groups() {
        let edge = |label: &str| Edge {
            place: String::new(),
            words: String::new(),
            label: label.to_string(),
            genre: String::new(),
        };
        let counts: [&[u32]; 4] = [&[3, 0, 1], &[0, 0, 4], &[1, 1, 2], &[0, 0, 0]];
        let own = counts.map(|counts| Citations { name: "IIc", counts });
        let edges = ["det", "obj", "det"].map(edge);
        let table = shares("labels", "label", &own, &edges, |edge| &edge.label);
        let numbers: Vec<f64> =
            table.rows[0][3..].iter().map(|cell| if let Cell::Value(v) = cell { *v } else { f64::NAN }).collect();
        assert_eq!((&table.rows[0][0], &table.rows[0][1]), (&Cell::text("det"), &Cell::Count(2)));
        assert_eq!(numbers, [100.0, 100.0, 75.0, 0.0]);
    }
}
