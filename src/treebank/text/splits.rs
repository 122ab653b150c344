//! Splits the text of a sentence into words as a treebank does: by Unicode word boundaries, corrected by what the treebank
//! shows.
//!
//! Two tables are learned. One decides where a token ends between letters, digits and punctuation (`it.` but `Mr.`,
//! `:)`, `U.S.`). The other decides how a token becomes several words (`don't` → `do` `n't`). It is keyed by word
//! endings, so `Zoe's` is split even if the treebank does not contain it. Unicode word boundaries (UAX 29) are the
//! fallback.

use super::atoms::{Chunk, fold, unicode_word_bounds};
use super::backoff::Backoff;
use super::words::{WordSplit, endings};
use crate::treebank::sentence::{MultiwordToken, Sentence, Word};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How a treebank splits text into words; part of a trained model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Splits {
    /// Whether a token ends at a boundary between atoms, by the contexts of the boundary.
    token_ends: Backoff<bool>,
    /// How a unit becomes words, by its endings; `None` does not split it.
    word_splits: Backoff<Option<WordSplit>>,
}

impl Splits {
    /// Learns from the multiword tokens and the `SpaceAfter=No` of a treebank.
    pub(crate) fn learn(sentences: &[Sentence]) -> Self {
        let mut ends = Vec::new();
        let mut units: BTreeMap<String, BTreeMap<Option<WordSplit>, usize>> = BTreeMap::new();
        for sentence in sentences {
            let chunks = chunks_of(sentence);
            for (number, tokens) in chunks.iter().enumerate() {
                let text: String = tokens.iter().map(|token| token.form).collect();
                let chunk = Chunk::new(&text, number + 1 == chunks.len());
                let token_ends: BTreeSet<usize> = running_ends(tokens);
                let boundaries: BTreeSet<usize> = chunk.boundaries().collect();
                let open = boundaries.iter().filter(|&&place| chunk.certain_end(place).is_none());
                ends.extend(open.map(|&place| (chunk.contexts(place), token_ends.contains(&place))));
                for unit in units_of(tokens, &boundaries) {
                    let (form, split) = unit_split(unit);
                    *units.entry(fold(&form)).or_default().entry(split).or_default() += 1;
                }
            }
        }
        // Each distinct unit counts once, however frequent it is, because the table is for units that were not seen.
        let usual =
            |counts: BTreeMap<_, usize>| counts.into_iter().max_by_key(|(_, count)| *count).map(|(split, _)| split);
        let votes: Vec<_> =
            units.into_iter().filter_map(|(unit, counts)| Some((endings(&unit), usual(counts)?))).collect();
        Self {
            token_ends: Backoff::learn(&ends, |level| [2, 2, 2, 1, 1][level.min(4)]),
            word_splits: Backoff::learn(&votes, |_| 1),
        }
    }

    /// Splits one line into the words of one sentence. A blank line gives a sentence without words.
    pub(crate) fn split(&self, line: &str) -> Sentence {
        let mut sentence = Sentence::default();
        sentence.set_comment("text", line);
        let chunks: Vec<&str> = line.split_whitespace().collect();
        for (number, text) in chunks.iter().enumerate() {
            let last = number + 1 == chunks.len();
            let tokens = self.tokens(text, last);
            for (place, token) in tokens.iter().enumerate() {
                self.push_token(&mut sentence, token, place + 1 < tokens.len());
            }
        }
        sentence
    }

    /// Splits the text of a sentence that begins at a character of a longer text, and notes where each token stands there.
    pub(super) fn split_from(&self, text: &str, start: usize) -> Sentence {
        let mut sentence = self.split(text);
        let (mut rest, mut at) = (text, start);
        let mut range_of = |form: &str| {
            let spaces = rest.len() - rest.trim_start().len();
            at += rest[..spaces].chars().count();
            let first = at;
            at += form.chars().count();
            rest = rest[spaces..].get(form.len()..).unwrap_or_default();
            format!("{first}:{at}")
        };
        let mut ranges = sentence.multiword_tokens.iter_mut().peekable();
        let mut covered = 0;
        for (id, word) in (1..).zip(&mut sentence.words) {
            if let Some(token) = ranges.next_if(|token| token.first == id) {
                token.set_misc("TokenRange", &range_of(&token.form));
                covered = token.last;
            } else if id > covered {
                word.set_misc("TokenRange", &range_of(&word.form));
            }
        }
        sentence
    }

    /// Whether the treebank keeps the full stop at the end of a chunk with its word, as in `Mr.`
    pub(super) fn keeps_full_stop(&self, chunk: &str) -> bool {
        let last = |chunk: &str| self.tokens(chunk, false).last().map_or(0, |token| token.len());
        chunk.ends_with('.') && chunk.contains(char::is_alphanumeric) && last(chunk) > 1
    }

    fn tokens<'a>(&self, text: &'a str, last: bool) -> Vec<&'a str> {
        let chunk = Chunk::new(text, last);
        let unicode = unicode_word_bounds(text);
        let mut tokens = Vec::new();
        let mut start = 0;
        for place in chunk.boundaries() {
            let learnt = || self.token_ends.decide(&chunk.contexts(place)).copied();
            if chunk.certain_end(place).or_else(learnt).unwrap_or_else(|| unicode.contains(&place)) {
                tokens.push(&text[start..place]);
                start = place;
            }
        }
        tokens.push(&text[start..]);
        tokens
    }

    fn push_token(&self, sentence: &mut Sentence, token: &str, joined: bool) {
        let split = self.word_splits.decide(&endings(token)).and_then(Option::as_ref);
        let words = split.and_then(|split| Some((split.range, split.apply(token)?)));
        let (range, words) = words.unwrap_or_else(|| (false, vec![token.to_owned()]));
        let first = sentence.words.len() + 1;
        sentence.words.extend(words.iter().map(|word| Word::new(word)));
        let last = sentence.words.len();
        if range {
            let mut token = MultiwordToken::new(first, last, token);
            if joined {
                token.set_misc("SpaceAfter", "No");
            }
            sentence.multiword_tokens.push(token);
            return;
        }
        for id in first..=last {
            if joined || id < last {
                sentence.words[id - 1].set_misc("SpaceAfter", "No");
            }
        }
    }
}

/// A surface token of a treebank: one word, or several under a range.
struct Token<'a> {
    form: &'a str,
    words: &'a [Word],
    range: bool,
}

/// The surface tokens of a sentence, grouped into chunks that are written without a space.
fn chunks_of(sentence: &Sentence) -> Vec<Vec<Token<'_>>> {
    let mut chunks = vec![Vec::new()];
    let mut ranges = sentence.multiword_tokens().iter().peekable();
    let mut next = 1;
    while next <= sentence.words.len() {
        let range = ranges.next_if(|range| range.first == next);
        let last = range.map_or(next, |range| range.last);
        let words = &sentence.words[next - 1..last];
        let (form, joined) = match range {
            Some(range) => (range.form.as_str(), range.joined_to_next()),
            None => (words[0].form.as_str(), words[0].joined_to_next()),
        };
        next = last + 1;
        // A form with a space cannot come from one chunk, so it is not an example.
        let usable = !form.contains(char::is_whitespace);
        if usable && let Some(chunk) = chunks.last_mut() {
            chunk.push(Token { form, words, range: range.is_some() });
        }
        if !joined || !usable {
            chunks.push(Vec::new());
        }
    }
    chunks.retain(|chunk| !chunk.is_empty());
    chunks
}

/// The end of each token of a chunk, in bytes.
fn running_ends(tokens: &[Token<'_>]) -> BTreeSet<usize> {
    let ends = tokens.iter().scan(0, |end, token| {
        *end += token.form.len();
        Some(*end)
    });
    ends.collect()
}

/// The tokens of a chunk, grouped into units. Tokens that meet inside an atom (`gon` `na`) form one unit, because only
/// a word split can separate them.
fn units_of<'a, 'b>(tokens: &'b [Token<'a>], boundaries: &BTreeSet<usize>) -> Vec<&'b [Token<'a>]> {
    let mut units = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (number, token) in tokens.iter().enumerate() {
        end += token.form.len();
        if boundaries.contains(&end) || number + 1 == tokens.len() {
            units.push(&tokens[start..=number]);
            start = number + 1;
        }
    }
    units
}

fn unit_split(tokens: &[Token<'_>]) -> (String, Option<WordSplit>) {
    let form: String = tokens.iter().map(|token| token.form).collect();
    let split = match tokens {
        [token] => WordSplit::between(token.form, token.words.iter().map(|word| word.form.as_str()), token.range),
        _ => WordSplit::between(&form, tokens.iter().map(|token| token.form), false),
    };
    (form, split)
}
