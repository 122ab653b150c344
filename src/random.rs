//! The only source of random numbers: a seeded generator whose state can be saved, so that a resumed run draws the same
//! numbers as an uninterrupted one.

use serde::{Deserialize, Serialize};

/// Xoshiro256++ by Blackman and Vigna, seeded by SplitMix64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator for this seed. Equal seeds draw equal numbers on every machine.
    pub(crate) fn new(seed: u64) -> Self {
        let mut mix = seed;
        let state = [(); 4].map(|()| {
            mix = mix.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (mix ^ (mix >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Self { state }
    }

    /// A separate generator for a named purpose, so that more draws for one purpose do not shift another.
    pub(crate) fn branch(seed: u64, purpose: &str) -> Self {
        let hash =
            purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        Self::new(seed ^ hash)
    }

    /// The next 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `0..end`; `end` must not be 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 24) as f32
    }

    /// Standard normal, by the Box-Muller transform.
    pub(crate) fn normal(&mut self) -> f32 {
        let radius = (-2.0 * (1.0 - f64::from(self.unit())).ln()).sqrt();
        (radius * (std::f64::consts::TAU * f64::from(self.unit())).cos()) as f32
    }

    /// Shuffles the items.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (2..=items.len()).rev() {
            items.swap(end - 1, self.below(end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restored_state_continues_the_sequence() {
        let mut random = Random::new(7);
        random.bits();
        let mut copy: Random = serde_json::from_str(&serde_json::to_string(&random).expect("text")).expect("state");
        assert_eq!(random.bits(), copy.bits());
    }

    #[test]
    fn draws_have_the_moments_of_their_distribution() {
        let mut random = Random::new(3);
        let n = 100_000;
        let normals: Vec<f64> = (0..n).map(|_| f64::from(random.normal())).collect();
        let mean = normals.iter().sum::<f64>() / n as f64;
        let variance = normals.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        let mut counts = [0; 7];
        (0..n).for_each(|_| counts[random.below(7)] += 1);
        assert!(counts.iter().all(|&c| (c as f64 / n as f64 - 1.0 / 7.0).abs() < 0.01), "{counts:?}");
    }

    #[test]
    fn branches_draw_independently() {
        assert_ne!(Random::branch(1, "dropout").bits(), Random::branch(1, "sampling").bits());
    }
}
