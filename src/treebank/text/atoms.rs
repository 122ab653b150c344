//! The smallest parts of a text, and the contexts that decide whether a token ends between two of them.

use std::collections::BTreeSet;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// The longest chunk, in bytes, that is a context as a whole.
const LONGEST_KNOWN_CHUNK: usize = 40;

/// A run of text between white space, split into atoms: runs of letters, runs of digits, and runs of one other
/// character.
pub(super) struct Chunk<'a> {
    text: &'a str,
    /// The start of each atom in bytes, followed by the length of the text.
    bounds: Vec<usize>,
    /// Whether it is the last chunk of its sentence, where a full stop is more likely a separate token.
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
            // Scripts without spaces are also split inside runs of letters, at Unicode word boundaries.
            let continues = before == Some(kind) && !(kind == Kind::Letter && unicode.contains(&place));
            if !continues {
                bounds.push(place);
            }
            before = Some(kind);
        }
        bounds.push(text.len());
        Self { text, bounds, last, address: address(text) }
    }

    /// The byte positions inside the chunk where a token can end.
    pub(super) fn boundaries(&self) -> impl Iterator<Item = usize> {
        self.bounds[..self.bounds.len() - 1].iter().skip(1).copied()
    }

    /// Whether a token certainly ends at a position or certainly does not: a web or mail address is one token. `None`
    /// if the decision must be learned.
    pub(super) fn certain_end(&self, place: usize) -> Option<bool> {
        let address = self.address.as_ref()?;
        let (inside, edge) = (address.contains(&place), place == address.start || place == address.end);
        (inside || edge).then_some(edge)
    }

    /// The contexts of the boundary at a position, from the kinds of characters around it to the whole chunk.
    pub(super) fn contexts(&self, place: usize) -> Vec<String> {
        let right = self.bounds.partition_point(|&bound| bound < place) as isize;
        let texts = [-2, -1, 0, 1].map(|step| self.atom(right + step));
        let [far_left, left, right, far_right] = texts.map(shape);
        // The atom behind a punctuation mark says most about it: `5.99` differs from `5.`
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
        // Longer chunks rarely repeat, and writing them out for each boundary would take quadratic time.
        if self.text.len() <= LONGEST_KNOWN_CHUNK {
            contexts.push(format!("4 {shapes} {} | {}", fold(&self.text[..place]), fold(&self.text[place..])));
        }
        contexts
    }

    /// The atom at an index. Before the first: an empty string. After the last: `$` at the end of the sentence, else a
    /// space.
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

/// The positions of Unicode word boundaries (UAX 29) in a text.
pub(super) fn unicode_word_bounds(text: &str) -> BTreeSet<usize> {
    text.split_word_bound_indices().map(|(place, _)| place).collect()
}

/// Lower-cases the text and replaces every digit by 0, character by character, so that the number of characters stays.
pub(super) fn fold(text: &str) -> String {
    text.chars().map(|c| if c.is_numeric() { '0' } else { lower(c) }).collect()
}

/// Lower-cases one character, and replaces a typographic apostrophe by a plain one. Uses only the first character of a
/// longer result (`İ`), so that the number of characters stays.
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

/// The shape of an atom: a letter or a word with its case, a number, or the character itself and whether it repeats.
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

/// The range of a web or mail address in a chunk, without the punctuation around it.
fn address(chunk: &str) -> Option<Range<usize>> {
    let core = chunk.trim_start_matches(['<', '(', '[', '{', '"', '\'', '“', '‘']);
    let start = chunk.len() - core.len();
    let core = core.trim_end_matches(['>', ')', ']', '}', '"', '\'', '”', '’', '.', ',', ';', ':', '!', '?', '…']);
    let mail = core.split_once('@').is_some_and(|(user, host)| {
        user.ends_with(char::is_alphanumeric) && host.contains('.') && host.ends_with(char::is_alphanumeric)
    });
    (mail || core.contains("://") || core.starts_with("www.")).then_some(start..start + core.len())
}
