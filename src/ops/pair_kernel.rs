//! The interface of operations over all candidate edges: three inputs, one value per pair, gradients for all three.

use super::real::Real;
use super::{for_real, output, slice, values};
use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor};

/// A kernel over `dependent` and `head` `[rows, dims]` and a third input, with one output per candidate edge.
pub(crate) trait PairKernel {
    /// The name in candle's error messages.
    const NAME: &str;

    /// The number of candidate edges.
    fn pairs(&self) -> usize;

    /// The values of all pairs.
    fn forward<T: Real>(&self, inputs: [&[T]; 3], dims: usize) -> Vec<T>;

    /// The gradients of the three inputs, given the gradients of the pairs' values.
    fn backward<T: Real>(&self, inputs: [&[T]; 3], result: &[T], grad: &[T], dims: usize) -> [Vec<T>; 3];
}

/// Adapts a kernel to candle's `CustomOp3`.
pub(crate) struct PairOp<K>(pub K);

impl<K: PairKernel> CustomOp3 for PairOp<K> {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn cpu_fwd(
        &self,
        dependent: &CpuStorage,
        dependent_layout: &Layout,
        head: &CpuStorage,
        head_layout: &Layout,
        third: &CpuStorage,
        third_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (_, dims) = dependent_layout.shape().dims2()?;
        for_real!(candle_core::backend::BackendStorage::dtype(dependent), T, {
            let inputs = [slice(dependent, dependent_layout)?, slice(head, head_layout)?, slice(third, third_layout)?];
            Ok(output(self.0.forward::<T>(inputs, dims), self.0.pairs()))
        })
    }

    fn bwd(
        &self,
        dependent: &Tensor,
        head: &Tensor,
        third: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        for_real!(grad.dtype(), T, {
            let (d, h, t) = (values::<T>(dependent)?, values(head)?, values(third)?);
            let dims = dependent.dim(1)?;
            let [d_dependent, d_head, d_third] = self.0.backward([&d, &h, &t], &values(result)?, &values(grad)?, dims);
            Ok((
                Some(Tensor::from_vec(d_dependent, dependent.shape(), grad.device())?),
                Some(Tensor::from_vec(d_head, head.shape(), grad.device())?),
                Some(Tensor::from_vec(d_third, third.shape(), grad.device())?),
            ))
        })
    }
}
