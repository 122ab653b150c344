//! The parse of a sentence, and how it is written into the sentence.

use crate::treebank::Sentence;

/// The parse of one sentence. All vectors start with an entry for ROOT, whose value is not meaningful.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parse {
    /// The head of every word.
    pub heads: Vec<usize>,
    /// The label of every edge.
    pub labels: Vec<String>,
    /// The probability of the head among the positions that the rule considered.
    pub head_probabilities: Vec<f32>,
    /// The probability of the label among those that the decoder allows.
    pub label_probabilities: Vec<f32>,
}

impl Parse {
    pub(super) fn empty() -> Self {
        Self {
            heads: vec![0],
            labels: vec![String::new()],
            head_probabilities: vec![1.0],
            label_probabilities: vec![1.0],
        }
    }

    /// The parse that was written into a sentence, with the probabilities of each word's head and label. `None` if these
    /// do not belong to it.
    pub fn of_sentence(sentence: &Sentence, head_probabilities: &[f32], label_probabilities: &[f32]) -> Option<Self> {
        let words = sentence.words();
        if [head_probabilities.len(), label_probabilities.len()] != [words.len(); 2] {
            return None;
        }
        let mut parse = Self::empty();
        for (word, own) in words.iter().zip(1..) {
            let head = word.head.filter(|head| *head <= words.len() && *head != own)?;
            parse.heads.push(head);
            parse.labels.push(word.label.clone());
        }
        parse.head_probabilities.extend(head_probabilities);
        parse.label_probabilities.extend(label_probabilities);
        Some(parse)
    }

    /// Writes heads and labels into the sentence, and probabilities into MISC if `scores` is set. Clears DEPS, because
    /// the enhanced graph belongs to the previous annotation.
    pub fn annotate(&self, sentence: &mut Sentence, scores: bool) {
        for (index, word) in sentence.words_mut().iter_mut().enumerate() {
            let position = index + 1;
            word.head = Some(self.heads[position]);
            word.label.clone_from(&self.labels[position]);
            word.deps = "_".to_string();
            if scores {
                word.set_misc("HeadProb", &format!("{:.4}", self.head_probabilities[position]));
                word.set_misc("LabelProb", &format!("{:.4}", self.label_probabilities[position]));
            }
        }
    }
}
