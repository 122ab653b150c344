//! The other columns, compared for aligned words as the official evaluator does: parts of speech, features and lemmas, alone
//! and together with heads and labels (MLAS, BLEX).

use super::align::SideWord;
use super::{CONTENT_LABELS, Pair, Score, same_universal_label, universal};
use serde::Serialize;

/// The labels of function words, as listed in the official evaluator. MLAS compares those that depend on a content word.
const FUNCTIONAL_LABELS: [&str; 7] = ["aux", "cop", "mark", "det", "clf", "case", "cc"];

/// The features that the official evaluator compares.
const UNIVERSAL_FEATURES: [&str; 21] = [
    "PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number", "Case", "Definite",
    "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity", "Person", "Polite",
];

/// The scores of parts of speech, features and lemmas. All are official.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TagScores {
    /// The universal part of speech is right.
    pub upos: Score,
    /// The treebank's own part of speech is right.
    pub xpos: Score,
    /// The universal features are right.
    pub feats: Score,
    /// Both parts of speech and the universal features are right.
    pub all: Score,
    /// The lemma is right. Any is where the gold file has `_`.
    pub lemmas: Score,
    /// Content words with the right head, label, part of speech and features, whose function words have them too.
    pub mlas: Score,
    /// Content words with the right head, label and lemma.
    pub blex: Score,
}

/// Compares the aligned words of two files.
pub(super) fn scores(pair: &Pair<'_>) -> TagScores {
    let feats = [features(pair.gold), features(pair.system)];
    let children = [functional_children(pair.gold), functional_children(pair.system)];
    let upos = |gold: usize, system: usize| pair.gold[gold].columns.upos == pair.system[system].columns.upos;
    let xpos = |gold: usize, system: usize| pair.gold[gold].columns.xpos == pair.system[system].columns.xpos;
    let same_feats = |gold: usize, system: usize| feats[0][gold] == feats[1][system];
    let lemma = |gold: usize, system: usize| {
        let [gold, system] = [&pair.gold[gold].columns.lemma, &pair.system[system].columns.lemma];
        gold == "_" || gold == system
    };
    let edge = |gold: usize, system: usize| {
        pair.head_is_right(gold, system) && same_universal_label(&pair.gold[gold], &pair.system[system])
    };
    let morphology = |gold: usize, system: usize| upos(gold, system) && same_feats(gold, system);
    let same_children = |gold: usize, system: usize| {
        let (gold, system) = (&children[0][gold], &children[1][system]);
        let same = |(&gold, &system): (&usize, &usize)| {
            pair.alignment.gold_of[system] == Some(gold)
                && same_universal_label(&pair.gold[gold], &pair.system[system])
                && morphology(gold, system)
        };
        gold.len() == system.len() && gold.iter().zip(system).all(same)
    };
    TagScores {
        upos: count(pair, false, upos),
        xpos: count(pair, false, xpos),
        feats: count(pair, false, same_feats),
        all: count(pair, false, |gold, system| morphology(gold, system) && xpos(gold, system)),
        lemmas: count(pair, false, lemma),
        mlas: count(pair, true, |gold, system| {
            edge(gold, system) && morphology(gold, system) && same_children(gold, system)
        }),
        blex: count(pair, true, |gold, system| edge(gold, system) && lemma(gold, system)),
    }
}

/// Counts all words or the content words of each side, and the aligned words that are right.
fn count(pair: &Pair<'_>, content: bool, right: impl Fn(usize, usize) -> bool) -> Score {
    let counts = |word: &&SideWord<'_>| !content || CONTENT_LABELS.contains(&universal(word.label));
    let correct = |&&(gold, system): &&(usize, usize)| counts(&&pair.gold[gold]) && right(gold, system);
    Score::new(
        pair.gold.iter().filter(counts).count(),
        pair.system.iter().filter(counts).count(),
        pair.alignment.pairs.iter().filter(correct).count(),
    )
}

/// The universal features of every word, sorted.
fn features<'a>(words: &[SideWord<'a>]) -> Vec<Vec<&'a str>> {
    let of = |word: &SideWord<'a>| {
        let name = |feature: &&str| UNIVERSAL_FEATURES.contains(&feature.split('=').next().unwrap_or_default());
        let mut features: Vec<&str> = word.columns.feats.split('|').filter(name).collect();
        features.sort_unstable();
        features
    };
    words.iter().map(of).collect()
}

/// The function words that depend on each word, in order.
fn functional_children(words: &[SideWord<'_>]) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); words.len()];
    for (number, word) in words.iter().enumerate() {
        if let Some(head) = word.head
            && FUNCTIONAL_LABELS.contains(&universal(word.label))
        {
            children[head].push(number);
        }
    }
    children
}
