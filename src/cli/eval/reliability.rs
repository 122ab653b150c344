//! `citree eval --scores`: whether the probabilities of a parse are right as often as they say.

use crate::evaluate::Reliability;
use crate::lab::chart::{self, Axis, Line};
use crate::treebank::{Sentence, Word};
use anyhow::{Context, ensure};
use serde::Serialize;
use std::io::Write;

/// The probabilities of heads and of labels, judged.
#[derive(Serialize)]
pub(super) struct Judged {
    heads: Reliability,
    labels: Reliability,
}

/// Judges the probabilities in MISC of a parse of the same words.
pub(super) fn judge(gold: &[Sentence], system: &[Sentence]) -> anyhow::Result<Judged> {
    ensure!(
        gold.len() == system.len(),
        "--scores needs the same sentences in both files, but the gold file has {} and the parse {}",
        gold.len(),
        system.len()
    );
    let (mut heads, mut labels) = (Vec::new(), Vec::new());
    for (gold, system) in gold.iter().zip(system) {
        let name = gold.sent_id().unwrap_or("(no sent_id)");
        ensure!(
            gold.forms().eq(system.forms()),
            "--scores needs the same words in both files, but sentence {name} has others; parse the gold file itself"
        );
        for (gold, system) in gold.words().iter().zip(system.words()) {
            let probability = |key: &str| probability(system, key, name);
            let right = gold.head == system.head;
            heads.push((probability("HeadProb")?, right));
            let label = probability("LabelProb")?;
            if right {
                labels.push((label, gold.label == system.label));
            }
        }
    }
    Ok(Judged { heads: Reliability::of(heads), labels: Reliability::of(labels) })
}

fn probability(word: &Word, key: &str, sentence: &str) -> anyhow::Result<f64> {
    let value = word.misc(key).and_then(|value| value.parse::<f64>().ok()).filter(|value| (0.0..=1.0).contains(value));
    value.with_context(|| {
        format!("sentence {sentence}: the word {} has no {key} in MISC; parse with `citree parse --scores`", word.form)
    })
}

/// The bins as tables.
pub(super) fn write(out: &mut impl Write, judged: &Judged) -> std::io::Result<()> {
    for (name, of) in [("Heads", &judged.heads), ("Labels of right heads", &judged.labels)] {
        writeln!(
            out,
            "{name}: {} choices, {:.2} % right, mean probability {:.2} %, calibration error {:.4}",
            of.choices,
            100.0 * of.accuracy,
            100.0 * of.confidence,
            of.error
        )?;
        writeln!(out, "  {:<16}{:>9}{:>12}{:>10}", "probability", "choices", "mean, %", "right, %")?;
        for bin in &of.bins {
            writeln!(
                out,
                "  {:<16}{:>9}{:>12.2}{:>10.2}",
                format!("{:.2} to {:.2}", bin.from, bin.to),
                bin.choices,
                100.0 * bin.confidence,
                100.0 * bin.accuracy
            )?;
        }
    }
    Ok(())
}

/// The reliability diagram: accuracy by probability. An honest parser is on the diagonal.
pub(super) fn svg(judged: &Judged) -> String {
    let line = |name: &str, of: &Reliability| Line {
        name: format!("{name} ({:.3})", of.error),
        points: of.bins.iter().map(|bin| (100.0 * bin.confidence, 100.0 * bin.accuracy)).collect(),
        captions: Vec::new(),
    };
    let diagonal = Line { name: "honest".to_string(), points: vec![(0.0, 0.0), (100.0, 100.0)], captions: Vec::new() };
    chart::svg(
        "Reliability, with the calibration error",
        &Axis::even("probability, %", 0.0, 100.0, 5),
        &Axis::even("right, %", 0.0, 100.0, 5),
        &[line("heads", &judged.heads), line("labels", &judged.labels), diagonal],
    )
}
