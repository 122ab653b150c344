//! One direction of the LSTM: its forward pass and its backward pass.

use super::Steps;
use crate::ops::gemm::{Matrix, Threads, multiply};
use crate::ops::real::{Real, vectorised};

/// The activations of one direction, packed by row.
pub(super) struct Direction<T> {
    /// `[rows, 4 · units]`: the gates after their activation functions. The backward pass overwrites them with their
    /// gradients.
    pub gates: Vec<T>,
    /// `[rows, units]`: the cell states.
    cells: Vec<T>,
    /// `[rows, units]`: the hyperbolic tangents of the cell states.
    squashed: Vec<T>,
    /// `[rows, units]`: the hidden states.
    pub hidden: Vec<T>,
}

impl<T: Real> Direction<T> {
    /// Runs the steps of one direction. `projected` holds the projected input of both.
    pub(super) fn forward(projected: &[T], weight: &[T], units: usize, steps: &Steps, direction: usize) -> Self {
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

    /// Replaces the saved gates by their gradients and returns the gradient of the recurrent weight, `[units, 4 ·
    /// units]`.
    pub(super) fn backward(
        &mut self,
        grad: &[T],
        weight: &[T],
        units: usize,
        steps: &Steps,
        direction: usize,
    ) -> Vec<T> {
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
            // Rows beyond `alive` have no predecessor. Their carried gradient is dropped, and rows that the next step
            // adds start at 0.
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
