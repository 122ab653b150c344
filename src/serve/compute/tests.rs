//! Tests with a small real bundle of how requests in one batch affect each other.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::bundle::Bundle;
use crate::config::{Config, Preset};
use crate::device::Device;
use crate::explain::Options;
use crate::serve::snapshot::{Refreshed, Snapshots};
use crate::treebank::starter;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

/// The configuration of a model that is trained in about a second.
pub(in crate::serve) fn small() -> Config {
    Config { epochs: 1, lstm_units: 8, edge_dim: 8, word_dim: 8, ..Config::preset(Preset::Demo) }
}

/// Trains a bundle.
pub(in crate::serve) fn bundle(folder: &std::path::Path) -> std::path::PathBuf {
    let bundle = folder.join("t.citree");
    let treebank = &starter::train()[..20];
    Bundle::train(&bundle, &small(), treebank, treebank).unwrap();
    bundle
}

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const BOUNDS: Bounds = Bounds {
    threads: 1,
    together: 64,
    batch: 1000,
    short: 0,
    waiting: 1000,
    patience: std::time::Duration::from_secs(60),
};

fn words(context: &Context<'_>) -> Result<Reply, Problem> {
    let words: Vec<String> = context.explanations().flat_map(|explanation| explanation.words).collect();
    Ok(Reply::html(words.join(" ")))
}

#[test]
fn a_request_that_panics_or_fails_does_not_affect_others_in_its_batch() {
    let folder = tempfile::tempdir().unwrap();
    let snapshots = Snapshots::open(&bundle(folder.path()), &Device::CPU).unwrap();
    let snapshot = || snapshots.snapshot();
    let metrics = Arc::new(Metrics::new());
    let compute = Compute { metrics: metrics.clone(), cache: AnalysisCache::default() };
    let one = |form: &str| vec![Sentence::from_forms([form, "sleeps"])];
    let requests = [
        QueuedRequest::new(snapshot(), one("Anna"), Rule::sum(), words),
        QueuedRequest::new(snapshot(), one("Panic"), Rule::sum(), |_| panic!("on purpose")),
        QueuedRequest::new(snapshot(), one("Tom"), Rule::sum(), |_| Err(Problem::missing("not here"))),
        QueuedRequest::new(snapshot(), Vec::new(), Rule::sum(), words),
        QueuedRequest::new(snapshot(), one("Eve"), Rule::nca(64.0).unwrap(), words).coming_again(),
    ];
    let engine = Engine::start(compute, BOUNDS).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answers = runtime.block_on(async {
        let [a, b, c, d, e] = requests.map(|request| engine.submit(CLIENT, request));
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
    let again = QueuedRequest::new(snapshot(), one("Eve"), Rule::nca(64.0).unwrap(), words).coming_again();
    assert_eq!(body(runtime.block_on(engine.submit(CLIENT, again))), Ok("Eve sleeps".to_string()));
}

#[test]
fn a_word_costs_more_where_the_rule_scans_and_knn_scans_in_systems_with_dot_products() {
    let folder = tempfile::tempdir().unwrap();
    let compute = Compute { metrics: Arc::new(Metrics::new()), cache: AnalysisCache::default() };
    for (system, knn) in [("IIc", 1), ("IId", COMPARING)] {
        let path = folder.path().join(system);
        let treebank = &starter::train()[..20];
        let config = Config { system: system.parse().unwrap(), ..small() };
        Bundle::train(&path, &config, treebank, treebank).unwrap();
        let snapshots = Snapshots::open(&path, &Device::CPU).unwrap();
        for (rule, factor) in [(Rule::sum(), 1), (Rule::knn(4).unwrap(), knn), (Rule::nca(9.0).unwrap(), COMPARING)] {
            let three = vec![Sentence::from_forms(["Anna", "sleeps", "."])];
            let request = QueuedRequest::new(snapshots.snapshot(), three, rule.clone(), words);
            assert_eq!(compute.size(&request), 1 + 3 * factor, "{rule} in {system}");
        }
    }
}

/// The generation that a request is answered from, and the training sentence that it cites first.
fn cited(context: &Context<'_>) -> Result<Reply, Problem> {
    let mut parts = vec![context.snapshot.generation.to_string()];
    for (sentence, analysis) in context.analysed() {
        let explanation = context.explainer.explain_analysis(sentence, analysis, &Options::default())?;
        let attachment = &explanation.edges[0].attachment;
        parts.push(attachment.citations[0].source.sent_id.clone());
        parts.push(attachment.score.to_string());
    }
    Ok(Reply::html(parts.join(" ")))
}

#[test]
fn a_request_is_answered_from_the_generation_it_began_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = bundle(folder.path());
    let snapshots = Snapshots::open(&path, &Device::CPU).unwrap();
    let compute = Compute { metrics: Arc::new(Metrics::new()), cache: AnalysisCache::default() };
    let engine = Engine::start(compute, BOUNDS).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let treebank = starter::train();
    let request =
        |rule: &Rule| QueuedRequest::new(snapshots.snapshot(), vec![treebank[0].clone()], rule.clone(), cited);
    let ask =
        |request| String::from_utf8(runtime.block_on(engine.submit(CLIENT, request)).unwrap().unwrap().body).unwrap();
    for rule in [Rule::sum(), Rule::knn(2).unwrap()] {
        let known = snapshots.snapshot().generation;
        let before = ask(request(&rule).coming_again());
        let begun = request(&rule).coming_again();
        // Published after the request was read, before it is answered. The two treebanks have no sentence in common.
        let other = if known == 1 { &treebank[20..30] } else { &treebank[..20] };
        Bundle::open(&path).unwrap().build_index(other, &|_| crate::Flow::Continue).unwrap();
        assert!(matches!(snapshots.refresh(Instant::now()), Refreshed::Switched(new) if new == known + 1));
        let after = ask(request(&rule).coming_again());
        assert_eq!(ask(begun), before, "{rule}: the request that had begun");
        assert_eq!(ask(request(&rule)), after, "{rule}: an analysis of the generation before was used again");
        let cites = |sentence: &Sentence| after.starts_with(&format!("{} {} ", known + 1, sentence.sent_id().unwrap()));
        assert!(other.iter().any(cites), "{rule}: {after}");
    }
}
