//! Rules about the columns of a single line.

use super::{Row, Violation};
use crate::treebank::id::Id;
use crate::treebank::problem::{COLUMNS, shorten};
use std::collections::HashSet;

const UPOS: [&str; 17] = [
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ",
    "SYM", "VERB", "X",
];

/// The universal relations.
const RELATIONS: [&str; 37] = [
    "acl",
    "advcl",
    "advmod",
    "amod",
    "appos",
    "aux",
    "case",
    "cc",
    "ccomp",
    "clf",
    "compound",
    "conj",
    "cop",
    "csubj",
    "dep",
    "det",
    "discourse",
    "dislocated",
    "expl",
    "fixed",
    "flat",
    "goeswith",
    "iobj",
    "list",
    "mark",
    "nmod",
    "nsubj",
    "nummod",
    "obj",
    "obl",
    "orphan",
    "parataxis",
    "punct",
    "reparandum",
    "root",
    "vocative",
    "xcomp",
];

/// Keys of MISC that a line may have once.
const ONCE: [&str; 8] = ["SpaceAfter", "Lang", "Translit", "LTranslit", "Gloss", "LId", "LDeriv", "Ref"];

pub(super) fn test(row: &Row<'_>, found: &mut Vec<Violation>) {
    let [_, _, _, upos, _, feats, head, label, _, misc] = row.columns;
    // The columns that must be `_` here.
    let (empty, rule) = match row.id {
        Id::Range(..) => (2..9, "mwt-nonempty-field"),
        Id::Empty(..) => (6..8, "empty-node-nonempty-field"),
        Id::Word(_) => (0..0, ""),
    };
    for place in empty.filter(|place| row.columns[*place] != "_") {
        if place != 5 || row.columns[place] != "Typo=Yes" {
            let what = format!("{} of {} is {}", COLUMNS[place], row.columns[0], shorten(row.columns[place]));
            found.push(row.violation(place + 1, rule, what, "only words have it; write _"));
        }
    }
    if !matches!(row.id, Id::Range(..)) {
        if !(UPOS.contains(&upos) || upos == "_" && matches!(row.id, Id::Empty(..))) {
            let what = format!("UPOS is {}", shorten(upos));
            found.push(row.violation(4, "unknown-upos", what, "Universal Dependencies has 17 others"));
        }
        test_features(row, feats, found);
    }
    if let Id::Word(_) = row.id {
        if head == "_" {
            found.push(row.violation(7, "invalid-head", "HEAD is _".to_string(), "a word of a tree has a head"));
        }
        test_label(row, label, found);
        if (head == "0") != (label.split(':').next() == Some("root")) && head != "_" {
            let rule = if head == "0" { "0-is-not-root" } else { "root-is-not-0" };
            let what = format!("DEPREL is {} and HEAD is {}", shorten(label), shorten(head));
            found.push(row.violation(8, rule, what, "root is the label of the word whose head is 0"));
        }
    }
    let keys = || misc.split('|').map(|pair| pair.split('=').next().unwrap_or_default());
    for key in ONCE.iter().filter(|key| keys().filter(|other| other == *key).nth(1).is_some()) {
        found.push(row.violation(10, "repeated-misc", format!("MISC has {key} twice"), "it stands there once"));
    }
}

fn test_label(row: &Row<'_>, label: &str, found: &mut Vec<Violation>) {
    let parts: Vec<&str> = label.split(':').collect();
    let what = format!("DEPREL is {}", shorten(label));
    if parts.len() > 2 || !parts.iter().all(|part| is_lowercase(part)) {
        let expected = "a label has small letters a to z, and one colon if it has a subtype";
        found.push(row.violation(8, "invalid-deprel", what, expected));
    } else if !is_relation(parts[0]) {
        found.push(row.violation(8, "unknown-udeprel", what, "Universal Dependencies has no such relation"));
    }
}

fn test_features(row: &Row<'_>, feats: &str, found: &mut Vec<Violation>) {
    if feats == "_" {
        return;
    }
    let mut report = |rule, what: &str, expected: &str| {
        found.push(row.violation(6, rule, format!("FEATS has {}", shorten(what)), expected));
    };
    let features: Vec<&str> = feats.split('|').collect();
    if !features.iter().map(|feature| feature.to_lowercase()).is_sorted() {
        report("unsorted-features", feats, "features stand in the order of the alphabet");
    }
    let mut names = HashSet::new();
    for feature in features {
        let pair = feature.split_once('=').filter(|(name, values)| is_name(name) && values.split(',').all(is_value));
        let new = names.insert(pair.map_or(feature, |(name, _)| name));
        if !new {
            report("repeated-feature", feature, "a feature stands there once");
        }
        let Some((_, values)) = pair else {
            report(
                "invalid-feature",
                feature,
                "a feature is Name=Value in letters a to z and digits, with capitals first",
            );
            continue;
        };
        let values: Vec<&str> = values.split(',').collect();
        if values.iter().collect::<HashSet<_>>().len() < values.len() {
            report("repeated-feature-value", feature, "a value stands there once");
        }
        if !values.iter().map(|value| value.to_lowercase()).is_sorted() {
            report("unsorted-feature-values", feature, "values stand in the order of the alphabet");
        }
    }
}

/// Whether this is a universal relation.
pub(super) fn is_relation(name: &str) -> bool {
    RELATIONS.contains(&name)
}

/// Whether this is one or more of the letters a to z.
pub(super) fn is_lowercase(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// `Name`, or `Name[layer]`.
fn is_name(name: &str) -> bool {
    let (name, layer) = match name.strip_suffix(']') {
        Some(layered) => layered.split_once('[').map_or((name, ""), |(name, layer)| (name, layer)),
        None => (name, "x"),
    };
    let is_layer = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !layer.is_empty()
        && layer.bytes().all(is_layer)
}

fn is_value(value: &str) -> bool {
    value.starts_with(|first: char| first.is_ascii_uppercase() || first.is_ascii_digit())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
