//! `citree parse`: sentences in, heads and labels out, as a stream.

use super::arcs;
use super::input::Input;
use super::language::Language;
use super::machine::Machine;
use super::printable::printable;
use super::progress::sentence_counter;
use super::recipe::aggregate;
use super::rule::RuleOptions;
use super::treebanks::TreebankOptions;
use crate::bundle::Bundle;
use crate::config::Aggregate;
use crate::parse::{Decode, Parse, Parser, Settings};
use crate::treebank::{Sentence, write_sentence};
use indicatif::ProgressBar;
use std::io::Write;
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

With --text, a blank line ends a paragraph, and sentences and words are cut as in the training treebank. Each \
token has its place in the text, in characters, as TokenRange in MISC. A line break inside of a paragraph \
is a space where the next word would not have fitted; any other ends a sentence.

CoNLL-U input keeps everything but HEAD, DEPREL and DEPS, which are replaced. With --scores, MISC says \
how probable each head (HeadProb) and label (LabelProb) is among its alternatives. The output is the \
same for any number of threads. A sentence that looks as if it were of another language than the training treebank \
gets a comment `# warning`.")]
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
    /// How to write the parses: conllu, or arcs to look at
    #[arg(long, default_value = "conllu", value_parser = ["conllu", "arcs"])]
    format: String,
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

/// Parses a file or the standard input to the standard output.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let settings =
        Settings { decode: args.decode, aggregate: args.aggregate, rule: args.rule.rule()?, ..Settings::default() };
    let settings = args.treebanks.choose(settings);
    let device = args.machine.start()?;
    let parser = Bundle::open_on(&args.bundle, &device)?.parser_with(&settings)?;
    let mut output = Output {
        parser: &parser,
        scores: args.scores,
        arcs: args.format == "arcs",
        out: std::io::BufWriter::new(std::io::stdout().lock()),
        waiting: Vec::new(),
        bar: sentence_counter()?,
        language: Language::default(),
        // A person who types wants an answer to each line.
        chunk: if args.input.is_typed() { 1 } else { CHUNK },
    };
    for sentence in args.input.sentences(&parser)? {
        match sentence {
            Ok(sentence) => output.take(sentence)?,
            Err(error) => {
                // What came before is good.
                output.flush()?;
                return Err(error);
            }
        }
    }
    output.flush()?;
    output.bar.finish_and_clear();
    output.language.report()?;
    Ok(ExitCode::SUCCESS)
}

struct Output<'a, W: Write> {
    parser: &'a Parser,
    scores: bool,
    arcs: bool,
    out: W,
    waiting: Vec<Sentence>,
    bar: ProgressBar,
    language: Language,
    chunk: usize,
}

impl<W: Write> Output<'_, W> {
    fn take(&mut self, sentence: Sentence) -> anyhow::Result<()> {
        self.waiting.push(sentence);
        if self.waiting.len() >= self.chunk { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        if let Ok(parses) = self.parser.parse(&waiting) {
            return self.write(waiting, &parses);
        }
        // One of them cannot be parsed. Those before it can.
        for sentence in waiting {
            let number = self.bar.position() + 1;
            let parses = self.parser.parse(std::slice::from_ref(&sentence));
            let parses = parses.map_err(|error| anyhow::anyhow!("sentence {number} of the input: {error}"))?;
            self.write(vec![sentence], &parses)?;
        }
        Ok(())
    }

    fn write(&mut self, sentences: Vec<Sentence>, parses: &[Parse]) -> anyhow::Result<()> {
        self.bar.inc(sentences.len() as u64);
        for (mut sentence, parse) in sentences.into_iter().zip(parses) {
            parse.annotate(&mut sentence, self.scores);
            self.language.look(self.parser, &mut sentence);
            if self.arcs {
                writeln!(self.out, "{}", printable(&arcs::draw(&sentence, parse)))?;
            } else {
                write_sentence(&mut self.out, &sentence)?;
            }
        }
        self.out.flush()?;
        Ok(())
    }
}
