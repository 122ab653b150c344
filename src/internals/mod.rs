//! What the tests, benches and tools of this repository need beyond the façade. Nothing in it is stable.

mod inputs;
mod kernels;
mod modes;
mod speeds;

pub use crate::audit::words::{CrossFitted, CrossFittedEdge};
#[cfg(feature = "serve")]
pub use crate::serve::direct::Direct;
pub use inputs::{
    convert_vectors, read_configuration, read_conllu, read_rules, read_tables, use_encoder, use_model, use_vectors,
};
pub use kernels::{Kernel, kernels};
pub use modes::{BothModes, heads_in_both_modes, labels_in_both_modes};
pub use speeds::{Prepared, encoder_speeds};

use crate::audit::Treebank;
use crate::bundle::Bundle;
use crate::config::System;
use crate::edge::edge_vectors;
use crate::error::Result;
use crate::evidence::{Evidence, Side, TrainingEdges};
use crate::explain::Explainer;
#[cfg(feature = "lab")]
use crate::lab::chart::{self, Axis, Line};
use crate::model::{Model, Trained};
use crate::parse::{Analysis, Parser, Settings};
use crate::task::Task;
use crate::treebank::{Cutter, Running, Sentence, Splits, TextTables, Unseen};
use citree_index::Index;

/// A parser by the sums that are stored with the model.
pub fn parser_of_model(bundle: &Bundle, settings: &Settings) -> Result<Parser> {
    Parser::new(bundle.model(), None, Default::default(), settings, bundle.device())
}

/// A parser by the parameters of a bundle as another system. The support is that of these sentences.
pub fn parser_as(bundle: &Bundle, system: System, support: &[Sentence], settings: &Settings) -> Result<Parser> {
    let mut model = bundle.model().clone();
    model.config.system = system;
    let support = model.pretrained.number(&model.tables.vocabulary, support)?;
    let support: Vec<_> = support.iter().collect();
    for trained in [&mut model.heads, &mut model.labels] {
        Trained::sum_support(std::slice::from_mut(trained), &model.config, &model.tables.vocabulary, &support)?;
    }
    Parser::new(&model, None, Default::default(), settings, bundle.device())
}

/// The fingerprint computed from the parameters in memory, after `change` was added to one of them.
pub fn fingerprint_after(bundle: &Bundle, change: f64) -> Result<String> {
    let Model { config, tables, pretrained, heads, labels, .. } = bundle.model().clone();
    if let Some((_, parameter)) = heads.parameters.iter().next() {
        parameter.set(&(parameter.as_tensor() + change)?)?;
    }
    let model = Model::new(config, tables, pretrained, heads, labels);
    Bundle::of(bundle.layout().clone(), model, bundle.device())?.fingerprint()
}

/// The head model's vectors of the gold edges of sentences, row after row.
pub fn gold_vectors(bundle: &Bundle, sentences: &[Sentence]) -> Result<Vec<f32>> {
    let model = bundle.model();
    let sentences = model.pretrained.number(&model.tables.vocabulary, sentences)?;
    let heads: Vec<&[usize]> = sentences.iter().map(|sentence| sentence.heads.as_slice()).collect();
    Ok(edge_vectors(&[&model.heads.edges.frozen()?], false, &sentences, &heads)?.concat().concat())
}

/// The head model's vector of an edge (dependent, head) of a sentence.
pub fn edge_row(explainer: &Explainer, analysis: &Analysis, edge: (usize, usize)) -> Result<Vec<f32>> {
    explainer.parser().vectors(Task::Heads, analysis, &[edge])
}

/// What some evidence says for an edge of a sentence as a head, or for a label of the edge, by the rule of an explainer.
pub fn total(
    explainer: &Explainer,
    evidence: &Evidence,
    analysis: &Analysis,
    edge: (usize, usize),
    label: Option<&str>,
) -> Result<f64> {
    let parser = explainer.parser();
    let task = if label.is_some() { Task::Labels } else { Task::Heads };
    let label = label.and_then(|label| Some(parser.label(label)? as u32));
    let side = Side::new(task, parser.vectors(task, analysis, &[edge])?, label);
    evidence.total(parser.by(), &side)
}

/// The rows and records behind the training edges of a bundle.
pub fn index(edges: &TrainingEdges) -> &Index {
    edges.index()
}

/// What models of the words that never saw a document say about its edges; `None` if the treebank is too small.
pub fn cross_fitted(treebank: &Treebank, folds: usize) -> Result<Option<CrossFitted>> {
    treebank.cross_fitted(folds)
}

/// Splits lines of text into words as learned from these sentences.
pub fn splitter(sentences: &[Sentence]) -> impl Fn(&str) -> Sentence + use<> {
    let splits = Splits::learn(sentences);
    move |line| splits.split(line)
}

/// Cuts running text into sentences and words as learned from these sentences, or by the rules of Unicode.
pub fn cutter(sentences: &[Sentence], learnt: bool) -> impl Fn(&str) -> Vec<Sentence> + use<> {
    let (splits, tables) = (Splits::learn(sentences), learnt.then(|| TextTables::learn(sentences)));
    move |text| {
        let cutter = Cutter { splits: &splits, tables: tables.as_ref() };
        Running::new(cutter, text.as_bytes(), "text").filter_map(Result::ok).collect()
    }
}

/// Whether sentences together look as if they were of another language than these.
pub fn foreign(sentences: &[Sentence]) -> impl Fn(&[Sentence]) -> bool + use<> {
    let tables = TextTables::learn(sentences);
    move |some| {
        let mut all = Unseen::default();
        some.iter().filter_map(|sentence| tables.unseen(sentence)).for_each(|unseen| all.add(&unseen));
        all.is_foreign()
    }
}

/// A chart of named lines. `up` is logarithmic, and so is `across` unless it has a range.
#[cfg(feature = "lab")]
pub fn chart(
    title: &str,
    (across, range): (&str, Option<(f64, f64)>),
    up: &str,
    lines: &[(&str, Vec<(f64, f64)>)],
) -> String {
    let inside = |point: &&(f64, f64)| range.is_none_or(|(low, high)| (low..=high).contains(&point.0));
    let points = || lines.iter().flat_map(|line| &line.1).filter(inside);
    let across = match range {
        Some((low, high)) => Axis::even(across, low, high, 10),
        None => Axis::logarithmic(across, points().map(|point| point.0)),
    };
    let up = Axis::logarithmic(up, points().map(|point| point.1));
    let line = |(name, points): &(&str, Vec<(f64, f64)>)| Line {
        name: (*name).to_string(),
        points: points.clone(),
        captions: Vec::new(),
    };
    chart::svg(title, &across, &up, &lines.iter().map(line).collect::<Vec<_>>())
}
