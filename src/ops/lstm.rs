//! The recurrent half of a bidirectional LSTM layer as one operation over a packed batch.
//!
//! Rows are packed by time: first every sentence's position 0, then position 1, and so on, sentences in descending
//! length, so that step `t` is one contiguous block and no padding is ever computed. The input projection of both
//! directions is one large product made before; here each step is one product and one pass over the gates.

use super::gemm::{Matrix, Threads, multiply};
use super::real::{Real, vectorised};
use super::{output, slice, values};
use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor, bail};
use candle_nn::ops::sigmoid;
use std::sync::Mutex;

/// How many sentences are alive at each time step, in descending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    sizes: Vec<usize>,
    starts: Vec<usize>,
}

impl Steps {
    /// Steps of a batch whose sentence lengths are given in descending order.
    pub fn new(descending_lengths: &[usize]) -> Self {
        let longest = descending_lengths.first().copied().unwrap_or(0);
        let sizes: Vec<usize> =
            (0..longest).map(|t| descending_lengths.partition_point(|&length| length > t)).collect();
        let starts = sizes.iter().scan(0, |at, &size| Some(std::mem::replace(at, *at + size))).collect();
        Self { sizes, starts }
    }

    /// The packed row of position `time` of the sentence that is `rank`-th by length.
    pub fn row(&self, time: usize, rank: usize) -> usize {
        self.starts[time] + rank
    }

    fn rows(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Time steps in the order of a direction, each with the step before it in that order.
    fn walk(&self, direction: usize) -> impl DoubleEndedIterator<Item = (usize, Option<usize>)> {
        let last = self.sizes.len();
        (0..last).map(move |k| match direction {
            0 => (k, k.checked_sub(1)),
            _ => (last - 1 - k, (k > 0).then_some(last - k)),
        })
    }
}

/// `gates` `[rows, 2 · 4 · units]` (input projections, forward then backward, each in the order input, forget, cell,
/// output) and `recurrent` `[2, units, 4 · units]` give the hidden states `[rows, 2 · units]`.
pub fn bilstm(gates: &Tensor, recurrent: &Tensor, steps: &Steps) -> Result<Tensor> {
    if gates.dim(0)? != steps.rows() {
        bail!("{} rows of gates for {} packed rows", gates.dim(0)?, steps.rows());
    }
    if gates.device().is_cpu() {
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
    /// What the backward pass needs; taken by it, so a graph can be walked back once.
    saved: Mutex<Option<Saved>>,
}

enum Saved {
    F32([Direction<f32>; 2]),
    F64([Direction<f64>; 2]),
}

/// One direction's activations, all packed by row.
struct Direction<T> {
    /// `[rows, 4 · units]`: gates after their squashing functions; overwritten by their gradients on the way back.
    gates: Vec<T>,
    /// `[rows, units]`.
    cells: Vec<T>,
    /// `[rows, units]`: the cells' hyperbolic tangents.
    squashed: Vec<T>,
    /// `[rows, units]`.
    hidden: Vec<T>,
}

impl<T: Real> Direction<T> {
    fn forward(projected: &[T], weight: &[T], units: usize, steps: &Steps, direction: usize) -> Self {
        let rows = steps.rows();
        let mut gates = Vec::with_capacity(rows * 4 * units);
        projected
            .chunks_exact(8 * units)
            .for_each(|row| gates.extend_from_slice(&row[direction * 4 * units..][..4 * units]));
        let [mut cells, mut squashed, mut hidden] = [(); 3].map(|()| vec![T::zero(); rows * units]);
        let weight = Matrix::new(weight, units, 4 * units);
        for (time, before) in steps.walk(direction) {
            let (start, size) = (steps.starts[time], steps.sizes[time]);
            let mut cell_before = vec![T::zero(); size * units];
            if let Some(before) = before {
                let alive = size.min(steps.sizes[before]);
                let from = steps.starts[before] * units;
                let hidden_before = Matrix::new(&hidden[from..from + alive * units], alive, units);
                multiply(hidden_before, weight, &mut gates[start * 4 * units..], true, Threads::One);
                cell_before[..alive * units].copy_from_slice(&cells[from..from + alive * units]);
            }
            vectorised(|| {
                for row in 0..size {
                    let at = (start + row) * units;
                    let (input, rest) = gates[at * 4..][..4 * units].split_at_mut(units);
                    let (forget, rest) = rest.split_at_mut(units);
                    let (candidate, output) = rest.split_at_mut(units);
                    let cell = &mut cells[at..][..units];
                    let squashed = &mut squashed[at..][..units];
                    let hidden = &mut hidden[at..][..units];
                    let before = &cell_before[row * units..][..units];
                    for k in 0..units {
                        input[k] = input[k].sigmoid();
                        forget[k] = forget[k].sigmoid();
                        candidate[k] = candidate[k].hyperbolic_tangent();
                        output[k] = output[k].sigmoid();
                        cell[k] = forget[k] * before[k] + input[k] * candidate[k];
                        squashed[k] = cell[k].hyperbolic_tangent();
                        hidden[k] = output[k] * squashed[k];
                    }
                }
            });
        }
        Self { gates, cells, squashed, hidden }
    }

    /// Turns the saved gates into their gradients and returns the recurrent weight's gradient `[units, 4 · units]`.
    fn backward(&mut self, grad: &[T], weight: &[T], units: usize, steps: &Steps, direction: usize) -> Vec<T> {
        let widest = steps.sizes.first().copied().unwrap_or(0);
        let mut carried_hidden = vec![T::zero(); widest * units];
        let mut carried_cell = vec![T::zero(); widest * units];
        let mut earlier_hidden = Vec::with_capacity(steps.rows() * units);
        let mut later_gates = Vec::with_capacity(steps.rows() * 4 * units);
        let weight = Matrix::new(weight, units, 4 * units);
        for (time, before) in steps.walk(direction).rev() {
            let (start, size) = (steps.starts[time], steps.sizes[time]);
            let alive = before.map_or(0, |before| size.min(steps.sizes[before]));
            let from = before.map_or(0, |before| steps.starts[before] * units);
            vectorised(|| {
                for row in 0..size {
                    let at = (start + row) * units;
                    let (input, rest) = self.gates[at * 4..][..4 * units].split_at_mut(units);
                    let (forget, rest) = rest.split_at_mut(units);
                    let (candidate, output) = rest.split_at_mut(units);
                    let squashed = &self.squashed[at..][..units];
                    let grad = &grad[at * 2 + direction * units..][..units];
                    let carried_hidden = &carried_hidden[row * units..][..units];
                    let carried_cell = &mut carried_cell[row * units..][..units];
                    let no_cell = [T::zero()];
                    let (cell_before, has_before) = match row < alive {
                        true => (&self.cells[from + row * units..][..units], 1),
                        false => (&no_cell[..], 0),
                    };
                    for k in 0..units {
                        let one = T::one();
                        let d_hidden = grad[k] + carried_hidden[k];
                        let d_cell = d_hidden * output[k] * (one - squashed[k] * squashed[k]) + carried_cell[k];
                        carried_cell[k] = d_cell * forget[k];
                        let d_output = d_hidden * squashed[k] * output[k] * (one - output[k]);
                        let d_input = d_cell * candidate[k] * input[k] * (one - input[k]);
                        let d_candidate = d_cell * input[k] * (one - candidate[k] * candidate[k]);
                        forget[k] = d_cell * cell_before[k * has_before] * forget[k] * (one - forget[k]);
                        (input[k], candidate[k], output[k]) = (d_input, d_candidate, d_output);
                    }
                }
            });
            let gates = &self.gates[start * 4 * units..][..size * 4 * units];
            earlier_hidden.extend_from_slice(&self.hidden[from..][..alive * units]);
            later_gates.extend_from_slice(&gates[..alive * 4 * units]);
            // Rows beyond `alive` begin here: what they carry back is dropped, and the next block's newcomers start at 0.
            multiply(
                Matrix::new(gates, alive, 4 * units),
                weight.transposed(),
                &mut carried_hidden,
                false,
                Threads::One,
            );
            carried_hidden[alive * units..].fill(T::zero());
            carried_cell[alive * units..].fill(T::zero());
        }
        let pairs = earlier_hidden.len() / units.max(1);
        let mut d_weight = vec![T::zero(); units * 4 * units];
        let earlier = Matrix::new(&earlier_hidden, pairs, units).transposed();
        multiply(earlier, Matrix::new(&later_gates, pairs, 4 * units), &mut d_weight, false, Threads::One);
        d_weight
    }
}

/// Rows of two directions side by side.
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
            None => bail!("this LSTM graph has been walked back before"),
        };
        Ok((Some(d_gates), Some(d_recurrent)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, assert_gradients, random_var};
    use super::*;

    #[test]
    fn the_kernel_equals_plain_operations_on_a_batch_of_unequal_lengths() -> Result<()> {
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
