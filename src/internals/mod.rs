//! What the tests, benches and tools of this repository need beyond the façade. Nothing in it is stable.

mod kernels;
mod modes;
mod speeds;

pub use kernels::{Kernel, kernels};
pub use modes::{BothModes, heads_in_both_modes, labels_in_both_modes};
pub use speeds::{Prepared, bert_speeds};

use crate::bundle::Bundle;
use crate::config::System;
use crate::edge::edge_vectors;
use crate::error::Result;
use crate::evidence::{Side, Weighing};
use crate::explain::Explainer;
#[cfg(feature = "lab")]
use crate::lab::chart::{self, Axis, Line};
use crate::model::{Model, Trained};
use crate::parse::{Analysis, Parser, Settings};
use crate::task::Task;
use crate::treebank::Sentence;

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

/// How an explainer weighs its evidence.
pub fn weighing(explainer: &Explainer) -> &Weighing {
    explainer.parser().by()
}

/// An edge (dependent, head) of a sentence as a side of a decision, for one of the labels or none.
pub fn side(
    explainer: &Explainer,
    task: Task,
    analysis: &Analysis,
    edge: (usize, usize),
    label: Option<&str>,
) -> Result<Side> {
    let parser = explainer.parser();
    let row = parser.vectors(task, analysis, &[edge])?;
    let label = label.and_then(|label| parser.tables().vocabulary.label(label));
    Ok(Side::new(task, row, label))
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
