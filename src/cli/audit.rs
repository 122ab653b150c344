//! `citree audit`: lists the gold edges that similar edges contradict, and writes decisions about them into a treebank.

mod csv;
mod review;
mod text;

use super::finding::Located;
use super::machine::Machine;
use super::printable::Printable;
use super::progress::{bar, interrupt_flag};
use crate::audit::{Audit, DEFAULT_FOLDS, Decisions, Group, Kind, Options, Treebank, apply, html};
use crate::bundle::Bundle;
use crate::error::Error;
use crate::files::write_output as write_file;
use crate::train::Flow;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// The findings that are grouped.
const GROUPED: usize = 5000;

/// Find gold edges that are probably wrong, with the similar edges that say so.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree audit en.citree --top 20
  citree audit en.citree --treebank train.conllu --format csv > findings.csv
  citree audit en.citree --groups --top 50
  citree audit en.citree --treebank train.conllu --kind inconsistent
  citree audit en.citree --treebank new.conllu --fail-above 0.4
  citree audit en.citree --treebank train.conllu --format html --output audit.html
  citree audit en.citree --treebank train.conllu --decisions decided.jsonl --review
  citree audit en.citree --apply decided.jsonl --treebank train.conllu --output mended.conllu

Every gold edge of the bundle's evidence, or of FILE, is judged by the training edges most similar to it, by linear \
models of the words that never saw its document (--folds), and by the guidelines of Universal Dependencies. Its own \
sentence and document are no evidence. The score is the share of errors to expect among edges that are so \
suspicious, as on English-EWT; other treebanks differ.

With --treebank, a finding is FILE:LINE:COLUMN, and lemmas, parts of speech and features of FILE are used; the \
bundle's evidence has none, so FILE is judged better. FILE can be a treebank that the bundle was not trained on: then findings are \
also where the two differ. Decided edges are not asked again, unless they were changed in another way. --apply changes \
HEAD and DEPREL of accepted edges and no other byte, and refuses what is not a tree.

Exit status: 0 done, 1 a finding above --fail-above, 2 could not be done, 130 interrupted.")]
pub(super) struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    /// Judge this treebank in CoNLL-U instead of the bundle's evidence; - is the standard input
    #[arg(long, value_name = "FILE")]
    treebank: Option<PathBuf>,
    /// How many findings or groups to list
    #[arg(long, value_name = "N", default_value_t = 300)]
    top: usize,
    /// Which findings to list: head, label, inconsistent (the same two words are annotated as suggested in another
    /// document) or all
    #[arg(long, default_value = "all", value_parser = kind)]
    kind: Wanted,
    /// Train models of the words N times, each time without one Nth of the documents, which they then judge; 0 trains none
    #[arg(long, value_name = "N", default_value_t = DEFAULT_FOLDS, value_parser = folds)]
    folds: usize,
    /// Judge punctuation too
    #[arg(long)]
    punct: bool,
    /// List groups of findings that are probably the same error, those with most expected errors first
    #[arg(long)]
    groups: bool,
    /// How to write them: text, jsonl, csv or html, a page to decide by keyboard
    #[arg(long, default_value = "text", value_parser = ["text", "jsonl", "csv", "html"])]
    format: String,
    /// Write to this file, replacing it when all is well; - is the standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Leave out edges that were decided here, a file of JSON lines
    #[arg(long, value_name = "FILE")]
    decisions: Option<PathBuf>,
    /// Ask about each finding, and save every answer to the decisions at once
    #[arg(long, requires = "decisions", conflicts_with_all = ["groups", "output"])]
    review: bool,
    /// Write the treebank with these decisions, instead of judging it
    #[arg(long, value_name = "DECISIONS", requires = "treebank", conflicts_with_all = ["review", "groups", "decisions"])]
    apply: Option<PathBuf>,
    /// End with status 1 if a finding has a higher score, from 0 to 1
    #[arg(long, value_name = "SCORE", value_parser = share)]
    fail_above: Option<f64>,
    #[command(flatten)]
    machine: Machine,
}

/// All kinds, one, or inconsistencies.
#[derive(Clone, Copy)]
struct Wanted {
    kind: Option<Kind>,
    inconsistent: bool,
}

fn kind(name: &str) -> Result<Wanted, String> {
    let inconsistent = name == "inconsistent";
    match name {
        "all" | "inconsistent" => Ok(Wanted { kind: None, inconsistent }),
        _ => name
            .parse()
            .map(|kind| Wanted { kind: Some(kind), inconsistent })
            .map_err(|_| "there are head, label, inconsistent and all".to_string()),
    }
}

fn folds(number: &str) -> Result<usize, String> {
    let folds = number.parse().ok().filter(|folds| *folds == 0 || (2..=100).contains(folds));
    folds.ok_or_else(|| "give 0, or a number from 2 to 100".to_string())
}

fn share(number: &str) -> Result<f64, String> {
    let share = number.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a score is a share from 0 to 1".to_string())
}

/// Judges a treebank, or writes decisions into it.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let in_place = args.apply.is_some();
    let inputs = [args.treebank.as_ref().filter(|_| !in_place), args.decisions.as_ref(), args.apply.as_ref()];
    if let Some(input) = inputs.into_iter().flatten().find(|input| is_same_file(input, &args.output)) {
        anyhow::bail!("--output {} is what is read here; write to another file", input.display());
    }
    if let Some(decisions) = &args.apply {
        return run_apply(&args, decisions);
    }
    if let Some(missing) = args.decisions.as_ref().filter(|file| !args.review && !file.exists()) {
        writeln!(std::io::stderr(), "{}: there is no such file, so nothing was decided before", missing.display())?;
    }
    let device = args.machine.start()?;
    let decisions = args.decisions.as_deref().map(Decisions::read).transpose()?.unwrap_or_default();
    let treebank = match &args.treebank {
        Some(file) => Some(Treebank::read(&read(file)?, file)?),
        None => None,
    };
    let explainer = Bundle::open_on(&args.bundle, &device)?.explainer()?;
    let top = if args.groups { GROUPED.max(args.top) } else { args.top };
    let options = Options {
        top,
        kind: args.kind.kind,
        inconsistent: args.kind.inconsistent,
        folds: args.folds,
        punctuation: args.punct,
        decisions,
    };
    let (interrupted, bar) = (interrupt_flag()?, bar("{prefix:>22} {bar:24} {pos}/{len} {eta} left")?);
    bar.set_prefix("judging edges");
    let audit = explainer.audit(treebank.as_ref(), &options, &|done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        if interrupted.load(Ordering::SeqCst) { Flow::Stop } else { Flow::Continue }
    });
    bar.finish_and_clear();
    let audit = match audit {
        Err(Error::Stopped) => return Ok(ExitCode::from(130)),
        audit => audit?,
    };
    let file = args.treebank.as_deref();
    if args.review {
        let path = args.decisions.as_deref().unwrap_or(Path::new("decisions.jsonl"));
        review::run(&audit.findings, file, path)?;
    } else {
        let mut out = Vec::new();
        write_report(&mut out, &args, &audit, file)?;
        write_output(&args.output, &out)?;
    }
    writeln!(
        std::io::stderr(),
        "judged {} edges: {} findings, {} decided before",
        audit.judged,
        audit.found,
        options.decisions.len()
    )?;
    let highest = audit.findings.first().map_or(0.0, |finding| finding.score);
    Ok(ExitCode::from(u8::from(args.fail_above.is_some_and(|most| highest > most))))
}

fn write_report(out: &mut Vec<u8>, args: &Args, audit: &Audit, file: Option<&Path>) -> anyhow::Result<()> {
    if args.format == "html" && args.groups {
        anyhow::bail!("groups have no page; leave out --groups, or take --format text");
    }
    let groups: Vec<Group> = if args.groups { audit.groups() } else { Vec::new() };
    let groups = &groups[..groups.len().min(args.top)];
    match (args.format.as_str(), args.groups) {
        ("jsonl", false) => audit.findings.iter().try_for_each(|finding| {
            let message = format!("{} {}", finding.title(), finding.says);
            Ok(Located { file, message, finding }.write(out)?)
        }),
        ("jsonl", true) => groups.iter().try_for_each(|group| {
            serde_json::to_writer(&mut *out, group)?;
            out.push(b'\n');
            Ok(())
        }),
        ("html", false) => {
            let title = format!("Audit of {}", file.unwrap_or(&args.bundle).display());
            out.extend(html::report(audit, &title, |finding| place(finding, file)).into_bytes());
            Ok(())
        }
        ("csv", false) => csv::findings(out, &audit.findings, file),
        ("csv", true) => csv::groups(out, groups),
        (_, false) => text::findings(&mut Printable::new(out, false), &audit.findings, file),
        (_, true) => text::groups(&mut Printable::new(out, false), groups, file),
    }
}

/// Where a finding is, for editors to jump to: `FILE:LINE:COLUMN`, or the `sent_id`.
fn place(finding: &crate::audit::Finding, file: Option<&Path>) -> String {
    match (file, finding.line) {
        (Some(file), Some(line)) => format!("{}:{line}:{}", file.display(), finding.column),
        _ => finding.sent_id.clone(),
    }
}

fn run_apply(args: &Args, decisions: &Path) -> anyhow::Result<ExitCode> {
    let file = args.treebank.as_deref().unwrap_or(Path::new("-"));
    if !decisions.is_file() {
        anyhow::bail!("{}: there is no such file of decisions", decisions.display());
    }
    let applied = apply(&read(file)?, file, &Decisions::read(decisions)?)?;
    write_output(&args.output, &applied.text)?;
    writeln!(
        std::io::stderr(),
        "changed {} edge{}; {} decisions change nothing, {} are about edges that are not there any more",
        applied.changed,
        if applied.changed == 1 { "" } else { "s" },
        applied.unchanged,
        applied.stale
    )?;
    Ok(ExitCode::SUCCESS)
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let whole = [one, other].map(|file| file.canonicalize().ok());
    whole[0].is_some() && whole[0] == whole[1]
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    std::fs::read(file).map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))
}

fn write_output(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if path == Path::new("-") {
        std::io::stdout().write_all(bytes)?;
        return Ok(std::io::stdout().flush()?);
    }
    Ok(write_file(path, |out| out.write_all(bytes).map_err(Error::io(path)))?)
}
