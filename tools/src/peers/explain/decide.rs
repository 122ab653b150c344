//! What every rule decides about every word of a treebank, from one pass over the training edges for each block of words.

use super::rule::{CITED, Rule, Weighed, choose, flip_count};
use crate::search::say;
use candle_core::{Device, Tensor};
use citree::explain::{Explainer, Reading, SHORTLIST};
use citree::support::Task;
use citree::treebank::Sentence;
use rayon::prelude::*;

/// Most candidates that share a pass over the training edges; their similarities take a megabyte each in a large treebank.
const TOGETHER: usize = 96;
/// Sentences that are read together.
const CHUNK: usize = 64;

/// What the rules made of a word.
pub struct Decided {
    /// The number of its sentence.
    pub sentence: usize,
    /// Whether each rule of [`Rule::ALL`] chose the gold head.
    pub right: [bool; Rule::ALL.len()],
    /// For each, the shares of the evidence for its choice that the nearest edges carry, by [`CITED`].
    pub coverage: [[f64; CITED.len()]; Rule::ALL.len()],
    /// The share of the training edges that must go for the sum to choose its runner-up; only where asked for.
    pub flip: Option<f64>,
}

/// A word with its candidates, the best by the sum first.
struct Word {
    sentence: usize,
    gold: usize,
    heads: Vec<usize>,
    /// The edge vectors of the candidates, one after another.
    rows: Vec<f32>,
}

/// Decides about every word; flips are counted in the first `flips` sentences.
pub fn decide(explainer: &Explainer, sentences: &[Sentence], flips: usize) -> anyhow::Result<Vec<Decided>> {
    let mut decided = Vec::new();
    let edges = all_edges(explainer)?;
    for (number, chunk) in sentences.chunks(CHUNK).enumerate() {
        say(&format!("rules: {} of {} sentences", number * CHUNK, sentences.len()))?;
        let readings = explainer.read(chunk)?;
        let words = |(at, (sentence, reading)): (usize, (&Sentence, &Option<Reading>))| match reading {
            Some(reading) => words(explainer, number * CHUNK + at, sentence, reading),
            None => Ok(Vec::new()),
        };
        let words: Vec<Vec<Word>> =
            chunk.par_iter().zip(&readings).enumerate().map(words).collect::<anyhow::Result<_>>()?;
        let mut words = words.into_iter().flatten().peekable();
        while words.peek().is_some() {
            let mut block: Vec<Word> = Vec::new();
            let mut candidates = 0;
            while let Some(word) = words.next_if(|word| block.is_empty() || candidates + word.heads.len() <= TOGETHER) {
                candidates += word.heads.len();
                block.push(word);
            }
            decided.extend(decide_block(&edges, &block, flips)?);
        }
    }
    Ok(decided)
}

fn words(
    explainer: &Explainer,
    sentence_number: usize,
    sentence: &Sentence,
    reading: &Reading,
) -> anyhow::Result<Vec<Word>> {
    let n = reading.positions();
    let shortlist = |word: usize| {
        let scores = &reading.head_scores[word * n..][..n];
        let mut heads: Vec<usize> = (0..n).filter(|&head| head != word).collect();
        heads.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        heads.truncate(SHORTLIST);
        heads
    };
    let shortlists: Vec<Vec<usize>> = (1..n).map(shortlist).collect();
    let pairs: Vec<(usize, usize)> =
        (1..n).zip(&shortlists).flat_map(|(word, heads)| heads.iter().map(move |&head| (word, head))).collect();
    let rows = explainer.vectors(Task::Heads, reading, &pairs)?;
    let dims = rows.len() / pairs.len().max(1);
    let mut rest = rows.as_slice();
    let mut words = Vec::with_capacity(n - 1);
    for (heads, word) in shortlists.into_iter().zip(sentence.words()) {
        let (own, others) = rest.split_at(heads.len() * dims);
        rest = others;
        let gold = word.head.unwrap_or_default();
        words.push(Word { sentence: sentence_number, gold, heads, rows: own.to_vec() });
    }
    Ok(words)
}

/// The vectors of all training edges `[dims, edges]`: so many candidates are best compared with them by a matrix product.
fn all_edges(explainer: &Explainer) -> anyhow::Result<Tensor> {
    let space = explainer.evidence().edges().space(Task::Heads);
    let rows: Vec<f32> = (0..space.count() as u32).filter_map(|edge| space.row(edge)).flatten().copied().collect();
    Ok(Tensor::from_vec(rows, (space.count(), space.dims()), &Device::Cpu)?.t()?)
}

fn decide_block(all: &Tensor, block: &[Word], flips: usize) -> anyhow::Result<Vec<Decided>> {
    let rows: Vec<f32> = block.iter().flat_map(|word| word.rows.iter().copied()).collect();
    let (dims, edges) = all.dims2()?;
    let rows = Tensor::from_vec(rows, ((), dims), &Device::Cpu)?;
    let similarities = rows.matmul(all)?.flatten_all()?.to_vec1::<f32>()?;
    let weighed: Vec<Weighed> = similarities.par_chunks(edges).map(Weighed::new).collect();
    let mut firsts = Vec::with_capacity(block.len());
    let mut first = 0;
    for word in block {
        firsts.push(first);
        first += word.heads.len();
    }
    let decide = |(word, &first): (&Word, &usize)| {
        let candidates = &weighed[first..first + word.heads.len()];
        let chosen = Rule::ALL.map(|rule| choose(rule, candidates));
        let mut coverage = [[0.0; CITED.len()]; Rule::ALL.len()];
        for ((coverage, rule), &place) in coverage.iter_mut().zip(Rule::ALL).zip(&chosen) {
            *coverage = CITED.map(|count| candidates[place].coverage(rule, count));
        }
        let flip = (word.sentence < flips && word.heads.len() > 1).then(|| {
            let [best, second] = [first, first + 1].map(|place| &similarities[place * edges..][..edges]);
            let parts = best.iter().zip(second).map(|(best, second)| best - second).collect();
            flip_count(parts) as f64 / edges as f64
        });
        let right = chosen.map(|place| word.heads[place] == word.gold);
        Decided { sentence: word.sentence, right, coverage, flip }
    };
    Ok(block.par_iter().zip(&firsts).map(decide).collect())
}
