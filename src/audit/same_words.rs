//! The same two words elsewhere in the treebank: how often they are annotated as an edge is, and as suggested.

use super::subject::Subject;
use std::collections::HashMap;

/// The edges of a treebank by the forms of their two words, in lower case, and their order.
pub(super) struct SameWords {
    edges: HashMap<(String, String, bool), Vec<(u32, u32)>>,
    /// The document of each sentence; a sentence without one is on its own.
    documents: Vec<Result<u32, usize>>,
}

impl SameWords {
    /// Indexes the edges of sentences. `label` is the number of a label.
    pub(super) fn new(subjects: &[Subject<'_>], label: impl Fn(&str) -> u32) -> Self {
        let mut edges: HashMap<_, Vec<(u32, u32)>> = HashMap::new();
        for (number, subject) in (0..).zip(subjects) {
            for word in 1..=subject.len() {
                let own = key(subject, word, subject.heads[word - 1]);
                edges.entry(own).or_default().push((number, label(subject.label(word))));
            }
        }
        let documents = subjects.iter().enumerate().map(|(at, subject)| subject.document.ok_or(at)).collect();
        Self { edges, documents }
    }

    /// How many edges of other documents have the same two words and a label.
    pub(super) fn count(&self, subjects: &[Subject<'_>], place: (usize, usize), head: usize, label: u32) -> usize {
        let (sentence, word) = place;
        let all = self.edges.get(&key(&subjects[sentence], word, head)).map_or(&[][..], Vec::as_slice);
        let counts =
            |(other, own): &&(u32, u32)| *own == label && self.documents[*other as usize] != self.documents[sentence];
        all.iter().filter(counts).count()
    }
}

fn key(subject: &Subject<'_>, word: usize, head: usize) -> (String, String, bool) {
    let form = |word: usize| if word == 0 { String::new() } else { subject.form(word).to_lowercase() };
    (form(word), form(head), head > word)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::audit::subject::without_evidence;
    use crate::treebank::Reader;
    use std::path::Path;

    #[test]
    fn edges_with_the_same_words_in_other_documents_are_counted_by_label() {
        let sentence = |first: &str, label: &str| {
            format!("1\t{first}\t_\t_\t_\t_\t2\t{label}\t_\t_\n2\tYork\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
        };
        let labels = [("New", "amod"), ("new", "compound"), ("NEW", "amod"), ("Old", "amod")];
        let text: String = labels.iter().map(|(first, label)| sentence(first, label)).collect();
        let located = Reader::new(text.as_bytes(), Path::new("x")).located_trees().unwrap();
        let subjects = without_evidence(&located);
        let same = SameWords::new(&subjects, |label| u32::from(label == "amod"));
        assert_eq!((same.count(&subjects, (0, 1), 2, 1), same.count(&subjects, (0, 1), 2, 0)), (1, 1));
        assert_eq!(same.count(&subjects, (1, 1), 2, 1), 2);
        assert_eq!(same.count(&subjects, (3, 1), 2, 1), 0);
    }
}
