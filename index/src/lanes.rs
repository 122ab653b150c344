//! Dot products of f32 rows over 32 lanes in a fixed order: the same bits on every machine, and the compiler can vectorise
//! them.

/// The dot product of two rows.
#[inline(always)]
pub(crate) fn lanes(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 32];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<32>(), b.as_chunks::<32>());
    for (a, b) in a.iter().zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter_mut().zip(a_rest.iter().zip(b_rest)).for_each(|(sum, (a, b))| *sum += a * b);
    for half in [16, 8, 4, 2, 1] {
        let (low, high) = sums.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(low, high)| *low += *high);
    }
    sums[0]
}

/// The dot products of a row with consecutive rows of the same length.
#[inline(always)]
pub(crate) fn many(query: &[f32], rows: &[f32], out: &mut [f32]) {
    for (row, out) in rows.chunks_exact(query.len().max(1)).zip(out) {
        *out = lanes(query, row);
    }
}
