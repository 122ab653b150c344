//! The kernels for x86-64. Each function requires the instructions that its attribute names.

use std::arch::x86_64::*;

use super::{
    Codes, Estimates, Rounded, exponentials, gather_with, lanes, load, many, prefetch, round, row, run_with, widen,
};

/// Four rows at a time: their lanes are summed together, while the next four rows are prefetched.
#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn gather_vnni(query: &Codes, rows: &[i8], ids: &[u32], out: &mut [i32]) {
    let (stride, shift) = (query.values.len(), _mm512_set1_epi8(-128));
    let (fours, rest) = ids.as_chunks::<4>();
    let (outs, out_rest) = out.split_at_mut(fours.len() * 4);
    // Plain loops: closures with these instructions are not inlined into iterator methods without them.
    for &id in fours.first().map_or(rest, |first| first) {
        prefetch(row(rows, stride, id));
    }
    for (i, (four, out)) in fours.iter().zip(outs.as_chunks_mut::<4>().0).enumerate() {
        for &id in fours.get(i + 1).map_or(rest, |next| next) {
            prefetch(row(rows, stride, id));
        }
        let a = row(rows, stride, four[0]).as_chunks::<64>().0;
        let b = row(rows, stride, four[1]).as_chunks::<64>().0;
        let c = row(rows, stride, four[2]).as_chunks::<64>().0;
        let d = row(rows, stride, four[3]).as_chunks::<64>().0;
        let mut sums = [_mm512_setzero_si512(); 4];
        for ((((query, a), b), c), d) in query.values.as_chunks::<64>().0.iter().zip(a).zip(b).zip(c).zip(d) {
            let query = load(query);
            // Flipping the top bit turns a signed value v into the unsigned v + 128.
            sums[0] = _mm512_dpbusd_epi32(sums[0], _mm512_xor_si512(load(a), shift), query);
            sums[1] = _mm512_dpbusd_epi32(sums[1], _mm512_xor_si512(load(b), shift), query);
            sums[2] = _mm512_dpbusd_epi32(sums[2], _mm512_xor_si512(load(c), shift), query);
            sums[3] = _mm512_dpbusd_epi32(sums[3], _mm512_xor_si512(load(d), shift), query);
        }
        for (out, sum) in out.iter_mut().zip(totals(sums)) {
            *out = sum - 128 * query.sum;
        }
    }
    for (&id, out) in rest.iter().zip(out_rest) {
        *out = dot_vnni(query, row(rows, stride, id));
    }
}

#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn run_vnni(query: &Codes, rows: &[i8], out: &mut [i32]) {
    run_with(query, rows, out, |query, row| dot_vnni(query, row));
}

#[target_feature(enable = "avx2")]
pub(super) fn gather_avx2(query: &Codes, rows: &[i8], ids: &[u32], out: &mut [i32]) {
    gather_with(query, rows, ids, out, |query, row| dot_avx2(query, row));
}

#[target_feature(enable = "avx2")]
pub(super) fn run_avx2(query: &Codes, rows: &[i8], out: &mut [i32]) {
    run_with(query, rows, out, |query, row| dot_avx2(query, row));
}

#[target_feature(enable = "avx512f")]
pub(super) fn lanes_avx512(a: &[f32], b: &[f32]) -> f32 {
    lanes(a, b)
}

#[target_feature(enable = "avx2")]
pub(super) fn lanes_avx2(a: &[f32], b: &[f32]) -> f32 {
    lanes(a, b)
}

#[target_feature(enable = "avx512f")]
pub(super) fn many_avx512(query: &[f32], rows: &[f32], out: &mut [f32]) {
    many(query, rows, out);
}

#[target_feature(enable = "avx2")]
pub(super) fn many_avx2(query: &[f32], rows: &[f32], out: &mut [f32]) {
    many(query, rows, out);
}

#[target_feature(enable = "avx512f")]
pub(super) fn exponentials_avx512(estimates: Estimates<'_>, temperature: f32, out: &mut [f32]) -> f32 {
    exponentials(estimates, temperature, out)
}

#[target_feature(enable = "avx2")]
pub(super) fn exponentials_avx2(estimates: Estimates<'_>, temperature: f32, out: &mut [f32]) -> f32 {
    exponentials(estimates, temperature, out)
}

#[target_feature(enable = "avx512f")]
pub(super) fn round_avx512(values: &[f32], out: &mut [i8]) -> Rounded {
    round(values, out)
}

#[target_feature(enable = "avx2")]
pub(super) fn round_avx2(values: &[f32], out: &mut [i8]) -> Rounded {
    round(values, out)
}

/// Four queries at a time: each row is loaded and shifted once for all four.
#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn four_vnni(queries: [&Codes; 4], rows: &[i8], out: &mut [i32]) {
    let stride = queries[0].values.len().max(1);
    let count = rows.len() / stride;
    let [a, b, c, d] = queries.map(|query| query.values.as_chunks::<64>().0);
    let shift = _mm512_set1_epi8(-128);
    for (i, row) in rows.chunks_exact(stride).enumerate() {
        let mut sums = [_mm512_setzero_si512(); 4];
        for ((((row, a), b), c), d) in row.as_chunks::<64>().0.iter().zip(a).zip(b).zip(c).zip(d) {
            let row = _mm512_xor_si512(load(row), shift);
            sums[0] = _mm512_dpbusd_epi32(sums[0], row, load(a));
            sums[1] = _mm512_dpbusd_epi32(sums[1], row, load(b));
            sums[2] = _mm512_dpbusd_epi32(sums[2], row, load(c));
            sums[3] = _mm512_dpbusd_epi32(sums[3], row, load(d));
        }
        for (q, sum) in totals(sums).into_iter().enumerate() {
            if let Some(out) = out.get_mut(q * count + i) {
                *out = sum - 128 * queries[q].sum;
            }
        }
    }
}

/// The sum of the sixteen numbers of each register. One register at a time would take longer than the products.
#[target_feature(enable = "avx512f")]
fn totals([a, b, c, d]: [__m512i; 4]) -> [i32; 4] {
    let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    let all = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    let half = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64::<1>(all));
    let four = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half));
    let (low, high) = (_mm_cvtsi128_si64(four), _mm_extract_epi64::<1>(four));
    [low as i32, (low >> 32) as i32, high as i32, (high >> 32) as i32]
}

#[target_feature(enable = "avx512f,avx512vnni")]
fn dot_vnni(query: &Codes, row: &[i8]) -> i32 {
    let shift = _mm512_set1_epi8(-128);
    let mut sum = _mm512_setzero_si512();
    for (row, query) in row.as_chunks::<64>().0.iter().zip(query.values.as_chunks::<64>().0) {
        sum = _mm512_dpbusd_epi32(sum, _mm512_xor_si512(load(row), shift), load(query));
    }
    _mm512_reduce_add_epi32(sum) - 128 * query.sum
}

#[target_feature(enable = "avx2")]
fn dot_avx2(query: &Codes, row: &[i8]) -> i32 {
    let mut sum = _mm256_setzero_si256();
    for (row, query) in row.as_chunks::<16>().0.iter().zip(query.values.as_chunks::<16>().0) {
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(widen(row), widen(query)));
    }
    let half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let pair = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
    _mm_cvtsi128_si32(_mm_add_epi32(pair, _mm_shuffle_epi32::<0b10_11_00_01>(pair)))
}
