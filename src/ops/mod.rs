//! The few tensor operations that candle lacks, runs slowly or gets wrong, each with its own backward pass.
//!
//! Every operation has a fused CPU kernel and a `plain` version made of candle's operations. The plain version runs on
//! other devices, and the tests compare the kernel with it. Kernels are generic over `f32` and `f64`, so that finite
//! differences can check every gradient in double precision.

pub(crate) mod activation;
pub(crate) mod attention;
pub(crate) mod char_cnn;
pub(crate) mod cross_entropy;
pub(crate) mod disentangled;
pub(crate) mod dropout;
pub(crate) mod edge_norm;
pub(crate) mod gemm;
#[cfg(test)]
pub(crate) mod gradcheck;
pub(crate) mod layer_norm;
pub(crate) mod linear;
pub(crate) mod lstm;
pub(crate) mod pair_kernel;
pub(crate) mod pair_product;
pub(crate) mod real;
#[cfg(test)]
pub(crate) mod reference_tests;
pub(crate) mod triangular_norm;

use crate::error::Error;
use candle_core::{CpuStorage, Layout, Shape, Tensor};
use real::Real;

impl From<candle_core::Error> for Error {
    fn from(error: candle_core::Error) -> Self {
        Error::Tensor { message: error.to_string() }
    }
}

/// The row counts of a batch of sentences whose rows are contiguous, sentence by sentence.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    lengths: Vec<usize>,
}

impl Segments {
    /// One segment for each row count (ROOT included).
    pub(crate) fn new(lengths: Vec<usize>) -> Self {
        Self { lengths }
    }

    /// First row and row count of every sentence.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.lengths.iter().scan(0, |start, &length| {
            let range = (*start, length);
            *start += length;
            Some(range)
        })
    }

    /// Total number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// Number of candidate edges: every word (not ROOT) with every position as its head.
    pub(crate) fn pairs(&self) -> usize {
        self.lengths.iter().map(|&n| n.saturating_sub(1) * n).sum()
    }

    /// Row counts, ROOT included.
    pub(crate) fn lengths(&self) -> &[usize] {
        &self.lengths
    }
}

#[cfg(test)]
thread_local! {
    static PLAIN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs a closure with the kernels switched off, as on other devices.
#[cfg(test)]
pub(crate) fn plainly<R>(run: impl FnOnce() -> R) -> R {
    PLAIN.set(true);
    let result = run();
    PLAIN.set(false);
    result
}

/// Whether a fused kernel supports this tensor. Other devices and half precision use plain operations.
fn has_kernel(x: &Tensor) -> bool {
    #[cfg(test)]
    if PLAIN.get() {
        return false;
    }
    x.device().is_cpu() && matches!(x.dtype(), candle_core::DType::F32 | candle_core::DType::F64)
}

/// The contiguous values of a CPU kernel's argument.
fn slice<'a, T: Real>(storage: &'a CpuStorage, layout: &Layout) -> candle_core::Result<&'a [T]> {
    let values = T::cpu_storage_as_slice(storage)?;
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&values[start..end]),
        None => candle_core::bail!("a fused kernel needs contiguous input"),
    }
}

/// A copy of a tensor's values.
fn values<T: Real>(tensor: &Tensor) -> candle_core::Result<Vec<T>> {
    tensor.flatten_all()?.to_vec1::<T>()
}

/// Wraps kernel output for candle.
fn output<T: Real>(values: Vec<T>, shape: impl Into<Shape>) -> (CpuStorage, Shape) {
    (T::to_cpu_storage_owned(values), shape.into())
}

/// Runs `$body` with `$t` bound to the element type of `$dtype`.
macro_rules! for_real {
    ($dtype:expr, $t:ident, $body:expr) => {
        match $dtype {
            candle_core::DType::F32 => {
                type $t = f32;
                $body
            }
            candle_core::DType::F64 => {
                type $t = f64;
                $body
            }
            other => candle_core::bail!("no kernel for {other:?}"),
        }
    };
}
use for_real;
