//! Weighted dot products of every word with every position of its sentence: the numerators of all candidate edges.

use super::gemm::{Matrix, Threads, multiply};
use super::pair_kernel::{PairKernel, PairOp};
use super::real::{Real, vectorised};
use super::{Segments, has_kernel};
use candle_core::{Result, Tensor};

/// Computes `sum_k dependent[i,k] · weight[k] · head[j,k]` for each sentence, each word `i` (not ROOT) and each
/// position `j`. `dependent` and `head` are `[rows, dims]`, `weight` is `[dims]`. The result is a flat `[pairs]`, in
/// `[dependent][head]` order within a sentence.
pub(crate) fn pair_product(dependent: &Tensor, head: &Tensor, weight: &Tensor, segments: &Segments) -> Result<Tensor> {
    if has_kernel(dependent) {
        let op = PairProduct { segments: segments.clone() };
        dependent.contiguous()?.apply_op3(&head.contiguous()?, &weight.contiguous()?, PairOp(op))
    } else {
        plain(dependent, head, weight, segments)
    }
}

fn plain(dependent: &Tensor, head: &Tensor, weight: &Tensor, segments: &Segments) -> Result<Tensor> {
    let weighted = dependent.broadcast_mul(weight)?;
    let sentences: Result<Vec<Tensor>> = segments
        .ranges()
        .map(|(start, n)| {
            let words = weighted.narrow(0, start + 1, n - 1)?;
            words.matmul(&head.narrow(0, start, n)?.t()?)?.flatten_all()
        })
        .collect();
    Tensor::cat(&sentences?, 0)
}

struct PairProduct {
    segments: Segments,
}

impl PairKernel for PairProduct {
    const NAME: &str = "pair-product";

    fn pairs(&self) -> usize {
        self.segments.pairs()
    }

    fn forward<T: Real>(&self, [dependent, head, weight]: [&[T]; 3], dims: usize) -> Vec<T> {
        let mut out = vec![T::zero(); self.segments.pairs()];
        let mut at = 0;
        for (start, n) in self.segments.ranges() {
            let words = n.saturating_sub(1);
            let weighted = scaled(&dependent[(start + n - words) * dims..(start + n) * dims], weight);
            let heads = Matrix::new(&head[start * dims..(start + n) * dims], n, dims);
            multiply(Matrix::new(&weighted, words, dims), heads.transposed(), &mut out[at..], false, Threads::One);
            at += words * n;
        }
        out
    }

    fn backward<T: Real>(
        &self,
        [dependent, head, weight]: [&[T]; 3],
        _result: &[T],
        grad: &[T],
        dims: usize,
    ) -> [Vec<T>; 3] {
        let mut d_dependent = vec![T::zero(); dependent.len()];
        let mut d_head = vec![T::zero(); head.len()];
        let mut d_weight = vec![T::zero(); dims];
        let mut at = 0;
        for (start, n) in self.segments.ranges() {
            let words = n.saturating_sub(1);
            let word_values = (start + n - words) * dims..(start + n) * dims;
            let grad = Matrix::new(&grad[at..at + words * n], words, n);
            let words_of = &dependent[word_values.clone()];
            let heads = Matrix::new(&head[start * dims..(start + n) * dims], n, dims);
            let mut mixed = vec![T::zero(); words * dims];
            multiply(grad, heads, &mut mixed, false, Threads::One);
            let weighted = scaled(words_of, weight);
            let d_heads = &mut d_head[start * dims..(start + n) * dims];
            multiply(grad.transposed(), Matrix::new(&weighted, words, dims), d_heads, false, Threads::One);
            vectorised(|| {
                for (word, mixed) in words_of.chunks_exact(dims).zip(mixed.chunks_exact(dims)) {
                    for k in 0..dims {
                        d_weight[k] += word[k] * mixed[k];
                    }
                }
            });
            d_dependent[word_values].copy_from_slice(&scaled(&mixed, weight));
            at += words * n;
        }
        [d_dependent, d_head, d_weight]
    }
}

fn scaled<T: Real>(rows: &[T], weight: &[T]) -> Vec<T> {
    let mut out = rows.to_vec();
    vectorised(|| {
        for row in out.chunks_exact_mut(weight.len().max(1)) {
            row.iter_mut().zip(weight).for_each(|(value, &weight)| *value *= weight);
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, assert_gradients, random_var};
    use super::*;

    #[test]
    fn kernel_and_gradients_match_plain_operations_on_unequal_sentences() -> Result<()> {
        let segments = Segments::new(vec![3, 1, 4]);
        let (dependent, head, weight) = (random_var(&[8, 5], 1)?, random_var(&[8, 5], 2)?, random_var(&[5], 3)?);
        let unequal = Segments::new(vec![3, 5]);
        let found = pair_product(&dependent, &head, &weight, &unequal)?;
        assert_close(&found, &plain(&dependent, &head, &weight, &unequal)?, 1e-12)?;
        assert_gradients(&[&dependent, &head, &weight], |v| pair_product(v[0], v[1], v[2], &segments), 1e-6)
    }
}
