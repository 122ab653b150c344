//! Decides where a sentence ends, from the words, marks and shapes on both sides of a gap.
//!
//! A gap is a run of white space, or, inside a run of text without any, a place after a mark that can end a sentence
//! (`好。他`). Weights of features decide, learnt from the sentences of the treebank and the text between them.

use super::atoms::fold;
use super::perceptron::{Examples, Perceptron};
use super::raw::RawParagraph;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Marks that can end a sentence; the first three end other things too.
const TERMINATORS: [char; 13] = ['.', '!', '?', '…', '。', '！', '？', '｡', '।', '؟', '۔', '។', '።'];
/// Marks that can follow one.
const CLOSERS: [char; 12] = ['"', '\'', '”', '’', '»', ')', ']', '}', '」', '』', '）', '〉'];
/// Marks that end a sentence without a space after them.
const FULL_WIDTH: [char; 4] = ['。', '！', '？', '｡'];
/// How many characters of a chunk are looked at, at either end.
const SEEN: usize = 40;
/// How many gaps are learnt from. More change little and take memory.
const MOST_GAPS: usize = 500_000;

/// Where sentences end in a treebank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ends {
    weights: Perceptron,
    /// Whether the treebank has sentences without a space between them.
    joined: bool,
}

impl Ends {
    /// Learns from paragraphs with the ends of their sentences.
    pub(super) fn learn(paragraphs: &[RawParagraph]) -> Self {
        let mut examples = Examples::default();
        let mut joined = false;
        for paragraph in paragraphs {
            let ends: BTreeSet<usize> = paragraph.ends.iter().copied().collect();
            let mut walk = Walk::new(&paragraph.text);
            while let Some(gap) = walk.next_gap() {
                let end = ends.contains(&gap.at);
                joined |= end && gap.inside;
                examples.add(walk.features(&gap), end);
                walk.decided(&gap, end);
            }
            if examples.len() >= MOST_GAPS {
                break;
            }
        }
        Self { weights: Perceptron::learn(examples), joined }
    }

    /// The sentences of a text without paragraphs, in bytes, without the white space around them.
    pub(super) fn cut(&self, text: &str) -> Vec<Range<usize>> {
        let mut ends = Vec::new();
        let mut walk = Walk::new(text);
        while let Some(gap) = walk.next_gap() {
            let end = match gap.inside && !self.joined {
                true => text[..gap.at].trim_end_matches(CLOSERS).ends_with(FULL_WIDTH),
                false => self.weights.decide(&walk.features(&gap)),
            };
            if end {
                ends.push(gap.at);
            }
            walk.decided(&gap, end);
        }
        ranges(text, ends)
    }
}

/// The sentences of a text by the rules of Unicode (UAX 29). None ends after a full stop that belongs to its word.
pub(super) fn unicode_sentences(text: &str, keeps_full_stop: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
    // For Unicode a line break ends a sentence.
    let spaced: String = text.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }).collect();
    let ends = spaced.split_sentence_bound_indices().map(|(start, sentence)| start + sentence.len());
    let abbreviated = |end: &usize| last_seen(text[..*end].trim_end()).is_some_and(&keeps_full_stop);
    ranges(text, ends.filter(|end| !abbreviated(end)).collect())
}

/// The last word of a text, or its end if it is very long: looking at all of it at each end would take quadratic time.
fn last_seen(text: &str) -> Option<&str> {
    let start = text.char_indices().nth_back(SEEN - 1).map_or(0, |(at, _)| at);
    text[start..].split_whitespace().next_back()
}

/// The ranges between ends, without white space around them and without empty ones.
fn ranges(text: &str, mut ends: Vec<usize>) -> Vec<Range<usize>> {
    ends.push(text.len());
    let mut start = 0;
    let range = ends.into_iter().map(|end| {
        let part = &text[start..end];
        let first = start + (part.len() - part.trim_start().len());
        start = end;
        first..first + part.trim().len()
    });
    range.filter(|range| !range.is_empty()).collect()
}

/// A place where a sentence can end.
struct Gap {
    /// In bytes; the end of what is left of it.
    at: usize,
    /// The number of the chunk that is left of it.
    chunk: usize,
    /// Whether it is inside of the chunk.
    inside: bool,
}

/// What is seen of a chunk, a run of text without white space.
#[derive(Clone, Default)]
struct Chunk {
    /// All of it, without case.
    whole: String,
    /// Without the marks around it.
    core: String,
    /// The marks before its core.
    before: String,
    /// The marks behind it; all marks if it has no core.
    behind: String,
    shape: String,
    /// What its core begins with.
    case: char,
    length: usize,
}

/// Goes over the gaps of a text from left to right, and remembers what a decision depends on.
struct Walk<'a> {
    text: &'a str,
    places: Vec<Range<usize>>,
    chunks: Vec<Chunk>,
    style: String,
    edge: Chunk,
    /// The next chunk, and the gaps inside of it that are still to come.
    chunk: usize,
    inner: std::vec::IntoIter<usize>,
    /// Chunks since the last end.
    since: usize,
    quoted: bool,
    bracketed: bool,
}

impl<'a> Walk<'a> {
    fn new(text: &'a str) -> Self {
        let offset = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
        let places: Vec<_> = text.split_whitespace().map(|part| offset(part)..offset(part) + part.len()).collect();
        let chunks: Vec<Chunk> = places.iter().map(|place| Chunk::new(&text[place.clone()])).collect();
        let style = style(&chunks);
        let edge = Chunk { whole: "^".to_owned(), behind: "^".to_owned(), case: '^', ..Chunk::default() };
        let inner = Vec::new().into_iter();
        Self { text, places, chunks, style, edge, chunk: 0, inner, since: 0, quoted: false, bracketed: false }.entered()
    }

    /// The same, in its next chunk.
    fn entered(mut self) -> Self {
        self.enter();
        self
    }

    fn enter(&mut self) {
        let Some(place) = self.places.get(self.chunk) else { return };
        let part = &self.text[place.clone()];
        self.inner = inner_gaps(part).into_iter().map(|at| place.start + at).collect::<Vec<_>>().into_iter();
        self.since += 1;
        for c in part.chars() {
            match c {
                '"' => self.quoted = !self.quoted,
                '“' | '„' | '«' => self.quoted = true,
                '”' | '»' => self.quoted = false,
                '(' | '[' => self.bracketed = true,
                ')' | ']' => self.bracketed = false,
                _ => {}
            }
        }
    }

    /// The next gap; none after the last chunk.
    fn next_gap(&mut self) -> Option<Gap> {
        if let Some(at) = self.inner.next() {
            return Some(Gap { at, chunk: self.chunk, inside: true });
        }
        let (gap, more) = (self.chunk, self.chunk + 1 < self.places.len());
        more.then(|| Gap { at: self.places[gap].end, chunk: gap, inside: false })
    }

    /// Goes on behind the gap that was returned last.
    fn decided(&mut self, gap: &Gap, end: bool) {
        if end {
            (self.since, self.quoted, self.bracketed) = (0, false, false);
        }
        if !gap.inside {
            self.chunk += 1;
            self.enter();
        }
    }

    fn features(&self, gap: &Gap) -> Vec<String> {
        let around = |step: isize| {
            let number = gap.chunk.checked_add_signed(step);
            number.and_then(|number| self.chunks.get(number)).unwrap_or(&self.edge)
        };
        if gap.inside {
            let (left, right) = self.text.split_at(gap.at);
            let place = &self.places[gap.chunk];
            let (left, right) = (Chunk::new(&left[place.start..]), Chunk::new(&right[..place.end - gap.at]));
            return self.between(gap, "+", [around(-1), &left, &right, around(1), around(2)]);
        }
        self.between(gap, "", [-1, 0, 1, 2, 3].map(around))
    }

    /// The features of a gap between chunks. `kind` keeps those of gaps with and without a space apart.
    fn between(&self, gap: &Gap, kind: &str, [far_left, left, right, far_right, third]: [&Chunk; 5]) -> Vec<String> {
        let Self { style, quoted, bracketed, .. } = self;
        let start = format!("{}{}", right.before, right.case);
        let (behind, since) = (&left.behind, range(self.since));
        let terminated = left.behind.contains(TERMINATORS);
        let features = [
            String::new(),
            behind.clone(),
            left.core.clone(),
            left.whole.clone(),
            format!("{} {}", left.shape, right.case),
            format!("{}{}", right.core, right.case),
            start.clone(),
            right.shape.clone(),
            format!("{behind} {start}"),
            format!("{behind} {}{}", right.core, right.case),
            format!("{} {start}", left.whole),
            format!("{behind} {start} {}{}", far_right.before, far_right.case),
            format!("{terminated} {} {} {}", right.core, far_right.core, right.case),
            format!("{since} {behind} {start}"),
            format!("{style} {behind}"),
            format!("{}{} {behind} {start}", far_left.case, far_left.behind),
            format!("{} {behind} {start} {}{}", left.case, far_right.case, third.case),
            format!("{quoted} {bracketed} {behind}"),
            format!("{quoted} {bracketed} {behind} {start}"),
            format!("{} {behind} {start}", range(left.length)),
            format!("{} {terminated}", range(self.places.len() - gap.chunk - 1)),
            format!("{} {} {behind}", range(gap.chunk), gap.chunk + 1 == self.since),
        ];
        let named = |(number, feature): (usize, String)| format!("{kind}{} {feature}", char::from(b'a' + number as u8));
        features.into_iter().enumerate().map(named).collect()
    }
}

impl Chunk {
    fn new(text: &str) -> Self {
        // Long chunks rarely repeat, and looking at all of them at each gap would take quadratic time.
        let start = text.char_indices().nth_back(SEEN - 1).map_or(0, |(at, _)| at);
        let end = text.char_indices().nth(SEEN).map_or(text.len(), |(at, _)| at);
        let marks = |c: char| !c.is_alphanumeric();
        let head = text[..end].trim_start_matches(marks);
        let tail = text[start..].trim_end_matches(marks);
        let before = &text[..end - head.len()];
        let behind = if head.is_empty() { before } else { &text[start + tail.len()..] };
        let core = if start == 0 { tail.trim_start_matches(marks) } else { head };
        let mut letters = core.chars();
        let case = match letters.next() {
            Some(c) if c.is_uppercase() && letters.clone().next().is_none() => 'I',
            Some(c) if c.is_uppercase() && letters.all(|c| !c.is_lowercase()) => 'A',
            Some(c) if c.is_uppercase() => 'X',
            Some(c) if c.is_lowercase() => 'x',
            Some(c) if c.is_numeric() => '0',
            Some(_) => 'o',
            None => '-',
        };
        Self {
            whole: fold(&text[..end]),
            core: fold(core),
            before: shortened(before),
            behind: shortened(behind),
            shape: shape(&text[..end]),
            case,
            length: core.chars().count(),
        }
    }
}

/// The places inside a chunk, in bytes, where a sentence can end: after marks that can end one, before something else.
fn inner_gaps(chunk: &str) -> Vec<usize> {
    let mut gaps = Vec::new();
    let mut ended = false;
    for (at, c) in chunk.char_indices() {
        let terminator = TERMINATORS.contains(&c);
        if ended && !terminator && !CLOSERS.contains(&c) {
            gaps.push(at);
            ended = false;
        }
        ended |= terminator;
    }
    gaps
}

/// How a text is written: whether what follows a full stop has a capital, how often one comes, and how many capitals
/// there are.
fn style(chunks: &[Chunk]) -> String {
    let (mut ends, mut small) = (0, 0);
    for pair in chunks.windows(2).filter(|pair| pair[0].behind.contains(TERMINATORS)) {
        ends += 1;
        small += usize::from(pair[1].case == 'x');
    }
    let all = chunks.len();
    let capitals = |cases: &[char]| chunks.iter().filter(|chunk| cases.contains(&chunk.case)).count();
    let after = match (ends, small) {
        (0, _) => 'n',
        (ends, small) if small * 4 > ends => 'l',
        _ => 'u',
    };
    let dense = match all.checked_div(ends) {
        None => '0',
        Some(apart) if apart > 30 => 's',
        Some(_) => 'd',
    };
    let titled = match capitals(&['X', 'A', 'I']) {
        many if many * 2 > all => 'H',
        few if few * 50 < all => 'L',
        _ => 'M',
    };
    format!("{after}{dense}{titled}{}", capitals(&['A']) * 3 > all)
}

/// Marks with longer runs of one of them cut to two, six at most.
fn shortened(marks: &str) -> String {
    let mut short = String::new();
    for c in marks.chars() {
        if !short.ends_with(&[c, c].iter().collect::<String>()) && short.chars().count() < 6 {
            short.push(c);
        }
    }
    short
}

/// The kinds of characters of a chunk in turn: capitals, small letters, digits, and marks as they are; eight at most.
fn shape(chunk: &str) -> String {
    let kind = |c: char| match c {
        c if c.is_uppercase() => 'X',
        c if c.is_alphabetic() => 'x',
        c if c.is_numeric() => '0',
        c => c,
    };
    let mut kinds: Vec<char> = chunk.chars().map(kind).collect();
    kinds.dedup_by(|next, kind| next == kind && matches!(*kind, 'X' | 'x' | '0'));
    kinds.into_iter().take(8).collect()
}

/// A count in ranges that widen.
fn range(count: usize) -> usize {
    match count {
        0..=4 => count,
        5..=6 => 5,
        7..=9 => 6,
        10..=14 => 7,
        15..=24 => 8,
        25..=39 => 9,
        _ => 10,
    }
}
