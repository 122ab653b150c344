//! Accuracy and coverage of the rules as a table and as a plot.

use super::decide::Decided;
use super::rule::{CITED, Rule};
use crate::chart::{self, Axis, Line};
use crate::train::median;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A rule over all words.
pub struct Summary {
    pub rule: Rule,
    /// Share of words with the right head.
    pub accuracy: f64,
    /// Accuracy less that of the sum, and the standard error of this difference.
    pub gain: (f64, f64),
    /// Mean shares of the evidence that the nearest edges carry, by [`CITED`].
    pub coverage: [f64; CITED.len()],
}

/// All rules over all words.
pub fn summaries(decided: &[Decided]) -> Vec<Summary> {
    let mean = |value: &dyn Fn(&Decided) -> f64| decided.iter().map(value).sum::<f64>() / decided.len().max(1) as f64;
    let right = |word: &Decided, place: usize| f64::from(u8::from(word.right[place]));
    let summary = |(place, &rule): (usize, &Rule)| {
        let differences: Vec<f64> = decided.iter().map(|word| right(word, place) - right(word, 0)).collect();
        let coverage = std::array::from_fn(|cited| mean(&|word| word.coverage[place][cited]));
        Summary { rule, accuracy: mean(&|word| right(word, place)), gain: mean_and_error(&differences), coverage }
    };
    Rule::ALL.iter().enumerate().map(summary).collect()
}

/// The mean of values, and its standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / (count - 1.0)).sqrt() / count.sqrt())
}

/// The table of the rules, and what flips the sum's decisions.
pub fn rules(summaries: &[Summary], decided: &[Decided], seconds: f64) -> String {
    let mut out = format!(
        "{} words, the best head of each by itself; every rule chooses among the six best by the sum:\n\n\
         | rule | UAS, % | less the sum's, points | 10 nearest carry, % | 100 nearest carry, % |\n\
         |---|---:|---:|---:|---:|\n",
        decided.len()
    );
    for Summary { rule, accuracy, gain: (gain, error), coverage: [ten, hundred] } in summaries {
        let gain = match rule {
            Rule::Sum => "–".to_string(),
            _ => format!("{:+.2} ± {:.2}", 100.0 * gain, 100.0 * error),
        };
        let (uas, ten, hundred) = (100.0 * accuracy, percent(*ten), percent(*hundred));
        let _ = writeln!(out, "| {} | {uas:.2} | {gain} | {ten} | {hundred} |", rule.name());
    }
    out += "\n±: one standard error of the difference, paired by word. Carried is of the evidence for the head that the rule \
            chose, on average over words.\n";
    if let Some((sentences, share)) = flips(decided) {
        let _ = writeln!(
            out,
            "\nBy the sum, {} % of the training edges, those that say most for the head over its runner-up, must go until \
             the runner-up wins: the median of {sentences} sentences, of each the median word.",
            percent(share)
        );
    }
    let _ = writeln!(out, "\nAll rules together took {seconds:.0} s.");
    out
}

/// Sentences in which flips were counted, and the median of their medians.
fn flips(decided: &[Decided]) -> Option<(usize, f64)> {
    let mut sentences: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for word in decided {
        if let Some(share) = word.flip {
            sentences.entry(word.sentence).or_default().push(share);
        }
    }
    let medians: Vec<f64> = sentences.into_values().map(median).collect();
    (!medians.is_empty()).then(|| (medians.len(), median(medians)))
}

/// Small shares with more digits, so that none is rounded to nothing.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.abs() {
        10.0.. => format!("{percent:.1}"),
        0.1.. => format!("{percent:.2}"),
        _ => format!("{percent:.4}"),
    }
}

/// A line of the plot: its name, and which rules are on it.
type Kind = (&'static str, fn(Rule) -> bool);

/// Accuracy by coverage, a line for each kind of rule.
pub fn plot(summaries: &[Summary]) -> String {
    let kinds: [Kind; 3] = [
        ("sum of all", |rule| rule == Rule::Sum),
        ("k nearest", |rule| matches!(rule, Rule::Nearest(_))),
        ("NCA", |rule| matches!(rule, Rule::Nca(_))),
    ];
    let point = |summary: &Summary| (100.0 * summary.coverage[0], 100.0 * summary.accuracy);
    let line = |(name, of_kind): Kind| {
        let members: Vec<&Summary> = summaries.iter().filter(|summary| of_kind(summary.rule)).collect();
        let caption = |summary: &&Summary| match summary.rule {
            Rule::Sum => "sum".to_string(),
            Rule::Nearest(place) => format!("k = {}", CITED[place]),
            rule => rule.name().replace("NCA, ", ""),
        };
        Line {
            name: name.to_string(),
            points: members.iter().map(|summary| point(summary)).collect(),
            captions: members.iter().map(caption).collect(),
        }
    };
    let lines = kinds.map(line);
    let across =
        Axis::logarithmic("share of the evidence that the 10 nearest carry, %", summaries.iter().map(|s| point(s).0));
    let heights: Vec<f64> = summaries.iter().map(|summary| point(summary).1).collect();
    chart::svg("Accuracy by coverage", &across, &around("UAS, %", &heights), &lines)
}

/// An axis with round ticks, the fewest above four, around values.
fn around(title: &str, values: &[f64]) -> Axis {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let steps = |step: f64| ((least / step).floor() * step, ((most / step).floor() + 1.0) * step);
    let wide = [10.0, 5.0, 2.0, 1.0, 0.5, 0.2];
    let count = |step: f64| ((steps(step).1 - steps(step).0) / step).round() as usize;
    let step = wide.into_iter().find(|step| count(*step) > 3).unwrap_or(0.1);
    let (low, high) = steps(step);
    Axis::even(title, low, high, count(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(sentence: usize, sum: bool, others: bool, flip: f64) -> Decided {
        let mut right = [others; Rule::ALL.len()];
        right[0] = sum;
        Decided { sentence, right, coverage: [[0.5, 0.75]; Rule::ALL.len()], flip: Some(flip) }
    }

    #[test]
    fn the_error_of_a_paired_difference_is_that_of_its_words() {
        let (mean, error) = mean_and_error(&[1.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0, 0.0]);
        assert!((mean - 0.125).abs() < 1e-12 && (error - 0.226_582).abs() < 1e-5, "{mean} ± {error}");
    }

    #[test]
    fn the_table_sets_each_rule_beside_the_sum_and_flips_are_medians_of_medians() {
        let decided = [
            word(0, true, true, 0.1),
            word(0, false, true, 0.3),
            word(0, true, true, 0.2),
            word(1, true, false, 0.4),
            word(1, false, true, 0.4),
        ];
        let table = rules(&summaries(&decided), &decided, 7.4);
        assert!(table.contains("| sum of all | 60.00 | – | 50.0 | 75.0 |"), "{table}");
        assert!(table.contains("| NCA, T = 256 | 80.00 | +20.00 ± 37.42 | 50.0 | 75.0 |"), "{table}");
        assert!(table.contains("30.0 % of the training edges") && table.contains("2 sentences"), "{table}");
    }

    #[test]
    fn every_rule_has_a_captioned_point_in_the_plot() {
        let decided = [word(0, true, false, 0.1), word(0, true, true, 0.1), word(0, true, true, 0.1)];
        let drawn = plot(&summaries(&decided));
        assert_eq!((drawn.matches("<circle").count(), drawn.matches(">T = ").count()), (8, 5), "{drawn}");
    }
}
