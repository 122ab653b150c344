//! Random numbers and rows, for unit tests and integration tests.
#![allow(dead_code)]

/// A small seeded generator (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn uniform(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    pub(crate) fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.uniform()).sum::<f32>() - 6.0
    }
}

/// Unit rows in clusters in a narrow cone: the norm of their mean is about `narrow`.
pub(crate) fn cone(random: &mut Random, count: usize, dims: usize, clusters: usize, narrow: f32) -> Vec<f32> {
    let wide = (1.0 / narrow.powi(2) - 1.0).sqrt() / (dims as f32).sqrt();
    let axis = 1.0 / (dims as f32).sqrt();
    // The clusters lie in a space of few dimensions, like the rows of trained models.
    let basis: Vec<f32> = (0..16 * dims).map(|_| random.normal() / 4.0).collect();
    let centres: Vec<f32> = (0..clusters * 16).map(|_| random.normal()).collect();
    let mut rows = Vec::with_capacity(count * dims);
    for _ in 0..count {
        let centre = random.below(clusters) * 16;
        let place: Vec<f32> = (0..16).map(|i| centres[centre + i] + 0.5 * random.normal()).collect();
        let mut row: Vec<f32> = (0..dims)
            .map(|d| {
                let spread: f32 = (0..16).map(|i| place[i] * basis[i * dims + d]).sum();
                axis + wide * 0.85 * spread + wide * 0.3 * random.normal()
            })
            .collect();
        let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        row.iter_mut().for_each(|x| *x /= norm);
        rows.extend(row);
    }
    rows
}
