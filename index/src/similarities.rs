//! Similarities of several queries with all rows of a range, as a blocked matrix product.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    error::{Error, Result},
    rows::Rows,
};

/// Bytes of the rows of a block. They stay in the second-level cache while all queries pass over them.
const BLOCK: usize = 1 << 18;

/// The similarity of each query with each row, query after query. `queries` holds whole rows of this space.
pub(crate) fn similarities(rows: &Rows, queries: &[f32], range: Range<usize>) -> Result<Vec<f32>> {
    let (count, dims) = (queries.len() / rows.dims, rows.dims);
    let mut out = Vec::new();
    let room = count.checked_mul(range.len()).filter(|room| out.try_reserve_exact(*room).is_ok());
    let room = room.ok_or_else(|| {
        Error::input("the number of similarities", "as many as fit into memory", format!("{count} × {}", range.len()))
    })?;
    if room == 0 {
        return Ok(out);
    }
    out.resize(room, 0f32);
    let block = (BLOCK / (4 * dims)).max(1);
    // Each block of rows writes one piece of each query's similarities.
    let mut pieces: Vec<Vec<&mut [f32]>> = range.clone().step_by(block).map(|_| Vec::with_capacity(count)).collect();
    for similarities in out.chunks_mut(range.len()) {
        pieces.iter_mut().zip(similarities.chunks_mut(block)).for_each(|(pieces, piece)| pieces.push(piece));
    }
    pieces.into_par_iter().enumerate().for_each(|(i, pieces)| {
        for (query, piece) in queries.chunks_exact(dims).zip(pieces) {
            let first = (range.start + i * block) * dims;
            let stored = rows.values.get(first..first + piece.len() * dims).unwrap_or_default();
            rows.compact.kernel.similarities(query, stored, piece);
        }
    });
    Ok(out)
}
