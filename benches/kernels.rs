//! The hot kernels, forward and with gradients: `cargo bench --bench kernels`.
//!
//! Input is made up, with the paper's sizes. The figures are for comparing two versions of the code.

#![allow(missing_docs, clippy::unwrap_used)]

use citree::internals::kernels;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// The words of the sentences of a batch.
const WORDS: [usize; 16] = [5, 8, 10, 12, 14, 15, 16, 17, 18, 20, 22, 24, 26, 30, 34, 40];

fn ops(criterion: &mut Criterion) {
    let [trained, parsing] = kernels(&WORDS).unwrap();
    let mut group = criterion.benchmark_group("kernels");
    group.sample_size(20).throughput(Throughput::Elements(WORDS.iter().sum::<usize>() as u64));
    for kernel in trained.iter().chain(&parsing) {
        group.bench_function(kernel.name, |bench| bench.iter(|| kernel.forward().unwrap()));
    }
    for kernel in &trained {
        group.bench_function(format!("{}, with gradients", kernel.name), |bench| {
            bench.iter(|| kernel.with_gradients().unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, ops);
criterion_main!(benches);
