//! Search over the graph, by an exact scan and in one class, and similarities with a range of rows:
//! `cargo bench -p citree-index --bench search`.
//!
//! Rows are random, so the figures are for comparing two versions of the code.

#![allow(missing_docs, clippy::unwrap_used)]

use citree_index::{Builder, GraphSpec, Index, Metric, Record, SpaceSpec, Spec};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const RECORDS: u32 = 10_000;
const CLASSES: u32 = 10;
const DIMS: usize = 100;
const QUERIES: u32 = 64;

fn search(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    let index = Index::open(folder.path()).unwrap();
    let space = &index.spaces()[0];
    let queries: Vec<Vec<f32>> = (RECORDS..RECORDS + QUERIES).map(row).collect();
    let flat = queries.concat();

    let mut group = criterion.benchmark_group("search");
    group.sample_size(20).throughput(Throughput::Elements(u64::from(QUERIES)));
    group.bench_function("graph", |bench| {
        bench.iter(|| queries.iter().map(|query| space.nearest(query).run().unwrap().hits.len()).sum::<usize>());
    });
    group.bench_function("exact scan", |bench| {
        bench
            .iter(|| queries.iter().map(|query| space.nearest(query).exact().run().unwrap().hits.len()).sum::<usize>());
    });
    group.bench_function("one class", |bench| {
        bench.iter(|| {
            queries.iter().map(|query| space.nearest(query).class(3).run().unwrap().hits.len()).sum::<usize>()
        });
    });
    group.bench_function("many at once", |bench| {
        bench.iter(|| space.nearest_many(&flat, |_, nearest| nearest).unwrap());
    });
    group.bench_function("similarities", |bench| bench.iter(|| space.similarities(&flat, 0..RECORDS).unwrap()));
    group.finish();
}

fn build(folder: &std::path::Path) {
    let spec = Spec {
        spaces: [SpaceSpec { dims: DIMS, metric: Metric::Cosine }, SpaceSpec { dims: 1, metric: Metric::Dot }],
        class_counts: vec![u64::from(RECORDS / CLASSES); CLASSES as usize],
        model: b"random".to_vec(),
        content: b"random".to_vec(),
        groupings: Vec::new(),
        contrasts: 0,
        attachment: Vec::new(),
        graph: GraphSpec::default(),
    };
    let mut builder = Builder::create(folder, spec).unwrap();
    builder.add_source(b"random").unwrap();
    for number in 0..RECORDS {
        let record = Record { source: 0, class: number % CLASSES, payload: [number, 0] };
        builder.add(record, &[], [&row(number), &[0.0]]).unwrap();
    }
    builder.finish(&|_| std::ops::ControlFlow::Continue(())).unwrap();
}

/// A pseudo-random row of length 1 near one of a hundred centres, as the edges of a treebank lie in clusters.
fn row(number: u32) -> Vec<f32> {
    let (mut centre, mut own) = (u64::from(number % 100) + 1, u64::from(number) + 1000);
    let row: Vec<f32> = (0..DIMS).map(|_| next(&mut centre) + next(&mut own)).collect();
    let norm = row.iter().map(|value| value * value).sum::<f32>().sqrt();
    row.into_iter().map(|value| value / norm).collect()
}

/// SplitMix64, between -1 and 1.
fn next(state: &mut u64) -> f32 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

criterion_group!(benches, search);
criterion_main!(benches);
