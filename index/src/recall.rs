//! Measuring the recall of a graph with rows that are not inserted yet.

use rayon::prelude::*;

use crate::{
    exact::{Search, scan},
    graph::Graph,
    rows::{Hit, Rows},
    search::propose,
    walk::Scratch,
};

/// Neighbours per query.
const COUNT: usize = 10;
/// The recall that the default effort must reach here. More than the documented 0.99, because recall is lower for queries
/// from data that the model was not trained on.
const TARGET: f32 = 0.995;
const EFFORTS: [usize; 13] = [16, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384, 512];

/// How many of these nodes to hold out as queries.
pub(crate) fn held_out(nodes: usize) -> usize {
    (nodes / 10).min(1000)
}

/// The smallest effort that reaches the target, or the largest effort if none does, with its recall.
pub(crate) fn least_effort(rows: &Rows, graph: &Graph<Vec<u32>>, queries: &[u32]) -> (usize, f32) {
    let mut waiting = vec![false; rows.count()];
    queries.iter().flat_map(|query| rows.chain(*query)).for_each(|place| waiting[place as usize] = true);
    let passes = |place: u32| waiting.get(place as usize) == Some(&false);
    let row = |query: &u32| rows.get(*query).unwrap_or_default();
    let truth: Vec<Vec<Hit>> = queries
        .par_chunks(32)
        .flat_map_iter(|queries| {
            let searches: Vec<Search<'_>> = queries
                .iter()
                .map(|query| Search { row: row(query), count: COUNT, floor: f32::NEG_INFINITY, passes: &passes })
                .collect();
            scan(rows, 0..rows.count(), &searches)
        })
        .collect();
    let all: usize = truth.iter().map(Vec::len).sum();
    let mut reached = (0, 1.0);
    for effort in EFFORTS {
        let found: usize = queries
            .par_iter()
            .zip(&truth)
            .map_init(Scratch::default, |scratch, (query, truth)| {
                let hits = propose(rows, graph, row(query), COUNT, effort, &|_| true, scratch).unwrap_or_default();
                // Compares similarities: a row that ties with the tenth counts as found.
                let least = truth.last().map_or(f32::INFINITY, |hit| hit.similarity);
                hits.iter().filter(|hit| hit.similarity >= least).count().min(truth.len())
            })
            .sum();
        reached = (effort, if all == 0 { 1.0 } else { found as f32 / all as f32 });
        if reached.1 >= TARGET {
            break;
        }
    }
    reached
}
