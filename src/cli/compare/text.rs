//! A comparison for a terminal: tables, then trees above each other with their differences marked.

use crate::cli::printable::Printable;
use crate::cli::style::Style;
use crate::cli::{arcs, columns};
use crate::evaluate::{Comparison, ErrorKind, LabelledEdge, PairedDifference, ParseSummary, SentenceDifferences};
use crate::explain::html::Compared;
use crate::treebank::Sentence;
use std::io::{self, Write};

/// The confusions that a table shows.
const CONFUSIONS: usize = 15;

/// Writes the tables, and the trees of some sentences.
pub(super) fn write(
    out: &mut dyn Write,
    compared: &Compared<'_>,
    comparison: &Comparison,
    shown: &[&SentenceDifferences],
) -> anyhow::Result<()> {
    let style = Style::of_terminal();
    let out = &mut Printable::new(out, style.colours);
    scores(out, compared, comparison)?;
    for (name, parse) in compared.names[1..].iter().zip(&comparison.parses) {
        confusions(out, name, parse)?;
    }
    for one in shown {
        sentence(out, &style, compared, one)?;
    }
    let differ = comparison.sentences.iter().filter(|one| !one.differences.is_empty()).count();
    writeln!(
        out,
        "\n{} of {differ} sentences that differ are shown; {} in all",
        shown.len(),
        comparison.sentences.len()
    )?;
    Ok(())
}

fn scores(out: &mut impl Write, compared: &Compared<'_>, comparison: &Comparison) -> io::Result<()> {
    let widest = compared.names[1..].iter().map(|name| columns::width(name)).max().unwrap_or(0).max(12);
    let heads = ["UAS", "LAS", "wrong head", "wrong label", "both wrong"].map(|name| format!("{name:>13}"));
    writeln!(out, "{}{}", columns::pad("", widest), heads.concat())?;
    for (name, parse) in compared.names[1..].iter().zip(&comparison.parses) {
        let errors = [ErrorKind::Head, ErrorKind::Label, ErrorKind::Both];
        let errors = errors.map(|kind| format!("{:>13}", parse.errors.get(&kind).copied().unwrap_or_default()));
        let (uas, las) = (100.0 * parse.uas.f1, 100.0 * parse.las.f1);
        writeln!(out, "{}{uas:>13.2}{las:>13.2}{}", columns::pad(name, widest), errors.concat())?;
    }
    if let Some(found) = &comparison.significance {
        let both = [&found.uas, &found.las];
        let row = |name: &str, value: &dyn Fn(&PairedDifference) -> String| {
            format!("{}{}", columns::pad(name, widest), both.map(|one| format!("{:>13}", value(one))).concat())
        };
        writeln!(out, "{}", row("difference", &|one| format!("{:+.2}", 100.0 * one.difference)))?;
        writeln!(out, "{}", row("from", &|one| format!("{:+.2}", 100.0 * one.interval[0])))?;
        writeln!(out, "{}", row("to", &|one| format!("{:+.2}", 100.0 * one.interval[1])))?;
        writeln!(out, "{}", row("p", &|one| format!("{:.4}", one.p)))?;
        let (samples, seed) = (found.samples, found.seed);
        writeln!(out, "  the second less the first; the middle 95 % of {samples} samples of sentences, seed {seed}")?;
    }
    Ok(())
}

fn confusions(out: &mut impl Write, name: &str, parse: &ParseSummary) -> io::Result<()> {
    if parse.confusions.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nlabels confused by {name}: gold, predicted, words, of these with the right head")?;
    for one in parse.confusions.iter().take(CONFUSIONS) {
        let (gold, predicted) = (columns::pad(&one.gold, 14), columns::pad(&one.predicted, 14));
        writeln!(out, "  {gold} {predicted}{:>6}{:>6}", one.words, one.head_correct)?;
    }
    match parse.confusions.len().saturating_sub(CONFUSIONS) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more pairs"),
    }
}

/// The trees of a sentence: the gold tree, and below it each parse.
fn sentence(
    out: &mut impl Write,
    style: &Style,
    compared: &Compared<'_>,
    shown: &SentenceDifferences,
) -> anyhow::Result<()> {
    let name = shown.sent_id.clone().unwrap_or_else(|| format!("sentence {}", shown.number));
    writeln!(out, "\n{}", style.bold(&name))?;
    for (at, (file, name)) in compared.files.iter().zip(&compared.names).enumerate() {
        let Some(sentence) = file.get(shown.number - 1) else { continue };
        let Some(parse) = at.checked_sub(1) else {
            writeln!(out, "{name}")?;
            tree(
                out,
                sentence,
                |word| {
                    let differs = shown.differences.iter().any(|one| one.word == word);
                    differs.then_some((String::new(), true))
                },
                style,
            )?;
            continue;
        };
        let scores = &shown.parses[parse];
        let doubt =
            scores.lowest_head_probability.map_or(String::new(), |lowest| format!(", least probable head {lowest:.2}"));
        let (words, uas, las) = (shown.words, scores.heads_correct, scores.labelled_correct);
        writeln!(out, "{name}: UAS {uas}/{words}, LAS {las}/{words}{doubt}")?;
        if las == words {
            writeln!(out, "      as the gold tree")?;
            continue;
        }
        tree(
            out,
            sentence,
            |word| {
                let one = shown.differences.iter().find(|one| one.word == word)?;
                let error = one.predicted[parse].error?;
                Some((correction(sentence, error, &one.gold), false))
            },
            style,
        )?;
    }
    Ok(())
}

/// What the gold tree has instead.
fn correction(sentence: &Sentence, error: ErrorKind, gold: &LabelledEdge) -> String {
    let head = match gold.head.checked_sub(1).and_then(|at| sentence.words().get(at)) {
        Some(word) => format!("{} {}", gold.head, word.form),
        None => "ROOT".to_string(),
    };
    match error {
        ErrorKind::Head => format!("  x head: gold {head}"),
        ErrorKind::Label => format!("  x label: gold {}", gold.label),
        ErrorKind::Both => format!("  x both: gold {} of {head}", gold.label),
    }
}

/// Draws a tree. `note` gives for a word that differs what stands behind it, and whether its line is the right one.
fn tree(
    out: &mut impl Write,
    sentence: &Sentence,
    note: impl Fn(usize) -> Option<(String, bool)>,
    style: &Style,
) -> anyhow::Result<()> {
    let forms: Vec<&str> = sentence.forms().collect();
    let with_root = |word: &crate::treebank::Word| word.head.unwrap_or_default();
    let heads: Vec<usize> = std::iter::once(0).chain(sentence.words().iter().map(with_root)).collect();
    let labels = std::iter::once(String::new()).chain(sentence.words().iter().map(|word| word.label.clone()));
    let labels: Vec<String> = labels.collect();
    for arcs::Line { word, text } in arcs::lines(&forms, sentence.multiword_tokens(), &heads, &labels) {
        let line = match word.filter(|word| *word > 0).and_then(&note) {
            Some((note, true)) => style.right(format!("{text}{note}").trim_end()),
            Some((note, false)) => style.wrong(format!("{text}{note}").trim_end()),
            None => text.trim_end().to_string(),
        };
        writeln!(out, "{line}")?;
    }
    Ok(())
}
