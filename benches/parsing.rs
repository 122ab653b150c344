//! Parsing and explaining by each rule: `cargo bench --bench parsing`.
//!
//! The bundle is tiny and trained here, so the figures are for comparing two versions of the code, not for the docs.

#![allow(missing_docs, clippy::unwrap_used)]

use citree::config::{Config, Preset};
use citree::explain::Options;
use citree::parse::Settings;
use citree::rule::RuleSettings;
use citree::treebank::starter;
use citree::{Bundle, Rule};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn parsing(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { epochs: 1, ..Config::preset(Preset::Demo) };
    let (treebank, dev) = (starter::train(), starter::dev());
    let bundle = Bundle::train(folder.path().join("bench.citree"), &config, &treebank, &dev).unwrap();
    let words: usize = dev.iter().map(|sentence| sentence.words().len()).sum();

    let mut group = criterion.benchmark_group("dev set of the starter treebank");
    group.sample_size(20).throughput(Throughput::Elements(words as u64));
    let rules =
        [Rule::sum(), Rule::named("nca", RuleSettings::default()).unwrap(), Rule::knn(Rule::NEIGHBORS).unwrap()];
    for rule in rules {
        let settings = Settings { rule: Some(rule.clone()), ..Settings::default() };
        let parser = bundle.parser_with(&settings).unwrap();
        group.bench_function(format!("parse by {rule}"), |bench| bench.iter(|| parser.parse(&dev).unwrap()));
        let explainer = bundle.explainer_with(&settings).unwrap();
        group.bench_function(format!("explain by {rule}"), |bench| {
            bench.iter(|| explainer.explain(&dev, &Options::default()).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, parsing);
criterion_main!(benches);
