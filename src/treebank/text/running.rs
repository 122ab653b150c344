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
    /// Why no more can be read, once what was read before is returned.
    failed: Option<Error>,
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
            failed: None,
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
                false => Err(self.not_text(bytes[error.valid_up_to()], whole)),
            }
        })?;
        if self.start == 0 && self.pending.is_empty() {
            text = text.strip_prefix('\u{feff}').unwrap_or(text);
        }
        self.pending.push_str(text);
        Ok(whole)
    }

    fn not_text(&self, byte: u8, whole_line: bool) -> Error {
        Error::Text {
            file: self.name.clone(),
            line: self.line + u64::from(!whole_line && !self.ended),
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
            // What came before is good.
            self.cut(true);
            self.ended = true;
            self.failed = Some(error);
        }
        self.waiting.pop_front().map(Ok).or_else(|| self.failed.take().map(Err))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::treebank::text::{Splits, TextTables};
    use crate::treebank::{Reader, starter};

    fn read(text: &[u8]) -> Vec<Result<Sentence>> {
        let splits = Splits::learn(&starter::train());
        let tables = TextTables::learn(&starter::train());
        Running::new(Cutter { splits: &splits, tables: Some(&tables) }, text, "notes.txt").collect()
    }

    fn sentences(text: &str) -> Vec<Sentence> {
        read(text.as_bytes()).into_iter().map(Result::unwrap).collect()
    }

    fn texts(text: &str) -> Vec<String> {
        sentences(text).iter().map(|sentence| sentence.text().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_blank_line_ends_a_paragraph_and_a_sentence() {
        let text = "It rained. She read\r\n \t\r\n\r\nLetters\n";
        assert_eq!(texts(text), ["It rained.", "She read", "Letters"]);
        let begins: Vec<bool> = sentences(text).iter().map(|one| one.comments()[0] == "# newpar").collect();
        assert_eq!(begins, [true, false, true]);
    }

    #[test]
    fn wrapped_lines_are_one_text_and_lines_that_end_early_are_sentences() {
        let wrapped = "The cook who lives upstairs baked a large\ncake for us, and it rained all day in the\ngarden.";
        assert_eq!(texts(wrapped).len(), 1);
        assert_eq!(texts("Shopping list\nbread\nthree large eggs"), ["Shopping list", "bread", "three large eggs"]);
        let list = "- the cook baked a large cake for all of us here\n- she reads the old letters in the garden now";
        assert_eq!(texts(list).len(), 2);
    }

    #[test]
    fn every_token_stands_at_its_range_of_characters() {
        let text = "\u{feff}Zoë doesn't  know 🙂.\n\n\tIt rained… all day!  “She slept,” he said.";
        let characters: Vec<char> = text.trim_start_matches('\u{feff}').chars().collect();
        let mut seen = 0;
        for sentence in sentences(text) {
            let tokens = sentence.multiword_tokens().iter().map(|token| (&token.form, &token.misc));
            for (form, misc) in sentence.words().iter().map(|word| (&word.form, &word.misc)).chain(tokens) {
                let Some(range) = misc.split('|').find_map(|pair| pair.strip_prefix("TokenRange=")) else { continue };
                let (start, end) = range.split_once(':').unwrap();
                let place = start.parse().unwrap()..end.parse().unwrap();
                assert_eq!(String::from_iter(&characters[place]), *form);
                seen += form.chars().count();
            }
        }
        assert_eq!(seen, characters.iter().filter(|c| !c.is_whitespace()).count());
    }

    #[test]
    fn a_paragraph_without_end_is_read_in_parts_and_loses_nothing() {
        let text = "She reads the old letters. It rained all day. ".repeat(2 * MOST_BYTES / 40);
        let found = sentences(&text);
        assert_eq!(found.iter().filter(|one| one.comments()[0] == "# newpar").count(), 1);
        assert!(
            found.iter().all(|one| ["She reads the old letters.", "It rained all day."].contains(&one.text().unwrap()))
        );
        assert_eq!(found.len(), 2 * (2 * MOST_BYTES / 40));
        let last = found.last().unwrap().words().last().unwrap().misc.clone();
        assert!(last.ends_with(&format!(":{}", text.trim_end().chars().count())), "{last}");
        let word = "é".repeat(2 * MOST_BYTES);
        assert_eq!(texts(&word).concat(), word);
    }

    #[test]
    fn what_is_not_utf_8_is_an_error_with_its_line() {
        let found = read(b"\nIt rained.\nShe \xff read.\n\nNot read.\n");
        assert_eq!(found[0].as_ref().unwrap().text(), Some("It rained."));
        let message = found[1].as_ref().unwrap_err().to_string();
        assert_eq!(
            message,
            "notes.txt:3: byte 0xff is not UTF-8, but plain text is UTF-8\n  convert the file to UTF-8, for example with \
             `iconv -t utf-8`"
        );
        assert_eq!(found.len(), 2);
        for cut in [&b"It rained.\nShe \xc3"[..], b"It rained.\nShe \xff"] {
            let message = read(cut).last().unwrap().as_ref().unwrap_err().to_string();
            assert!(message.starts_with("notes.txt:2: byte 0x"), "{message}");
        }
    }

    #[test]
    fn no_text_has_no_sentences() {
        assert!(sentences("").is_empty() && sentences(" \n\u{feff}\n\t\n").len() <= 1);
    }

    #[test]
    fn full_stops_of_abbreviations_end_no_sentence_without_tables() {
        let text = "1\tMr.\t_\t_\t_\t_\t2\tflat\t_\t_\n2\tLi\t_\t_\t_\t_\t3\tnsubj\t_\t_\n\
                    3\tslept\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No\n4\t.\t_\t_\t_\t_\t3\tpunct\t_\t_\n\n";
        let treebank: Vec<Sentence> = Reader::new(text.as_bytes(), "x").map(Result::unwrap).collect();
        let splits = Splits::learn(&treebank);
        let text = "Mr. Li slept. It rained.\nWe stayed.";
        let cut = Running::new(Cutter { splits: &splits, tables: None }, text.as_bytes(), "x").map(Result::unwrap);
        let texts: Vec<String> = cut.map(|sentence| sentence.text().unwrap().to_owned()).collect();
        assert_eq!(texts, ["Mr. Li slept.", "It rained.", "We stayed."]);
    }

    #[test]
    fn scripts_without_spaces_are_cut_at_their_full_stops() {
        assert_eq!(texts("猫は好き。犬も好き。「はい。」"), ["猫は好き。", "犬も好き。", "「はい。」"]);
    }
}
