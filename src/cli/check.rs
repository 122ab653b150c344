//! `citree check`: counts a treebank, lists every problem with its line, and can write back what it read.

use super::finding::Located;
use crate::error::Error;
use crate::files::write_output;
use crate::treebank::{self, Finding, Problem, Reader, Summary, write_sentence};
use std::collections::BTreeSet;
use std::io::{BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Read a treebank, count what it holds, and list every problem with its line.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree check dev.conllu
  citree check windows.conllu --write mended.conllu
  citree check dev.conllu --level 3 --format jsonl
  citree check raw.conllu --level 1                      the format only

Each problem is FILE:LINE:COLUMN, the column from 1 (ID) to 10 (MISC), and shows the sentence with the \
token in brackets. A valid file is written back byte for byte; CR LF, a byte order mark and missing or \
extra blank lines are mended; sentences that cannot be read are left out.

The levels are those of the official validator of Universal Dependencies, and each includes those before it: \
1 is about the format, 2 about what every treebank of Universal Dependencies has (sent_id, text that the words spell, UPOS, FEATS, \
labels, DEPS), 3 about the guidelines for basic dependencies and UPOS. Rules are given by the validator's names. Whether \
annotated sentences are trees is checked at every level. `citree audit` ranks edges that break a rule beside others \
that are probably wrong. Both write problems in the same form; in JSON lines, the counts go to the standard error.

Exit status: 0 no problem, 1 problems found, 2 the check could not run.")]
pub(super) struct Args {
    /// The treebank in CoNLL-U; - is the standard input
    file: PathBuf,
    /// Check by the rules of this level of the official validator and those below it, 1 to 3
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    level: u8,
    /// How to write problems: text or jsonl
    #[arg(long, default_value = "text", value_parser = ["text", "jsonl"])]
    format: String,
    /// Write back what was read, replacing OUT only when all is well written; - is the standard output
    #[arg(long, value_name = "OUT")]
    write: Option<PathBuf>,
}

/// Checks a treebank. Reports on standard output, or on standard error if `--write -` uses standard output.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let written = args.write.as_deref();
    let taken = written == Some(Path::new("-"));
    let mut report: Box<dyn Write> =
        if taken { Box::new(std::io::stderr()) } else { Box::new(std::io::stdout().lock()) };
    let reader = treebank::open(&args.file)?;
    let summary = match written {
        None => check(&args, reader, &mut report, None)?,
        Some(_) if taken => {
            let mut out = BufWriter::new(std::io::stdout());
            let summary = check(&args, reader, &mut report, Some(&mut out))?;
            out.flush()?;
            summary
        }
        Some(path) => {
            let mut summary = Summary::default();
            write_output(path, |out| {
                summary = check(&args, reader, &mut report, Some(out))?;
                Ok(())
            })?;
            summary
        }
    };
    if args.format == "jsonl" {
        report = Box::new(std::io::stderr());
    }
    write_summary(&mut report, &summary)?;
    Ok(ExitCode::from(u8::from(summary.problems > 0)))
}

/// Reports problems, and writes back what can be read.
fn check(
    args: &Args,
    reader: Reader<impl BufRead>,
    report: &mut dyn Write,
    mut out: Option<&mut dyn Write>,
) -> Result<Summary, Error> {
    let mut remedies = BTreeSet::new();
    let reported = |source| Error::Io { path: "the report".into(), source };
    treebank::check(reader, args.level, |finding| match finding {
        Finding::Problem(problem) if args.format == "jsonl" => {
            let message = format!("{}, but {}", problem.found, problem.expected);
            Located { file: Some(&args.file), message, finding: problem }.write(report).map_err(reported)
        }
        Finding::Problem(problem) => {
            let new = remedies.insert(problem.remedy);
            write_problem(report, &args.file, &problem, new).map_err(reported)
        }
        Finding::Sentence(sentence) => match &mut out {
            Some(out) => write_sentence(out, &sentence).map_err(|source| {
                let path = args.write.clone().unwrap_or_default();
                Error::Io { path, source }
            }),
            None => Ok(()),
        },
    })
}

/// Writes a problem, and its remedy if it is new. Each remedy is written once.
fn write_problem(out: &mut dyn Write, file: &Path, problem: &Problem, new: bool) -> std::io::Result<()> {
    writeln!(out, "{}:{problem}", file.display())?;
    if new { writeln!(out, "  {}", problem.remedy) } else { Ok(()) }
}

fn write_summary(out: &mut dyn Write, summary: &Summary) -> std::io::Result<()> {
    for (name, count) in [
        ("sentences", summary.sentences),
        ("sentences refused", summary.refused_sentences),
        ("words", summary.words),
        ("words without head", summary.words_without_head),
        ("multiword tokens", summary.multiword_tokens),
        ("empty nodes", summary.empty_nodes),
        ("documents", summary.documents),
        ("problems", summary.problems),
        ("labels", summary.labels.len() as u64),
    ] {
        writeln!(out, "{name:<20}{count:>10}")?;
    }
    let mut labels: Vec<(&String, &u64)> = summary.labels.iter().collect();
    labels.sort_by_key(|&(label, count)| (std::cmp::Reverse(count), label));
    for (label, count) in labels {
        writeln!(out, "  {label:<18}{count:>10}")?;
    }
    Ok(())
}
