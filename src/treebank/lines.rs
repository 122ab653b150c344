//! Groups the lines of a file into blocks that end at a blank line, in bounded memory whatever the file contains.

use super::problem::Problem;
use super::source::GZIP;
use std::io::{self, BufRead};

/// The longest accepted line, in bytes; the longest in UD has some thousands.
pub(super) const MAX_LINE: usize = 1 << 20;
/// The longest accepted sentence, in bytes.
pub(super) const MAX_SENTENCE: usize = 4 << 20;

/// One line without its line end.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub number: u64,
    pub text: String,
    /// The bytes, if they are not UTF-8.
    #[cfg(feature = "cli")]
    foreign: Option<Box<[u8]>>,
}

#[cfg(feature = "cli")]
impl Line {
    /// The line as it was, with a line end.
    pub(super) fn bytes(&self) -> impl Iterator<Item = &u8> {
        self.foreign.as_deref().unwrap_or(self.text.as_bytes()).iter().chain(b"\n")
    }
}

/// The lines up to a blank line or the end of the file, with the problems of the lines themselves.
#[derive(Debug, Default)]
pub(super) struct RawBlock {
    pub lines: Vec<Line>,
    pub problems: Vec<Problem>,
    /// Whether a line is missing because it, or the block, is too long.
    pub truncated: bool,
}

/// Reads blocks of lines.
pub(super) struct BlockReader<R> {
    read: R,
    number: u64,
    carriage_return_seen: bool,
    ended: bool,
}

enum LineEnd {
    Newline,
    File,
}

impl<R: BufRead> BlockReader<R> {
    pub(super) fn new(read: R) -> Self {
        Self { read, number: 0, carriage_return_seen: false, ended: false }
    }

    /// The next block, or `None` at the end of the file. Stray blank lines give empty blocks.
    pub(super) fn next_block(&mut self) -> io::Result<Option<RawBlock>> {
        if self.ended {
            return Ok(None);
        }
        let mut block = RawBlock::default();
        if self.number == 0 && self.read.fill_buf().is_ok_and(|start| start.starts_with(&GZIP)) {
            self.ended = true;
            let problem = Problem::error(1, 1, "the file is compressed by gzip", "CoNLL-U is text");
            block.problems.push(problem.remedy("unpack it first, for example with `gunzip`"));
            block.truncated = true;
            return Ok(Some(block));
        }
        let (mut size, mut too_large) = (0_usize, false);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let (end, total) = self.read_line(&mut bytes)?;
            self.number += 1;
            if let LineEnd::File = end {
                self.ended = true;
                if total == 0 {
                    return Ok(self.finish(block));
                }
            }
            let kept_whole = bytes.len() == total;
            self.strip_line(&mut bytes, &mut block);
            let blank = kept_whole && bytes.iter().all(u8::is_ascii_whitespace);
            if blank {
                self.blank_line(&bytes, &mut block);
                return Ok(Some(block));
            }
            size = size.saturating_add(bytes.len());
            let fits = size <= MAX_SENTENCE;
            block.truncated |= !fits || !kept_whole;
            if !fits && !too_large {
                too_large = true;
                // Lines beyond the limit are not parsed, so that memory and time stay bounded.
                block.lines = Vec::new();
                block.problems.push(
                    Problem::error(
                        self.number,
                        1,
                        "the sentence goes on",
                        format!("{MAX_SENTENCE} bytes are the limit"),
                    )
                    .remedy("end the sentence with a blank line"),
                );
            }
            if !kept_whole {
                block.problems.push(
                    Problem::error(
                        self.number,
                        1,
                        format!("the line has {total} bytes"),
                        format!("{MAX_LINE} are the limit"),
                    )
                    .remedy("cut the line, or look whether its line end is missing"),
                );
            } else if fits {
                self.keep(&bytes, &mut block);
            }
            if self.ended {
                return Ok(self.finish(block));
            }
        }
    }

    /// Reads up to the next newline. Stores at most [`MAX_LINE`] bytes, and counts all.
    fn read_line(&mut self, kept: &mut Vec<u8>) -> io::Result<(LineEnd, usize)> {
        let mut total = 0;
        loop {
            let buffer = match self.read.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            let newline = buffer.iter().position(|&byte| byte == b'\n');
            let length = newline.unwrap_or(buffer.len());
            kept.extend_from_slice(&buffer[..length.min(MAX_LINE - kept.len())]);
            total += length;
            let at_end = buffer.is_empty();
            self.read.consume(length + usize::from(newline.is_some()));
            if newline.is_some() {
                return Ok((LineEnd::Newline, total));
            }
            if at_end {
                return Ok((LineEnd::File, total));
            }
        }
    }

    /// Removes the byte order mark and carriage returns, and reports the first of each.
    fn strip_line(&mut self, bytes: &mut Vec<u8>, block: &mut RawBlock) {
        if self.number == 1 && bytes.starts_with(b"\xEF\xBB\xBF") {
            bytes.drain(..3);
            block.problems.push(
                Problem::handled(1, 1, "the file starts with a byte order mark", "CoNLL-U has none")
                    .remedy("it is skipped; `citree check --write` leaves it out"),
            );
        }
        if bytes.last() == Some(&b'\r') {
            while bytes.last() == Some(&b'\r') {
                bytes.pop();
            }
            if !self.carriage_return_seen {
                self.carriage_return_seen = true;
                block.problems.push(
                    Problem::handled(self.number, 10, "the line ends in CR LF", "CoNLL-U lines end in LF")
                        .remedy("it is read as LF, here and below; `citree check --write` writes LF"),
                );
            }
        }
    }

    fn blank_line(&self, bytes: &[u8], block: &mut RawBlock) {
        if !bytes.is_empty() {
            block.problems.push(
                Problem::handled(self.number, 1, "the line holds only white space", "a blank line is empty")
                    .remedy("it is read as a blank line; `citree check --write` empties it"),
            );
        }
        let bare_block = block.lines.is_empty() && block.problems.iter().all(|problem| problem.handled);
        if bare_block {
            block.problems.push(
                Problem::handled(self.number, 1, "the line is blank", "one blank line ends a sentence")
                    .remedy("it is skipped; `citree check --write` leaves it out"),
            );
        }
    }

    fn keep(&self, bytes: &[u8], block: &mut RawBlock) {
        let text = String::from_utf8_lossy(bytes);
        if let Err(error) = std::str::from_utf8(bytes) {
            let before = &bytes[..error.valid_up_to()];
            let column = if bytes[0] == b'#' { 1 } else { 1 + before.iter().filter(|&&byte| byte == b'\t').count() };
            let found = format!("byte {:#04x} is not UTF-8", bytes[error.valid_up_to()]);
            block.problems.push(
                Problem::error(self.number, column, found, "CoNLL-U is UTF-8")
                    .remedy("convert the file to UTF-8, for example with `iconv -t utf-8`"),
            );
        }
        #[cfg(feature = "cli")]
        let foreign = matches!(text, std::borrow::Cow::Owned(_)).then(|| bytes.into());
        block.lines.push(Line {
            number: self.number,
            text: text.into_owned(),
            #[cfg(feature = "cli")]
            foreign,
        });
    }

    /// The last block; `None` if the file ends right after a blank line.
    fn finish(&self, mut block: RawBlock) -> Option<RawBlock> {
        if let Some(last) = block.lines.last() {
            block.problems.push(
                Problem::handled(last.number, 10, "the file ends here", "a blank line ends the last sentence")
                    .remedy("it is read as if it were there; `citree check --write` adds it"),
            );
        }
        (!block.lines.is_empty() || !block.problems.is_empty()).then_some(block)
    }
}
