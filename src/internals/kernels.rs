//! The hot kernels of `ops` on input of the usual sizes, for benchmarks.

use crate::ops::Segments;
use crate::ops::attention::attention;
use crate::ops::char_cnn::char_cnn;
use crate::ops::cross_entropy::{Choice, cross_entropy};
use crate::ops::edge_norm::edge_norm;
use crate::ops::lstm::{Steps, bilstm};
use crate::ops::pair_product::pair_product;
use crate::ops::triangular_norm::{factor, triangular_norm};
use crate::random::Random;
use candle_core::{Device, Result, Tensor, Var};
use std::hint::black_box;
use std::sync::Arc;

/// The paper's sizes: units of a direction, dimensions of an edge, filters of the character CNN.
const UNITS: usize = 300;
const DIMS: usize = 300;
const FILTERS: usize = 30;
const CHARACTERS: usize = 100;
/// Attention as in a small BERT.
const HEADS: usize = 12;

type Run = dyn Fn(&[Var]) -> Result<Tensor>;

/// A kernel with its input.
pub struct Kernel {
    /// What it computes.
    pub name: &'static str,
    inputs: Vec<Var>,
    run: Box<Run>,
}

impl Kernel {
    fn new(
        name: &'static str,
        shapes: &[&[usize]],
        run: impl Fn(&[Var]) -> Result<Tensor> + 'static,
    ) -> crate::Result<Self> {
        let mut random = Random::branch(1, name);
        let inputs = shapes.iter().map(|shape| {
            let values: Vec<f32> = (0..shape.iter().product()).map(|_| 0.1 * random.normal()).collect();
            Var::from_tensor(&Tensor::from_vec(values, *shape, &Device::Cpu)?)
        });
        Ok(Self { name, inputs: inputs.collect::<Result<_>>()?, run: Box::new(run) })
    }

    /// The forward pass.
    pub fn forward(&self) -> crate::Result<()> {
        black_box((self.run)(&self.inputs)?);
        Ok(())
    }

    /// The forward pass and the gradients of all inputs.
    pub fn with_gradients(&self) -> crate::Result<()> {
        black_box((self.run)(&self.inputs)?.sum_all()?.backward()?);
        Ok(())
    }
}

/// The kernels, each for a batch of sentences with these numbers of words. Those for parsing alone have no gradients.
pub fn kernels(words: &[usize]) -> crate::Result<[Vec<Kernel>; 2]> {
    // A row more for ROOT, and the longest sentence first.
    let mut lengths: Vec<usize> = words.iter().map(|words| words + 1).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let segments = Segments::new(lengths.clone());
    let (rows, pairs, steps) = (segments.rows(), segments.pairs(), Steps::new(&lengths));
    let side: &[usize] = &[rows, DIMS];
    let mut random = Random::new(2);
    let mut spelling = |_| (0..1 + random.below(9)).map(|_| random.below(CHARACTERS) as u32).collect();
    let words = Arc::new((0..rows).map(&mut spelling).collect::<Vec<Vec<u32>>>());
    let (first, second, third, last) = (segments.clone(), segments.clone(), segments.clone(), segments.clone());
    let trained = vec![
        Kernel::new("character CNN", &[&[CHARACTERS, 3 * FILTERS], &[FILTERS]], move |input| {
            char_cnn(&input[0], &input[1], words.clone())
        })?,
        Kernel::new("BiLSTM", &[&[rows, 8 * UNITS], &[2, UNITS, 4 * UNITS]], move |input| {
            bilstm(&input[0], &input[1], &steps)
        })?,
        Kernel::new("edge lengths", &[side, side, &[DIMS, DIMS]], move |input| {
            edge_norm(&input[0], &input[1], &input[2], &first)
        })?,
        Kernel::new("edge products", &[side, side, &[DIMS]], move |input| {
            pair_product(&input[0], &input[1], &input[2], &second)
        })?,
        Kernel::new("attention", &[&[rows, 3 * HEADS * 32]], move |input| attention(&input[0], None, &third, HEADS))?,
        Kernel::new("cross entropy", &[&[pairs]], move |input| cross_entropy(&input[0], choices(&lengths)))?,
    ];
    let factor = factor(&Tensor::eye(DIMS, candle_core::DType::F32, &Device::Cpu)?)?;
    let parsing = vec![Kernel::new("edge lengths by the triangular factor", &[side, side], move |input| {
        triangular_norm(&input[0].detach(), &input[1].detach(), &factor, &last)
    })?];
    Ok([trained, parsing])
}

/// A head for every word: the gold one is ROOT.
fn choices(lengths: &[usize]) -> Vec<Choice> {
    let words = lengths.iter().flat_map(|&width| (1..width).map(move |word| (word, width)));
    let mut start = 0;
    let choice = |(word, width)| {
        let choice = Choice { start, width, gold: 0, excluded: Some(word) };
        start += width;
        choice
    };
    words.map(choice).collect()
}
