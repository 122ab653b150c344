//! The decision of every rule about the head of every word, from one pass over the training edges per block of words.

use super::density::TEMPERATURES;
use super::tally::{Decided, FLIPS, Flip, Tally, tally};
use super::weigh::{CANDIDATES_PER_PASS, CITED, Support, Weighed, added, best_two, contributions, flip_count};
use crate::config::Aggregate;
use crate::encoder::{Batch, Numbered, length_batches};
use crate::error::Result;
use crate::lab::bench::Bench;
use crate::parse::CANDIDATE_HEADS;
use crate::rule::Rule;
use crate::score::Scorer;
use crate::train::Stage;
use rayon::prelude::*;

/// Batches of sentences encoded in parallel.
const BATCHES: usize = 8;

/// How similarities become the score of a head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Measured {
    /// The sum of all. The mean chooses the same, because all heads divide by the same number.
    Sum,
    /// The mean of the highest ones. Their number is at this index of [`CITED`].
    Nearest(usize),
    /// The logarithm of the sum of the exponentials. The temperature is at this index of [`TEMPERATURES`].
    Nca(usize),
}

impl Measured {
    /// All measured rules, the sum first.
    pub(super) const ALL: [Self; 8] = [
        Self::Sum,
        Self::Nearest(1),
        Self::Nearest(0),
        Self::Nca(0),
        Self::Nca(1),
        Self::Nca(2),
        Self::Nca(3),
        Self::Nca(4),
    ];
    /// The rules for which the edges needed to flip a decision are counted. Among the nearest, others replace the
    /// removed edges. Beyond T = 256, f64 cannot represent the weights of far edges.
    const FLIPPED: [Self; 4] = [Self::Sum, Self::Nca(0), Self::Nca(1), Self::Nca(2)];

    /// The name in tables.
    pub(super) fn name(self) -> String {
        match self {
            Self::Sum => "sum or mean of all".to_string(),
            Self::Nearest(place) => format!("mean of the {} nearest", CITED[place]),
            Self::Nca(place) => format!("NCA, T = {}", TEMPERATURES[place]),
        }
    }

    /// The caption of its point in the plot.
    pub(super) fn caption(self) -> String {
        match self {
            Self::Sum => "sum".to_string(),
            Self::Nearest(place) => format!("k = {}", CITED[place]),
            Self::Nca(place) => format!("T = {}", TEMPERATURES[place]),
        }
    }

    /// The corresponding rule. Here the scores of many temperatures are computed at once; the tests compare them with
    /// this rule.
    fn rule(self) -> Rule {
        match self {
            Self::Sum => Ok(Rule::sum()),
            Self::Nearest(place) => Rule::knn(CITED[place]),
            Self::Nca(place) => Rule::nca(TEMPERATURES[place]),
        }
        .unwrap_or_default()
    }

    fn score(self, candidate: &Weighed) -> f64 {
        match self {
            Self::Sum => candidate.evenly(Aggregate::Sum),
            Self::Nearest(place) => {
                let voters = CITED[place].min(candidate.nearest().len()).max(1);
                added(candidate.nearest().iter().take(voters)) / voters as f64
            }
            Self::Nca(place) => candidate.nearly(place, Aggregate::Sum),
        }
    }

    /// The indices of the chosen candidate and of the runner-up. The best candidate by the sum comes first, by scores
    /// that are more precise than a sum of many products.
    fn choose(self, candidates: &[Weighed]) -> (usize, Option<usize>) {
        match self {
            Self::Sum => (0, (candidates.len() > 1).then_some(1)),
            _ => best_two(&candidates.iter().map(|candidate| self.score(candidate)).collect::<Vec<_>>()),
        }
    }

    /// The share of a candidate's total that this number of nearest edges carries.
    fn coverage(self, candidate: &Weighed, count: usize) -> f64 {
        match self {
            Self::Sum => candidate.coverage_evenly(count),
            Self::Nearest(place) => {
                let voters = || candidate.nearest().iter().take(CITED[place]);
                added(voters().take(count)) / added(voters())
            }
            Self::Nca(place) => candidate.coverage_nearly(place, count),
        }
    }
}

/// A word with its candidates, best by the sum first.
struct Word {
    gold: usize,
    heads: Vec<usize>,
    /// The edge vectors of the candidates, concatenated.
    rows: Vec<f32>,
    /// Whether to count the edges that flip its decisions.
    flips: bool,
}

/// All rules on all words of the dev set, in the order of [`Measured::ALL`].
pub(super) fn measure(bench: &Bench, seed: u64) -> Result<Tally> {
    let lab = bench.lab;
    let learnt = bench.given_or_learnt(Stage::Heads, seed)?;
    let support = Support::new(learnt.gold_rows(&learnt.number(lab.train)?)?)?;
    let scorer = learnt.scorer(lab.config.aggregate, lab)?;
    let dev = learnt.number(lab.dev)?;
    let mut decided = Vec::new();
    for batches in length_batches(&dev).chunks(BATCHES) {
        let read: Vec<Vec<Word>> =
            batches.par_iter().map(|batch| words(&scorer, &dev, batch)).collect::<Result<_>>()?;
        let mut words = read.into_iter().flatten().peekable();
        while words.peek().is_some() {
            let mut block: Vec<Word> = Vec::new();
            let mut candidates = 0;
            while let Some(word) =
                words.next_if(|word| block.is_empty() || candidates + word.heads.len() <= CANDIDATES_PER_PASS)
            {
                candidates += word.heads.len();
                block.push(word);
            }
            decided.extend(decide(&support, &block)?);
            super::go_on(bench, &format!("rules for heads: {} words", decided.len()))?;
        }
    }
    Ok(tally(&decided, 0))
}

fn words(scorer: &Scorer, dev: &[Numbered], batch: &[usize]) -> Result<Vec<Word>> {
    let sentences: Vec<&Numbered> = batch.iter().map(|&number| &dev[number]).collect();
    let encoded = scorer.encode(&Batch::new(&sentences))?;
    let scores = scorer.head_scores(&encoded)?;
    let mut rest = scores.as_slice();
    let mut words = Vec::new();
    for ((&number, sentence), states) in batch.iter().zip(sentences).zip(encoded.by_sentence()?) {
        let n = sentence.len();
        let (own, after) = rest.split_at((n - 1) * n);
        rest = after;
        let shortlist = |word: usize| {
            let scores = &own[(word - 1) * n..][..n];
            let mut heads: Vec<usize> = (0..n).filter(|&head| head != word).collect();
            heads.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            heads.truncate(CANDIDATE_HEADS);
            heads
        };
        for word in 1..n {
            let heads = shortlist(word);
            let columns: Vec<u32> = heads.iter().map(|&head| head as u32).collect();
            let rows = scorer.model().edge_rows(&states, &vec![word as u32; heads.len()], &columns)?;
            let rows = rows.flatten_all()?.to_vec1::<f32>()?;
            words.push(Word { gold: sentence.heads[word], heads, rows, flips: number < FLIPS });
        }
    }
    Ok(words)
}

fn decide(support: &Support, block: &[Word]) -> Result<Vec<Decided<{ Measured::ALL.len() }>>> {
    let similarities = support.similarities(block.iter().flat_map(|word| word.rows.iter().copied()).collect())?;
    let candidates: Vec<&[f32]> = similarities.chunks_exact(support.count()).collect();
    let weighed: Vec<Weighed> = candidates.par_iter().map(|own| Weighed::new(own)).collect();
    let ends = block.iter().scan(0, |end, word| {
        *end += word.heads.len();
        Some(*end)
    });
    let ranges: Vec<_> = ends.zip(block).map(|(end, word)| end - word.heads.len()..end).collect();
    let decide = |(word, range): (&Word, &std::ops::Range<usize>)| {
        let (weighed, candidates) = (&weighed[range.clone()], &candidates[range.clone()]);
        let chosen = Measured::ALL.map(|rule| rule.choose(weighed));
        let flip = |rule: Measured, (best, second): (usize, Option<usize>)| {
            let second = second.filter(|_| word.flips && Measured::FLIPPED.contains(&rule))?;
            let rule = rule.rule();
            let [own, others] = [best, second].map(|place| contributions(&rule, candidates[place]));
            let parts = own.zip(others).map(|(own, other)| own - other).collect();
            Some(Flip { edges: flip_count(parts, Aggregate::Sum, 0.0), of: support.count() })
        };
        Decided {
            right: chosen.map(|(place, _)| word.heads[place] == word.gold),
            coverage: std::array::from_fn(|at| {
                CITED.map(|count| Measured::ALL[at].coverage(&weighed[chosen[at].0], count))
            }),
            flips: std::array::from_fn(|at| flip(Measured::ALL[at], chosen[at])),
        }
    };
    Ok(block.par_iter().zip(&ranges).map(decide).collect())
}

#[cfg(test)]
mod tests;
