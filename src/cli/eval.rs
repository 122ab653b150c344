//! `citree eval`: a parse compared with the gold trees, in tables that say which figure is which.

mod reliability;

use crate::evaluate::{Attachment, LengthScore, Score, Scores, evaluate};
use crate::treebank::read_all;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compare a parse with the gold trees: UAS, LAS, CLAS, MLAS and BLEX, by label and by length.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree eval dev.conllu parsed.conllu
  citree eval dev.conllu parsed.conllu --json | jq .with_punctuation.las.f1
  citree parse en.citree dev.conllu --scores > parsed.conllu
  citree eval dev.conllu parsed.conllu --scores --svg reliability.svg

The figures marked official are those of the official evaluator (udeval of PyPI's udtools): they count \
punctuation and cut subtypes off labels, so that nsubj:pass counts as nsubj. Papers often give others: \
say which one you cite.

The two files may be cut into sentences and words differently, as after `citree parse --text`; then \
precision and recall differ. Parses that are not trees are scored too.

With --scores, the parse must have HeadProb and LabelProb in MISC, as `citree parse --scores` writes them, \
and the same words as the gold trees. Labels are judged where the head is right. The calibration error is the \
mean distance between probability and accuracy over 15 bins: 0 if a probability of 0.8 is right eight times \
out of ten.")]
pub(super) struct Args {
    /// The gold trees in CoNLL-U; - is the standard input
    gold: PathBuf,
    /// The parse to judge, of the same sentences in the same order
    system: PathBuf,
    /// Write everything as one JSON object, scores from 0 to 1
    #[arg(long)]
    json: bool,
    /// Judge the probabilities instead: are they right as often as they say?
    #[arg(long)]
    scores: bool,
    /// With --scores, also draw the reliability diagram into this file
    #[arg(long, value_name = "FILE", requires = "scores")]
    svg: Option<PathBuf>,
}

/// Evaluates, and writes the tables or the JSON to the standard output.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (gold, system) = (read_all(&args.gold)?, read_all(&args.system)?);
    let mut out = io::stdout().lock();
    if args.scores {
        let reliability = reliability::judge(&gold, &system)?;
        if let Some(path) = &args.svg {
            std::fs::write(path, reliability::svg(&reliability))
                .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
        }
        match args.json {
            true => writeln!(out, "{}", serde_json::to_string_pretty(&reliability)?)?,
            false => reliability::write(&mut out, &reliability)?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let scores = evaluate(&gold, &system)?;
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&scores)?)?;
    } else {
        write_tables(&mut out, &scores)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_tables(out: &mut impl Write, scores: &Scores) -> io::Result<()> {
    heading(out, "Text", "")?;
    row(out, "tokens", &scores.tokens, "")?;
    row(out, "words", &scores.words, "multiword tokens taken apart")?;
    row(out, "sentences", &scores.sentences, "")?;

    let tags = &scores.tags;
    writeln!(out)?;
    heading(out, "Tags and lemmas", "")?;
    row(out, "UPOS", &tags.upos, "official")?;
    row(out, "XPOS", &tags.xpos, "official")?;
    row(out, "UFeats", &tags.feats, "official; universal features")?;
    row(out, "AllTags", &tags.all, "official; all three right")?;
    row(out, "Lemmas", &tags.lemmas, "official")?;
    row(out, "MLAS", &tags.mlas, "official; CLAS with tags and function words right")?;
    row(out, "BLEX", &tags.blex, "official; CLAS with lemmas right")?;

    writeln!(out)?;
    heading(out, "With punctuation", "")?;
    attachment(out, &scores.with_punctuation, true)?;
    writeln!(out)?;
    heading(out, "Without punctuation", "words whose gold label is punct left out")?;
    attachment(out, &scores.without_punctuation, false)?;

    writeln!(out)?;
    heading(out, "By label", "head and label right, subtypes kept")?;
    let mut labels: Vec<_> = scores.labels.iter().collect();
    labels.sort_by_key(|label| std::cmp::Reverse(label.score.gold));
    for label in labels {
        row(out, &label.label, &label.score, "")?;
    }
    lengths(out, "By distance to head", &scores.dependency_lengths)?;
    lengths(out, "By sentence length", &scores.sentence_lengths)
}

fn attachment(out: &mut impl Write, scores: &Attachment, official: bool) -> io::Result<()> {
    let note = |text: &str| if official { format!("official; {text}") } else { text.to_owned() };
    row(out, "UAS", &scores.uas, &note("head right"))?;
    row(out, "LAS", &scores.las, &note("head and label right, subtypes cut"))?;
    row(out, "LAS subtypes", &scores.las_subtypes, "head and label right, subtypes kept")?;
    row(out, "CLAS", &scores.clas, &note("LAS of content words, subtypes cut"))?;
    row(out, "CLAS subtypes", &scores.clas_subtypes, "LAS of content words, subtypes kept")
}

fn lengths(out: &mut impl Write, title: &str, rows: &[LengthScore]) -> io::Result<()> {
    writeln!(out)?;
    heading(out, title, "in words; LAS with subtypes cut")?;
    for length in rows {
        let range = match (length.from, length.to) {
            (0, _) => "root".to_owned(),
            (from, Some(to)) if from == to => from.to_string(),
            (from, Some(to)) => format!("{from}-{to}"),
            (from, None) => format!("{from} and more"),
        };
        row(out, &format!("{range} UAS"), &length.uas, "")?;
        row(out, &format!("{range} LAS"), &length.las, "")?;
    }
    Ok(())
}

fn heading(out: &mut impl Write, title: &str, note: &str) -> io::Result<()> {
    let line = format!(
        "{title:<20}{:>9}{:>9}{:>9}{:>10}{:>9}{:>9}  {note}",
        "gold", "system", "correct", "precision", "recall", "F1"
    );
    writeln!(out, "{}", line.trim_end())
}

fn row(out: &mut impl Write, name: &str, score: &Score, note: &str) -> io::Result<()> {
    let Score { gold, system, correct, precision, recall, f1 } = score;
    let (precision, recall, f1) = (100.0 * precision, 100.0 * recall, 100.0 * f1);
    let line = format!("  {name:<18}{gold:>9}{system:>9}{correct:>9}{precision:>10.2}{recall:>9.2}{f1:>9.2}  {note}");
    writeln!(out, "{}", line.trim_end())
}
