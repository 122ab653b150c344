//! Detailed scores: by label, by dependency length and by sentence length.

use super::align::SideWord;
use super::{Pair, Score, same_label, same_universal_label};
use serde::Serialize;
use std::collections::BTreeMap;

/// The lower bounds of the dependency-length ranges; 0 is ROOT.
const DEPENDENCY_LENGTHS: [usize; 7] = [0, 1, 2, 3, 5, 10, 20];
/// The lower bounds of the sentence-length ranges.
const SENTENCE_LENGTHS: [usize; 6] = [1, 6, 11, 21, 31, 51];

/// The scores of one label.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LabelScore {
    /// The label with its subtype.
    pub label: String,
    /// Words with the correct head and label.
    #[serde(flatten)]
    pub score: Score,
}

/// The scores of one range of lengths. Gold words are grouped by gold length, system words by system length.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LengthScore {
    /// The shortest length of the range; 0 is a word attached to ROOT.
    pub from: usize,
    /// The longest length of the range; `None` for the last range.
    pub to: Option<usize>,
    /// The head is correct.
    pub uas: Score,
    /// Head and label are correct, ignoring subtypes.
    pub las: Score,
}

pub(super) fn by_label(pair: &Pair<'_>) -> Vec<LabelScore> {
    let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for word in pair.gold {
        counts.entry(word.label).or_default()[0] += 1;
    }
    for word in pair.system {
        counts.entry(word.label).or_default()[1] += 1;
    }
    for &(gold, system) in &pair.alignment.pairs {
        if pair.head_is_right(gold, system) && same_label(&pair.gold[gold], &pair.system[system]) {
            counts.entry(pair.gold[gold].label).or_default()[2] += 1;
        }
    }
    let score = |(label, [gold, system, correct]): (&str, [usize; 3])| LabelScore {
        label: label.to_owned(),
        score: Score::new(gold, system, correct),
    };
    counts.into_iter().map(score).collect()
}

pub(super) fn by_dependency_length(pair: &Pair<'_>) -> Vec<LengthScore> {
    by_length(pair, &DEPENDENCY_LENGTHS, |word| word.distance)
}

pub(super) fn by_sentence_length(pair: &Pair<'_>) -> Vec<LengthScore> {
    by_length(pair, &SENTENCE_LENGTHS, |word| word.sentence_length)
}

fn by_length(pair: &Pair<'_>, starts: &[usize], length: impl Fn(&SideWord<'_>) -> usize) -> Vec<LengthScore> {
    let range_of = |word: &SideWord<'_>| starts.partition_point(|&start| start <= length(word)).saturating_sub(1);
    let mut counts = vec![[0; 4]; starts.len()];
    pair.gold.iter().for_each(|word| counts[range_of(word)][0] += 1);
    pair.system.iter().for_each(|word| counts[range_of(word)][1] += 1);
    for &(gold, system) in &pair.alignment.pairs {
        if pair.head_is_right(gold, system) {
            let right = &mut counts[range_of(&pair.gold[gold])];
            right[2] += 1;
            right[3] += usize::from(same_universal_label(&pair.gold[gold], &pair.system[system]));
        }
    }
    let row = |(place, [gold, system, heads, labelled]): (usize, [usize; 4])| LengthScore {
        from: starts[place],
        to: starts.get(place + 1).map(|next| next - 1),
        uas: Score::new(gold, system, heads),
        las: Score::new(gold, system, labelled),
    };
    counts.into_iter().enumerate().map(row).collect()
}
