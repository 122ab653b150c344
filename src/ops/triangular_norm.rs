//! The lengths of candidate edge vectors without gradients, for little more than half the arithmetic.
//!
//! `‖x W‖² = x W Wᵀ xᵀ = ‖x L‖²` with the lower triangular `L` of `W Wᵀ = L Lᵀ` (Cholesky). `L` is computed once per
//! model, and products with its zeros are skipped. [`edge_norm`](super::edge_norm::edge_norm) computes the same without
//! `L`.

use super::edge_norm::{EPSILON, FORWARD_TILE, edge_norm, fill_products, pair_rows};
use super::gemm::{Matrix, Threads, multiply};
use super::real::{Real, dot, vectorised};
use super::{Segments, for_real, has_kernel, values};
use candle_core::{Device, Result, Tensor};
use rayon::prelude::*;

/// Columns per product: what one call of the AVX-512 kernel covers.
const BLOCK: usize = 64;

/// `[dims, dims]` lower triangular `L` with `L Lᵀ = transform · transformᵀ`, computed in f64.
pub(crate) fn factor(transform: &Tensor) -> Result<Tensor> {
    let dims = transform.dim(0)?;
    let transform = transform.to_dtype(candle_core::DType::F64)?.to_device(&Device::Cpu)?;
    let square = values::<f64>(&transform.matmul(&transform.t()?)?)?;
    let mut factor = vec![0.0; dims * dims];
    for row in 0..dims {
        for column in 0..=row {
            let (above, left) = (&factor[column * dims..][..column], &factor[row * dims..][..column]);
            let rest = square[row * dims + column] - dot(above, left);
            // A singular transform has a pivot of 0, which rounding can make negative.
            let pivot = factor[column * dims + column];
            factor[row * dims + column] = match row == column {
                true => rest.max(0.0).sqrt(),
                false if pivot > 0.0 => rest / pivot,
                false => 0.0,
            };
        }
    }
    Tensor::from_vec(factor, (dims, dims), &Device::Cpu)
}

/// The same values as [`edge_norm`](super::edge_norm::edge_norm) of the transform that `factor` comes from.
pub(crate) fn triangular_norm(
    dependent: &Tensor,
    head: &Tensor,
    factor: &Tensor,
    segments: &Segments,
) -> Result<Tensor> {
    if !has_kernel(dependent) {
        let factor = factor.to_dtype(dependent.dtype())?.to_device(dependent.device())?;
        return edge_norm(dependent, head, &factor, segments);
    }
    let pairs = pair_rows(segments);
    let dims = dependent.dim(1)?;
    for_real!(dependent.dtype(), T, {
        let factor = values::<T>(&factor.to_dtype(dependent.dtype())?)?;
        let norms = norms(&pairs, &values::<T>(dependent)?, &values::<T>(head)?, &factor, dims);
        Tensor::from_vec(norms, pairs.len(), dependent.device())
    })
}

fn norms<T: Real>(pairs: &[(u32, u32)], dependent: &[T], head: &[T], factor: &[T], dims: usize) -> Vec<T> {
    let mut norms = vec![T::zero(); pairs.len()];
    let factor = Matrix::new(factor, dims, dims);
    let scratch = || (vec![T::zero(); FORWARD_TILE * dims], vec![T::zero(); FORWARD_TILE * BLOCK]);
    pairs.par_chunks(FORWARD_TILE).zip(norms.par_chunks_mut(FORWARD_TILE)).for_each_init(
        scratch,
        |(products, part), (pairs, norms)| {
            fill_products(pairs, dependent, head, products, dims);
            let products = Matrix::new(products, pairs.len(), dims);
            norms.fill(T::from_f64(EPSILON));
            for start in (0..dims).step_by(BLOCK) {
                let width = BLOCK.min(dims - start);
                let inputs = products.window(0..pairs.len(), start..dims);
                let block = factor.window(start..dims, start..start + width);
                multiply(inputs, block, part, false, Threads::One);
                vectorised(|| {
                    for (norm, part) in norms.iter_mut().zip(part.chunks_exact(width)) {
                        *norm += dot(part, part);
                    }
                });
            }
            norms.iter_mut().for_each(|norm| *norm = norm.square_root());
        },
    );
    norms
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, random_var};
    use super::*;

    #[test]
    fn lengths_equal_those_of_the_plain_version_at_sizes_around_a_block() -> Result<()> {
        let segments = Segments::new(vec![3, 1, 20]);
        for dims in [5, 64, 65, 130] {
            let (dependent, head) = (random_var(&[24, dims], 1)?, random_var(&[24, dims], 2)?);
            let transform = random_var(&[dims, dims], 3)?;
            let found = triangular_norm(&dependent, &head, &factor(&transform)?, &segments)?;
            assert_close(&found, &edge_norm(&dependent, &head, &transform, &segments)?, 1e-8)?;
        }
        Ok(())
    }

    #[test]
    fn a_singular_transform_gives_the_right_lengths() -> Result<()> {
        let segments = Segments::new(vec![4]);
        let (dependent, head) = (random_var(&[4, 6], 1)?, random_var(&[4, 6], 2)?);
        let flat = random_var(&[6, 1], 3)?.matmul(random_var(&[1, 6], 4)?.as_tensor())?;
        let found = triangular_norm(&dependent, &head, &factor(&flat)?, &segments)?;
        assert_close(&found, &edge_norm(&dependent, &head, &flat, &segments)?, 1e-5)
    }
}
