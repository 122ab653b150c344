//! Reads running text: paragraphs between blank lines, each cut into sentences, in bounded memory whatever the text is.

use super::Cutter;
use crate::error::{Error, Result};
use crate::treebank::Sentence;
use std::collections::VecDeque;
use std::io::BufRead;
use std::ops::Range;
use std::path::PathBuf;

/// A longer paragraph is cut before its end: all sentences but the last of what was read so far.
const MOST_BYTES: usize = 256 << 10;
/// No text is wrapped to lines of fewer characters, so shorter lines end where the author ended them.
const NARROWEST: usize = 40;

/// The sentences of a running text.
///
/// A blank line ends a paragraph. Inside of one, a line break is a space where the next word would not have fitted into its
/// widest line, as in wrapped text; any other line break ends a sentence.
pub(crate) struct Running<'a, R> {
    cutter: Cutter<'a>,
    read: R,
    /// What the text is called in messages.
    name: PathBuf,
    /// What each `sent_id` begins with; sentences have none without it.
    source: Option<String>,
    /// Whether each line is a paragraph, for text that is typed line by line.
    each_line: bool,
    /// The text of the current paragraph so far, and its first character in the whole text.
    pending: String,
    start: usize,
    /// Whether `pending` begins a paragraph.
    begins: bool,
    /// The end of a character whose beginning was read.
    bytes: Vec<u8>,
    line: u64,
    sentences: usize,
    waiting: VecDeque<Sentence>,
    ended: bool,
}

impl<'a, R: BufRead> Running<'a, R> {
    pub(crate) fn new(cutter: Cutter<'a>, read: R, name: impl Into<PathBuf>) -> Self {
        Self {
            cutter,
            read,
            name: name.into(),
            source: None,
            each_line: false,
            pending: String::new(),
            start: 0,
            begins: true,
            bytes: Vec::new(),
            line: 0,
            sentences: 0,
            waiting: VecDeque::new(),
            ended: false,
        }
    }

    /// The same, which names the sentences `source-1`, `source-2` and so on.
    #[cfg(feature = "cli")]
    pub(crate) fn named(self, source: String) -> Self {
        Self { source: Some(source), ..self }
    }

    /// The same, with a paragraph in each line.
    #[cfg(feature = "cli")]
    pub(crate) fn line_by_line(self, each_line: bool) -> Self {
        Self { each_line, ..self }
    }

    /// Reads until a sentence is whole or the text ends.
    fn fill(&mut self) -> Result<()> {
        while self.waiting.is_empty() && !self.ended {
            let before = self.pending.len();
            let whole_line = self.read_line()?;
            let blank = self.pending[before..].trim().is_empty();
            if self.ended || (whole_line && (blank || self.each_line)) {
                self.cut(true);
            } else if self.pending.len() >= MOST_BYTES {
                self.cut(false);
            }
        }
        Ok(())
    }

    /// Adds a line to the paragraph, or the beginning of one that is very long. Returns whether it is whole.
    fn read_line(&mut self) -> Result<bool> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let known = bytes.len();
        let read = std::io::Read::take(&mut self.read, MOST_BYTES as u64).read_until(b'\n', &mut bytes);
        read.map_err(Error::io(&self.name))?;
        let whole = bytes.ends_with(b"\n");
        self.ended = bytes.len() == known;
        self.line += u64::from(whole || self.ended);
        let mut text = std::str::from_utf8(&bytes).or_else(|error| {
            let unfinished = error.error_len().is_none() && !self.ended && !whole;
            match unfinished {
                true => {
                    let (text, rest) = bytes.split_at(error.valid_up_to());
                    self.bytes = rest.to_vec();
                    Ok(std::str::from_utf8(text).unwrap_or_default())
                }
                false => Err(self.not_text(bytes[error.valid_up_to()])),
            }
        })?;
        if self.start == 0 && self.pending.is_empty() {
            text = text.strip_prefix('\u{feff}').unwrap_or(text);
        }
        self.pending.push_str(text);
        Ok(whole)
    }

    fn not_text(&self, byte: u8) -> Error {
        Error::Text {
            file: self.name.clone(),
            line: self.line.max(1),
            found: format!("byte {byte:#04x} is not UTF-8"),
            remedy: "convert the file to UTF-8, for example with `iconv -t utf-8`",
        }
    }

    /// Moves the sentences of the paragraph to those that wait. If it goes on, its last one stays, as it may go on too.
    fn cut(&mut self, whole: bool) {
        let mut ranges = self.cutter.sentences(&self.pending);
        let rest = match whole {
            true => self.pending.len(),
            false if ranges.len() > 1 => ranges.pop().map_or(0, |last| last.start),
            false => self.pending.len(),
        };
        let (mut at, mut characters) = (0, self.start);
        for range in ranges {
            characters += self.pending[at..range.start].chars().count();
            at = range.start;
            let mut sentence = self.cutter.splits.split_from(&self.pending[range], characters);
            self.sentences += 1;
            if let Some(source) = &self.source {
                sentence.comments.insert(0, format!("# sent_id = {source}-{}", self.sentences));
            }
            if std::mem::take(&mut self.begins) {
                sentence.comments.insert(0, "# newpar".to_owned());
            }
            self.waiting.push_back(sentence);
        }
        self.start += self.pending[..rest].chars().count();
        self.pending.drain(..rest);
        self.begins |= whole;
    }
}

impl<R: BufRead> Iterator for Running<'_, R> {
    type Item = Result<Sentence>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.waiting.is_empty()
            && let Err(error) = self.fill()
        {
            self.ended = true;
            return Some(Err(error));
        }
        self.waiting.pop_front().map(Ok)
    }
}

/// The parts of a paragraph between line breaks that end a sentence, in bytes.
pub(super) fn blocks(paragraph: &str) -> Vec<Range<usize>> {
    let mut lines: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for line in paragraph.split_inclusive('\n') {
        let shown = line.trim();
        let first = start + (line.len() - line.trim_start().len());
        start += line.len();
        if !shown.is_empty() {
            lines.push(first..first + shown.len());
        }
    }
    let length = |line: &Range<usize>| paragraph[line.clone()].chars().count();
    let widest = lines.iter().map(length).max().unwrap_or_default();
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut before: Option<Range<usize>> = None;
    for line in lines {
        let text = &paragraph[line.clone()];
        let first_word = text.split_whitespace().next().map_or(0, |word| word.chars().count());
        let wrapped = |before: &Range<usize>| length(before) + 1 + first_word > widest && widest >= NARROWEST;
        match blocks.last_mut() {
            Some(block) if before.as_ref().is_some_and(wrapped) && !begins_item(text) => block.end = line.end,
            _ => blocks.push(line.clone()),
        }
        before = Some(line);
    }
    blocks
}

/// Whether a line begins with the mark or the number of a list item.
fn begins_item(line: &str) -> bool {
    let Some((mark, _)) = line.split_once(char::is_whitespace) else { return false };
    let number = mark.strip_suffix(['.', ')']).filter(|number| number.len() <= 3);
    matches!(mark, "-" | "*" | "•" | "‣" | "▪" | "◦" | "·" | "–" | "—")
        || number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
