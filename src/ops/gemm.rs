//! Matrix products on slices: a checked, safe wrapper around the `gemm` crate. One of the few files with `unsafe`.

use super::real::Real;
use std::ops::Range;

/// A row-major matrix view, possibly transposed and with a row stride wider than its columns.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a, T> {
    values: &'a [T],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// A view of `rows` by `columns` contiguous values.
    pub(crate) fn new(values: &'a [T], rows: usize, columns: usize) -> Self {
        assert!(values.len() >= rows * columns, "matrix view beyond its slice");
        Self { values, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// A view of a part of this matrix, without copying.
    pub(crate) fn window(self, rows: Range<usize>, columns: Range<usize>) -> Self {
        assert!(rows.end <= self.rows && columns.end <= self.columns, "window beyond its matrix");
        let start = rows.start * self.row_stride + columns.start * self.column_stride;
        Self { values: &self.values[start..], rows: rows.len(), columns: columns.len(), ..self }
    }

    /// A view with rows and columns exchanged, without copying.
    pub(crate) fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

/// The threads that compute a product.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Threads {
    /// The calling thread.
    One,
    /// All threads of the current rayon pool. The result is bit-identical to [`Threads::One`].
    All,
}

/// `out = a · b`, or `out += a · b` with `accumulate`. `out` is row-major and contiguous.
pub(crate) fn multiply<T: Real>(a: Matrix<T>, b: Matrix<T>, out: &mut [T], accumulate: bool, threads: Threads) {
    let (m, n, k) = (a.rows, b.columns, a.columns);
    assert_eq!(k, b.rows, "inner dimensions differ");
    assert!(out.len() >= m * n, "output too small");
    if m == 0 || n == 0 {
        return;
    }
    let parallelism = match threads {
        Threads::One => gemm::Parallelism::None,
        Threads::All if rayon::current_num_threads() == 1 => gemm::Parallelism::None,
        Threads::All => gemm::Parallelism::Rayon(0),
    };
    // SAFETY: the views are checked against their slices when made, `out` is checked above and borrowed mutably, so
    // every address that the strides reach is inside its slice and no input aliases the output.
    #[allow(unsafe_code)]
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            n as isize,
            accumulate,
            a.values.as_ptr(),
            a.column_stride as isize,
            a.row_stride as isize,
            b.values.as_ptr(),
            b.column_stride as isize,
            b.row_stride as isize,
            T::one(),
            T::one(),
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn plain(a: &[f32], b: &[f32], m: usize, n: usize, k: usize) -> Vec<f32> {
        let mut out = vec![0.0; m * n];
        for i in 0..m {
            for j in 0..n {
                out[i * n + j] = (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
            }
        }
        out
    }

    #[test]
    fn products_equal_the_plain_triple_loop_in_every_layout() {
        let mut random = Random::new(1);
        for (m, n, k) in [(1, 1, 1), (3, 5, 7), (42, 120, 30), (17, 64, 300), (5, 3, 0)] {
            let a: Vec<f32> = (0..m * k).map(|_| random.normal()).collect();
            let b: Vec<f32> = (0..k * n).map(|_| random.normal()).collect();
            let expected = plain(&a, &b, m, n, k);
            let a_t: Vec<f32> = (0..k * m).map(|i| a[(i % m) * k + i / m]).collect();
            let mut out = vec![1.0; m * n];
            multiply(Matrix::new(&a_t, k, m).transposed(), Matrix::new(&b, k, n), &mut out, true, Threads::All);
            for (found, expected) in out.iter().zip(&expected) {
                assert!((found - 1.0 - expected).abs() < 1e-3, "{m} {n} {k}: {found} {expected}");
            }
        }
    }

    #[test]
    fn one_and_several_threads_give_the_same_bits() {
        let mut random = Random::new(2);
        for (m, n, k) in [(700, 2400, 130), (600, 1200, 700), (300, 300, 8192), (2000, 300, 300), (13, 1200, 300)] {
            let a: Vec<f32> = (0..m * k).map(|_| random.normal()).collect();
            let b: Vec<f32> = (0..k * n).map(|_| random.normal()).collect();
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                let mut out = vec![0.0; m * n];
                pool.install(|| multiply(Matrix::new(&a, m, k), Matrix::new(&b, k, n), &mut out, false, Threads::All));
                out
            };
            assert!(run(1) == run(2), "{m} {n} {k}");
            assert!(run(1) == run(3), "{m} {n} {k}");
        }
    }
}
