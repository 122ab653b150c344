//! Every kernel gives the same numbers.
#![allow(clippy::unwrap_used)]
use super::*;
use crate::testing::Random;

#[test]
fn every_kernel_gives_the_same_products() {
    let mut random = Random::new(1);
    for stride in [64, 320, 1024] {
        let extremes = [-127i8, 127, -128];
        let mut value = || if random.below(9) == 0 { extremes[random.below(3)] } else { random.below(256) as u8 as i8 };
        let rows: Vec<i8> = (0..stride * 37).map(|_| value()).collect();
        let queries: Vec<Codes> = (0..7)
            .map(|_| {
                let mut codes = Codes::default();
                codes.set(&(0..stride).map(|_| value()).collect::<Vec<_>>(), stride - 20);
                codes
            })
            .collect();
        let expected: Vec<i32> = queries
            .iter()
            .flat_map(|query| rows.chunks(stride).map(|row| portable(query, row)).collect::<Vec<_>>())
            .collect();
        for kernel in Kernel::available() {
            let mut out = vec![0; expected.len()];
            kernel.block(&queries.iter().collect::<Vec<_>>(), &rows, &mut out);
            assert_eq!(out, expected, "{kernel:?}, {stride} bytes");
            let ids = [36, 0, 7, 7, 20, 1, 35, 2, 3, 11, 30];
            let mut out = [7; 11];
            kernel.gather(&queries[0], &rows, &ids, &mut out);
            assert_eq!(out, ids.map(|id| expected[id as usize]), "{kernel:?}, {stride} bytes");
            kernel.gather(&queries[0], &rows, &[37, 0, u32::MAX, 99, 40], &mut out);
        }
    }
}

#[test]
fn every_kernel_gives_the_same_exponentials_to_the_bit() {
    let mut random = Random::new(3);
    let products: Vec<i32> = (0..101).map(|_| random.below(40_000) as i32 - 20_000).collect();
    let (scales, biases): (Vec<f32>, Vec<f32>) =
        (0..101).map(|_| (0.01 + 0.001 * random.normal(), 0.3 * random.normal())).unzip();
    let estimates =
        Estimates { products: &products, scales: &scales, biases: &biases, scale: 0.004, constant: 0.1, along: 0.9 };
    let all = Kernel::available().into_iter().map(|kernel| {
        let mut out = vec![0.0; products.len()];
        let reference = kernel.exponentials(estimates, 64.0, &mut out);
        out.push(reference);
        out.iter().map(|value| value.to_bits()).collect::<Vec<u32>>()
    });
    assert_eq!(all.collect::<std::collections::BTreeSet<_>>().len(), 1);
}

#[test]
fn every_kernel_gives_the_same_similarity_to_the_bit() {
    let mut random = Random::new(2);
    for dims in [1, 31, 32, 300, 517] {
        let (a, b): (Vec<f32>, Vec<f32>) = (0..dims).map(|_| (random.normal(), random.normal())).unzip();
        let exact: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        let all = Kernel::available().into_iter().flat_map(|kernel| {
            let mut many = [0.0; 2];
            kernel.similarities(&a, &[&b[..], &b].concat(), &mut many);
            [kernel.similarity(&a, &b).to_bits(), many[0].to_bits(), many[1].to_bits()]
        });
        let all: std::collections::BTreeSet<u32> = all.collect();
        assert_eq!(all.len(), 1);
        assert!((f64::from(f32::from_bits(*all.first().unwrap())) - exact).abs() < 1e-4);
    }
}
