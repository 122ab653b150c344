//! Tests with a small real bundle of how requests in one batch affect each other.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::bundle::Bundle;
use crate::config::{Config, Preset};
use crate::serve::snapshot::Snapshots;
use crate::treebank::starter;
use candle_core::Device;

/// Trains a bundle in about a second.
fn bundle(folder: &std::path::Path) -> std::path::PathBuf {
    let bundle = folder.join("t.citree");
    let small = Config { epochs: 1, lstm_units: 8, edge_dim: 8, word_dim: 8, ..Config::preset(Preset::Demo) };
    let treebank = &starter::train()[..20];
    Bundle::train(&bundle, &small, treebank, treebank).unwrap();
    bundle
}

fn words(context: &Context<'_>) -> Result<Reply, Problem> {
    let words: Vec<String> = context.explanations().flat_map(|explanation| explanation.words).collect();
    Ok(Reply::html(words.join(" ")))
}

#[test]
fn a_request_that_panics_or_fails_does_not_affect_others_in_its_batch() {
    let folder = tempfile::tempdir().unwrap();
    let snapshots = Snapshots::open(&bundle(folder.path()), &Device::Cpu).unwrap();
    let snapshot = || snapshots.snapshot();
    let metrics = Arc::new(Metrics::new());
    let compute = Compute { metrics: metrics.clone(), cache: AnalysisCache::default() };
    let one = |form: &str| vec![Sentence::from_forms([form, "sleeps"])];
    let requests = [
        QueuedRequest::new(snapshot(), one("Anna"), Rule::sum(), words),
        QueuedRequest::new(snapshot(), one("Panic"), Rule::sum(), |_| panic!("on purpose")),
        QueuedRequest::new(snapshot(), one("Tom"), Rule::sum(), |_| Err(Problem::missing("not here"))),
        QueuedRequest::new(snapshot(), Vec::new(), Rule::sum(), words),
        QueuedRequest::new(snapshot(), one("Eve"), Rule::knn(2).unwrap(), words).coming_again(),
    ];
    let bounds = Bounds { threads: 1, together: 64, waiting: 1000, patience: std::time::Duration::from_secs(60) };
    let engine = Engine::start(compute, bounds).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answers = runtime.block_on(async {
        let [a, b, c, d, e] = requests.map(|request| engine.submit(request));
        tokio::join!(a, b, c, d, e)
    });
    let body = |answer: Result<Result<Reply, Problem>, super::super::engine::Overloaded>| {
        answer.unwrap().map(|reply| String::from_utf8(reply.body).unwrap()).map_err(|problem| problem.status().as_u16())
    };
    assert_eq!(body(answers.0), Ok("Anna sleeps".to_string()));
    assert_eq!(body(answers.1), Err(500));
    assert_eq!(body(answers.2), Err(404));
    assert_eq!(body(answers.3), Ok(String::new()));
    assert_eq!(body(answers.4), Ok("Eve sleeps".to_string()));
    assert!(metrics.text().contains("citree_panics_total 1"));
    // The cached analysis gives the same response as the computed one.
    let again = QueuedRequest::new(snapshot(), one("Eve"), Rule::knn(2).unwrap(), words).coming_again();
    assert_eq!(body(runtime.block_on(engine.submit(again))), Ok("Eve sleeps".to_string()));
}
