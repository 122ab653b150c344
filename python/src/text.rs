//! Cuts plain text into sentences, where the treebank's own splitting of words shows where one ends.

use crate::pool::Stop;
use citree::treebank::Sentence;
use citree::{Parser, Result};

/// What ends a sentence, and what may follow it.
const ENDS: &[char] = &['.', '!', '?', '…', '。', '！', '？', '।', '؟', '۔'];
const CLOSERS: &[char] = &['"', '\'', '”', '’', '»', ')', ']', '}', '」', '』'];

/// The sentences of a text, each split into words. A sentence ends with its line, and after a word that is a full stop,
/// an exclamation or a question mark if a space and a word without a small first letter follow. The full stop of an
/// abbreviation does not end one, where the treebank keeps it with its word (`Mr.`). With `lines`, only lines end one.
pub(crate) fn sentences(parser: &Parser, text: &str, lines: bool, stop: &Stop) -> Result<Vec<Sentence>> {
    let mut sentences = Vec::new();
    for line in text.trim_start_matches('\u{feff}').lines().map(str::trim).filter(|line| !line.is_empty()) {
        stop.check()?;
        match lines {
            true => sentences.push(parser.split(line)),
            false => sentences.extend(pieces(&parser.split(line), line).into_iter().map(|piece| parser.split(piece))),
        }
    }
    Ok(sentences)
}

/// The parts of a line that are sentences.
fn pieces<'a>(split: &Sentence, line: &'a str) -> Vec<&'a str> {
    let (mut pieces, mut start, mut at, mut ended) = (Vec::new(), 0, 0, false);
    for token in tokens(split) {
        // The tokens are the text without its spaces. Where they are not, the rest stays in one piece.
        let Some(found) = line[at..].find(token) else { break };
        let (begins, spaced) = (at + found, found > 0);
        if ended && spaced && !token.starts_with(|c: char| c.is_lowercase() || CLOSERS.contains(&c)) {
            pieces.push(line[start..begins].trim());
            start = begins;
        }
        at = begins + token.len();
        let closes = |c: char| ENDS.contains(&c) || CLOSERS.contains(&c);
        ended = token.chars().all(closes) && (ended || token.contains(ENDS));
    }
    pieces.push(line[start..].trim());
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// The surface tokens: words, or multiword tokens in the place of theirs.
fn tokens(sentence: &Sentence) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut ranges = sentence.multiword_tokens().iter().peekable();
    let mut covered = 0;
    for (id, word) in (1..).zip(sentence.words()) {
        if let Some(range) = ranges.next_if(|range| range.first == id) {
            tokens.push(range.form.as_str());
            covered = range.last;
        }
        if id > covered {
            tokens.push(word.form.as_str());
        }
    }
    tokens
}
