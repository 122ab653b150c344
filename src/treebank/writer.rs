//! Writes sentences as CoNLL-U. A valid file is reproduced byte for byte.

use super::sentence::{Sentence, Word};
use std::io::{self, Write};

/// Writes one sentence and the blank line after it.
pub fn write_sentence(out: &mut impl Write, sentence: &Sentence) -> io::Result<()> {
    for comment in &sentence.comments {
        writeln!(out, "{comment}")?;
    }
    let mut ranges = sentence.multiword_tokens.iter().peekable();
    let mut empties = sentence.empty_nodes.iter().peekable();
    // The empty nodes after the previous word come first, then the range that starts at this word, then the word.
    for id in 1..=sentence.words.len() + 1 {
        while let Some(node) = empties.next_if(|node| node.after < id) {
            writeln!(out, "{}.{}\t{}", node.after, node.number, node.columns)?;
        }
        while let Some(token) = ranges.next_if(|token| token.first <= id) {
            writeln!(out, "{}-{}\t{}\t{}\t{}", token.first, token.last, token.form, token.middle, token.misc)?;
        }
        if let Some(word) = sentence.words.get(id - 1) {
            write_word(out, id, word)?;
        }
    }
    writeln!(out)
}

fn write_word(out: &mut impl Write, id: usize, word: &Word) -> io::Result<()> {
    let Word { form, lemma, upos, xpos, feats, head, label, deps, misc } = word;
    write!(out, "{id}\t{form}\t{lemma}\t{upos}\t{xpos}\t{feats}\t")?;
    match head {
        Some(head) => write!(out, "{head}")?,
        None => write!(out, "_")?,
    }
    writeln!(out, "\t{label}\t{deps}\t{misc}")
}
