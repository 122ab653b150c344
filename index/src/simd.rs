//! Dot products of compact rows (i8) and of rows (f32), with the widest instructions that the machine has.
//!
//! Integer products are exact, so every path gives the same numbers. Float products are summed over 32 lanes in one fixed
//! order and never fused, so they too are the same to the bit on every machine.

use crate::lanes::{lanes, many};

/// The instructions in use; picked once, when an index is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Vnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

/// One side of integer products: as many values as a compact row has bytes, zero from the last dimension on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Codes {
    values: Vec<i8>,
    /// Sum of the values: VNNI multiplies signed by unsigned, so rows are shifted by 128 and this pays the shift back.
    sum: i32,
}

impl Codes {
    /// Takes the first `dims` values; the rest up to their number counts as zero.
    pub(crate) fn set(&mut self, values: &[i8], dims: usize) {
        self.values.clear();
        self.values.extend_from_slice(values);
        self.values[dims..].fill(0);
        self.sum = self.values.iter().map(|&value| i32::from(value)).sum();
    }
}

impl Kernel {
    /// The fastest kernel of this machine.
    pub(crate) fn best() -> Self {
        Self::available().first().copied().unwrap_or(Self::Portable)
    }

    /// All kernels of this machine, fastest first.
    pub(crate) fn available() -> Vec<Self> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni") {
                kernels.push(Self::Vnni);
            }
            if is_x86_feature_detected!("avx2") {
                kernels.push(Self::Avx2);
            }
        }
        kernels.push(Self::Portable);
        kernels
    }

    /// Products of one query with the rows of these numbers, into `out`. Numbers that are no rows are not read, and what
    /// they and their neighbours in the list get has no meaning.
    pub(crate) fn gather(self, query: &Codes, rows: &[i8], ids: &[u32], out: &mut [i32]) {
        match self {
            // SAFETY: the variant is only made where these instructions were detected.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Self::Vnni => unsafe { x86::gather_vnni(query, rows, ids, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Self::Avx2 => unsafe { x86::gather_avx2(query, rows, ids, out) },
            Self::Portable => gather_with(query, rows, ids, out, portable),
        }
    }

    /// Products of several queries with all of `rows`, query after query into `out`: a block of a matrix product.
    pub(crate) fn block(self, queries: &[&Codes], rows: &[i8], out: &mut [i32]) {
        let Some(stride) = queries.first().map(|query| query.values.len().max(1)) else { return };
        let count = rows.len() / stride;
        for (queries, out) in queries.chunks(4).zip(out.chunks_mut(4 * count.max(1))) {
            match (self, queries) {
                // SAFETY: the variant is only made where these instructions were detected.
                #[cfg(target_arch = "x86_64")]
                #[allow(unsafe_code)]
                (Self::Vnni, &[a, b, c, d]) => unsafe { x86::four_vnni([a, b, c, d], rows, out) },
                _ => {
                    queries.iter().zip(out.chunks_mut(count.max(1))).for_each(|(query, out)| self.run(query, rows, out))
                }
            }
        }
    }

    /// Products of one query with all of `rows`.
    fn run(self, query: &Codes, rows: &[i8], out: &mut [i32]) {
        match self {
            // SAFETY: the variant is only made where these instructions were detected.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Self::Vnni => unsafe { x86::run_vnni(query, rows, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Self::Avx2 => unsafe { x86::run_avx2(query, rows, out) },
            Self::Portable => run_with(query, rows, out, portable),
        }
    }

    /// The dot product of two rows.
    pub(crate) fn similarity(self, a: &[f32], b: &[f32]) -> f32 {
        match self {
            // SAFETY: the variant is only made where these instructions were detected.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Self::Vnni => unsafe { x86::lanes_avx512(a, b) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Self::Avx2 => unsafe { x86::lanes_avx2(a, b) },
            Self::Portable => lanes(a, b),
        }
    }
}

impl Kernel {
    /// The similarities of one row with several of the same length, one after another.
    pub(crate) fn similarities(self, query: &[f32], rows: &[f32], out: &mut [f32]) {
        match self {
            // SAFETY: the variant is only made where these instructions were detected.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Self::Vnni => unsafe { x86::many_avx512(query, rows, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Self::Avx2 => unsafe { x86::many_avx2(query, rows, out) },
            Self::Portable => many(query, rows, out),
        }
    }
}

/// Asks for the cache lines of a slice before they are needed; does nothing to the program's meaning.
#[inline(always)]
pub(crate) fn prefetch<T>(part: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..size_of_val(part).div_ceil(64) {
        // SAFETY: a prefetch reads nothing that the program can see and never faults; the address lies in the slice.
        #[allow(unsafe_code)]
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(part.as_ptr().cast::<i8>().wrapping_add(line * 64));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = part;
}

/// A row, or nothing where there is none of this number.
#[inline(always)]
fn row(rows: &[i8], stride: usize, id: u32) -> &[i8] {
    rows.get(id as usize * stride..(id as usize + 1) * stride).unwrap_or_default()
}

#[inline(always)]
fn gather_with(query: &Codes, rows: &[i8], ids: &[u32], out: &mut [i32], dot: impl Fn(&Codes, &[i8]) -> i32) {
    // How many rows ahead to ask for: enough to hide a trip to memory, few enough to stay within the line buffers.
    const AHEAD: usize = 4;
    let stride = query.values.len();
    for (i, (&id, out)) in ids.iter().zip(out).enumerate() {
        if let Some(&later) = ids.get(i + AHEAD) {
            prefetch(row(rows, stride, later));
        }
        *out = dot(query, row(rows, stride, id));
    }
}

#[inline(always)]
fn run_with(query: &Codes, rows: &[i8], out: &mut [i32], dot: impl Fn(&Codes, &[i8]) -> i32) {
    for (row, out) in rows.chunks_exact(query.values.len().max(1)).zip(out) {
        *out = dot(query, row);
    }
}

fn portable(query: &Codes, row: &[i8]) -> i32 {
    query.values.iter().zip(row).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Codes, gather_with, lanes, many, prefetch, row, run_with};

    /// Four rows at a time: their products are summed together, and the next four are on their way meanwhile.
    #[target_feature(enable = "avx512f,avx512vnni")]
    pub(super) fn gather_vnni(query: &Codes, rows: &[i8], ids: &[u32], out: &mut [i32]) {
        let (stride, shift) = (query.values.len(), _mm512_set1_epi8(-128));
        let (fours, rest) = ids.as_chunks::<4>();
        let (outs, out_rest) = out.split_at_mut(fours.len() * 4);
        // Plain loops: closures of these instructions are not inlined into iterators, which lack them.
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

    /// Four queries at once: each row is loaded and shifted once for the four.
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

    /// The sums of the sixteen numbers of each of four registers: together, since one by one takes longer than the products.
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

    #[target_feature(enable = "avx512f")]
    fn load(chunk: &[i8; 64]) -> __m512i {
        // SAFETY: the array has the 64 bytes that are read, and the load asks for no alignment.
        #[allow(unsafe_code)]
        unsafe {
            _mm512_loadu_si512(chunk.as_ptr().cast())
        }
    }

    #[target_feature(enable = "avx2")]
    fn widen(chunk: &[i8; 16]) -> __m256i {
        // SAFETY: the array has the 16 bytes that are read, and the load asks for no alignment.
        #[allow(unsafe_code)]
        unsafe {
            _mm256_cvtepi8_epi16(_mm_loadu_si128(chunk.as_ptr().cast()))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Random;

    #[test]
    fn every_kernel_gives_the_same_products() {
        let mut random = Random::new(1);
        for stride in [64, 320, 1024] {
            let extremes = [-127i8, 127, -128];
            let mut value =
                || if random.below(9) == 0 { extremes[random.below(3)] } else { random.below(256) as u8 as i8 };
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
}
