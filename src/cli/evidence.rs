//! `citree evidence`: adds, removes and replaces training sentences of a bundle without training or indexing again.

use super::index::show;
use super::machine::Machine;
use super::printable::Printable;
use super::progress::step_bar;
use crate::bundle::Bundle;
use crate::evidence::{Changed, EvidenceEditor, treebank_name};
use crate::explain::changes;
use crate::parse::Parse;
use crate::treebank::{Sentence, read_all, read_trees};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

/// Add, correct and remove training sentences without training again.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree evidence en.citree add corrected.conllu --message 'heads of only'
  citree evidence en.citree replace mended.conllu --show-effect dev.conllu
  citree evidence en.citree remove weblog-blogspot-17
  citree evidence en.citree remove 'weblog-*'            all that begin so
  citree evidence en.citree remove @ids.txt              one sent_id a line
  citree evidence en.citree add gum.conllu --name gum    as a treebank of its own
  citree evidence en.citree rename treebank ewt
  citree evidence en.citree weigh added=16               each of its edges counts 16 times
  citree evidence en.citree list
  citree evidence en.citree undo

A decision rests on training edges, so a sentence that is added counts at once: hardly by the sum rule, where \
it is one of thousands, and for similar edges at once by `--rule knn`. The model stays as it is. A label that it \
was not trained with is refused, or taken in with --new-labels: then it can be cited and predicted at once. Each change is published as a whole or not at all; programs that use the bundle \
go on with what they opened, and `citree serve` changes to the new state by itself.

Additions are kept beside the large index, each treebank in parts of its own. After many of them `merge` writes the \
parts of each treebank as one, which makes searches faster; changes from before cannot be undone then. \
`citree explain --from ewt,gum` and `--weight gum=0.5` choose between treebanks.")]
pub(super) struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    machine: Machine,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Add sentences with gold trees; their sent_ids must be new
    Add {
        /// The sentences in CoNLL-U; - is the standard input
        file: PathBuf,
        /// The treebank to add them to, new or known
        #[arg(long, default_value = "added")]
        name: String,
        /// Take in labels that the model was not trained with
        #[arg(long)]
        new_labels: bool,
        /// Let every edge of that treebank count so many times from now on
        #[arg(long)]
        weight: Option<f64>,
        #[command(flatten)]
        options: Options,
    },
    /// Remove sentences: a sent_id, the beginning of some and a *, or @FILE with one of these a line
    Remove {
        /// A sent_id, a beginning and a *, or @FILE
        #[arg(required = true, value_name = "SENT_ID|PREFIX*|@FILE")]
        names: Vec<String>,
        #[command(flatten)]
        options: Options,
    },
    /// Replace the sentences that have the same sent_ids
    Replace {
        /// The sentences in CoNLL-U; - is the standard input
        file: PathBuf,
        /// Take in labels that the model was not trained with
        #[arg(long)]
        new_labels: bool,
        #[command(flatten)]
        options: Options,
    },
    /// List the parts that the evidence consists of
    List,
    /// Write the parts of each treebank as one again
    Merge {
        /// Why, for the log
        #[arg(long, default_value = "")]
        message: String,
    },
    /// Give a treebank another name; that of another treebank makes both one
    Rename {
        /// The name it has, as `list` shows it
        from: String,
        /// The name it gets
        to: String,
        /// Why, for the log
        #[arg(long, default_value = "")]
        message: String,
    },
    /// Let every edge of a treebank count so many times, whoever uses the bundle
    Weigh {
        /// The treebank, as `list` shows it, and its weight, such as gum=0.5
        #[arg(value_name = "NAME=WEIGHT", value_parser = super::treebanks::weight)]
        weight: (String, f64),
        #[command(flatten)]
        options: Options,
    },
    /// Take back the last change; again, the one before it
    Undo {
        #[command(flatten)]
        options: Options,
    },
    /// Show who changed what, when and why
    Log,
}

impl Action {
    /// Whether the model has to be read: to encode sentences, or to parse. The others are done at once.
    fn needs_model(&self) -> bool {
        match self {
            Self::Add { .. } | Self::Replace { .. } | Self::Merge { .. } => true,
            Self::Remove { options, .. } | Self::Undo { options } | Self::Weigh { options, .. } => {
                options.show_effect.is_some()
            }
            Self::List | Self::Rename { .. } | Self::Log => false,
        }
    }
}

#[derive(clap::Args)]
struct Options {
    /// Why, for the log
    #[arg(long, default_value = "")]
    message: String,
    /// Parse this file before and after the change, and list the edges that differ
    #[arg(long, value_name = "FILE")]
    show_effect: Option<PathBuf>,
}

/// Changes the evidence of a bundle, or shows it.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let device = args.machine.start()?;
    let bundle = match args.action.needs_model() {
        true => Some(Bundle::open_on(&args.bundle, &device)?),
        false => None,
    };
    let editor = match &bundle {
        Some(bundle) => bundle.evidence(),
        None => Bundle::evidence_in(&args.bundle)?,
    };
    let bundle = bundle.as_ref();
    match args.action {
        Action::Add { file, options, .. } | Action::Replace { file, options, .. }
            if file == Path::new("-") && options.show_effect.as_deref() == Some(Path::new("-")) =>
        {
            anyhow::bail!("the standard input can be read once: give --show-effect a file");
        }
        Action::Add { file, name, new_labels, weight, options } => {
            let sentences = read_trees(&file)?;
            let editor = bringing(new_labels, editor).to_treebank(&name);
            let editor = weight.into_iter().fold(editor, EvidenceEditor::with_weight);
            with_effect(bundle, &options, || commit(editor.add(&sentences)?, &options.message))?;
        }
        Action::Replace { file, new_labels, options } => {
            let sentences = read_trees(&file)?;
            let editor = bringing(new_labels, editor);
            with_effect(bundle, &options, || commit(editor.replace(&sentences)?, &options.message))?;
        }
        Action::Remove { names, options } => {
            let names = listed(&names)?;
            with_effect(bundle, &options, || commit(editor.remove(&names), &options.message))?;
        }
        Action::Undo { options } => with_effect(bundle, &options, || {
            let generation = editor.undo(&options.message)?;
            writeln!(std::io::stderr(), "undone: generation {generation}")?;
            Ok(())
        })?,
        Action::Merge { message } => {
            let bar = step_bar()?;
            let merged = editor.merge(&message, &|step| show(&bar, step));
            bar.finish_and_clear();
            let mut stderr = std::io::stderr();
            match merged? {
                Some(generation) => writeln!(stderr, "merged: generation {generation}")?,
                None => writeln!(stderr, "nothing to merge: every treebank is in one part")?,
            }
        }
        Action::Rename { from, to, message } => {
            let generation = editor.rename(&from, &to, &message)?;
            writeln!(std::io::stderr(), "renamed {from} to {to}: generation {generation}")?;
        }
        Action::Weigh { weight: (name, weight), options } => with_effect(bundle, &options, || {
            let generation = editor.weigh(&name, weight, &options.message)?;
            writeln!(std::io::stderr(), "{name} has the weight {weight} now: generation {generation}")?;
            Ok(())
        })?,
        Action::List => list(&editor)?,
        Action::Log => log(&editor)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn bringing(new_labels: bool, editor: EvidenceEditor<'_>) -> EvidenceEditor<'_> {
    if new_labels { editor.with_new_labels() } else { editor }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn commit(editor: EvidenceEditor<'_>, message: &str) -> anyhow::Result<()> {
    let bar = step_bar()?;
    let changed = editor.commit_with(message, &|step| show(&bar, step));
    bar.finish_and_clear();
    let Changed { generation, added, removed, edges, new_labels } = changed?;
    let mut stderr = std::io::stderr().lock();
    writeln!(
        stderr,
        "added {} with {}, removed {}: generation {generation}",
        counted(added as u64, "sentence"),
        counted(edges, "edge"),
        counted(removed as u64, "sentence")
    )?;
    if !new_labels.is_empty() {
        writeln!(stderr, "new labels: {}", new_labels.join(", "))?;
    }
    Ok(())
}

/// Runs a change, and lists what it changes in the parses of a file.
fn with_effect(
    bundle: Option<&Bundle>,
    options: &Options,
    change: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (Some(bundle), Some(file)) = (bundle, &options.show_effect) else { return change() };
    let sentences = read_all(file)?;
    let before = bundle.parser()?.parse(&sentences)?;
    change()?;
    let after = bundle.refreshed()?.parser()?.parse(&sentences)?;
    let mut out = Printable::new(std::io::stdout().lock(), false);
    let mut differ = 0;
    for ((sentence, before), after) in sentences.iter().zip(&before).zip(&after) {
        differ += write_effect(&mut out, sentence, before, after)?;
    }
    let words: usize = sentences.iter().map(|sentence| sentence.words().len()).sum();
    writeln!(std::io::stderr(), "{differ} of {words} edges differ")?;
    Ok(())
}

/// Writes the edges of a sentence that differ, and returns how many do.
fn write_effect(out: &mut dyn Write, sentence: &Sentence, before: &Parse, after: &Parse) -> std::io::Result<usize> {
    let form = |position: usize| {
        position.checked_sub(1).and_then(|at| sentence.words().get(at)).map_or("ROOT", |word| word.form.as_str())
    };
    let changes = changes(before, after);
    for change in &changes {
        let ((head, label), (new_head, new_label)) = (&change.with, &change.without);
        let gold = sentence.words().get(change.dependent - 1);
        let mark = match gold.and_then(|word| Some((word.head?, &word.label))) {
            Some((gold, name)) if (gold, name) == (*new_head, new_label) => "\tright now",
            Some((gold, name)) if (gold, name) == (*head, label) => "\twrong now",
            _ => "",
        };
        writeln!(
            out,
            "{}\t{} {}\t{label} of {}\t{new_label} of {}{mark}",
            sentence.sent_id().unwrap_or("(no sent_id)"),
            change.dependent,
            form(change.dependent),
            form(*head),
            form(*new_head),
        )?;
    }
    Ok(changes.len())
}

/// The names that arguments stand for: `@FILE` for its lines.
fn listed(arguments: &[String]) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for argument in arguments {
        match argument.strip_prefix('@') {
            Some(file) => {
                let text = std::fs::read_to_string(Path::new(file)).map_err(|e| anyhow::anyhow!("{file}: {e}"))?;
                names.extend(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_string));
            }
            None => names.push(argument.clone()),
        }
    }
    Ok(names)
}

fn list(editor: &EvidenceEditor<'_>) -> anyhow::Result<()> {
    let mut out = Printable::new(std::io::stdout().lock(), false);
    let columns = ["sentences", "edges", "rejected", "removed", "weight"];
    writeln!(out, "{:<16}{}  search", "name", columns.map(|column| format!("{column:>10}")).concat())?;
    for part in editor.list()? {
        let name = treebank_name(&part.name);
        let search = if part.graph { "graph" } else { "scan" };
        writeln!(
            out,
            "{name:<16}{:>10}{:>10}{:>10}{:>10}{:>10}  {search}",
            part.sources, part.records, part.contrasts, part.removed, part.weight
        )?;
    }
    Ok(())
}

fn log(editor: &EvidenceEditor<'_>) -> anyhow::Result<()> {
    let mut out = Printable::new(std::io::stdout().lock(), false);
    for entry in editor.log()? {
        let when = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(entry.time));
        let why = if entry.message.is_empty() { String::new() } else { format!(": {}", entry.message) };
        writeln!(out, "{}\t{when}\t{}\t{}{why}", entry.generation, entry.who, entry.what)?;
    }
    Ok(())
}
