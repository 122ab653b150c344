//! What models of the words say about an edge that never saw its document.
//!
//! The documents are dealt into folds. For each fold, three linear models are trained on the documents outside of it and
//! judge the edges inside: two of the label, given the head, and one of the head, given the label. Of the label models one
//! sees no forms and lemmas, and the other sees no parts of speech, so that an error in one column does not mislead both.
//! They see the rest of the annotated tree, so they are no parsers: they say how well an edge fits into its tree.

#[cfg(any(test, feature = "internals"))]
mod cross_fitted;
mod features;
mod folds;
mod heads;
mod labels;

#[cfg(feature = "internals")]
pub use cross_fitted::{CrossFitted, CrossFittedEdge};

use super::subject::Subject;
use crate::error::{Error, Result};
use crate::train::Flow;
use features::{Tree, View};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Fewer sentences than this teach a model nothing about a treebank.
const LEAST_SENTENCES: usize = 100;

/// What the models of the words say about the edges of a sentence.
#[derive(Clone, Debug, Default)]
pub(super) struct Opinions {
    /// The probability of each label for each word, by either label model.
    labels: [Vec<f32>; 2],
    heads: Vec<HeadOpinion>,
}

/// What the head model says about the head of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct HeadOpinion {
    /// The probability of the head that it has.
    pub own: f32,
    /// The best other head, and its probability.
    pub other: usize,
    pub other_probability: f32,
}

impl Opinions {
    /// The probability of each label for a word, by either label model.
    pub(super) fn labels(&self, word: usize) -> [&[f32]; 2] {
        let classes = self.labels[0].len() / self.heads.len().max(1);
        [0, 1].map(|at| &self.labels[at][(word - 1) * classes..][..classes])
    }

    pub(super) fn head(&self, word: usize) -> HeadOpinion {
        self.heads[word - 1]
    }
}

/// How many steps [`opinions`] takes, to show progress.
pub(super) fn steps(subjects: &[Subject<'_>], folds: usize) -> usize {
    if is_enough(subjects, folds) { folds * (2 * labels::EPOCHS + heads::EPOCHS) } else { 0 }
}

fn is_enough(subjects: &[Subject<'_>], folds: usize) -> bool {
    folds > 1 && subjects.len() >= LEAST_SENTENCES
}

/// What models of the words say about each sentence; `None` if there are too few sentences, or no folds. `label` is the
/// number of a label, below `classes`. `tell` receives the number of steps done. The result does not depend on the number
/// of threads: each model is trained by one.
pub(super) fn opinions(
    subjects: &[Subject<'_>],
    folds: usize,
    classes: usize,
    label: impl Fn(&str) -> u32 + Sync,
    tell: &(dyn Fn(usize) -> Flow + Sync),
) -> Result<Option<Vec<Opinions>>> {
    if !is_enough(subjects, folds) {
        return Ok(None);
    }
    let trees: Vec<Tree> = subjects.par_iter().map(|subject| Tree::new(subject, &label)).collect();
    let fold_of = folds::deal(subjects, folds);
    let done = AtomicUsize::new(0);
    let step = || match tell(done.fetch_add(1, Ordering::SeqCst) + 1) {
        Flow::Stop => Err(Error::Stopped),
        Flow::Continue => Ok(()),
    };
    let mut opinions: Vec<Opinions> = vec![Opinions::default(); subjects.len()];
    for (at, view) in [View::Grammar, View::Words].into_iter().enumerate() {
        let rows = labels::Rows::new(&trees, view);
        let judged =
            (0..folds).into_par_iter().map(|fold| labels::judge(&rows, &trees, &fold_of, fold, classes, &step));
        for (sentence, probabilities) in judged.collect::<Result<Vec<_>>>()?.into_iter().flatten() {
            opinions[sentence].labels[at] = probabilities;
        }
    }
    let judged = (0..folds).into_par_iter().map(|fold| heads::judge(&trees, &fold_of, fold, &step));
    for (sentence, heads) in judged.collect::<Result<Vec<_>>>()?.into_iter().flatten() {
        opinions[sentence].heads = heads;
    }
    Ok(Some(opinions))
}

/// The sentences outside of a fold, or inside of it.
fn sentences(fold_of: &[usize], fold: usize, inside: bool) -> Vec<usize> {
    (0..fold_of.len()).filter(|&sentence| (fold_of[sentence] == fold) == inside).collect()
}

/// Turns scores into probabilities.
fn softmax(scores: &mut [f32]) {
    let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - highest).exp();
        sum += *score;
    }
    scores.iter_mut().for_each(|score| *score /= sum);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::audit::{Treebank, subject};
    use crate::treebank::{LocatedSentence, starter};
    use std::collections::HashMap;
    use std::collections::HashSet;

    /// Opinions about the starter treebank, with one thread or several.
    fn of_starter(threads: usize) -> (Vec<LocatedSentence>, Vec<String>, Vec<Opinions>) {
        let located: Vec<LocatedSentence> = starter::train()
            .into_iter()
            .map(|sentence| LocatedSentence { word_lines: vec![1; sentence.words().len()], sentence })
            .collect();
        let mut names: Vec<String> =
            located.iter().flat_map(|own| own.sentence.words().iter().map(|word| word.label.clone())).collect();
        names.sort();
        names.dedup();
        let subjects = subject::without_evidence(&located);
        let numbers: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let tell = |_| Flow::Continue;
        let found =
            pool.install(|| opinions(&subjects, 3, names.len(), |label| numbers[label], &tell)).unwrap().unwrap();
        (located, names, found)
    }

    #[test]
    fn models_that_never_saw_a_document_know_most_of_its_edges_whatever_the_number_of_threads() {
        let (located, names, found) = of_starter(1);
        let (mut labels, mut heads, mut all) = (0, 0, 0);
        for (own, opinions) in located.iter().zip(&found) {
            for (word, id) in own.sentence.words().iter().zip(1..) {
                let [grammar, words] = opinions.labels(id);
                let sums: Vec<f32> = grammar.iter().zip(words).map(|(a, b)| a + b).collect();
                let best = (0..sums.len()).max_by(|&a, &b| sums[a].total_cmp(&sums[b])).unwrap();
                labels += usize::from(names[best] == word.label);
                let head = opinions.head(id);
                heads += usize::from(head.own > head.other_probability);
                all += 1;
            }
        }
        assert!(labels * 10 > all * 8 && heads * 10 > all * 7, "{labels} labels, {heads} heads of {all}");
        let (_, _, again) = of_starter(2);
        for (one, two) in found.iter().zip(&again) {
            assert_eq!((&one.labels, &one.heads), (&two.labels, &two.heads));
        }
    }

    #[test]
    fn a_label_that_only_one_document_has_is_unknown_to_the_models_that_judge_this_document() {
        let mut located: Vec<LocatedSentence> = starter::train()
            .into_iter()
            .map(|sentence| LocatedSentence { word_lines: vec![1; sentence.words().len()], sentence })
            .collect();
        let subjects = subject::without_evidence(&located);
        let document = subjects[0].document;
        let own: Vec<usize> = (0..subjects.len()).filter(|&at| subjects[at].document == document).collect();
        let dets = |sentence: &crate::treebank::Sentence| -> Vec<usize> {
            sentence.words().iter().zip(1..).filter(|(word, _)| word.label == "det").map(|(_, id)| id).collect()
        };
        let places: Vec<(usize, usize)> =
            own.iter().flat_map(|&at| dets(&located[at].sentence).into_iter().map(move |word| (at, word))).collect();
        for &(at, word) in &places {
            located[at].sentence.words_mut()[word - 1].label = "article".to_string();
        }
        let name = |at: usize| located[at].sentence.sent_id().unwrap().to_string();
        let places: HashSet<(String, usize)> = places.into_iter().map(|(at, word)| (name(at), word)).collect();
        let found = Treebank(located).cross_fitted(3).unwrap().unwrap();
        let article = found.labels.iter().position(|label| label == "article").unwrap();
        let own = found.edges.iter().filter(|edge| places.contains(&edge.place));
        let highest = own.map(|edge| edge.probabilities[article]).fold(0.0, f32::max);
        assert!(places.len() > 5 && highest < 0.2, "{} places, at most {highest}", places.len());
    }

    #[test]
    fn probabilities_add_up_to_one() {
        let mut scores = [1.0, 1.0, f32::NEG_INFINITY];
        softmax(&mut scores);
        assert_eq!(scores, [0.5, 0.5, 0.0]);
    }
}
