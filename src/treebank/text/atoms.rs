//! The smallest parts a text is cut into, and the contexts that tell whether a token ends between two of them.

use std::collections::BTreeSet;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// The longest chunk, in bytes, that is remembered as a whole.
const LONGEST_KNOWN_CHUNK: usize = 40;

/// A run of text between white space, cut into atoms: runs of letters, runs of digits, runs of one same other character.
pub(super) struct Chunk<'a> {
    text: &'a str,
    /// Where each atom starts, in bytes, and at the end the length of the text.
    bounds: Vec<usize>,
    /// Whether it is the last of its sentence, where a full stop means more.
    last: bool,
    address: Option<Range<usize>>,
}

impl<'a> Chunk<'a> {
    pub(super) fn new(text: &'a str, last: bool) -> Self {
        let unicode = unicode_word_bounds(text);
        let mut bounds = Vec::new();
        let mut before = None;
        for (place, grapheme) in text.grapheme_indices(true) {
            let kind = Kind::of(grapheme);
            // Scripts without spaces are cut inside runs of letters too, where Unicode has a word's end.
            let goes_on = before == Some(kind) && !(kind == Kind::Letter && unicode.contains(&place));
            if !goes_on {
                bounds.push(place);
            }
            before = Some(kind);
        }
        bounds.push(text.len());
        Self { text, bounds, last, address: address(text) }
    }

    /// The places inside the chunk where a token may end, in bytes.
    pub(super) fn boundaries(&self) -> impl Iterator<Item = usize> {
        self.bounds[..self.bounds.len() - 1].iter().skip(1).copied()
    }

    /// Whether a token surely ends at a place, or surely does not: a web or mail address is one token. `None` for the
    /// places that are to be learnt.
    pub(super) fn certain_end(&self, place: usize) -> Option<bool> {
        let address = self.address.as_ref()?;
        let (inside, edge) = (address.contains(&place), place == address.start || place == address.end);
        (inside || edge).then_some(edge)
    }

    /// The contexts of the boundary at a place, from the kinds of characters around it to the very chunk.
    pub(super) fn contexts(&self, place: usize) -> Vec<String> {
        let right = self.bounds.partition_point(|&bound| bound < place) as isize;
        let texts = [-2, -1, 0, 1].map(|step| self.atom(right + step));
        let [far_left, left, right, far_right] = texts.map(shape);
        // What is on the far side of a punctuation mark tells most about it: `5.99` is not `5.`
        let nearest = if left.starts_with(char::is_alphanumeric) {
            format!("{left} | {right} {far_right}")
        } else {
            format!("{far_left} {left} | {right}")
        };
        let shapes = format!("{far_left} {left} | {right} {far_right}");
        let [far_left, left, right, far_right] = texts.map(fold);
        let mut contexts = vec![
            format!("0 {nearest}"),
            format!("1 {shapes}"),
            format!("2 {shapes} {left} | {right}"),
            format!("3 {shapes} {far_left} {left} | {right} {far_right}"),
        ];
        // A longer chunk is not seen again, and to write it out for each of its boundaries would take for ever.
        if self.text.len() <= LONGEST_KNOWN_CHUNK {
            contexts.push(format!("4 {shapes} {} | {}", fold(&self.text[..place]), fold(&self.text[place..])));
        }
        contexts
    }

    /// The atom of a number, and past the ends what stands there: nothing, a space, or the sentence's end.
    fn atom(&self, number: isize) -> &str {
        let bound = |number: isize| usize::try_from(number).ok().and_then(|number| self.bounds.get(number));
        match (bound(number), bound(number + 1)) {
            (Some(&start), Some(&end)) => &self.text[start..end],
            (None, _) if number < 0 => "",
            _ if self.last => "$",
            _ => " ",
        }
    }
}

/// The places in a text where Unicode (UAX 29) sees the end of a word.
pub(super) fn unicode_word_bounds(text: &str) -> BTreeSet<usize> {
    text.split_word_bound_indices().map(|(place, _)| place).collect()
}

/// The text in lower case with every digit a 0; character by character, so that the count of characters stays.
pub(super) fn fold(text: &str) -> String {
    text.chars().map(|c| if c.is_numeric() { '0' } else { lower(c) }).collect()
}

/// One character in lower case, a typographic apostrophe as a plain one; of several (`İ`) the first, so that the count
/// of characters stays.
pub(super) fn lower(c: char) -> char {
    if c == '’' { '\'' } else { c.to_lowercase().next().unwrap_or(c) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Digit,
    Other(char),
}

impl Kind {
    fn of(grapheme: &str) -> Self {
        match grapheme.chars().next() {
            Some(c) if c.is_alphabetic() => Kind::Letter,
            Some(c) if c.is_numeric() => Kind::Digit,
            Some(c) => Kind::Other(c),
            None => Kind::Other(' '),
        }
    }
}

/// What an atom looks like: a letter or a word and its case, a number, or the character itself and whether it repeats.
fn shape(atom: &str) -> String {
    let mut chars = atom.chars();
    let (first, more) = (chars.next(), chars.next().is_some());
    match first {
        Some(c) if c.is_alphabetic() => {
            let upper = c.is_uppercase();
            let all_upper = upper && atom.chars().all(|c| !c.is_lowercase());
            match (upper, all_upper, more) {
                (_, true, true) => "XX",
                (true, _, false) => "X",
                (true, ..) => "Xx",
                (false, _, true) => "xx",
                (false, _, false) => "x",
            }
            .to_owned()
        }
        Some(c) if c.is_numeric() => "0".to_owned(),
        Some(c) if more => format!("{c}+"),
        Some(c) => c.to_string(),
        None => String::new(),
    }
}

/// The web or mail address in a chunk, without the punctuation around it.
fn address(chunk: &str) -> Option<Range<usize>> {
    let core = chunk.trim_start_matches(['<', '(', '[', '{', '"', '\'', '“', '‘']);
    let start = chunk.len() - core.len();
    let core = core.trim_end_matches(['>', ')', ']', '}', '"', '\'', '”', '’', '.', ',', ';', ':', '!', '?', '…']);
    let mail = core.split_once('@').is_some_and(|(user, host)| {
        user.ends_with(char::is_alphanumeric) && host.contains('.') && host.ends_with(char::is_alphanumeric)
    });
    (mail || core.contains("://") || core.starts_with("www.")).then_some(start..start + core.len())
}
