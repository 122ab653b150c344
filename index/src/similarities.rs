//! Similarities of several queries with all rows of a range, as a blocked matrix product over each segment.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    error::{Error, Result},
    rows::Rows,
    space::Space,
};

/// Bytes of the rows of a block. They stay in the second-level cache while all queries pass over them.
const BLOCK: usize = 1 << 18;

/// The similarity of each query with each record of a range, query after query. `queries` holds whole rows of this space.
pub(crate) fn similarities(space: &Space, queries: &[f32], range: Range<u32>) -> Result<Vec<f32>> {
    let count = queries.len() / space.dims();
    let mut out = Vec::new();
    let room = count.checked_mul(range.len()).filter(|room| out.try_reserve_exact(*room).is_ok());
    let room = room.ok_or_else(|| {
        Error::input("the number of similarities", "as many as fit into memory", format!("{count} × {}", range.len()))
    })?;
    if room == 0 {
        return Ok(out);
    }
    out.resize(room, 0f32);
    for run in runs(space, range.clone()) {
        let first = (run.number - range.start) as usize;
        let pieces = out.chunks_mut(range.len()).map(|own| &mut own[first..first + run.places.len()]).collect();
        of_places(&space.parts()[run.part].space.rows, queries, run.places, pieces);
    }
    space.intact()?;
    Ok(out)
}

/// Consecutive records at consecutive places of a segment.
struct Run {
    part: usize,
    places: Range<usize>,
    /// The number of the first.
    number: u32,
}

/// A range of numbers as runs: one for each segment, and one more for each gap that removed rows leave.
fn runs(space: &Space, range: Range<u32>) -> Vec<Run> {
    let (mut runs, mut next) = (Vec::new(), range.start);
    while let Some((part, place)) = space.numbers.locate(next).filter(|_| next < range.end) {
        let removed = space.numbers.removed(part);
        let gap = removed.get(removed.partition_point(|removed| *removed < place)).map(|gap| *gap as usize);
        let end = gap.unwrap_or(space.parts()[part].space.count());
        let places = place as usize..end.min(place as usize + (range.end - next) as usize);
        next += places.len() as u32;
        runs.push(Run { part, number: next - places.len() as u32, places });
    }
    runs
}

/// Writes the similarities of each query with rows at consecutive places into its piece.
fn of_places(rows: &Rows, queries: &[f32], range: Range<usize>, outs: Vec<&mut [f32]>) {
    let (count, dims) = (outs.len(), rows.dims);
    let block = (BLOCK / (4 * dims)).max(1);
    // Each block of rows writes one piece of each query's similarities.
    let mut pieces: Vec<Vec<&mut [f32]>> = range.clone().step_by(block).map(|_| Vec::with_capacity(count)).collect();
    for similarities in outs {
        pieces.iter_mut().zip(similarities.chunks_mut(block)).for_each(|(pieces, piece)| pieces.push(piece));
    }
    pieces.into_par_iter().enumerate().for_each(|(i, pieces)| {
        for (query, piece) in queries.chunks_exact(dims).zip(pieces) {
            let first = (range.start + i * block) * dims;
            let stored = rows.values.part(first..first + piece.len() * dims).unwrap_or_default();
            rows.compact.kernel.similarities(query, stored, piece);
        }
    });
}
