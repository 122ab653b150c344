//! Rules about enhanced dependencies (DEPS): their form, their order, and that their graph is connected.

use super::columns::{is_lowercase, is_relation};
use super::{Row, Validator, Violation};
use crate::treebank::id::{Id, parse_id};
use crate::treebank::problem::shorten;
use std::collections::{BTreeSet, HashMap, HashSet};
use unicode_normalization::char::is_combining_mark;

impl Validator {
    /// Either every sentence of a treebank has an enhanced graph, or none.
    pub(super) fn graph_everywhere(&mut self, rows: &[Row<'_>], found: &mut Vec<Violation>) {
        let Some(first) = rows.first() else { return };
        let (own, other) = match has_graph(rows) {
            true => (&mut self.first_graph, self.first_without),
            false => (&mut self.first_without, self.first_graph),
        };
        if own.replace(own.unwrap_or(first.line)).is_none()
            && let Some(other) = other
        {
            let which = if has_graph(rows) { "an enhanced graph" } else { "no enhanced graph" };
            let what = format!("the sentence has {which}, unlike the one on line {other}");
            found.push(first.violation(9, "edeps-only-sometimes", what, "all sentences have one or none"));
        }
    }
}

/// The enhanced edges of a row: heads and labels. `None` if they cannot be read.
fn edges<'a>(row: &Row<'a>) -> Option<Vec<(&'a str, &'a str)>> {
    match row.columns[8] {
        "_" => Some(Vec::new()),
        deps => deps.split('|').map(|edge| edge.split_once(':')).collect(),
    }
}

fn has_graph(rows: &[Row<'_>]) -> bool {
    rows.iter().any(|row| match row.id {
        Id::Word(_) => row.columns[8] != "_",
        Id::Empty(..) => true,
        Id::Range(..) => false,
    })
}

pub(super) fn test(rows: &[Row<'_>], found: &mut Vec<Violation>) {
    let nodes: Vec<&Row<'_>> = rows.iter().filter(|row| !matches!(row.id, Id::Range(..))).collect();
    let ids: HashSet<&str> = nodes.iter().map(|row| row.columns[0]).chain(["0"]).collect();
    let (before, mut children) = (found.len(), HashMap::<&str, Vec<&str>>::new());
    for row in &nodes {
        let deps = row.columns[8];
        let Some(edges) = edges(row) else {
            let what = format!("DEPS is {}", shorten(deps));
            found.push(row.violation(9, "invalid-deps", what, "it has head:label between |"));
            continue;
        };
        for (head, _) in &edges {
            children.entry(head).or_default().push(row.columns[0]);
            let rule = match order(head) {
                None => "invalid-ehead",
                Some(_) if !ids.contains(head) => "unknown-ehead",
                Some(_) => continue,
            };
            let what = format!("DEPS has the head {}", shorten(head));
            found.push(row.violation(9, rule, what, "a head is 0, a word or an empty node of the sentence"));
        }
        test_order(row, &edges, found);
        for (_, label) in edges {
            let rule = match label.split(':').next() {
                _ if !is_enhanced_label(label) => "invalid-edeprel",
                Some(relation) if !is_relation(relation) && relation != "ref" => "unknown-eudeprel",
                _ => continue,
            };
            let what = format!("DEPS has the label {}", shorten(label));
            found.push(row.violation(
                9,
                rule,
                what,
                "it is a universal relation, then subtype, word and case after colons",
            ));
        }
    }
    let sound = !found[before..]
        .iter()
        .any(|one| ["invalid-deps", "invalid-ehead", "unknown-ehead"].contains(&one.rule.as_ref()));
    if sound && has_graph(rows) {
        test_connected(&nodes, &children, found);
    }
}

/// Heads ascend, and labels of one head.
fn test_order(row: &Row<'_>, edges: &[(&str, &str)], found: &mut Vec<Violation>) {
    let what = || format!("DEPS is {}", shorten(row.columns[8]));
    let mut report = |rule, expected: &str| found.push(row.violation(9, rule, what(), expected));
    if !edges.iter().map(|(head, _)| order(head)).is_sorted() {
        report("unsorted-deps", "heads ascend");
    } else {
        for pair in edges.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            match pair[0].1.cmp(pair[1].1) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => report("repeated-deps", "an edge stands there once"),
                std::cmp::Ordering::Greater => {
                    report("unsorted-deps-2", "labels of one head are in the order of the alphabet")
                }
            }
        }
    }
    if edges.iter().any(|(head, _)| *head == row.columns[0]) {
        report("deps-self-loop", "nothing is its own head");
    }
}

/// Everything can be reached from 0.
fn test_connected(nodes: &[&Row<'_>], children: &HashMap<&str, Vec<&str>>, found: &mut Vec<Violation>) {
    let (mut reached, mut left) = (HashSet::from(["0"]), vec!["0"]);
    while let Some(node) = left.pop() {
        left.extend(children.get(node).into_iter().flatten().copied().filter(|child| reached.insert(child)));
    }
    let unreached: BTreeSet<&str> = nodes.iter().map(|row| row.columns[0]).filter(|id| !reached.contains(id)).collect();
    if let Some(row) = nodes.iter().find(|row| unreached.first() == Some(&row.columns[0])) {
        let what = format!("{} of {} nodes cannot be reached from 0 in DEPS", unreached.len(), nodes.len());
        found.push(row.violation(9, "unconnected-egraph", what, "the enhanced graph is connected"));
    }
}

/// The place of a node in the order of the sentence. `None` if this is no id of a node.
fn order(head: &str) -> Option<(usize, usize)> {
    match parse_id(head) {
        Some(Id::Word(word)) => Some((word, 0)),
        Some(Id::Empty(after, number)) => Some((after, number)),
        None if head == "0" => Some((0, 0)),
        Some(Id::Range(..)) | None => None,
    }
}

/// A relation, then up to three parts: a subtype, a word and a case, of which only the word may have other letters than a
/// to z.
fn is_enhanced_label(label: &str) -> bool {
    let mut parts = label.split(':');
    if !parts.next().is_some_and(is_lowercase) {
        return false;
    }
    match parts.collect::<Vec<_>>()[..] {
        [] => true,
        [one] => is_word(one),
        [one, two] => is_lowercase(one) && is_word(two) || is_word(one) && is_lowercase(two),
        [one, two, three] => is_lowercase(one) && is_word(two) && is_lowercase(three),
        _ => false,
    }
}

/// Letters that are not capitals, with marks, and with single underscores between them.
fn is_word(part: &str) -> bool {
    let is_letter = |c: char| is_combining_mark(c) || c.is_alphabetic() && !c.is_uppercase();
    part.split('_').all(|word| !word.is_empty() && word.chars().all(is_letter))
}
