//! `citree compare`: gold trees beside one or two parses.

mod text;

use super::destination::Destination;
use crate::evaluate::{Comparing, Comparison, ErrorFilter, ErrorKind, SentenceDifferences, compare};
use crate::explain::html::{self, Compared};
use crate::treebank::{Sentence, read_all};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show gold trees beside one or two parses: what differs, which labels are confused, which parser is better.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree compare dev.conllu parsed.conllu
  citree compare dev.conllu parsed.conllu --errors head --label obl --top 5
  citree parse en.citree dev.conllu --scores | citree compare dev.conllu - --sort doubt
  citree compare dev.conllu old.conllu new.conllu              is the new one better?
  citree compare dev.conllu old.conllu new.conllu --format html --output beside.html
  citree compare dev.conllu parsed.conllu --format json | jq '.parses[0].confusions[:5]'

The files must have the same sentences of the same words. UAS and LAS are those of `citree eval`: with punctuation, and \
labels without subtypes; with --subtypes, nsubj:pass for nsubj is wrong, too.

Two parses are judged by the paired bootstrap: sentences are drawn with replacement, as many as there are, and both \
parses are scored on them; --samples times. p is twice the share of samples in which the parser that is behind is not \
behind, at most 1: below 0.05 is often called significant. It tells of other sentences like these, not of other texts or \
of training again with another seed.")]
pub(super) struct Args {
    /// The gold trees, CoNLL-U; - is the standard input
    gold: PathBuf,
    /// A parse of the same sentences
    pred: PathBuf,
    /// Another parse of them
    pred2: Option<PathBuf>,
    /// How to write it
    #[arg(long, default_value = "text", value_parser = ["text", "html", "json"])]
    format: String,
    /// Show only sentences with such an error: head (label right), label (head right) or both; may be several
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind)]
    errors: Vec<ErrorKind>,
    /// Show only sentences with an error on a word that has this label, in the gold tree or in a parse; may be several
    #[arg(long, value_name = "LABEL", value_delimiter = ',')]
    label: Vec<String>,
    /// The order of sentences: file, errors (most first), or doubt (the least probable head first, by HeadProb)
    #[arg(long, default_value = "file", value_parser = ["file", "errors", "doubt"])]
    sort: String,
    /// Sentences to show, 0 for the tables alone [default: 10 in text, 100 in html, all in json]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Take a wrong subtype of a label for an error
    #[arg(long)]
    subtypes: bool,
    /// Samples that judge the difference of two parses
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    samples: u32,
    /// The seed of the samples
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Destination,
}

fn kind(name: &str) -> Result<ErrorKind, String> {
    let all = [ErrorKind::Head, ErrorKind::Label, ErrorKind::Both];
    all.into_iter().find(|kind| kind.to_string() == name).ok_or_else(|| "there are head, label and both".to_string())
}

/// Compares, and writes tables and trees.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let paths: Vec<&Path> = [&args.gold, &args.pred].into_iter().chain(&args.pred2).map(PathBuf::as_path).collect();
    if paths.iter().filter(|path| **path == Path::new("-")).count() > 1 {
        anyhow::bail!("the standard input can be one of the files only");
    }
    let files: Vec<Vec<Sentence>> = paths.iter().map(|path| read_all(path)).collect::<Result<_, _>>()?;
    let parses: Vec<&[Sentence]> = files[1..].iter().map(Vec::as_slice).collect();
    let how = Comparing { subtypes: args.subtypes, samples: args.samples as usize, seed: args.seed };
    let mut comparison = compare(&files[0], &parses, how)?;
    let shown: Vec<usize> = shown(&args, &comparison).iter().map(|sentence| sentence.number).collect();
    let names = paths.iter().map(|path| path.display().to_string()).collect();
    let compared = Compared { files: files.iter().map(Vec::as_slice).collect(), names };
    args.output.write(|out| {
        if args.format == "json" {
            comparison.sentences = shown.iter().map(|number| comparison.sentences[number - 1].clone()).collect();
            serde_json::to_writer_pretty(&mut *out, &comparison)?;
            writeln!(out)?;
            return Ok(ExitCode::SUCCESS);
        }
        let shown: Vec<&SentenceDifferences> = shown.iter().map(|number| &comparison.sentences[number - 1]).collect();
        match args.format.as_str() {
            "html" => write!(out, "{}", html::beside(&compared, &comparison, &shown))?,
            _ => text::write(out, &compared, &comparison, &shown)?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The sentences to show, in order.
fn shown<'a>(args: &Args, comparison: &'a Comparison) -> Vec<&'a SentenceDifferences> {
    let filter = ErrorFilter { kinds: args.errors.clone(), labels: args.label.clone() };
    let filtered = !filter.kinds.is_empty() || !filter.labels.is_empty();
    // JSON has the scores of every sentence, trees are of sentences that differ.
    let all = args.format == "json" && !filtered;
    let mut shown: Vec<&SentenceDifferences> =
        comparison.sentences.iter().filter(|sentence| all || sentence.fits(&filter)).collect();
    match args.sort.as_str() {
        "errors" => shown.sort_by_key(|sentence| Reverse(sentence.differences.len())),
        "doubt" => {
            let doubt = |sentence: &SentenceDifferences| sentence.doubt().unwrap_or(f64::INFINITY);
            shown.sort_by(|a, b| doubt(a).total_cmp(&doubt(b)));
        }
        _ => {}
    }
    let default = match args.format.as_str() {
        "text" => 10,
        "html" => 100,
        _ => usize::MAX,
    };
    shown.truncate(args.top.unwrap_or(default));
    shown
}
