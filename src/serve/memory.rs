//! Sentences that were read by a rule that takes long, kept for the next click on one of their edges.

use super::live::Current;
use crate::explain::{Inference, Reading};
use crate::treebank::Sentence;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Requests that are remembered; the readings of long sentences take some megabytes each.
const MOST: usize = 16;

/// How the sentences of a request were read.
pub(super) type Readings = Arc<Vec<Option<Reading>>>;

/// The last few requests, the newest first.
#[derive(Debug, Default)]
pub(super) struct Memory {
    kept: Mutex<VecDeque<(Key, Readings)>>,
}

/// What a reading depends on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    generation: u64,
    fingerprint: String,
    inference: Inference,
    words: Vec<Vec<String>>,
}

impl Key {
    pub(super) fn new(current: &Current, inference: Inference, sentences: &[Sentence]) -> Self {
        let words = sentences.iter().map(|sentence| sentence.forms().map(str::to_string).collect()).collect();
        Self { generation: current.generation, fingerprint: current.fingerprint.clone(), inference, words }
    }
}

impl Memory {
    pub(super) fn recall(&self, key: &Key) -> Option<Readings> {
        let mut kept = self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let place = kept.iter().position(|(own, _)| own == key)?;
        let found = kept.remove(place)?;
        let readings = found.1.clone();
        kept.push_front(found);
        Some(readings)
    }

    pub(super) fn keep(&self, key: Key, readings: &Readings) {
        let mut kept = self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        kept.push_front((key, readings.clone()));
        kept.truncate(MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(generation: u64, word: &str) -> Key {
        let words = vec![vec![word.to_string()]];
        Key { generation, fingerprint: String::new(), inference: Inference::Knn { neighbors: 3 }, words }
    }

    #[test]
    fn the_last_few_are_remembered_and_another_generation_or_rule_is_another_reading() {
        let memory = Memory::default();
        memory.keep(key(1, "first"), &Arc::new(vec![None]));
        assert!(memory.recall(&key(1, "first")).is_some());
        assert!(memory.recall(&key(2, "first")).is_none());
        assert!(memory.recall(&Key { inference: Inference::Sum, ..key(1, "first") }).is_none());
        for number in 0..MOST - 1 {
            memory.keep(key(1, &number.to_string()), &Arc::default());
        }
        assert_eq!(memory.recall(&key(1, "first")).map(|readings| readings.len()), Some(1), "used lately");
        memory.keep(key(1, "one more"), &Arc::default());
        assert!(memory.recall(&key(1, "first")).is_some());
        assert!(memory.recall(&key(1, "0")).is_none(), "the oldest goes first");
    }
}
