//! What words and pieces of words a treebank shows, and whether a sentence looks as if it were of another language.
//!
//! Each word, and each piece of three letters, is more or less likely to be new if the text is of another language. The
//! logarithms of these ratios add up, so a few new names prove nothing, and a whole sentence of new words does.

use super::atoms::lower;
use crate::treebank::Sentence;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A smaller treebank shows too little of its language to tell.
const FEWEST_WORDS: usize = 10_000;
/// How often a word occurs at least; others are new again when they are met.
const SUPPORT: usize = 2;
/// The shares of new words and pieces that a text of another language is taken to have.
const FOREIGN: [f64; 2] = [0.75, 0.2];
/// What a piece counts beside a word; pieces of a word overlap.
const PIECE: f64 = 1.0 / 3.0;
/// Shares of the language itself are not taken to be lower than these.
const LOWEST: [f64; 2] = [0.02, 0.005];
/// The sum of logarithms from which on a text is taken for another language: odds of 160,000 to 1. No sentence of the dev
/// sets of English-EWT and Turkish-IMST reaches it.
const BOUND: f64 = 12.0;

/// The words and pieces of a treebank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shown {
    words: BTreeSet<String>,
    pieces: BTreeSet<String>,
    characters: BTreeSet<char>,
    /// New words and pieces of ten thousand in text of the same language, estimated from those that occur too rarely.
    new_words: u32,
    new_pieces: u32,
}

/// How much of a text the treebank never showed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Unseen {
    /// The words, pieces of words and characters that were looked at, and of these the new ones.
    words: [usize; 2],
    pieces: [usize; 2],
    characters: [usize; 2],
    /// The logarithm of how much more likely that is in another language.
    log_odds: f64,
}

impl Unseen {
    /// Whether the text looks as if it were of another language.
    pub(crate) fn is_foreign(&self) -> bool {
        self.log_odds > BOUND
    }

    /// Adds another text.
    #[cfg(any(feature = "cli", feature = "internals"))]
    pub(crate) fn add(&mut self, other: &Self) {
        let add = |sum: &mut [usize; 2], other: [usize; 2]| sum.iter_mut().zip(other).for_each(|(sum, n)| *sum += n);
        add(&mut self.words, other.words);
        add(&mut self.pieces, other.pieces);
        add(&mut self.characters, other.characters);
        self.log_odds += other.log_odds;
    }
}

impl std::fmt::Display for Unseen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |[all, new]: [usize; 2]| 100.0 * new as f64 / all.max(1) as f64;
        write!(
            f,
            "looks like another language than the training treebank: it never showed {:.0} % of the words, {:.0} % of \
             their pieces of three letters and {:.0} % of their characters",
            percent(self.words),
            percent(self.pieces),
            percent(self.characters)
        )
    }
}

impl Shown {
    /// Learns from a treebank; `None` if it is too small.
    pub(super) fn learn(sentences: &[Sentence]) -> Option<Self> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for form in sentences.iter().flat_map(Sentence::forms).filter(|form| is_word(form)) {
            *counts.entry(folded(form)).or_default() += 1;
        }
        let all: usize = counts.values().sum();
        let mut owners: BTreeMap<String, usize> = BTreeMap::new();
        for word in counts.keys() {
            pieces(word).for_each(|piece| *owners.entry(piece).or_default() += 1);
        }
        let rare: usize = counts.values().filter(|count| **count <= SUPPORT).sum();
        let once = owners.values().filter(|count| **count == 1).count();
        let total: usize = owners.values().sum();
        let share = |part: usize, whole: usize| (10_000 * part).checked_div(whole).unwrap_or_default() as u32;
        (all >= FEWEST_WORDS).then(|| Self {
            characters: counts.keys().flat_map(|word| word.chars()).collect(),
            words: counts.into_iter().filter(|(_, count)| *count >= SUPPORT).map(|(word, _)| word).collect(),
            pieces: owners.into_keys().collect(),
            new_words: share(rare, all),
            new_pieces: share(once, total),
        })
    }

    /// What of a sentence is new. Each word counts once; numbers, addresses and the like do not.
    pub(super) fn unseen(&self, sentence: &Sentence) -> Unseen {
        let words: BTreeSet<String> = sentence.forms().filter(|form| is_word(form)).map(folded).collect();
        let mut unseen = Unseen::default();
        let [word_weight, piece_weight] = [(self.new_words, 0), (self.new_pieces, 1)].map(|(own, which)| {
            let foreign = FOREIGN[which];
            // However rich its language, what is new speaks for another one.
            let own = (f64::from(own) / 10_000.0).clamp(LOWEST[which], foreign / 2.0);
            move |new: bool| if new { (foreign / own).ln() } else { ((1.0 - foreign) / (1.0 - own)).ln() }
        });
        let count = |counts: &mut [usize; 2], new: bool| {
            counts[0] += 1;
            counts[1] += usize::from(new);
        };
        for word in words {
            let new = !self.words.contains(&word);
            count(&mut unseen.words, new);
            unseen.log_odds += word_weight(new);
            for piece in pieces(&word) {
                let new = !self.pieces.contains(&piece);
                count(&mut unseen.pieces, new);
                unseen.log_odds += PIECE * piece_weight(new);
            }
            word.chars().for_each(|c| count(&mut unseen.characters, !self.characters.contains(&c)));
        }
        unseen
    }
}

/// Whether a form is made of letters, with hyphens and apostrophes.
fn is_word(form: &str) -> bool {
    form.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-') || is_mark(c))
        && form.contains(char::is_alphabetic)
}

/// Whether a character is a combining mark of the scripts that write vowels with them.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{5b0}'..='\u{5c7}' | '\u{64b}'..='\u{65f}' | '\u{900}'..='\u{dff}' | '\u{e31}'..='\u{e4e}')
}

fn folded(form: &str) -> String {
    form.chars().map(lower).collect()
}

/// The pieces of three characters of a word, with its edges.
fn pieces(word: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = std::iter::once('^').chain(word.chars()).chain(['$']).collect();
    (0..characters.len() - 2).map(move |at| characters[at..at + 3].iter().collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ENGLISH: [&str; 4] = [
        "the cook who lives upstairs baked a cake for us in the small kitchen",
        "she reads the old letters in the garden when it does not rain",
        "we did not know where they went after the long dinner at the station",
        "my brother watches the weather report and then he goes to work",
    ];

    fn shown(times: usize) -> Option<Shown> {
        let sentences = ENGLISH.map(|text| Sentence::from_forms(text.split(' ')));
        Shown::learn(&sentences.iter().cycle().take(4 * times).cloned().collect::<Vec<_>>())
    }

    fn foreign(text: &str) -> bool {
        shown(250).unwrap().unseen(&Sentence::from_forms(text.split(' '))).is_foreign()
    }

    #[test]
    fn text_of_another_language_is_told_and_names_and_numbers_are_not() {
        assert!(foreign("der zug nach hamburg fährt heute leider erst um neun ab"));
        assert!(foreign("ключи лежали на столе возле окна"));
        assert!(!foreign("Kowalski reads the letters"));
        assert!(!foreign("she went to Kuala Lumpur with the cook"));
        assert!(!foreign("http://www.example.org/?q=zxqvw+wvqxz 4711 :-) x@y.zw"));
        assert!(!foreign("okay"));
    }

    #[test]
    fn a_treebank_that_is_too_small_tells_nothing() {
        assert_eq!(shown(20), None);
    }

    #[test]
    fn the_warning_says_how_much_is_new() {
        let unseen = shown(250).unwrap().unseen(&Sentence::from_forms("the zug".split(' ')));
        assert_eq!(
            unseen.to_string(),
            "looks like another language than the training treebank: it never showed 50 % of the words, 50 % of their \
             pieces of three letters and 17 % of their characters"
        );
    }
}
