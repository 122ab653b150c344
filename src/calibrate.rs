//! Measures rules on a dev set: their accuracy, and the softmax by which their probabilities mean what they say. The
//! rule that a bundle decides by is chosen from that.

use crate::bundle::{Bundle, Calibration, MeasuredRule, MeasuredRules};
use crate::error::{Error, Result};
use crate::evaluate::{Scored, fit, reliability};
use crate::flow::Flow;
use crate::parse::{Analysis, Decode, Parser, Settings};
use crate::rule::{Rule, RuleSettings};
use crate::softmax::Softmax;
use crate::treebank::Sentence;

/// Sentences that a rule is measured on which compares with every training edge, evenly spaced: it takes long.
const FEW: usize = 100;
/// Sentences parsed together.
const CHUNK: usize = 256;
/// A bundle decides by the rule that it was trained for unless that costs more than this, in percent of LAS against the
/// sum rule: what is cited then carries decisions, which is worth a little.
const WORTH: f64 = 0.2;

/// The decisions of a rule on a dev set.
#[derive(Default)]
pub(crate) struct Tally {
    heads: Vec<Scored>,
    labels: Vec<Scored>,
    /// For every word, whether its head is right, and whether its head and its label are.
    pub right_heads: Vec<bool>,
    pub right_edges: Vec<bool>,
}

impl Bundle {
    /// Measures the sum rule, the rule that the model was trained for, nca and knn on a dev set, and chooses the rule that
    /// the bundle decides by: the one that it was trained for, if that costs next to nothing. Writes all of it into the
    /// bundle. Open it again to use it. `progress` receives how many rules are measured, and how many there are. If it
    /// stops that, nothing is written.
    pub fn calibrate(&self, dev: &[Sentence], progress: &dyn Fn(usize, usize) -> Flow) -> Result<MeasuredRules> {
        if let Some(sentence) = dev.iter().find(|sentence| sentence.gold_heads().is_none()) {
            let sentence = sentence.sent_id().unwrap_or("(no sent_id)");
            let message = format!("sentence {sentence} of the dev set has words without a head");
            return Err(Error::Explanation { message });
        }
        if dev.iter().all(|sentence| sentence.words().is_empty()) {
            return Err(Error::Explanation { message: "the dev set has no words".to_string() });
        }
        let trained_for = self.model().config.rule.clone();
        let mut rules = vec![Rule::sum()];
        let by_sum = self.parser_with(&Settings { rule: Some(Rule::sum()), ..Settings::default() })?;
        if by_sum.decides_by_edges() {
            let nca = Rule::named("nca", RuleSettings::default())?;
            for rule in [Rule::knn(Rule::NEIGHBORS)?, nca, trained_for.clone()] {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
        let mut measured: Vec<MeasuredRule> = Vec::with_capacity(rules.len());
        let mut own = Rule::sum();
        for (done, rule) in rules.iter().enumerate() {
            if progress(done, rules.len()) == Flow::Stop {
                return Err(Error::Stopped);
            }
            let sample = sample(by_sum.reads_all_by(rule), dev);
            let found = match self.measure(rule, &sample) {
                // Some rules do not work for some systems and indexes.
                Err(Error::Explanation { .. }) if *rule != Rule::sum() => continue,
                found => found?,
            };
            // The same sentences by both rules.
            if *rule == trained_for && found.las >= self.measure(&Rule::sum(), &sample)?.las - WORTH {
                own = found.rule.clone();
            }
            measured.push(found);
        }
        let found = MeasuredRules { own, measured };
        found.write(self.layout())?;
        Ok(found)
    }

    /// Measures one rule, greedy.
    fn measure(&self, rule: &Rule, sample: &[Sentence]) -> Result<MeasuredRule> {
        let settings = Settings { decode: Decode::Greedy, rule: Some(rule.clone()), ..Settings::default() };
        let parser = self.parser_with(&settings)?;
        let mut tally = Tally::default();
        for chunk in sample.chunks(CHUNK) {
            for (sentence, analysis) in chunk.iter().zip(parser.analyse(chunk)?) {
                analysis.iter().for_each(|analysis| tally.add(&parser, sentence, analysis));
            }
        }
        let words = tally.right_heads.len();
        let percent =
            |right: &[bool]| 100.0 * right.iter().filter(|right| **right).count() as f64 / words.max(1) as f64;
        Ok(MeasuredRule {
            // With the settings that it has for this model.
            rule: parser.rule().clone(),
            words,
            uas: percent(&tally.right_heads),
            las: percent(&tally.right_edges),
            heads: tally.calibration_of_heads(),
            labels: tally.calibration_of_labels(),
        })
    }
}

impl Tally {
    /// How the probabilities of heads are calibrated.
    pub(crate) fn calibration_of_heads(&self) -> Calibration {
        calibration(&self.heads)
    }

    /// How the probabilities of labels are calibrated, where the head is right.
    pub(crate) fn calibration_of_labels(&self) -> Calibration {
        calibration(&self.labels)
    }

    /// Adds the decisions about a sentence.
    pub(crate) fn add(&mut self, parser: &Parser, sentence: &Sentence, analysis: &Analysis) {
        for (word, gold) in (1..).zip(sentence.words()) {
            let (head, gold_head) = (analysis.parse.heads[word], gold.head.unwrap_or_default());
            let scores = analysis.scores_of_heads(word);
            let considered: Vec<usize> =
                (0..scores.len()).filter(|&at| at != word && scores[at] > f32::NEG_INFINITY).collect();
            let place = |head: usize| considered.iter().position(|&at| at == head);
            let right_label = analysis.parse.labels[word] == gold.label;
            self.right_heads.push(head == gold_head);
            self.right_edges.push(head == gold_head && right_label);
            if let Some(chosen) = place(head) {
                let scores = considered.iter().map(|&at| f64::from(scores[at])).collect();
                self.heads.push(Scored { scores, chosen, gold: place(gold_head) });
            }
            if head != gold_head {
                continue;
            }
            let scores = analysis.scores_of_labels(word, parser.labels().len());
            if let Some(chosen) = parser.label(&analysis.parse.labels[word]) {
                let scores = scores.iter().map(|&score| f64::from(score)).collect();
                self.labels.push(Scored { scores, chosen, gold: parser.label(&gold.label) });
            }
        }
    }
}

/// The sentences that a rule is measured on.
fn sample(slow: bool, dev: &[Sentence]) -> Vec<Sentence> {
    let stride = if slow { dev.len().div_ceil(FEW).max(1) } else { 1 };
    dev.iter().step_by(stride).cloned().collect()
}

fn calibration(decisions: &[Scored]) -> Calibration {
    let softmax = fit(decisions);
    Calibration {
        softmax,
        error: reliability(decisions, softmax).error,
        error_before: reliability(decisions, Softmax::default()).error,
    }
}
