//! The crate hnsw_rs as one of the libraries, in this process.

use super::library::{BUILD_EFFORT, Built, COUNT, DEGREE, Found, How, Library, filled, pool, timed};
use super::rows::Rows;
use anyhow::bail;
use hnsw_rs::prelude::{DistDot, Hnsw, Neighbour};

/// More layers than any graph here has.
const LAYERS: usize = 16;

/// A graph of hnsw_rs, which stores its own copy of the rows.
pub struct HnswRs {
    graph: Hnsw<'static, f32, DistDot>,
    /// One vector per query, because its bulk search takes this form.
    queries: Vec<Vec<f32>>,
    built: Built,
}

impl HnswRs {
    /// Builds the graph.
    pub fn build(base: &Rows, queries: &Rows, threads: usize) -> anyhow::Result<Self> {
        let rows: Vec<(&[f32], usize)> = (0..base.count()).map(|number| (base.row(number), number)).collect();
        let (ready, graph) = pool(threads)?.install(|| {
            timed(|| {
                let mut graph = Hnsw::new(DEGREE, rows.len(), LAYERS, BUILD_EFFORT, DistDot);
                // Rows inserted in parallel into an empty graph get no links to each other, so the first is inserted
                // alone.
                graph.insert_slice(rows[0]);
                graph.parallel_insert_slice(&rows[1..].to_vec());
                graph.set_searching_mode(true);
                graph
            })
        });
        let queries = (0..queries.count()).map(|number| queries.row(number).to_vec()).collect();
        Ok(Self { graph, queries, built: Built { ready, saving: 0.0 } })
    }
}

impl Library for HnswRs {
    fn name(&self) -> &str {
        "hnsw_rs"
    }

    fn built(&self) -> Built {
        self.built
    }

    fn search(&mut self, from: usize, to: usize, how: How) -> anyhow::Result<Found> {
        let (graph, part) = (&self.graph, &self.queries[from..to]);
        let (seconds, answers) = match how {
            How::OneByOne { effort } => {
                timed(|| part.iter().map(|query| graph.search(query, COUNT, effort)).collect::<Vec<_>>())
            }
            How::Bulk { effort, threads } => {
                pool(threads)?.install(|| timed(|| graph.parallel_search(part, COUNT, effort)))
            }
            How::Exact { .. } => bail!("hnsw_rs has no exact search"),
        };
        Ok(Found { seconds, ids: ids(&answers) })
    }
}

fn ids(answers: &[Vec<Neighbour>]) -> Vec<u32> {
    filled(answers.iter().map(|answer| answer.iter().map(|neighbour| neighbour.d_id as u32)))
}
