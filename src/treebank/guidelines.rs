//! Rules of the Universal Dependencies guidelines that a single tree can break: those about basic dependencies and parts
//! of speech that the official validator tests at level 3, by its names for them.
//!
//! Only the universal part of a label counts. A treebank with other labels breaks no rule, nor does a word without UPOS
//! break one about UPOS.

use super::{Sentence, Word};

/// An edge that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    /// The id of the dependent.
    pub word: usize,
    /// The validator's name of the rule.
    pub rule: String,
    /// What is wrong, in words.
    pub message: String,
}

impl Breach {
    /// The column that is probably wrong: 7 (HEAD) or 8 (DEPREL).
    pub(crate) fn column(&self) -> usize {
        let of_heads = ["leaf-", "right-to-left-", "orphan-parent", "fixed-gap", "goeswith-gap"];
        if of_heads.iter().any(|start| self.rule.starts_with(start)) { 7 } else { 8 }
    }
}

/// Labels with the parts of speech that a word with this label has.
const ONLY: [(&str, &[&str]); 7] = [
    ("advmod", &["ADV", "ADJ", "CCONJ", "DET", "PART", "SYM"]),
    ("aux", &["AUX"]),
    ("cop", &["AUX", "PRON", "DET", "SYM"]),
    ("det", &["DET", "PRON"]),
    ("expl", &["PRON", "DET", "PART"]),
    ("nummod", &["NUM", "NOUN", "SYM"]),
    ("punct", &["PUNCT"]),
];

/// Labels with the parts of speech that a word with this label does not have.
const NEVER: [(&str, &[&str]); 4] = [
    ("case", &["PROPN", "ADJ", "PRON", "DET", "NUM", "AUX"]),
    ("cc", &["NOUN", "PROPN", "ADJ", "PRON", "DET", "NUM", "VERB", "AUX", "INTJ"]),
    ("fixed", &["PROPN"]),
    ("mark", &["NOUN", "PROPN", "ADJ", "PRON", "DET", "NUM", "AUX", "INTJ"]),
];

/// Function words, with the dependents that they may have.
const DEPENDENTS: [(&str, &[&str]); 10] = [
    ("aux", &["goeswith", "fixed", "reparandum", "conj", "cc", "punct"]),
    ("case", &["advmod", "obl", "goeswith", "fixed", "reparandum", "conj", "cc", "punct"]),
    ("cc", &["goeswith", "fixed", "reparandum", "conj", "punct"]),
    ("clf", &["advmod", "obl", "goeswith", "fixed", "reparandum", "conj", "cc", "punct"]),
    ("cop", &["goeswith", "fixed", "reparandum", "conj", "cc", "punct"]),
    (
        "det",
        &[
            "det",
            "case",
            "advmod",
            "obl",
            "clf",
            "goeswith",
            "fixed",
            "flat",
            "compound",
            "reparandum",
            "discourse",
            "parataxis",
            "conj",
            "cc",
            "punct",
        ],
    ),
    ("fixed", &["goeswith", "reparandum", "conj", "punct"]),
    ("goeswith", &[]),
    ("mark", &["advmod", "obl", "goeswith", "fixed", "reparandum", "conj", "cc", "punct"]),
    ("punct", &["punct"]),
];

/// Labels whose head comes first.
const LEFT_TO_RIGHT: [&str; 5] = ["conj", "fixed", "flat", "goeswith", "appos"];
/// Labels of nominals that are no predicates, so that an `obl` of them should be `nmod`.
const NOMINAL: [&str; 8] = ["nsubj", "obj", "iobj", "obl", "vocative", "dislocated", "expl", "nmod"];
/// Labels that the head of an `orphan` can have.
const PROMOTED: [&str; 8] = ["conj", "parataxis", "root", "csubj", "ccomp", "advcl", "acl", "reparandum"];

/// Every rule that an edge of a sentence breaks, ordered by word. A sentence without heads breaks none.
pub(crate) fn breaches(sentence: &Sentence) -> Vec<Breach> {
    let Some(heads) = sentence.gold_heads() else { return Vec::new() };
    let mut children = vec![Vec::new(); heads.len() + 1];
    for (&head, word) in heads.iter().zip(1..) {
        children[head].push(word);
    }
    let tree = Tree { words: sentence.words(), heads, children };
    let mut found = Vec::new();
    for word in 1..=tree.heads.len() {
        tree.tag_rules(word, &mut found);
        tree.head_rules(word, &mut found);
        tree.dependent_rules(word, &mut found);
    }
    found.sort_by_key(|breach| breach.word);
    found
}

/// A sentence with the dependents of each word. Words are ids, from 1.
struct Tree<'a> {
    words: &'a [Word],
    heads: Vec<usize>,
    children: Vec<Vec<usize>>,
}

impl Tree<'_> {
    fn label(&self, word: usize) -> &str {
        let label = self.words[word - 1].label.as_str();
        label.split_once(':').map_or(label, |(universal, _)| universal)
    }

    fn has(&self, word: usize, label: &str) -> bool {
        self.children[word].iter().any(|&child| self.label(child) == label)
    }

    /// Rules about a label and a part of speech.
    fn tag_rules(&self, word: usize, found: &mut Vec<Breach>) {
        let (own, label) = (&self.words[word - 1], self.label(word));
        let external = feature(own, "ExtPos");
        let upos = external.unwrap_or(&own.upos);
        // The part of speech of a fixed expression is not that of its first word.
        let unknown = upos == "_" || (external.is_none() && self.has(word, "fixed"));
        if unknown || (label == "advmod" && self.has(word, "goeswith")) {
            return;
        }
        let only = ONLY.iter().find(|(own, _)| *own == label).is_some_and(|(_, tags)| !tags.contains(&upos));
        let never = NEVER.iter().find(|(own, _)| *own == label).is_some_and(|(_, tags)| tags.contains(&upos));
        if only || never {
            found.push(breach(word, format!("rel-upos-{label}"), format!("{label} is not for {upos}")));
        }
        if upos == "PUNCT" && !["punct", "root"].contains(&label) {
            found.push(breach(word, "upos-rel-punct", format!("PUNCT should be punct, not {label}")));
        }
    }

    /// Rules about a word and its head.
    fn head_rules(&self, word: usize, found: &mut Vec<Breach>) {
        let (head, label) = (self.heads[word - 1], self.label(word));
        if (head == 0) != (label == "root") {
            found.push(breach(word, "0-is-not-root", "root is the label of the word whose head is 0"));
        }
        if head == 0 {
            return;
        }
        if LEFT_TO_RIGHT.contains(&label) && head > word {
            let message = format!("the head of {label} should come before it");
            found.push(breach(word, format!("right-to-left-{label}"), message));
        }
        let nominal = ["NOUN", "PROPN", "PRON"].contains(&self.words[head - 1].upos.as_str());
        if label == "obl" && nominal && NOMINAL.contains(&self.label(head)) {
            found.push(breach(word, "obl-should-be-nmod", "obl of a nominal that is no predicate should be nmod"));
        }
        if label == "orphan" && !PROMOTED.contains(&self.label(head)) {
            let message = format!("the head of orphan should be conj, not {}", self.label(head));
            found.push(breach(word, "orphan-parent", message));
        }
        let part = |other: usize| self.heads[other - 1] == head && self.label(other) == label;
        let gap = |skipped: &str| (head + 1..word).any(|other| !part(other) && self.label(other) != skipped);
        if label == "fixed" && gap("punct") {
            found.push(breach(word, "fixed-gap", "a fixed expression should have no gap"));
        }
        if label == "goeswith" && gap("") {
            found.push(breach(word, "goeswith-gap", "the parts of a word should have no gap"));
        }
        if label == "goeswith" && head < word && self.words[word - 2].joined_to_next() {
            found.push(breach(word, "goeswith-nospace", "goeswith is for parts with a space between them"));
        }
    }

    /// Rules about the dependents of a word.
    fn dependent_rules(&self, word: usize, found: &mut Vec<Breach>) {
        let label = self.label(word);
        let allowed = DEPENDENTS.iter().find(|(own, _)| *own == label).map(|(_, allowed)| *allowed);
        for &child in &self.children[word] {
            let (own, of) = (&self.words[child - 1], self.label(child));
            let negation = of == "advmod"
                && label != "punct"
                && ["PART", "ADV"].contains(&own.upos.as_str())
                && feature(own, "Polarity") == Some("Neg");
            let possessive = label == "det"
                && feature(&self.words[word - 1], "Poss") == Some("Yes")
                && ["appos", "acl", "nmod"].contains(&of);
            if allowed.is_some_and(|allowed| !allowed.contains(&of)) && !negation && !possessive {
                // Either of the two edges can be the wrong one.
                let message = format!("{label} should have no dependent {of}");
                found.push(breach(word, format!("leaf-{label}"), message.clone()));
                found.push(breach(child, format!("leaf-{label}"), message));
            }
        }
        let subject =
            |child: &usize| self.label(*child).ends_with("subj") && !self.words[*child - 1].label.ends_with(":outer");
        self.single(word, subject, "too-many-subjects", "a predicate should have one subject", found);
        let object = |child: &usize| self.label(*child) == "obj";
        self.single(word, object, "too-many-objects", "a predicate should have one object", found);
    }

    fn single(&self, word: usize, wanted: impl Fn(&usize) -> bool, rule: &str, message: &str, found: &mut Vec<Breach>) {
        let all: Vec<usize> = self.children[word].iter().copied().filter(wanted).collect();
        if all.len() > 1 {
            found.extend(all.into_iter().map(|child| breach(child, rule, message)));
        }
    }
}

fn breach(word: usize, rule: impl Into<String>, message: impl Into<String>) -> Breach {
    Breach { word, rule: rule.into(), message: message.into() }
}

/// The value of a morphological feature.
fn feature<'a>(word: &'a Word, name: &str) -> Option<&'a str> {
    word.feats.split('|').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::treebank::Reader;

    /// The rules that a tree breaks, given by form, UPOS, features, head, label and MISC of its words.
    fn broken(words: &[(&str, &str, &str, usize, &str, &str)]) -> Vec<(usize, String)> {
        let line = |(word, id): (&(&str, &str, &str, usize, &str, &str), usize)| {
            let (form, upos, feats, head, label, misc) = word;
            format!("{id}\t{form}\t_\t{upos}\t_\t{feats}\t{head}\t{label}\t_\t{misc}\n")
        };
        let text: String = words.iter().zip(1..).map(line).collect();
        let sentence = Reader::new(format!("{text}\n").as_bytes(), "x").trees().unwrap().remove(0);
        breaches(&sentence).into_iter().map(|breach| (breach.word, breach.rule)).collect()
    }

    #[test]
    fn a_tree_by_the_guidelines_breaks_no_rule() {
        let tree = [
            ("the", "DET", "_", 3, "det", "_"),
            ("two", "NUM", "_", 3, "nummod", "_"),
            ("cats", "NOUN", "_", 5, "nsubj", "_"),
            ("did", "AUX", "_", 5, "aux", "_"),
            ("sleep", "VERB", "_", 0, "root", "_"),
            ("because", "SCONJ", "ExtPos=ADP", 8, "case", "_"),
            ("of", "ADP", "_", 6, "fixed", "_"),
            ("rain", "NOUN", "_", 5, "obl", "_"),
        ];
        assert_eq!(broken(&tree), []);
    }

    #[test]
    fn labels_that_a_part_of_speech_does_not_have_are_named() {
        let tree = [
            ("second", "ADJ", "_", 2, "nummod", "_"),
            ("cat", "NOUN", "_", 0, "root", "_"),
            ("/", "PUNCT", "_", 2, "cc", "_"),
            ("more", "_", "_", 2, "advmod", "_"),
        ];
        assert_eq!(broken(&tree), [(1, "rel-upos-nummod".to_string()), (3, "upos-rel-punct".to_string())]);
    }

    #[test]
    fn both_edges_are_named_if_a_function_word_has_a_dependent_that_it_should_not_have() {
        let words = |feats| {
            [
                ("Not", "PART", feats, 2, "advmod", "_"),
                ("and", "CCONJ", "_", 3, "cc", "_"),
                ("go", "VERB", "_", 0, "root", "_"),
            ]
        };
        assert_eq!(broken(&words("_")), [(1, "leaf-cc".to_string()), (2, "leaf-cc".to_string())]);
        assert_eq!(["leaf-cc", "rel-upos-det"].map(|rule| breach(1, rule, "").column()), [7, 8]);
        assert_eq!(broken(&words("Polarity=Neg")), [], "negation can modify any word");
    }

    #[test]
    fn order_gaps_spaces_and_numbers_of_dependents_are_checked() {
        let tree = [
            ("New", "PROPN", "_", 2, "flat", "_"),
            ("York", "PROPN", "_", 3, "nsubj", "_"),
            ("is", "VERB", "_", 0, "root", "SpaceAfter=No"),
            ("n't", "X", "_", 3, "goeswith", "_"),
            ("it", "PRON", "_", 3, "nsubj:outer", "_"),
            ("it", "PRON", "_", 3, "nsubj:pass", "_"),
        ];
        let rules = ["right-to-left-flat", "too-many-subjects", "goeswith-nospace", "too-many-subjects"];
        let expected: Vec<(usize, String)> = [1, 2, 4, 6].into_iter().zip(rules.map(str::to_string)).collect();
        assert_eq!(broken(&tree), expected);
    }
}
