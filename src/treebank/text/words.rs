//! How one surface unit becomes syntactic words: `don't` → `do` `n't`, `farlo` → `fare` `lo`, `gonna` → `gon` `na`.

use super::atoms::{fold, lower};
use serde::{Deserialize, Serialize};

/// The longest ending, in characters, that a split is learnt for.
const LONGEST_ENDING: usize = 7;

/// A split recognised by its end, so that it serves other words of the same ending: take the tail off the unit, add some to
/// what remains, that is the first word; then come the further words. All in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct WordSplit {
    /// Whether the treebank shows the unit as a multiword token, with a range line of its own.
    pub range: bool,
    tail: String,
    add: String,
    further: Vec<String>,
}

impl WordSplit {
    /// The split that turns a unit into these words; `None` if it is one word, the same.
    pub(super) fn between<'a>(unit: &str, words: impl IntoIterator<Item = &'a str>, range: bool) -> Option<Self> {
        let mut words = words.into_iter().map(fold_case);
        let (unit, first) = (fold_case(unit), words.next()?);
        let further: Vec<String> = words.collect();
        if further.is_empty() && first == unit {
            return None;
        }
        let shared = unit.chars().zip(first.chars()).take_while(|(a, b)| a == b).count();
        let after = |text: &str| text.chars().skip(shared).collect();
        Some(Self { range, tail: after(&unit), add: after(&first), further })
    }

    /// The words of a unit, in its own case where the words are just its parts; `None` if the unit does not end so, or
    /// if nothing would remain of it.
    pub(super) fn apply(&self, unit: &str) -> Option<Vec<String>> {
        let letters: Vec<char> = unit.chars().collect();
        let (stem, tail) = letters.split_at(letters.len().checked_sub(self.tail.chars().count())?);
        let (stem, tail) = (String::from_iter(stem), String::from_iter(tail));
        let first = stem + &self.add;
        if first.is_empty() || fold_case(&tail) != self.tail {
            return None;
        }
        let mut words = vec![first];
        if self.add.is_empty() && self.further.concat() == self.tail {
            let mut rest = tail.chars();
            words.extend(self.further.iter().map(|word| rest.by_ref().take(word.chars().count()).collect::<String>()));
        } else {
            words.extend(self.further.iter().cloned());
        }
        Some(words)
    }
}

/// The contexts of a unit: its endings, growing, and at last the unit itself.
pub(super) fn endings(unit: &str) -> Vec<String> {
    let folded = fold(unit);
    let starts: Vec<usize> = folded.char_indices().map(|(place, _)| place).collect();
    let endings = starts.iter().rev().take(LONGEST_ENDING).map(|&start| format!("-{}", &folded[start..]));
    endings.chain([format!("={folded}")]).collect()
}

fn fold_case(text: &str) -> String {
    text.chars().map(lower).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_split_serves_other_words_of_the_same_ending_in_their_own_case() {
        let split = WordSplit::between("don't", ["do", "n't"], true).unwrap();
        assert_eq!(split.apply("Weren't").unwrap(), ["Were", "n't"]);
        assert_eq!(split.apply("DON'T").unwrap(), ["DO", "N'T"]);
        assert_eq!(split.apply("n't"), None);
        assert_eq!(split.apply("'t"), None);
        assert_eq!(split.apply("doesnot"), None);
    }

    #[test]
    fn a_split_may_rewrite_the_words() {
        let split = WordSplit::between("farlo", ["fare", "lo"], true).unwrap();
        assert_eq!(split.apply("Dirlo").unwrap(), ["Dire", "lo"]);
        let split = WordSplit::between("del", ["di", "il"], true).unwrap();
        assert_eq!(split.apply("Del").unwrap(), ["Di", "il"]);
    }

    #[test]
    fn a_unit_that_is_its_own_word_is_not_split() {
        assert_eq!(WordSplit::between("bread", ["bread"], false), None);
    }
}
