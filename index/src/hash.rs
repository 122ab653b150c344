//! Small hash functions with the same result on every machine and in every run.

/// Mixes the bits of a number (the last step of splitmix64).
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A hash of the bits of a row.
pub(crate) fn row(values: &[f32]) -> u64 {
    values.iter().fold(values.len() as u64, |hash, value| {
        (hash ^ u64::from(value.to_bits())).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}

/// A hash of bytes.
pub(crate) fn bytes(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(mix(bytes.len() as u64 ^ 0x6b65_7973), |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}
