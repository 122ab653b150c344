//! Signs of an error that are in the tree itself: a broken rule of the guidelines, at this edge or beside it, and edges that
//! cross.

use super::PUNCT;
use super::subject::Subject;
use crate::treebank::{Breach, breaches, crossed};

/// The signs of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Signs {
    /// It breaks a rule of the Universal Dependencies guidelines.
    pub broken: bool,
    /// The rule is about its label rather than its head.
    pub broken_label: bool,
    /// Its head, a dependent or a sibling breaks one.
    pub beside: bool,
    /// It is crossed by another edge.
    pub crossed: bool,
}

impl Signs {
    /// Whether there is a sign at the edge itself.
    pub(super) fn any(self) -> bool {
        self.broken || self.crossed
    }
}

/// The signs of each word of a sentence.
pub(super) fn of(subject: &Subject<'_>) -> Vec<Signs> {
    let mut signs: Vec<Signs> =
        crossed(&subject.heads).into_iter().map(|crossed| Signs { crossed, ..Signs::default() }).collect();
    for breach in breaches(&subject.sentence) {
        let own = &mut signs[breach.word - 1];
        own.broken_label |= !own.broken && breach.column() == 8;
        own.broken = true;
    }
    let is_broken = |word: usize| word > 0 && signs[word - 1].broken && subject.label(word) != PUNCT;
    let broken: Vec<usize> = (1..=subject.len()).filter(|&word| is_broken(word)).collect();
    for (signs, (word, &head)) in signs.iter_mut().zip((1..).zip(&subject.heads)) {
        let related = |&other: &usize| [word, head].contains(&subject.heads[other - 1]) || other == head;
        signs.beside = !signs.broken && broken.iter().any(related);
    }
    signs
}

/// The share of edges that are crossed, without punctuation. Where crossing is common, it is no sign.
pub(super) fn crossing_rate(subjects: &[Subject<'_>], signs: &[Vec<Signs>]) -> f64 {
    let (mut crossing, mut edges) = (1.0, 1.0);
    for (subject, signs) in subjects.iter().zip(signs) {
        for (signs, _) in signs.iter().zip(1..).filter(|(_, word)| subject.label(*word) != PUNCT) {
            edges += 1.0;
            crossing += f64::from(u8::from(signs.crossed));
        }
    }
    crossing / edges
}

/// The first rule that an edge breaks: its name, and what is wrong.
pub(super) fn broken_rule(subject: &Subject<'_>, word: usize) -> Option<Breach> {
    breaches(&subject.sentence).into_iter().find(|breach| breach.word == word)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::audit::subject::without_evidence;
    use crate::treebank::Reader;
    use std::path::Path;

    #[test]
    fn a_broken_rule_is_a_sign_at_its_edge_and_beside_it() {
        let word = |id: usize, upos: &str, head: usize, label: &str| {
            format!("{id}\tw\t_\t{upos}\t_\t_\t{head}\t{label}\t_\t_\n")
        };
        let text = word(1, "ADJ", 2, "nummod")
            + &word(2, "NOUN", 3, "obj")
            + &word(3, "VERB", 0, "root")
            + &word(4, "ADV", 1, "advmod")
            + &word(5, "ADV", 3, "advmod");
        let located = Reader::new(format!("{text}\n").as_bytes(), Path::new("x")).located_trees().unwrap();
        let subjects = without_evidence(&located);
        let signs = of(&subjects[0]);
        assert_eq!(signs.iter().map(|signs| signs.broken).collect::<Vec<_>>(), [true, false, false, false, false]);
        assert_eq!(signs.iter().map(|signs| signs.beside).collect::<Vec<_>>(), [false, true, false, true, false]);
        assert_eq!(signs.iter().map(|signs| signs.crossed).collect::<Vec<_>>(), [false, false, false, true, true]);
        assert_eq!(crossing_rate(&subjects, &[signs]), 3.0 / 6.0);
        assert_eq!(broken_rule(&subjects[0], 1).unwrap().rule, "rel-upos-nummod");
    }
}
