//! Reads the sentences that the user gives: CoNLL-U or plain text, from a file or standard input.

use crate::Error;
use crate::parse::Parser;
use crate::treebank::{Sentence, open, open_text};
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

/// Which sentences to read.
#[derive(clap::Args)]
pub(super) struct Input {
    /// The sentences in CoNLL-U; - is the standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// The input is running text, a blank line between paragraphs
    #[arg(long)]
    text: bool,
    /// The input is plain text, one sentence a line
    #[arg(long, conflicts_with = "text")]
    lines: bool,
    /// Whether each line of running text is a paragraph, because somebody waits for the answer to it.
    #[arg(skip)]
    pub(super) answers_lines: bool,
}

impl Input {
    /// The sentences, one by one. Plain text is cut into sentences and words as in the training treebank.
    pub(super) fn sentences<'a>(
        &'a self,
        parser: &'a Parser,
    ) -> anyhow::Result<Box<dyn Iterator<Item = anyhow::Result<Sentence>> + 'a>> {
        if self.text {
            let name = if self.file == Path::new("-") { Path::new("<stdin>") } else { &self.file };
            let each_line = self.answers_lines || self.is_typed();
            let running = parser.running(open_text(&self.file)?, name).line_by_line(each_line);
            return Ok(Box::new(running.named(self.source()).map(|sentence| Ok(sentence?))));
        }
        if !self.lines {
            let mut first = true;
            let sentence = move |sentence: crate::error::Result<Sentence>| {
                let first = std::mem::take(&mut first);
                sentence.map_err(|error| if first { with_hint(error) } else { error.into() })
            };
            return Ok(Box::new(open(&self.file)?.map(sentence)));
        }
        let sentence = move |(number, line): (usize, std::io::Result<String>)| match line {
            Ok(line) if without_mark(number, &line).trim().is_empty() => None,
            Ok(line) => Some(Ok(parser.split(without_mark(number, &line).trim()))),
            Err(source) => {
                let path = format!("{}:{}", self.file.display(), number + 1).into();
                Some(Err(Error::Io { path, source }.into()))
            }
        };
        Ok(Box::new(open_text(&self.file)?.lines().enumerate().filter_map(sentence)))
    }

    /// What the names of sentences begin with: the file name without its ending.
    fn source(&self) -> String {
        let stem = match self.file == Path::new("-") {
            true => "text".into(),
            false => self.file.file_stem().unwrap_or_default().to_string_lossy(),
        };
        stem.split_whitespace().collect::<Vec<_>>().join("-")
    }

    /// The file, if it is CoNLL-U.
    pub(super) fn conllu(&self) -> Option<&Path> {
        (!self.is_text()).then_some(&*self.file)
    }

    /// Whether the sentences come from the standard input.
    pub(super) fn is_stdin(&self) -> bool {
        self.file == Path::new("-")
    }

    /// Whether the input is plain text.
    pub(crate) fn is_text(&self) -> bool {
        self.text || self.lines
    }

    /// Whether the sentences are typed at a terminal.
    pub(super) fn is_typed(&self) -> bool {
        self.is_stdin() && std::io::stdin().is_terminal()
    }
}

/// A line without the byte order mark that some editors put before the first one.
fn without_mark(number: usize, line: &str) -> &str {
    if number == 0 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line }
}

/// Replaces the error by a hint if the line has no tab, as in plain text.
pub(super) fn with_hint(error: Error) -> anyhow::Error {
    match error {
        Error::Treebank { file, line, found, .. } if found.as_ref() == "the line has 1 column" => anyhow::anyhow!(
            "{}:{line}: the line has no tab, so the input is not CoNLL-U; did you mean --text?",
            file.display()
        ),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::treebank::Reader;

    fn message(text: &str) -> String {
        let first = Reader::new(text.as_bytes(), "input").next();
        with_hint(first.and_then(Result::err).expect("the input is wrong")).to_string()
    }

    #[test]
    fn plain_text_read_as_conllu_names_the_option_for_it() {
        let expected = "input:2: the line has no tab, so the input is not CoNLL-U; did you mean --text?";
        assert_eq!(message("# a comment\nShe reads.\n"), expected);
    }

    #[test]
    fn a_byte_order_mark_is_no_word() {
        assert_eq!(without_mark(0, "\u{feff}She reads."), "She reads.");
        assert_eq!(without_mark(1, "\u{feff}"), "\u{feff}");
    }

    #[test]
    fn conllu_with_too_few_columns_is_not_taken_for_text() {
        assert!(!message("1\tShe\n\n").contains("--text"));
    }
}
