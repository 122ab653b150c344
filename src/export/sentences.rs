//! The sentences that count, as CoNLL-U with what the index stores of them: forms, heads and labels. Edges that are no
//! evidence are marked `Evidence=No`, so that an index of the exported sentences leaves them out too.

use super::{Export, Output};
use crate::error::{Error, Result};
use crate::treebank::{Word, write_sentence};
use std::collections::HashSet;

impl Export<'_> {
    /// Writes all sentences, in the order that the edges count them.
    pub(crate) fn sentences_as_conllu(&self, mut out: Output<'_>) -> Result<()> {
        let total = self.edges.sentences();
        let mut document = String::new();
        let evidence: HashSet<(u32, u32)> = (0..self.edges.accepted())
            .filter_map(|edge| self.edges.record(edge))
            .map(|edge| (edge.sentence, edge.dependent))
            .collect();
        for number in 0..total {
            (self.tell)(u64::from(number), u64::from(total));
            let stored = self.edges.sentence(number)?;
            let mut sentence = stored.tree();
            for (dependent, word) in (1..).zip(sentence.words_mut()) {
                if !evidence.contains(&(number, dependent)) {
                    word.set_misc(Word::EVIDENCE, "No");
                }
            }
            if stored.document != document {
                sentence.set_comment("newdoc id", stored.document);
                document = stored.document.to_string();
            }
            for (key, value) in [("sent_id", stored.sent_id), ("text", stored.text)] {
                if !value.is_empty() {
                    sentence.set_comment(key, value);
                }
            }
            write_sentence(&mut out.out, &sentence).map_err(Error::io(out.name))?;
        }
        Ok(())
    }
}
