//! What the maintainers of a treebank corrected later.

use anyhow::Context;
use citree::treebank::Sentence;
use std::collections::HashSet;
use std::path::Path;

/// A word: its sentence and its id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    sent_id: String,
    word: usize,
}

impl Place {
    pub fn new(sent_id: &str, word: usize) -> Self {
        Self { sent_id: sent_id.to_string(), word }
    }
}

/// The corrected edges of some sentences.
pub struct Corrections {
    sentences: HashSet<String>,
    errors: HashSet<Place>,
}

impl Corrections {
    pub fn read(corrections: &Path, sentences: &Path) -> anyhow::Result<Self> {
        let text = |path: &Path| std::fs::read_to_string(path).with_context(|| path.display().to_string());
        let mut errors = HashSet::new();
        for (line, number) in text(corrections)?.lines().zip(1..).skip(1) {
            let columns: Vec<&str> = line.split('\t').collect();
            let place = || format!("{}:{number}: not a correction", corrections.display());
            let &[sent_id, word, _, _, _, _, _, kind] = &columns[..] else { anyhow::bail!(place()) };
            if matches!(kind, "head" | "label") {
                errors.insert(Place::new(sent_id, word.parse().with_context(place)?));
            }
        }
        let sentences = text(sentences)?.lines().map(str::to_string).collect();
        Ok(Self { sentences, errors })
    }

    /// Whether it is known if the edge of a word was corrected.
    pub fn covers(&self, place: &Place) -> bool {
        self.sentences.contains(&place.sent_id)
    }

    /// Whether the edge of a word was corrected.
    pub fn is_error(&self, place: &Place) -> bool {
        self.errors.contains(place)
    }

    /// How many edges are covered, and how many of them were corrected.
    pub fn count(&self, sentences: &[Sentence]) -> (usize, usize) {
        let (mut edges, mut errors) = (0, 0);
        for sentence in sentences {
            for word in 1..=sentence.words().len() {
                let place = Place::new(sentence.sent_id().unwrap_or_default(), word);
                edges += usize::from(self.covers(&place));
                errors += usize::from(self.covers(&place) && self.is_error(&place));
            }
        }
        (edges, errors)
    }
}
