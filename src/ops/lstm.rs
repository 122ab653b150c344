//! The recurrent part of a bidirectional LSTM layer as one operation over a packed batch.
//!
//! Rows are packed by time: position 0 of every sentence, then position 1, and so on, with sentences in descending
//! order of length. Step `t` is therefore one contiguous block, and no padding is computed. The caller computes the
//! input projection of both directions as one large product. Each step here is one matrix product and one pass over the
//! gates.

mod direction;

use super::real::Real;
use super::{has_kernel, output, slice, values};
use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor, bail};
use candle_nn::ops::sigmoid;
use direction::Direction;
use std::sync::Mutex;

/// The number of sentences that reach each time step, in descending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    sizes: Vec<usize>,
    starts: Vec<usize>,
}

impl Steps {
    /// The steps of a batch with these sentence lengths, which are in descending order.
    pub(crate) fn new(descending_lengths: &[usize]) -> Self {
        let longest = descending_lengths.first().copied().unwrap_or(0);
        let sizes: Vec<usize> =
            (0..longest).map(|t| descending_lengths.partition_point(|&length| length > t)).collect();
        let starts = sizes.iter().scan(0, |at, &size| Some(std::mem::replace(at, *at + size))).collect();
        Self { sizes, starts }
    }

    /// The packed row of position `time` of the sentence that is `rank`-th by length.
    pub(crate) fn row(&self, time: usize, rank: usize) -> usize {
        self.starts[time] + rank
    }

    fn rows(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Time steps in the order of a direction, each with its predecessor in that order.
    fn walk(&self, direction: usize) -> impl DoubleEndedIterator<Item = (usize, Option<usize>)> {
        let last = self.sizes.len();
        (0..last).map(move |k| match direction {
            0 => (k, k.checked_sub(1)),
            _ => (last - 1 - k, (k > 0).then_some(last - k)),
        })
    }
}

/// `gates` `[rows, 2 · 4 · units]` and `recurrent` `[2, units, 4 · units]` give the hidden states `[rows, 2 · units]`.
/// `gates` holds the input projections of the forward direction, then of the backward direction, each in the order
/// input, forget, cell, output.
pub(crate) fn bilstm(gates: &Tensor, recurrent: &Tensor, steps: &Steps) -> Result<Tensor> {
    if gates.dim(0)? != steps.rows() {
        bail!("{} rows of gates for {} packed rows", gates.dim(0)?, steps.rows());
    }
    if has_kernel(gates) {
        let op = BiLstm { steps: steps.clone(), saved: Mutex::new(None) };
        gates.contiguous()?.apply_op2(&recurrent.contiguous()?, op)
    } else {
        plain(gates, recurrent, steps)
    }
}

fn plain(gates: &Tensor, recurrent: &Tensor, steps: &Steps) -> Result<Tensor> {
    let units = recurrent.dim(1)?;
    let mut directions = Vec::new();
    for direction in 0..2 {
        let weight = recurrent.get(direction)?;
        let projected = gates.narrow(1, direction * 4 * units, 4 * units)?;
        let mut blocks: Vec<Option<Tensor>> = vec![None; steps.sizes.len()];
        let mut state: Option<(Tensor, Tensor)> = None;
        for (time, _) in steps.walk(direction) {
            let size = steps.sizes[time];
            let mut block = projected.narrow(0, steps.starts[time], size)?;
            let mut cell_before = Tensor::zeros((size, units), gates.dtype(), gates.device())?;
            if let Some((hidden, cell)) = &state {
                let alive = hidden.dim(0)?.min(size);
                let fit = |t: &Tensor| t.narrow(0, 0, alive)?.pad_with_zeros(0, 0, size - alive);
                block = (block + fit(hidden)?.contiguous()?.matmul(&weight)?)?;
                cell_before = fit(cell)?;
            }
            let gate = |k: usize| block.narrow(1, k * units, units);
            let (input, forget, output) = (sigmoid(&gate(0)?)?, sigmoid(&gate(1)?)?, sigmoid(&gate(3)?)?);
            let cell = ((forget * cell_before)? + (input * gate(2)?.tanh()?)?)?;
            let hidden = (output * cell.tanh()?)?;
            blocks[time] = Some(hidden.clone());
            state = Some((hidden, cell));
        }
        directions.push(Tensor::cat(&blocks.into_iter().flatten().collect::<Vec<_>>(), 0)?);
    }
    Tensor::cat(&directions, 1)
}

struct BiLstm {
    steps: Steps,
    /// The activations that the backward pass needs. It takes them, so a graph supports one backward pass.
    saved: Mutex<Option<Saved>>,
}

enum Saved {
    F32([Direction<f32>; 2]),
    F64([Direction<f64>; 2]),
}

/// Places the rows of the two directions side by side.
fn interleave<T: Real>(forward: &[T], backward: &[T], width: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(forward.len() * 2);
    for (a, b) in forward.chunks_exact(width.max(1)).zip(backward.chunks_exact(width.max(1))) {
        out.extend_from_slice(a);
        out.extend_from_slice(b);
    }
    out
}

impl BiLstm {
    fn run<T: Real>(&self, gates: &[T], recurrent: &[T], units: usize) -> ([Direction<T>; 2], Vec<T>) {
        let run = |direction: usize| {
            let weight = &recurrent[direction * units * 4 * units..][..units * 4 * units];
            Direction::forward(gates, weight, units, &self.steps, direction)
        };
        let (forward, backward) = rayon::join(|| run(0), || run(1));
        let hidden = interleave(&forward.hidden, &backward.hidden, units);
        ([forward, backward], hidden)
    }

    fn run_back<T: Real>(
        &self,
        saved: [Direction<T>; 2],
        recurrent: &Tensor,
        grad: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        let units = recurrent.dim(1)?;
        let (weights, grad_values) = (values::<T>(recurrent)?, values::<T>(grad)?);
        let [mut forward, mut backward] = saved;
        let (mut d_weights, d_backward) = rayon::join(
            || forward.backward(&grad_values, &weights[..units * 4 * units], units, &self.steps, 0),
            || backward.backward(&grad_values, &weights[units * 4 * units..], units, &self.steps, 1),
        );
        d_weights.extend(d_backward);
        let d_gates = interleave(&forward.gates, &backward.gates, 4 * units);
        let d_gates = Tensor::from_vec(d_gates, (self.steps.rows(), 8 * units), grad.device())?;
        Ok((d_gates, Tensor::from_vec(d_weights, (2, units, 4 * units), grad.device())?))
    }
}

impl CustomOp2 for BiLstm {
    fn name(&self) -> &'static str {
        "bilstm"
    }

    fn cpu_fwd(
        &self,
        gates: &CpuStorage,
        gates_layout: &Layout,
        recurrent: &CpuStorage,
        recurrent_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (_, units, _) = recurrent_layout.shape().dims3()?;
        let shape = (self.steps.rows(), 2 * units);
        let (saved, out) = match gates {
            CpuStorage::F32(_) => {
                let (saved, hidden) =
                    self.run(slice::<f32>(gates, gates_layout)?, slice(recurrent, recurrent_layout)?, units);
                (Saved::F32(saved), output(hidden, shape))
            }
            CpuStorage::F64(_) => {
                let (saved, hidden) =
                    self.run(slice::<f64>(gates, gates_layout)?, slice(recurrent, recurrent_layout)?, units);
                (Saved::F64(saved), output(hidden, shape))
            }
            _ => bail!("the LSTM takes f32 or f64"),
        };
        if let Ok(mut slot) = self.saved.lock() {
            *slot = Some(saved);
        }
        Ok(out)
    }

    fn bwd(
        &self,
        _gates: &Tensor,
        recurrent: &Tensor,
        _result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let saved = self.saved.lock().ok().and_then(|mut slot| slot.take());
        let (d_gates, d_recurrent) = match saved {
            Some(Saved::F32(saved)) => self.run_back(saved, recurrent, grad)?,
            Some(Saved::F64(saved)) => self.run_back(saved, recurrent, grad)?,
            None => bail!("the backward pass of this LSTM has run already"),
        };
        Ok((Some(d_gates), Some(d_recurrent)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, assert_gradients, random_var};
    use super::*;

    #[test]
    fn kernel_matches_plain_operations_on_a_batch_of_unequal_lengths() -> Result<()> {
        let steps = Steps::new(&[5, 3, 3, 1]);
        let (gates, recurrent) = (random_var(&[12, 24], 1)?, random_var(&[2, 3, 12], 2)?);
        assert_close(&bilstm(&gates, &recurrent, &steps)?, &plain(&gates, &recurrent, &steps)?, 1e-12)
    }

    #[test]
    fn gradients_are_right_on_a_batch_of_three_unequal_lengths() -> Result<()> {
        let steps = Steps::new(&[4, 2, 1]);
        let (gates, recurrent) = (random_var(&[7, 16], 3)?, random_var(&[2, 2, 8], 4)?);
        assert_gradients(&[&gates, &recurrent], |v| bilstm(v[0], v[1], &steps), 1e-6)
    }

    #[test]
    fn packed_rows_count_the_sentences_alive_at_each_step() {
        let steps = Steps::new(&[3, 1]);
        assert_eq!(steps.sizes, [2, 1, 1]);
        assert_eq!([steps.row(0, 1), steps.row(1, 0), steps.row(2, 0)], [1, 2, 3]);
    }
}
