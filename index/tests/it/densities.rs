//! Densities: sums of exponentials, most of them from estimates, within their bounds and close to the truth.

use citree_index::{GraphSpec, Metric};

use crate::make::Data;
use crate::random::{Random, cone};

/// The densities of all classes around a row, by plain arithmetic.
fn truth(data: &Data, row: &[f32], temperature: f64) -> Vec<f64> {
    let mut sums = vec![0.0; data.classes];
    for (i, record) in data.records.iter().enumerate() {
        let similarity: f64 = row.iter().zip(data.row(i)).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        sums[record.class as usize] += (temperature * (similarity - 1.0)).exp();
    }
    sums
}

#[test]
fn the_true_density_lies_within_the_bounds_and_near_the_sum_at_every_temperature() {
    for seed in [1, 2, 3] {
        let data = Data { graph: GraphSpec { degree: 8, effort: 40, least: 1000 }, ..Data::new(seed, 6000, 48) };
        let folder = tempfile::tempdir().unwrap();
        let index = data.build(folder.path());
        let queries = cone(&mut Random::new(seed + 50), 12, data.dims, 4, 0.9);
        let own: Vec<f32> = (0..4).flat_map(|i| data.row(i * 997).to_vec()).collect();
        for rows in [queries, own] {
            for temperature in [1.0, 64.0, 256.0, 1024.0] {
                let found = index.spaces()[0].densities(&rows, temperature).unwrap();
                for (row, found) in rows.chunks(data.dims).zip(found) {
                    let truth = truth(&data, row, f64::from(temperature));
                    let total: f64 = truth.iter().sum();
                    for (found, truth) in found.iter().zip(&truth) {
                        // Similarities in f32 have their own last digits. Far classes are within their bounds too.
                        let slack = 1e-4 * truth + f64::MIN_POSITIVE;
                        let inside = found.low <= truth + slack && truth - slack <= found.high;
                        assert!(inside, "T = {temperature}: {truth} is not within {found:?}");
                    }
                    let sum: f64 = found.iter().map(|density| density.sum).sum();
                    assert!((sum / total - 1.0).abs() < 0.01, "T = {temperature}: {sum} instead of {total}");
                }
            }
        }
    }
}

#[test]
fn dot_products_and_small_indexes_have_densities_too() {
    let data = Data { metric: Metric::Dot, ..Data::small(4) };
    let folder = tempfile::tempdir().unwrap();
    let index = data.build(folder.path());
    let row = data.row(3);
    let found = index.spaces()[0].densities(row, 2.0).unwrap();
    for (found, truth) in found[0].iter().zip(truth(&data, row, 2.0)) {
        assert!((found.sum - truth).abs() <= 1e-5 * truth.max(1e-9), "{found:?} instead of {truth}");
    }
    assert!(index.spaces()[0].densities(&row[1..], 2.0).is_err());
}
