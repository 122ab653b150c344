//! The lengths of all candidate edge vectors, `‖W (dependent ⊙ head)‖`, without storing the vectors.
//!
//! A sentence of n words has n² candidates of 300 numbers each. The kernel computes them in tiles that fit the CPU
//! cache. The backward pass recomputes only candidates with a nonzero gradient. Once a model is half trained, few heads
//! per word are in doubt and most candidates are skipped.

use super::gemm::{Matrix, Threads, multiply};
use super::pair_kernel::{PairKernel, PairOp};
use super::real::{Real, dot, vectorised};
use super::{Segments, has_kernel};
use candle_core::{Result, Tensor};
use rayon::prelude::*;

/// Added under the square root, so that the length of a zero vector is differentiable.
pub(crate) const EPSILON: f64 = 1e-12;

/// Candidates per tile; a tile fits the CPU cache.
pub(super) const FORWARD_TILE: usize = 256;
const BACKWARD_TILE: usize = 4096;

/// `dependent` and `head` `[rows, dims]` and `transform` `[dims, dims]` (input by output) give
/// `sqrt(‖(dependent_i ⊙ head_j) · transform‖² + ε)` for every pair, in the order of
/// [`pair_product`](super::pair_product::pair_product).
pub(crate) fn edge_norm(dependent: &Tensor, head: &Tensor, transform: &Tensor, segments: &Segments) -> Result<Tensor> {
    if has_kernel(dependent) {
        let op = EdgeNorm { pairs: pair_rows(segments) };
        dependent.contiguous()?.apply_op3(&head.contiguous()?, &transform.contiguous()?, PairOp(op))
    } else {
        plain(dependent, head, transform, segments)
    }
}

fn plain(dependent: &Tensor, head: &Tensor, transform: &Tensor, segments: &Segments) -> Result<Tensor> {
    let (dependents, heads): (Vec<u32>, Vec<u32>) = pair_rows(segments).into_iter().unzip();
    let select = |t: &Tensor, rows: Vec<u32>| t.index_select(&Tensor::new(rows, t.device())?, 0);
    let products = (select(dependent, dependents)? * select(head, heads)?)?;
    (products.matmul(transform)?.sqr()?.sum(1)? + EPSILON)?.sqrt()
}

/// The dependent row and the head row of every candidate edge.
pub(super) fn pair_rows(segments: &Segments) -> Vec<(u32, u32)> {
    let mut pairs = Vec::with_capacity(segments.pairs());
    for (start, n) in segments.ranges() {
        for dependent in start + 1..start + n {
            pairs.extend((start..start + n).map(|head| (dependent as u32, head as u32)));
        }
    }
    pairs
}

struct EdgeNorm {
    pairs: Vec<(u32, u32)>,
}

impl PairKernel for EdgeNorm {
    const NAME: &str = "edge-norm";

    fn pairs(&self) -> usize {
        self.pairs.len()
    }

    fn forward<T: Real>(&self, [dependent, head, transform]: [&[T]; 3], dims: usize) -> Vec<T> {
        let mut norms = vec![T::zero(); self.pairs.len()];
        let transform = Matrix::new(transform, dims, dims);
        let scratch = || (vec![T::zero(); FORWARD_TILE * dims], vec![T::zero(); FORWARD_TILE * dims]);
        self.pairs.par_chunks(FORWARD_TILE).zip(norms.par_chunks_mut(FORWARD_TILE)).for_each_init(
            scratch,
            |(products, edges), (pairs, norms)| {
                fill_products(pairs, dependent, head, products, dims);
                multiply(Matrix::new(products, pairs.len(), dims), transform, edges, false, Threads::One);
                vectorised(|| {
                    for (norm, edge) in norms.iter_mut().zip(edges.chunks_exact(dims)) {
                        *norm = (dot(edge, edge) + T::from_f64(EPSILON)).square_root();
                    }
                });
            },
        );
        norms
    }

    fn backward<T: Real>(&self, inputs: [&[T]; 3], norms: &[T], grad: &[T], dims: usize) -> [Vec<T>; 3] {
        let [dependent, head, transform] = inputs;
        let transform = Matrix::new(transform, dims, dims);
        let mut d_dependent = vec![T::zero(); dependent.len()];
        let mut d_head = vec![T::zero(); head.len()];
        let mut d_transform = vec![T::zero(); dims * dims];
        let live: Vec<usize> = (0..grad.len()).filter(|&edge| grad[edge] != T::zero()).collect();
        let widest = live.len().min(BACKWARD_TILE) * dims;
        let [mut products, mut edges, mut d_products] = [(); 3].map(|()| vec![T::zero(); widest]);
        for tile in live.chunks(BACKWARD_TILE) {
            let pairs: Vec<(u32, u32)> = tile.iter().map(|&edge| self.pairs[edge]).collect();
            let used = tile.len() * dims;
            let products = &mut products[..used];
            let edges = &mut edges[..used];
            products.par_chunks_mut(256 * dims).zip(pairs.par_chunks(256)).for_each(|(products, pairs)| {
                fill_products(pairs, dependent, head, products, dims);
            });
            multiply(Matrix::new(products, tile.len(), dims), transform, edges, false, Threads::All);
            edges.par_chunks_mut(dims).zip(tile).for_each(|(edge, &index)| {
                let factor = grad[index] / norms[index];
                vectorised(|| edge.iter_mut().for_each(|value| *value *= factor));
            });
            let edges = Matrix::new(edges, tile.len(), dims);
            multiply(Matrix::new(products, tile.len(), dims).transposed(), edges, &mut d_transform, true, Threads::All);
            multiply(edges, transform.transposed(), &mut d_products, false, Threads::All);
            rayon::join(
                || scatter(pairs.iter().map(|&(to, from)| (to, from)), &d_products, head, &mut d_dependent, dims),
                || scatter(pairs.iter().map(|&(from, to)| (to, from)), &d_products, dependent, &mut d_head, dims),
            );
        }
        [d_dependent, d_head, d_transform]
    }
}

/// Writes the element-wise product of each pair's rows to `products`.
pub(super) fn fill_products<T: Real>(
    pairs: &[(u32, u32)],
    dependent: &[T],
    head: &[T],
    products: &mut [T],
    dims: usize,
) {
    vectorised(|| {
        for (&(i, j), product) in pairs.iter().zip(products.chunks_exact_mut(dims)) {
            let (a, b) = (&dependent[i as usize * dims..][..dims], &head[j as usize * dims..][..dims]);
            for k in 0..dims {
                product[k] = a[k] * b[k];
            }
        }
    });
}

/// Adds `d_product ⊙ other[from]` to row `to` for every pair.
fn scatter<T: Real>(
    pairs: impl Iterator<Item = (u32, u32)>,
    d_products: &[T],
    other: &[T],
    target: &mut [T],
    dims: usize,
) {
    vectorised(|| {
        for ((to, from), d_product) in pairs.zip(d_products.chunks_exact(dims)) {
            let (target, other) = (&mut target[to as usize * dims..][..dims], &other[from as usize * dims..][..dims]);
            for k in 0..dims {
                target[k] += d_product[k] * other[k];
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, assert_gradients, random_var};
    use super::*;

    #[test]
    fn kernel_and_gradients_match_plain_operations_on_three_unequal_sentences() -> Result<()> {
        let segments = Segments::new(vec![3, 1, 4]);
        let (dependent, head, transform) = (random_var(&[8, 5], 1)?, random_var(&[8, 5], 2)?, random_var(&[5, 5], 3)?);
        let found = edge_norm(&dependent, &head, &transform, &segments)?;
        assert_close(&found, &plain(&dependent, &head, &transform, &segments)?, 1e-9)?;
        assert_gradients(&[&dependent, &head, &transform], |v| edge_norm(v[0], v[1], v[2], &segments), 1e-6)
    }

    #[test]
    fn a_sentence_longer_than_a_tile_is_covered_to_its_last_edge() -> Result<()> {
        let segments = Segments::new(vec![30, 40]);
        let (dependent, head, transform) =
            (random_var(&[70, 4], 4)?, random_var(&[70, 4], 5)?, random_var(&[4, 4], 6)?);
        let found = edge_norm(&dependent, &head, &transform, &segments)?;
        assert_close(&found, &plain(&dependent, &head, &transform, &segments)?, 1e-9)
    }
}
