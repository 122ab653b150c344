//! The last edge of every label: support for rare labels without encoding further sentences.

use crate::error::Result;
use candle_core::Tensor;
use serde::{Deserialize, Serialize};

/// For each label, the bits of its last edge vector at the time it was computed. Bits, so that a checkpoint stores them
/// exactly.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LastEdges {
    rows: Vec<Option<Vec<u32>>>,
}

impl LastEdges {
    /// Whether an edge of this label is stored.
    pub(super) fn knows(&self, label: usize) -> bool {
        self.rows.get(label).is_some_and(Option::is_some)
    }

    /// The stored edges of these labels as constants, `[labels, dims]`. Every label must have one.
    pub(super) fn recall(&self, labels: &[u32], like: &Tensor) -> Result<Tensor> {
        let rows = labels.iter().filter_map(|&label| self.rows.get(label as usize)?.as_ref());
        let values: Vec<f32> = rows.flatten().map(|&bits| f32::from_bits(bits)).collect();
        Ok(Tensor::from_vec(values, (labels.len(), like.dim(1)?), like.device())?.to_dtype(like.dtype())?)
    }

    /// Stores the last of these edges `[edges, dims]` for each label. `labels` is the number of all labels.
    pub(super) fn see(&mut self, edges: &Tensor, of: &[u32], labels: usize) -> Result<()> {
        self.rows.resize(labels, None);
        let dims = edges.dim(1)?;
        let values = edges.to_dtype(candle_core::DType::F32)?.flatten_all()?.to_vec1::<f32>()?;
        for (edge, &label) in values.chunks_exact(dims).zip(of) {
            self.rows[label as usize] = Some(edge.iter().map(|value| value.to_bits()).collect());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use candle_core::Device;

    #[test]
    fn the_last_edge_of_a_label_round_trips_bit_exactly_through_a_checkpoint() {
        let mut memory = LastEdges::default();
        let edges = Tensor::new(&[[0.1_f32, 0.2], [1.0 / 3.0, -0.7], [0.5, 0.6]], &Device::Cpu).unwrap();
        memory.see(&edges, &[2, 2, 0], 4).unwrap();
        assert_eq!([0, 1, 2, 3, 9].map(|label| memory.knows(label)), [true, false, true, false, false]);
        let memory: LastEdges = serde_json::from_str(&serde_json::to_string(&memory).unwrap()).unwrap();
        let recalled = memory.recall(&[0, 2], &edges).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(recalled, [[0.5, 0.6], [1.0 / 3.0, -0.7]]);
    }
}
