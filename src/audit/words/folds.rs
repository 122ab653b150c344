//! Deals the documents of a treebank into folds.

use crate::audit::subject::Subject;
use std::collections::HashMap;

/// The fold of each sentence. The sentences of a document are in one fold. A sentence without a document is on its own, and
/// so is each sentence of a document with more than half of the words, because too little would be left to learn from.
/// Each document in turn goes to the fold with the fewest words, so that folds are of about one size.
pub(super) fn deal(subjects: &[Subject<'_>], folds: usize) -> Vec<usize> {
    let words: usize = subjects.iter().map(Subject::len).sum();
    let mut sizes: HashMap<u32, usize> = HashMap::new();
    for subject in subjects {
        subject.document.into_iter().for_each(|document| *sizes.entry(document).or_default() += subject.len());
    }
    let mut filled = vec![0; folds];
    let mut fewest = |more: usize| {
        let fold = (0..filled.len()).min_by_key(|&fold| filled[fold]).unwrap_or_default();
        filled[fold] += more;
        fold
    };
    let mut of_documents: HashMap<u32, usize> = HashMap::new();
    let fold = |subject: &Subject<'_>| match subject.document.filter(|document| sizes[document] * 2 <= words) {
        Some(document) => *of_documents.entry(document).or_insert_with(|| fewest(sizes[&document])),
        None => fewest(subject.len()),
    };
    subjects.iter().map(fold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::subject::without_evidence;
    use crate::treebank::{LocatedSentence, Sentence};

    fn dealt(documents: &[Option<u32>]) -> Vec<usize> {
        let mut sentence = Sentence::from_forms(["a", "b"]);
        sentence.words_mut().iter_mut().for_each(|word| word.head = Some(0));
        let located = vec![LocatedSentence { sentence, word_lines: vec![1, 2] }; documents.len()];
        let mut subjects = without_evidence(&located);
        subjects.iter_mut().zip(documents).for_each(|(subject, document)| subject.document = *document);
        deal(&subjects, 3)
    }

    #[test]
    fn the_sentences_of_a_document_are_in_one_fold_and_folds_are_of_about_one_size() {
        assert_eq!(dealt(&[Some(4), Some(4), Some(1), None, None, Some(4), Some(2)]), [0, 0, 1, 2, 1, 0, 2]);
    }

    #[test]
    fn a_document_with_most_of_the_words_is_dealt_by_sentences() {
        assert_eq!(dealt(&[Some(1), Some(1), Some(1), Some(2)]), [0, 1, 2, 0]);
    }
}
