//! `citree check`: counts a treebank, lists every problem with its line, and can write back what it read.

use super::finding::Located;
use crate::error::Error;
use crate::treebank::{self, Finding, Problem, Sentence, Summary, write_sentence};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Read a treebank, count what it holds, and list every problem with its line.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree check dev.conllu
  citree check windows.conllu --write mended.conllu
  citree check dev.conllu --guidelines --format jsonl

Each problem is FILE:LINE:COLUMN, the column from 1 (ID) to 10 (MISC), and shows the sentence with the \
token in brackets. A valid file is written back byte for byte; CR LF, a byte order mark and missing or \
extra blank lines are mended; sentences that cannot be read are left out.

--guidelines also lists edges that break a rule of the Universal Dependencies guidelines: those about basic \
dependencies and UPOS that the official validator tests at level 3, by its names. `citree audit` ranks such edges \
beside others that are probably wrong. Both write problems in the same form; in JSON lines, the counts go to the \
standard error.

Exit status: 0 no problem, 1 problems found, 2 the check could not run.")]
pub(super) struct Args {
    /// The treebank in CoNLL-U; - is the standard input
    file: PathBuf,
    /// Check edges by the guidelines of Universal Dependencies too
    #[arg(long)]
    guidelines: bool,
    /// How to write problems: text or jsonl
    #[arg(long, default_value = "text", value_parser = ["text", "jsonl"])]
    format: String,
    /// Write back what was read, replacing OUT only when all is well written; - is the standard output
    #[arg(long, value_name = "OUT")]
    write: Option<PathBuf>,
}

/// Checks a treebank. Reports on standard output, or on standard error if `--write -` uses standard output.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let reader = treebank::open(&args.file)?;
    let mut output = args.write.as_deref().map(Output::open).transpose()?;
    let taken = args.write.as_deref() == Some(Path::new("-"));
    let mut report: Box<dyn Write> =
        if taken { Box::new(std::io::stderr()) } else { Box::new(std::io::stdout().lock()) };
    let mut remedies = BTreeSet::new();
    let reported = |source| Error::Io { path: "the report".into(), source };
    let lines = args.format == "jsonl";
    let summary = treebank::check(reader, args.guidelines, |finding| match finding {
        Finding::Problem(problem) if lines => {
            let message = format!("{}, but {}", problem.found, problem.expected);
            Located { file: Some(&args.file), message, finding: problem }.write(&mut report).map_err(reported)
        }
        Finding::Problem(problem) => {
            let new = remedies.insert(problem.remedy);
            write_problem(&mut report, &args.file, &problem, new).map_err(reported)
        }
        Finding::Sentence(sentence) => match &mut output {
            Some(output) => output.write(&sentence),
            None => Ok(()),
        },
    })?;
    if let Some(output) = output {
        output.finish()?;
    }
    if lines {
        report = Box::new(std::io::stderr());
    }
    write_summary(&mut report, &summary)?;
    Ok(ExitCode::from(u8::from(summary.problems > 0)))
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

/// The target of `--write`: standard output, or a file that gets its name only when it is complete.
struct Output {
    writer: BufWriter<Box<dyn Write>>,
    temporary: PathBuf,
    target: Option<PathBuf>,
}

impl Output {
    fn open(path: &Path) -> Result<Self, Error> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".new");
        let temporary = PathBuf::from(temporary);
        let (out, target): (Box<dyn Write>, _) = if path == Path::new("-") {
            (Box::new(std::io::stdout()), None)
        } else {
            (Box::new(File::create(&temporary).map_err(Error::io(&temporary))?), Some(path.to_owned()))
        };
        Ok(Self { writer: BufWriter::new(out), temporary, target })
    }

    fn write(&mut self, sentence: &Sentence) -> Result<(), Error> {
        write_sentence(&mut self.writer, sentence).map_err(Error::io(&self.temporary))
    }

    fn finish(mut self) -> Result<(), Error> {
        self.writer.flush().map_err(Error::io(&self.temporary))?;
        let Some(target) = &self.target else { return Ok(()) };
        File::open(&self.temporary).and_then(|file| file.sync_all()).map_err(Error::io(&self.temporary))?;
        std::fs::rename(&self.temporary, target).map_err(Error::io(target))?;
        self.target = None;
        Ok(())
    }
}

impl Drop for Output {
    /// Removes an incomplete file.
    fn drop(&mut self) {
        if self.target.is_some() {
            drop(std::fs::remove_file(&self.temporary));
        }
    }
}
