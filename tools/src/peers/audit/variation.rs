//! The variation-nuclei method (Boyd, Dickinson and Meurers 2008; de Marneffe, Grioni, Kanerva and Ginter 2017): two
//! words that occur several times with the same words between them, and not always with the same edge.
//!
//! Words are compared by lemma. An edge is judged by the other occurrences of its two words in the widest context that has
//! any: the same words on both sides of the nucleus, on one side, or whatever. Its score is the share of them that have
//! another label, another direction or no edge; a wider context counts more.

use super::corrections::Place;
use citree::treebank::Sentence;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The most words between two words of a nucleus. Longer ones hardly repeat.
const BETWEEN: usize = 8;

/// How two words are related: the label and whether the first one is the head. `None` if there is no edge.
type Relation<'a> = Option<(&'a str, bool)>;

/// The relations of the occurrences of a nucleus in a context.
type Occurrences<'a> = HashMap<u64, HashMap<Relation<'a>, usize>>;

/// The edges that vary, those with the highest score first.
pub fn ranking(sentences: &[Sentence]) -> Vec<Place> {
    // Only nuclei that are an edge somewhere can vary.
    let mut edges: Occurrences<'_> = HashMap::new();
    visit(sentences, |_, _, relation, keys| {
        if relation.is_some() {
            edges.entry(keys[0]).or_default();
        }
    });
    let mut occurrences: [Occurrences<'_>; 4] = Default::default();
    visit(sentences, |_, _, relation, keys| {
        if edges.contains_key(&keys[0]) {
            for (level, key) in occurrences.iter_mut().zip(keys) {
                *level.entry(key).or_default().entry(relation).or_default() += 1;
            }
        }
    });
    let mut found: Vec<(f64, usize, Place)> = Vec::new();
    visit(sentences, |sentence, dependent, relation, keys| {
        if relation.is_none_or(|(label, _)| label == "punct") {
            return;
        }
        // Both sides, then one of them, then none.
        for (level, weight) in [(3, 3.0), (2, 2.0), (1, 2.0), (0, 1.0)] {
            let Some(all) = occurrences[level].get(&keys[level]) else { continue };
            let total = all.values().sum::<usize>() - 1;
            let same = all.get(&relation).copied().unwrap_or(1) - 1;
            if total > 0 {
                let share = (total - same) as f64 / total as f64;
                if share > 0.0 {
                    let place = Place::new(sentence.sent_id().unwrap_or_default(), dependent);
                    found.push((weight * share, total, place));
                }
                break;
            }
        }
    });
    // Of equal scores, what more occurrences contradict comes first.
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    found.into_iter().map(|(.., place)| place).collect()
}

/// Visits all pairs of near words with their relation, the dependent if there is one, and a hash of the nucleus alone, with
/// the word to its left, with the word to its right and with both.
fn visit<'a>(sentences: &'a [Sentence], mut see: impl FnMut(&'a Sentence, usize, Relation<'a>, [u64; 4])) {
    for sentence in sentences {
        let words = sentence.words();
        let lemmas: Vec<String> = words
            .iter()
            .map(|word| if word.lemma == "_" { word.form.to_lowercase() } else { word.lemma.to_lowercase() })
            .collect();
        let lemma = |at: usize| lemmas.get(at).map_or("", String::as_str);
        for first in 0..words.len() {
            for last in first + 1..words.len().min(first + BETWEEN + 2) {
                let (dependent, relation) = if words[last].head == Some(first + 1) {
                    (last + 1, Some((words[last].label.as_str(), true)))
                } else if words[first].head == Some(last + 1) {
                    (first + 1, Some((words[first].label.as_str(), false)))
                } else {
                    (0, None)
                };
                let nucleus = &lemmas[first..=last];
                let left = if first == 0 { "" } else { lemma(first - 1) };
                let contexts = [("-", "-"), (left, "-"), ("-", lemma(last + 1)), (left, lemma(last + 1))];
                see(sentence, dependent, relation, contexts.map(|context| hash(&(nucleus, context))));
            }
        }
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use citree::treebank::Reader;

    fn treebank(labels: &[&str]) -> Vec<Sentence> {
        let sentence = |(label, at): (&&str, usize)| {
            format!("# sent_id = s{at}\n1\tnew\t_\t_\t_\t_\t2\t{label}\t_\t_\n2\tyear\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
        };
        let text: String = labels.iter().zip(1..).map(sentence).collect();
        Reader::new(text.as_bytes(), "x").trees().expect("trees")
    }

    #[test]
    fn the_edge_that_differs_from_the_same_words_elsewhere_comes_first() {
        let found = ranking(&treebank(&["amod", "amod", "compound", "amod"]));
        assert_eq!(found[0], Place::new("s3", 1));
        assert_eq!(found.len(), 4, "the others differ from it");
        assert_eq!(ranking(&treebank(&["amod", "amod"])), []);
    }
}
