//! Exact nearest rows of many queries, by matrix products in blocks.

use crate::error::Result;
use candle_core::{Device, Tensor};
use citree_index::Hit;
use rayon::prelude::*;

/// Queries and rows per product. Their similarities fit the second-level CPU cache.
const QUERIES: usize = 128;
const ROWS: usize = 2048;

/// Edge vectors in one contiguous list.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) values: Vec<f32>,
    pub(super) dims: usize,
}

impl Rows {
    pub(super) fn count(&self) -> usize {
        self.values.len() / self.dims.max(1)
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks_exact(self.dims.max(1))
    }

    fn tensor(&self, first: usize, count: usize) -> Result<Tensor> {
        let values = &self.values[first * self.dims..(first + count) * self.dims];
        Ok(Tensor::from_slice(values, (count, self.dims), &Device::Cpu)?)
    }
}

/// For each query the rows with the highest inner products, highest first. Ties go to the first row.
pub(super) fn nearest(rows: &Rows, queries: &Rows, count: usize) -> Result<Vec<Vec<Hit>>> {
    let blocks: Vec<Tensor> = (0..rows.count())
        .step_by(ROWS)
        .map(|first| Ok(rows.tensor(first, ROWS.min(rows.count() - first))?.t()?))
        .collect::<Result<_>>()?;
    let search = |first: usize| -> Result<Vec<Vec<Hit>>> {
        let some = QUERIES.min(queries.count() - first);
        let asked = queries.tensor(first, some)?;
        let mut best = vec![Best { count, hits: Vec::with_capacity(count + 1) }; some];
        for (block, columns) in blocks.iter().enumerate() {
            let products = asked.matmul(columns)?.flatten_all()?.to_vec1::<f32>()?;
            for (best, similarities) in best.iter_mut().zip(products.chunks_exact(columns.dims()[1])) {
                best.look(similarities, (block * ROWS) as u32);
            }
        }
        Ok(best.into_iter().map(|best| best.hits).collect())
    };
    let firsts: Vec<usize> = (0..queries.count()).step_by(QUERIES).collect();
    let found: Vec<Vec<Vec<Hit>>> = firsts.into_par_iter().with_max_len(1).map(search).collect::<Result<_>>()?;
    Ok(found.into_iter().flatten().collect())
}

/// The best hits so far, in order.
#[derive(Clone)]
struct Best {
    count: usize,
    hits: Vec<Hit>,
}

impl Best {
    fn look(&mut self, similarities: &[f32], first: u32) {
        let full = |hits: &[Hit], count| hits.len() == count;
        let mut floor =
            self.hits.last().filter(|_| full(&self.hits, self.count)).map_or(f32::MIN, |hit| hit.similarity);
        for (group, values) in similarities.chunks(16).enumerate() {
            if !values.iter().fold(false, |any, value| any | (*value > floor)) {
                continue;
            }
            for (at, &similarity) in values.iter().enumerate() {
                if similarity <= floor {
                    continue;
                }
                let place = self.hits.partition_point(|hit| hit.similarity >= similarity);
                self.hits.insert(place, Hit { record: first + (group * 16 + at) as u32, similarity });
                self.hits.truncate(self.count);
                if full(&self.hits, self.count) {
                    floor = self.hits.last().map_or(f32::MAX, |hit| hit.similarity);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::Random;

    #[test]
    fn blocks_match_a_plain_scan_and_ties_go_to_the_first_row() {
        let mut random = Random::new(3);
        let mut draw =
            |count: usize| Rows { values: (0..count * 5).map(|_| random.normal().round()).collect(), dims: 5 };
        let (rows, queries) = (draw(ROWS + 77), draw(QUERIES + 3));
        let found = nearest(&rows, &queries, 4).unwrap();
        assert_eq!(found.len(), queries.count());
        for (query, hits) in queries.iter().zip(found) {
            let product = |row: &[f32]| row.iter().zip(query).map(|(a, b)| a * b).sum::<f32>();
            let mut all: Vec<(u32, f32)> = (0..).zip(rows.iter().map(product)).collect();
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let hits: Vec<(u32, f32)> = hits.iter().map(|hit| (hit.record, hit.similarity)).collect();
            assert_eq!(hits, all[..4]);
        }
    }

    #[test]
    fn fewer_rows_than_asked_for_are_all_found() {
        let rows = Rows { values: vec![1.0, 3.0], dims: 1 };
        let found = nearest(&rows, &Rows { values: vec![-1.0], dims: 1 }, 10).unwrap();
        assert_eq!(found[0].iter().map(|hit| hit.record).collect::<Vec<_>>(), [0, 1]);
    }
}
