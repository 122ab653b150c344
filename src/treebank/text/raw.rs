//! The running text of a treebank, put together from its tokens and from where they are joined.

use super::super::sentence::Sentence;

/// Lengths of paragraphs in a treebank that does not mark them.
const GUESSED: [usize; 8] = [1, 2, 3, 5, 8, 13, 40, 120];

/// A paragraph, and where its sentences end, in bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RawParagraph {
    pub text: String,
    pub ends: Vec<usize>,
}

/// The paragraphs of a treebank. One begins with each document and each `# newpar`; in a treebank that marks neither, after
/// as many sentences as [`GUESSED`] says, in turn, so that short and long ones are learnt from.
pub(super) fn paragraphs(sentences: &[Sentence]) -> Vec<RawParagraph> {
    let marked = sentences.iter().skip(1).any(Sentence::begins_paragraph);
    let mut paragraphs: Vec<RawParagraph> = Vec::new();
    let mut joined = true;
    for sentence in sentences {
        let full =
            paragraphs.last().is_none_or(|last| last.ends.len() >= GUESSED[(paragraphs.len() - 1) % GUESSED.len()]);
        if paragraphs.is_empty() || sentence.begins_paragraph() || (!marked && full) {
            paragraphs.push(RawParagraph::default());
            joined = true;
        }
        let Some(paragraph) = paragraphs.last_mut() else { continue };
        for (form, joined_to_next) in surface(sentence) {
            if !joined {
                paragraph.text.push(' ');
            }
            paragraph.text.push_str(form);
            joined = joined_to_next;
        }
        paragraph.ends.push(paragraph.text.len());
    }
    paragraphs
}

/// The tokens of a sentence as written, each with whether the next one is joined to it.
fn surface(sentence: &Sentence) -> Vec<(&str, bool)> {
    let mut tokens = Vec::new();
    let mut ranges = sentence.multiword_tokens().iter().peekable();
    let mut covered = 0;
    for (id, word) in (1..).zip(sentence.words()) {
        if let Some(range) = ranges.next_if(|range| range.first == id) {
            tokens.push((range.form.as_str(), range.joined_to_next()));
            covered = range.last;
        } else if id > covered {
            tokens.push((word.form.as_str(), word.joined_to_next()));
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::treebank::Reader;

    #[test]
    fn tokens_are_joined_as_written_and_a_paragraph_begins_where_the_treebank_says() {
        let text = "# newdoc\n1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n1\tdo\t_\t_\t_\t_\t0\troot\t_\t_\n\
                    2\tn't\t_\t_\t_\t_\t1\tadvmod\t_\t_\n3\t!\t_\t_\t_\t_\t1\tpunct\t_\t_\n\n\
                    1\tGo\t_\t_\t_\t_\t0\troot\t_\t_\n\n# newpar id = p2\n1\tOn\t_\t_\t_\t_\t0\troot\t_\t_\n\n";
        let sentences: Vec<Sentence> = Reader::new(text.as_bytes(), "x").map(Result::unwrap).collect();
        let paragraphs = paragraphs(&sentences);
        assert_eq!(paragraphs[0], RawParagraph { text: "don't! Go".to_owned(), ends: vec![6, 9] });
        assert_eq!(paragraphs[1], RawParagraph { text: "On".to_owned(), ends: vec![2] });
    }
}
