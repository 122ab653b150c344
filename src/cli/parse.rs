//! `citree parse`: sentences in, heads and labels out, as a stream.

mod bad;
mod format;
mod given;

use super::destination::Destination;
use super::input::Input;
use super::language::Language;
use super::machine::Machine;
use super::progress::sentence_counter;
use super::recipe::aggregate;
use super::rule::RuleOptions;
use super::treebanks::TreebankOptions;
use crate::bundle::Bundle;
use crate::config::Aggregate;
use crate::error::Error;
use crate::parse::{Decode, Parse, Parser, Settings};
use crate::treebank::Sentence;
use bad::{Bad, OnError};
use format::{Format, Writer};
use given::Given;
use indicatif::ProgressBar;
use std::path::PathBuf;
use std::process::ExitCode;

/// Sentences parsed together; large enough to keep all cores busy, small enough to stream.
const CHUNK: usize = 1024;

/// Parse sentences with a trained bundle.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree parse en.citree input.conllu > parsed.conllu
  echo \"I don't know where she went.\" | citree parse en.citree --text
  citree parse en.citree --text --format arcs notes.txt
  citree parse en.citree --lines one-sentence-a-line.txt
  citree parse en.citree input.conllu --scores | grep HeadProb=0
  citree parse en.citree input.conllu --rule knn    the twenty nearest edges vote
  citree parse en.citree web.conllu.gz --on-error skip --output parsed.conllu.gz
  citree parse en.citree input.conllu --format jsonl | jq -c '[.words, .heads, .labels]'
  citree parse en.citree input.conllu --format html > trees.html

With --text, a blank line ends a paragraph, and sentences and words are cut as in the training treebank. Each \
token has its place in the text, in characters, as TokenRange in MISC. A line break inside of a paragraph \
is a space where the next word would not have fitted; any other ends a sentence.

CoNLL-U input keeps everything but HEAD, DEPREL and DEPS, which are replaced. With --scores, MISC says \
how probable each head (HeadProb) and label (LabelProb) is among its alternatives. The output is the \
same for any number of threads. A sentence that looks as if it were of another language than the training treebank \
gets a comment `# warning`. Input that gzip compressed is unpacked, whatever its name.

jsonl is one object a sentence, with the names that `citree explain --format json` uses; json is an array \
of them. svg draws all sentences below each other in one picture, html in one page.

A sentence that cannot be read or parsed ends the run, after all before it were written. With --on-error \
skip it is left out, with copy its lines are written as they are; the standard error says where it was, and \
the exit code is 1.")]
pub(super) struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    #[command(flatten)]
    input: Input,
    /// mst: the best tree with a single root; greedy: the best head of each word, as in the paper
    #[arg(long, default_value = "mst", value_parser = decode)]
    decode: Decode,
    /// Write probabilities into MISC
    #[arg(long)]
    scores: bool,
    /// How to write the parses
    #[arg(long, value_enum, default_value_t = Format::Conllu)]
    format: Format,
    #[command(flatten)]
    output: Destination,
    /// Parse and write each sentence as soon as it is read, for a reader that waits; slower for many sentences
    #[arg(long)]
    flush: bool,
    /// What to do with a sentence that cannot be read or parsed
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = OnError::Stop)]
    on_error: OnError,
    /// How similarities become a score: mean or sum [default: as trained]
    #[arg(long, value_parser = aggregate)]
    aggregate: Option<Aggregate>,
    #[command(flatten)]
    rule: RuleOptions,
    #[command(flatten)]
    treebanks: TreebankOptions,
    #[command(flatten)]
    machine: Machine,
}

/// A way to choose heads by its name on the command line.
pub(super) fn decode(name: &str) -> Result<Decode, String> {
    match name {
        "mst" => Ok(Decode::Tree),
        "greedy" => Ok(Decode::Greedy),
        _ => Err("there are mst and greedy".to_string()),
    }
}

/// Parses a file or the standard input to the standard output or a file.
pub(super) fn run(mut args: Args) -> anyhow::Result<ExitCode> {
    args.input.answers_lines = args.flush;
    if args.on_error == OnError::Copy && args.format != Format::Conllu {
        anyhow::bail!("only CoNLL-U has room for the lines of a sentence that cannot be parsed; use --on-error skip");
    }
    let settings =
        Settings { decode: args.decode, aggregate: args.aggregate, rule: args.rule.rule()?, ..Settings::default() };
    let settings = args.treebanks.choose(settings);
    let device = args.machine.start()?;
    let parser = Bundle::open_on(&args.bundle, &device)?.parser_with(&settings)?;
    let title = format!("Parsed by {}", args.bundle.file_name().unwrap_or_default().to_string_lossy());
    args.output.write(|out| {
        let mut run = Run {
            parser: &parser,
            writer: Writer::new(out, &parser, args.format, args.scores, title)?,
            bad: Bad::new(args.on_error),
            waiting: Vec::new(),
            bar: sentence_counter()?,
            language: Language::default(),
            // A person who types wants an answer to each line.
            chunk: if args.flush || args.input.is_typed() { 1 } else { CHUNK },
        };
        let ended = run.all(&args.input);
        run.bar.finish_and_clear();
        // What came before an error is good, and is finished.
        run.writer.end()?;
        ended?;
        run.language.report()?;
        run.bad.summary()
    })
}

struct Run<'a, 'o> {
    parser: &'a Parser,
    writer: Writer<'a, 'o>,
    bad: Bad,
    /// What was read and is not parsed yet.
    waiting: Vec<Given>,
    bar: ProgressBar,
    language: Language,
    chunk: usize,
}

impl Run<'_, '_> {
    fn all(&mut self, input: &Input) -> anyhow::Result<()> {
        let mut given = given::sentences(input, self.parser)?;
        loop {
            let next = given.next();
            let ends = !matches!(next, Some(Ok(_)));
            let failed = match next {
                Some(Ok(one)) => {
                    self.waiting.push(one);
                    None
                }
                Some(Err(error)) => Some(error),
                None => None,
            };
            if ends || self.waiting.len() >= self.chunk {
                self.flush()?;
            }
            match failed {
                Some(error) => return Err(error),
                None if ends => return Ok(()),
                None => {}
            }
        }
    }

    /// Parses and writes what is waiting.
    fn flush(&mut self) -> anyhow::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let sentences: Vec<Sentence> = waiting.iter().filter_map(|one| one.sentence.as_ref().ok()).cloned().collect();
        let mut parses = self.parses(&sentences).into_iter();
        for Given { place, sentence, lines } in waiting {
            self.bar.inc(1);
            let parsed = match sentence {
                Ok(sentence) => match parses.next() {
                    Some(Ok(parse)) => Ok((sentence, parse)),
                    Some(Err(error)) => Err((error.into(), Some(sentence))),
                    // No sentence was parsed after one that nothing can be done about.
                    None => return Ok(()),
                },
                Err(error) => Err((error, None)),
            };
            match parsed {
                Ok((mut sentence, parse)) => {
                    self.bad.good();
                    self.language.look(self.parser, &mut sentence);
                    self.writer.sentence(sentence, &parse)?;
                }
                Err((error, sentence)) => {
                    let copy = self.bad.take(&place, error, sentence.is_some() || lines.is_some())?;
                    match (copy, sentence) {
                        (true, Some(sentence)) => self.writer.unparsed(&sentence)?,
                        (true, None) => self.writer.lines(&lines.unwrap_or_default())?,
                        (false, _) => {}
                    }
                }
            }
        }
        self.writer.flush()
    }

    /// The parse of each sentence. If one cannot be parsed, the others can.
    fn parses(&self, sentences: &[Sentence]) -> Vec<Result<Parse, Error>> {
        match self.parser.parse(sentences) {
            Ok(parses) => parses.into_iter().map(Ok).collect(),
            Err(error) if sentences.len() < 2 || !bad::is_of_a_sentence(&error) => vec![Err(error)],
            Err(_) => sentences.chunks(sentences.len().div_ceil(2)).flat_map(|half| self.parses(half)).collect(),
        }
    }
}
