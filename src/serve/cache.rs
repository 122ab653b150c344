//! A cache of analyses under slow rules, for repeated requests about the same sentences, such as clicks on their edges.

use super::snapshot::Snapshot;
use crate::bundle::Stamp;
use crate::parse::Analysis;
use crate::rule::Rule;
use crate::treebank::Sentence;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The number of requests in the cache. The analyses of long sentences take some megabytes each.
const MOST: usize = 16;

/// The analyses of the sentences of a request.
pub(super) type Analyses = Arc<Vec<Option<Analysis>>>;

/// The most recently used requests, newest first.
#[derive(Debug, Default)]
pub(super) struct AnalysisCache {
    entries: Mutex<VecDeque<(Key, Analyses)>>,
}

/// Everything that an analysis depends on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    stamp: Stamp,
    rule: Rule,
    words: Vec<Vec<String>>,
}

impl Key {
    pub(super) fn new(snapshot: &Snapshot, rule: &Rule, sentences: &[Sentence]) -> Self {
        let words = sentences.iter().map(|sentence| sentence.forms().map(str::to_string).collect()).collect();
        Self { stamp: snapshot.stamp.clone(), rule: rule.clone(), words }
    }
}

impl AnalysisCache {
    pub(super) fn get(&self, key: &Key) -> Option<Analyses> {
        let mut entries = self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let place = entries.iter().position(|(own, _)| own == key)?;
        let found = entries.remove(place)?;
        let analyses = found.1.clone();
        entries.push_front(found);
        Some(analyses)
    }

    pub(super) fn put(&self, key: Key, analyses: &Analyses) {
        let mut entries = self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        entries.push_front((key, analyses.clone()));
        entries.truncate(MOST);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::bundle::Layout;

    fn key(stamp: &Stamp, word: &str) -> Key {
        let words = vec![vec![word.to_string()]];
        Key { stamp: stamp.clone(), rule: Rule::knn(3).unwrap(), words }
    }

    #[test]
    fn recent_analyses_are_cached_by_content_rule_and_words() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::of(folder.path());
        let one = layout.stamp();
        std::fs::create_dir(layout.model()).unwrap();
        std::fs::write(layout.model_files().config, "").unwrap();
        let other = layout.stamp();
        let cache = AnalysisCache::default();
        cache.put(key(&one, "first"), &Arc::new(vec![None]));
        assert!(cache.get(&key(&one, "first")).is_some());
        assert!(cache.get(&key(&other, "first")).is_none());
        assert!(cache.get(&Key { rule: Rule::sum(), ..key(&one, "first") }).is_none());
        for number in 0..MOST - 1 {
            cache.put(key(&one, &number.to_string()), &Arc::default());
        }
        assert_eq!(cache.get(&key(&one, "first")).map(|analyses| analyses.len()), Some(1), "used lately");
        cache.put(key(&one, "one more"), &Arc::default());
        assert!(cache.get(&key(&one, "first")).is_some());
        assert!(cache.get(&key(&one, "0")).is_none(), "the oldest goes first");
    }
}
