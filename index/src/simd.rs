//! Dot products of compact rows (i8) and of rows (f32), with the widest vector instructions of the machine.
//!
//! Integer products are exact, so every kernel gives the same numbers. Float products are summed over 32 lanes in a fixed
//! order without fused operations, so their bits are the same on every machine too.

#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use crate::{
    exponentials::{Estimates, exponentials},
    lanes::{lanes, many},
    round::{Rounded, round},
};

/// The instructions to use, chosen when an index is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Vnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

/// The query side of integer products: as many values as a compact row has bytes, zero after the last dimension.
#[derive(Clone, Debug, Default)]
pub(crate) struct Codes {
    values: Vec<i8>,
    /// Sum of the values. VNNI multiplies signed by unsigned values, so rows are shifted by 128; this sum corrects for it.
    sum: i32,
}

impl Codes {
    /// Copies `values` and sets those after the first `dims` to zero.
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

    /// Products of one query with the rows of these numbers. Rows that do not exist are not read. Their results, and those
    /// of their neighbours in the list, are meaningless.
    pub(crate) fn gather(self, query: &Codes, rows: &[i8], ids: &[u32], out: &mut [i32]) {
        match self {
            // SAFETY: `available` makes this variant only if the machine has these instructions.
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

    /// Products of several queries with all of `rows`, query after query: a block of a matrix product.
    pub(crate) fn block(self, queries: &[&Codes], rows: &[i8], out: &mut [i32]) {
        let Some(stride) = queries.first().map(|query| query.values.len().max(1)) else { return };
        let count = rows.len() / stride;
        for (queries, out) in queries.chunks(4).zip(out.chunks_mut(4 * count.max(1))) {
            match (self, queries) {
                // SAFETY: `available` makes this variant only if the machine has these instructions.
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
            // SAFETY: `available` makes this variant only if the machine has these instructions.
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
            // SAFETY: `available` makes this variant only if the machine has these instructions.
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

    /// The dot products of one row with consecutive rows of the same length.
    pub(crate) fn similarities(self, query: &[f32], rows: &[f32], out: &mut [f32]) {
        match self {
            // SAFETY: `available` makes this variant only if the machine has these instructions.
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

    /// Rounds a row to i8, see [`round`].
    pub(crate) fn round(self, values: &[f32], out: &mut [i8]) -> Rounded {
        match self {
            // SAFETY: `available` makes this variant only if the machine has these instructions.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Self::Vnni => unsafe { x86::round_avx512(values, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Self::Avx2 => unsafe { x86::round_avx2(values, out) },
            Self::Portable => round(values, out),
        }
    }

    /// Exponentials of the estimated similarities of a block, see [`exponentials`].
    pub(crate) fn exponentials(self, estimates: Estimates<'_>, temperature: f32, out: &mut [f32]) -> f32 {
        match self {
            // SAFETY: `available` makes this variant only if the machine has these instructions.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Self::Vnni => unsafe { x86::exponentials_avx512(estimates, temperature, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            Self::Avx2 => unsafe { x86::exponentials_avx2(estimates, temperature, out) },
            Self::Portable => exponentials(estimates, temperature, out),
        }
    }
}

/// Prefetches the cache lines of a slice.
#[inline(always)]
pub(crate) fn prefetch<T>(part: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..size_of_val(part).div_ceil(64) {
        // SAFETY: a prefetch has no visible effect and never faults, and the address is inside the slice.
        #[allow(unsafe_code)]
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(part.as_ptr().cast::<i8>().wrapping_add(line * 64));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = part;
}

/// A row. Empty if it does not exist.
#[inline(always)]
fn row(rows: &[i8], stride: usize, id: u32) -> &[i8] {
    rows.get(id as usize * stride..(id as usize + 1) * stride).unwrap_or_default()
}

#[inline(always)]
fn gather_with(query: &Codes, rows: &[i8], ids: &[u32], out: &mut [i32], dot: impl Fn(&Codes, &[i8]) -> i32) {
    // How many rows ahead to prefetch: enough to hide the memory latency, few enough for the line fill buffers.
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

/// Loads 64 values.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn load(chunk: &[i8; 64]) -> __m512i {
    // SAFETY: the array has the 64 bytes that are read, and the load needs no alignment.
    #[allow(unsafe_code)]
    unsafe {
        _mm512_loadu_si512(chunk.as_ptr().cast())
    }
}

/// Loads sixteen values and widens them to 16 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn widen(chunk: &[i8; 16]) -> __m256i {
    // SAFETY: the array has the 16 bytes that are read, and the load needs no alignment.
    #[allow(unsafe_code)]
    unsafe {
        _mm256_cvtepi8_epi16(_mm_loadu_si128(chunk.as_ptr().cast()))
    }
}
