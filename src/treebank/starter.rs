//! The starter treebank: everyday English written for citree, built into the library for the demo and the tests.

use super::{Reader, Sentence};

/// The training set of the demo.
pub fn train() -> Vec<Sentence> {
    sentences("starter/train.conllu", include_str!("starter/train.conllu"))
}

/// The dev set of the demo.
pub fn dev() -> Vec<Sentence> {
    sentences("starter/dev.conllu", include_str!("starter/dev.conllu"))
}

fn sentences(name: &str, text: &str) -> Vec<Sentence> {
    Reader::new(text.as_bytes(), name).filter_map(Result::ok).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::treebank::check;

    #[test]
    fn the_starter_treebank_has_no_problems_and_enough_sentences() {
        for text in [include_str!("starter/train.conllu"), include_str!("starter/dev.conllu")] {
            assert_eq!(check(Reader::new(text.as_bytes(), "starter"), 3, |_| Ok(())).unwrap().problems, 0);
        }
        assert!(train().len() >= 250 && dev().len() >= 50);
    }

    #[test]
    fn no_dev_sentence_is_in_the_training_set() {
        let train = train();
        let seen: std::collections::HashSet<_> = train.iter().map(|s| s.text()).collect();
        assert!(dev().iter().all(|s| s.text().is_some() && !seen.contains(&s.text())));
    }
}
