//! Splits one surface unit into syntactic words: `don't` → `do` `n't`, `farlo` → `fare` `lo`, `gonna` → `gon` `na`.

use super::atoms::{fold, lower};
use serde::{Deserialize, Serialize};

/// The longest ending, in characters, for which a split is learned.
const LONGEST_ENDING: usize = 7;

/// A split that is defined by a word's ending, so that it applies to other words with the same ending. The first word
/// is the unit without `tail` and with `add`; the words in `further` follow. All are in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct WordSplit {
    /// Whether the treebank writes the unit as a multiword token with a range line.
    pub range: bool,
    tail: String,
    add: String,
    further: Vec<String>,
}

impl WordSplit {
    /// The split that turns a unit into these words; `None` if they are just the unit itself.
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

    /// Applies the split to a unit. The words take the unit's case if they are just its parts. `None` if the unit has
    /// another ending or if the first word would be empty.
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

/// The contexts of a unit: its endings, from short to long, and then the unit itself.
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
    fn a_split_applies_to_words_with_the_same_ending_and_preserves_case() {
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
