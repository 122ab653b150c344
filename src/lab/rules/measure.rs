//! Measures one rule on a dev set through the parser and the explainer that users have.

use crate::bundle::{Bundle, Calibration};
use crate::calibrate::Tally;
use crate::error::Result;
use crate::explain::Options;
use crate::lab::statistics::mean_and_deviation;
use crate::parse::{Decode, Settings};
use crate::rule::Rule;
use crate::treebank::Sentence;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Sentences that rules are measured on which compare with every training edge.
pub(super) const FEW: usize = 100;
/// Sentences whose heads are explained and flipped.
pub(super) const EXPLAINED: usize = 24;
/// Citations of which coverage is measured.
const CITED: usize = 20;
/// Sentences parsed together.
const CHUNK: usize = 256;

/// What was measured of a rule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) words: usize,
    /// Shares of right heads, of right edges, and of right labels where the head is right.
    pub(super) uas: f64,
    pub(super) las: f64,
    pub(super) labels: f64,
    /// The differences to the sum rule, paired by word, and their standard errors.
    pub(super) uas_gain: [f64; 2],
    pub(super) las_gain: [f64; 2],
    pub(super) heads: Calibration,
    pub(super) labels_calibration: Calibration,
    /// The mean share of what counts in a head decision that citations carry, and that speaks against the choice.
    pub(super) carried: f64,
    pub(super) against: f64,
    /// The median flip set of a head, where it is known.
    pub(super) flip: Option<usize>,
    /// The share of heads for which no flip set was found.
    pub(super) unflipped: f64,
    pub(super) words_per_second: f64,
    pub(super) words_per_second_by_sum: f64,
}

pub(super) fn measure(bundle: &Bundle, rule: &Rule, dev: &[Sentence]) -> Result<Measured> {
    let stride = |most: usize| dev.len().div_ceil(most).max(1);
    let step = if bundle.parser()?.reads_all_by(rule) { stride(FEW) } else { 1 };
    let sample: Vec<Sentence> = dev.iter().step_by(step).cloned().collect();
    let (by_rule, seconds) = tally(bundle, rule, &sample)?;
    let (by_sum, seconds_by_sum) = tally(bundle, &Rule::sum(), &sample)?;
    let gain = |of: fn(&Tally) -> &[bool]| {
        let pairs = of(&by_rule).iter().zip(of(&by_sum));
        let differences: Vec<f64> =
            pairs.map(|(own, sum)| f64::from(u8::from(*own)) - f64::from(u8::from(*sum))).collect();
        let (mean, deviation) = mean_and_deviation(&differences);
        [mean, deviation.unwrap_or_default() / (differences.len().max(1) as f64).sqrt()]
    };
    let share = |right: &[bool]| right.iter().filter(|right| **right).count() as f64 / right.len().max(1) as f64;
    let (uas, las) = (share(&by_rule.right_heads), share(&by_rule.right_edges));
    let explained: Vec<Sentence> = dev.iter().step_by(stride(EXPLAINED)).cloned().collect();
    let [carried, against, flip, unflipped] = explain(bundle, rule, &explained)?;
    Ok(Measured {
        words: by_rule.right_heads.len(),
        uas,
        las,
        labels: if uas > 0.0 { las / uas } else { 0.0 },
        uas_gain: gain(|tally| &tally.right_heads),
        las_gain: gain(|tally| &tally.right_edges),
        heads: by_rule.calibration_of_heads(),
        labels_calibration: by_rule.calibration_of_labels(),
        carried,
        against,
        flip: flip.is_finite().then_some(flip as usize),
        unflipped,
        words_per_second: by_rule.right_heads.len() as f64 / seconds.max(1e-9),
        words_per_second_by_sum: by_sum.right_heads.len() as f64 / seconds_by_sum.max(1e-9),
    })
}

/// The decisions of a rule on sentences, and the seconds of parsing them.
fn tally(bundle: &Bundle, rule: &Rule, sentences: &[Sentence]) -> Result<(Tally, f64)> {
    let settings = Settings { decode: Decode::Greedy, rule: Some(rule.clone()), ..Settings::default() };
    let parser = bundle.parser_with(&settings)?;
    let (mut tally, mut seconds) = (Tally::default(), 0.0);
    for chunk in sentences.chunks(CHUNK) {
        let started = Instant::now();
        let analyses = parser.analyse(chunk)?;
        seconds += started.elapsed().as_secs_f64();
        for (sentence, analysis) in chunk.iter().zip(&analyses) {
            analysis.iter().for_each(|analysis| tally.add(&parser, sentence, analysis));
        }
    }
    Ok((tally, seconds))
}

/// The mean coverage of head decisions, the mean share against them, the median flip set (infinite if it is not known),
/// and the share of heads without one.
fn explain(bundle: &Bundle, rule: &Rule, sentences: &[Sentence]) -> Result<[f64; 4]> {
    let settings = Settings { decode: Decode::Greedy, rule: Some(rule.clone()), ..Settings::default() };
    let explainer = bundle.explainer_with(&settings)?;
    let options = Options { count: CITED, by: Vec::new(), ..Options::default() };
    let (mut carried, mut against, mut flips) = (Vec::new(), Vec::new(), Vec::new());
    for (sentence, analysis) in sentences.iter().zip(explainer.analyse(sentences)?) {
        let Some(analysis) = analysis else { continue };
        for edge in explainer.explain_analysis(sentence, &analysis, &options)?.edges {
            carried.push(edge.attachment.coverage.score);
            against.push(edge.attachment.coverage.against);
            if edge.attachment.runner_up.is_some() {
                let set = explainer.flip_head(&analysis, edge.dependent)?;
                flips.push(set.map_or(f64::INFINITY, |edges| edges as f64));
            }
        }
    }
    flips.sort_by(f64::total_cmp);
    let median = flips.get(flips.len().saturating_sub(1) / 2).copied().unwrap_or(f64::INFINITY);
    let without = flips.iter().filter(|edges| edges.is_infinite()).count() as f64 / flips.len().max(1) as f64;
    Ok([mean_and_deviation(&carried).0, mean_and_deviation(&against).0, median, without])
}
