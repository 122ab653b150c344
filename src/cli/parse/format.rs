//! Writes parses in each format, one sentence after the other.

use crate::cli::arcs;
use crate::cli::printable::printable;
use crate::explain::{Answer, html};
use crate::parse::{Parse, Parser};
use crate::treebank::{Sentence, write_sentence};
use std::io::Write;

/// The largest drawing of all sentences in one picture, in bytes. Programs that show pictures give up before that.
const LARGEST_DRAWING: usize = 64 << 20;

/// How parses are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// CoNLL-U
    Conllu,
    /// One array with an object a sentence
    Json,
    /// An object a sentence, one a line
    Jsonl,
    /// Arcs beside the words, for a terminal
    Arcs,
    /// One picture
    Svg,
    /// One page
    Html,
}

/// Writes parses.
pub(super) struct Writer<'a, 'o> {
    out: &'o mut dyn Write,
    parser: &'a Parser,
    format: Format,
    scores: bool,
    title: String,
    /// Sentences that were written.
    count: usize,
    drawing: html::Drawing,
}

impl<'a, 'o> Writer<'a, 'o> {
    /// Writes what comes before the first sentence. `title` is for a page or a picture.
    pub(super) fn new(
        out: &'o mut dyn Write,
        parser: &'a Parser,
        format: Format,
        scores: bool,
        title: String,
    ) -> anyhow::Result<Self> {
        match format {
            Format::Json => write!(out, "[")?,
            Format::Html => write!(out, "{}", html::trees_start(&title))?,
            _ => {}
        }
        Ok(Self { out, parser, format, scores, title, count: 0, drawing: html::Drawing::default() })
    }

    /// Writes a parse.
    pub(super) fn sentence(&mut self, mut sentence: Sentence, parse: &Parse) -> anyhow::Result<()> {
        self.count += 1;
        let answer = || Answer::of_parse(&sentence, parse, self.parser);
        match self.format {
            Format::Conllu => {
                parse.annotate(&mut sentence, self.scores);
                write_sentence(&mut self.out, &sentence)?;
            }
            Format::Json => {
                let before = if self.count == 1 { "" } else { "," };
                write!(self.out, "{before}\n{}", serde_json::to_string(&answer())?)?;
            }
            Format::Jsonl => writeln!(self.out, "{}", serde_json::to_string(&answer())?)?,
            Format::Arcs => {
                let forms: Vec<&str> = sentence.forms().collect();
                writeln!(self.out, "{}", printable(&arcs::draw(&forms, sentence.multiword_tokens(), parse)))?;
            }
            Format::Svg => {
                self.drawing.add(&answer().explanation);
                if self.drawing.size() > LARGEST_DRAWING {
                    self.drawing = html::Drawing::default();
                    anyhow::bail!("the picture gets too large after {} sentences; use --format html", self.count);
                }
            }
            Format::Html => write!(self.out, "{}", html::tree_of(&answer().explanation, self.count))?,
        }
        Ok(())
    }

    /// Writes a sentence that was not parsed as it is.
    pub(super) fn unparsed(&mut self, sentence: &Sentence) -> anyhow::Result<()> {
        Ok(write_sentence(&mut self.out, sentence)?)
    }

    /// Writes the lines of a sentence that was not read as they are.
    pub(super) fn lines(&mut self, lines: &[u8]) -> anyhow::Result<()> {
        self.out.write_all(lines)?;
        Ok(writeln!(self.out)?)
    }

    /// Gives the reader what was written.
    pub(super) fn flush(&mut self) -> anyhow::Result<()> {
        Ok(self.out.flush()?)
    }

    /// Writes what comes after the last sentence.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        match self.format {
            Format::Json => writeln!(self.out, "\n]")?,
            Format::Svg => write!(self.out, "{}", self.drawing.file(&self.title))?,
            Format::Html => write!(self.out, "{}", html::TREES_END)?,
            _ => {}
        }
        self.flush()
    }
}
