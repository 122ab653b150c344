//! `citree explain`: sentences in, parses out, and for every edge the training edges behind it.

mod text;

use super::input::Input;
use super::language::Language;
use super::machine::Machine;
use super::parse::decode;
use super::rule::RuleOptions;
use super::treebanks::TreebankOptions;
use crate::bundle::Bundle;
use crate::explain::{Answer, By, Change, Expected, Explainer, Options, Question, html};
use crate::parse::{Decode, Settings};
use crate::treebank::{Sentence, write_sentence};
use rayon::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use text::Detail;

/// Sentences explained together.
const CHUNK: usize = 256;

/// Explain every edge of a parse by the training edges behind it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  echo 'She reads old letters.' | citree explain en.citree --text
  citree explain en.citree dev.conllu --below 0.8        the suspicious edges
  citree explain en.citree one.conllu --edge 4 --by label --by genre
  citree explain en.citree one.conllu --why-not 4:2      why is 2 not the head?
  citree explain en.citree one.conllu --flip             what has to be missing?
  citree explain en.citree one.conllu --without weblog   without some sentences
  citree explain en.citree one.conllu --by treebank --weight gum=0.5
  citree explain en.citree dev.conllu --format html > dev.html

Each edge has two decisions: its head and its label. For each, the text shows the training edges most \
similar to it, and how much of the evidence and of the margin over the runner-up they carry. By the sum \
rule all training edges count almost alike, so a few citations illustrate a decision but do not carry \
it. By `--rule nca` near edges count for more. By `--rule knn` the nearest edges vote and carry the whole \
decision: gold edges for it, and rejected edges, which are heads that a training word does not have, \
against it. Without --rule the bundle decides by its own rule, which `citree info` shows.

With --why-not or --flip, the text shows only these answers; add --edge or --below for the edges \
themselves. The output is the same for any number of threads.

CoNLL-U output has the citations in MISC: Cite=sent_id:dependent:head,… for the head and CiteLabel for \
the label, CiteAgainst and CiteLabelAgainst for what speaks against them. JSON output has an object a sentence; docs/reference/explain.md describes it.")]
pub(super) struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    #[command(flatten)]
    input: Input,
    /// How to write it: text, html, json or conllu
    #[arg(long, default_value = "text", value_parser = ["text", "html", "json", "conllu"])]
    format: String,
    /// Training edges to cite for each decision, on each side [default: those that vote, up to 20, or 10]
    #[arg(long, short, value_parser = clap::value_parser!(u32).range(0..=1000))]
    count: Option<u32>,
    /// Explain only the edge of this word, by its number; may be given several times
    #[arg(long, value_name = "WORD")]
    edge: Vec<usize>,
    /// Explain only edges whose head or label is less probable than this
    #[arg(long, value_name = "PROBABILITY", value_parser = probability)]
    below: Option<f32>,
    /// Split score and margin by label, treebank, document, genre, prefix:N, dependent or head; may be given several times
    #[arg(long, default_value = "label")]
    by: Vec<By>,
    /// Compare with every training edge, so that no nearer one is missed; slow
    #[arg(long)]
    exact: bool,
    /// Why not this head, or this label: the training edges for and against it; may be given several times
    #[arg(long, value_name = "WORD:HEAD[:LABEL]")]
    why_not: Vec<Expected>,
    /// Leave training sentences out: a sent_id, a treebank, the beginning of some sent_ids, or a file with one a line
    #[arg(long, value_name = "SENTENCES")]
    without: Vec<String>,
    /// Find a smallest set of training edges, and one of sentences, without which each decision would change
    #[arg(long)]
    flip: bool,
    /// mst: the best tree with a single root; greedy: the best head of each word, as in the paper
    #[arg(long, default_value = "mst", value_parser = decode)]
    decode: Decode,
    #[command(flatten)]
    rule: RuleOptions,
    #[command(flatten)]
    treebanks: TreebankOptions,
    #[command(flatten)]
    machine: Machine,
}

/// Explains a file or the standard input to the standard output.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let asked = args.flip || !args.why_not.is_empty();
    if asked && args.format == "conllu" {
        anyhow::bail!("CoNLL-U has no place for the answers to --why-not and --flip; use --format text, html or json");
    }
    let rule = args.rule.rule()?;
    let device = args.machine.start()?;
    let settings = Settings { decode: args.decode, rule, exact: args.exact, ..Settings::default() };
    let settings = args.treebanks.choose(settings);
    let mut explainer = Bundle::open_on(&args.bundle, &device)?.explainer_with(&settings)?;
    let mut whole = None;
    if !args.without.is_empty() {
        let gone = explainer.sentences_named(&names(&args.without)?)?;
        let fewer = explainer.without(|number| gone.contains(&number))?;
        whole = Some(std::mem::replace(&mut explainer, fewer));
        let meant = meant(&args.without, &explainer);
        let sentences = explainer.edges().sentences();
        writeln!(std::io::stderr(), "left out {} of {sentences} training sentences{meant}", gone.len())?;
    }
    let count = args.count.map_or_else(|| explainer.rule().citations(), |count| count as usize);
    let mut options = Options { count, by: args.by.clone(), words: args.edge.clone(), below: args.below };
    // Text answers what was asked, and explains edges where they are named.
    let detail = match asked && args.format == "text" && args.edge.is_empty() && args.below.is_none() {
        true => Detail::Answers,
        false => Detail::Edges,
    };
    if detail == Detail::Answers && !args.flip {
        // No probability is below 0, so no edge is explained. A flip needs the runner-ups.
        options.below = Some(0.0);
    }
    let question = Question { options, why_not: args.why_not.clone(), flip: args.flip };
    // What is asked about a word may be wrong for a later sentence: then nothing must have been written.
    let at_once = args.edge.is_empty() && args.why_not.is_empty() && args.format != "html";
    let (mut written, mut pages) = (Vec::new(), Vec::new());
    let mut language = Language::default();
    let mut sentences = args.input.sentences(explainer.parser())?;
    let chunk = if args.input.is_typed() { 1 } else { CHUNK };
    loop {
        let some: Vec<Sentence> = sentences.by_ref().take(chunk).collect::<anyhow::Result<_>>()?;
        if some.is_empty() {
            break;
        }
        for (mut sentence, answer) in some.iter().cloned().zip(answers(&explainer, whole.as_ref(), &some, &question)?) {
            let Some(answer) = answer else { continue };
            language.look(explainer.parser(), &mut sentence);
            match args.format.as_str() {
                "html" => pages.push(answer),
                "json" => writeln!(written, "{}", serde_json::to_string(&answer)?)?,
                "conllu" => {
                    answer.explanation.annotate(&mut sentence);
                    if let Some(changes) = answer.changes.filter(|changes| !changes.is_empty()) {
                        sentence.set_comment("changes", &changes.iter().map(changed).collect::<Vec<_>>().join(" "));
                    }
                    write_sentence(&mut written, &sentence)?;
                }
                _ => text::write(&mut written, &answer, detail)?,
            }
        }
        if at_once {
            write_out(&mut written)?;
        }
    }
    if args.format == "html" {
        let title = format!("Explained by {}", args.bundle.file_name().unwrap_or_default().to_string_lossy());
        written = html::report(&pages, &title).into_bytes();
    }
    write_out(&mut written)?;
    language.report()?;
    Ok(ExitCode::SUCCESS)
}

/// Explains the edge of a sentence that is least certain, as text.
pub(super) fn most_doubtful(explainer: &Explainer, sentence: &Sentence, count: usize) -> anyhow::Result<Vec<u8>> {
    let mut written = Vec::new();
    let analyses = explainer.analyse(std::slice::from_ref(sentence))?;
    let Some(analysis) = analyses.into_iter().next().flatten() else { return Ok(written) };
    let parse = &analysis.parse;
    let certain = |word: &usize| parse.head_probabilities[*word].min(parse.label_probabilities[*word]);
    let doubtful = (1..analysis.positions()).min_by(|a, b| certain(a).total_cmp(&certain(b)));
    let options = Options { count, words: doubtful.into_iter().collect(), ..Options::default() };
    let answer = explainer.answer(sentence, &analysis, &Question { options, ..Question::default() }, None)?;
    text::write(&mut written, &answer, Detail::Edges)?;
    Ok(written)
}

/// A change in a comment: `dependent:head:label>head:label`.
fn changed(change: &Change) -> String {
    let ((head, label), (new_head, new_label)) = (&change.with, &change.without);
    format!("{}:{head}:{label}>{new_head}:{new_label}", change.dependent)
}

fn write_out(written: &mut Vec<u8>) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(written)?;
    out.flush()?;
    written.clear();
    Ok(())
}

/// The sentences that `--without` names: an argument that is a file stands for its lines.
fn names(without: &[String]) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for name in without {
        if Path::new(name).is_file() {
            let text = std::fs::read_to_string(name).map_err(|e| anyhow::anyhow!("{name}: {e}"))?;
            names.extend(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_string));
        } else {
            names.push(name.clone());
        }
    }
    Ok(names)
}

/// What names stand for that are not those of sentences, because a name can be that of a file, a treebank and sentences.
fn meant(without: &[String], explainer: &Explainer) -> String {
    let meant = |name: &&String| match Path::new(name.as_str()).is_file() {
        true => Some(format!("; {name} is a file of names")),
        false if explainer.edges().treebanks().any(|own| own == name.as_str()) => {
            Some(format!("; {name} is a treebank"))
        }
        false => None,
    };
    without.iter().filter_map(|name| meant(&name)).collect()
}

/// The answer about each sentence; none about one without words.
fn answers(
    explainer: &Explainer,
    whole: Option<&Explainer>,
    sentences: &[Sentence],
    question: &Question,
) -> anyhow::Result<Vec<Option<Answer>>> {
    let analyses = explainer.analyse(sentences)?;
    let whole = whole.map(|whole| whole.analyse(sentences)).transpose()?;
    sentences
        .par_iter()
        .zip(&analyses)
        .enumerate()
        .map(|(at, (sentence, analysis))| {
            let before = whole.as_ref().and_then(|whole| whole[at].as_ref());
            let answer = |analysis| explainer.answer(sentence, analysis, question, before);
            Ok(analysis.as_ref().map(answer).transpose()?)
        })
        .collect()
}

fn probability(text: &str) -> Result<f32, String> {
    let number: f32 = text.parse().map_err(|_| "not a number".to_string())?;
    match (0.0..=1.0).contains(&number) {
        true => Ok(number),
        false => Err("a probability is between 0 and 1, such as 0.8".to_string()),
    }
}
