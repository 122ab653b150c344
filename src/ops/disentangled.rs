//! Attention that also compares queries and keys with embeddings of their distance, as in DeBERTa.

use super::Segments;
use candle_core::{D, Result, Tensor, bail};

/// Attention over queries, keys and values that lie side by side, `[rows, 3 · dims]`; returns `[rows, dims]`. Every row
/// attends to the rows of its own segment.
///
/// `distances` `[2 · reach - 1, 3 · dims]` are embeddings projected as rows are: row `reach - 1 + key - query` belongs
/// to a pair. No segment is longer than `reach`. `compared` says whether queries are compared with the keys of distances,
/// and keys with their queries. Scores are divided by the root of the number of comparisons too.
pub(crate) fn disentangled(
    projected: &Tensor,
    distances: &Tensor,
    segments: &Segments,
    heads: usize,
    compared: [bool; 2],
) -> Result<Tensor> {
    let (rows, width) = projected.dims2()?;
    let (columns, same) = distances.dims2()?;
    let longest = segments.lengths().iter().copied().max().unwrap_or(0);
    if heads == 0 || width % (3 * heads) != 0 || rows != segments.rows() {
        bail!("{rows} rows of {width} do not fit {heads} heads and {} rows of segments", segments.rows());
    }
    if same != width || columns % 2 == 0 || columns / 2 + 1 < longest {
        bail!("distances of {columns} by {same} do not fit rows of {width} and segments of {longest}");
    }
    let dims = width / 3;
    let each = dims / heads;
    let comparisons = 1 + compared.iter().filter(|&&compared| compared).count();
    let scale = 1.0 / ((each * comparisons) as f64).sqrt();
    // [heads, rows of the part, dims / heads]
    let by_head = |part: &Tensor, third: usize| -> Result<Tensor> {
        let rows = part.dim(0)?;
        part.narrow(1, third * dims, dims)?.reshape((rows, heads, each))?.transpose(0, 1)?.contiguous()
    };
    let mut out = Vec::new();
    for (first, length) in segments.ranges().filter(|&(_, length)| length > 0) {
        let part = projected.narrow(0, first, length)?;
        let near = distances.narrow(0, columns / 2 + 1 - length, 2 * length - 1)?;
        let product = |a: &Tensor, b: &Tensor| a.matmul(&b.transpose(1, 2)?.contiguous()?);
        let (query, key) = (by_head(&part, 0)?, by_head(&part, 1)?);
        let mut scores = product(&query, &key)?;
        // The column of each pair: [query][key], and [key][query].
        let columns = |column: &dyn Fn(usize, usize) -> usize| {
            let pairs = (0..heads * length * length).map(|at| (at / length % length, at % length));
            let columns: Vec<u32> = pairs.map(|(row, other)| column(row, other) as u32).collect();
            Tensor::from_vec(columns, (heads, length, length), projected.device())
        };
        if compared[0] {
            let to = product(&query, &by_head(&near, 1)?)?;
            scores = (scores + to.gather(&columns(&|query, key| length - 1 + key - query)?, 2)?)?;
        }
        if compared[1] {
            let from = product(&key, &by_head(&near, 0)?)?;
            let from = from.gather(&columns(&|key, query| length - 1 + key - query)?, 2)?;
            scores = (scores + from.transpose(1, 2)?.contiguous()?)?;
        }
        let weights = candle_nn::ops::softmax(&(scores * scale)?, D::Minus1)?;
        out.push(weights.matmul(&by_head(&part, 2)?)?.transpose(0, 1)?.reshape((length, dims))?);
    }
    Tensor::cat(&out, 0)
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, assert_gradients, random_var};
    use super::*;

    #[test]
    fn gradients_are_right_on_three_unequal_segments() -> Result<()> {
        let segments = Segments::new(vec![3, 1, 4]);
        let (projected, distances) = (random_var(&[8, 12], 1)?, random_var(&[9, 12], 2)?);
        for compared in [[true, true], [true, false], [false, true]] {
            let run = |v: &[&Tensor]| disentangled(v[0], v[1], &segments, 2, compared);
            assert_gradients(&[&projected, &distances], run, 1e-6)?;
        }
        Ok(())
    }

    #[test]
    fn without_comparisons_it_is_plain_attention() -> Result<()> {
        let segments = Segments::new(vec![3, 4]);
        let (projected, distances) = (random_var(&[7, 12], 1)?, random_var(&[9, 12], 2)?);
        let expected = super::super::attention::attention(&projected, None, &segments, 2)?;
        assert_close(&disentangled(&projected, &distances, &segments, 2, [false; 2])?, &expected, 1e-12)
    }

    #[test]
    fn input_that_does_not_fit_is_refused() -> Result<()> {
        let segments = Segments::new(vec![5]);
        let projected = random_var(&[5, 12], 1)?;
        for shape in [[7, 12], [10, 12], [9, 6]] {
            let distances = random_var(&shape, 2)?;
            assert!(disentangled(&projected, &distances, &segments, 2, [true; 2]).is_err());
        }
        Ok(())
    }
}
