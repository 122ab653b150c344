//! Fast mode: candidates against the summed support, a batch of sentences at a time. Probabilities are computed later,
//! for the rule that decides.

use super::{Analysis, MOST_WORDS, Parse, Parser};
use crate::encoder::{Batch, Numbered, length_batches};
use crate::error::{Error, Result};
use crate::treebank::Sentence;
use rayon::prelude::*;

impl Parser {
    /// Analyses sentences in fast mode, whatever the rule, without probabilities. [`decide`](Self::decide) completes it.
    pub(crate) fn analyse_by_sums(&self, sentences: &[Sentence]) -> Result<Vec<Option<Analysis>>> {
        if let Some(sentence) = sentences.iter().find(|s| s.words().len() > MOST_WORDS) {
            return Err(Error::SentenceTooLong {
                sentence: sentence.sent_id().unwrap_or("(no sent_id)").to_string(),
                words: sentence.words().len(),
                most: MOST_WORDS,
            });
        }
        let numbered = self.number(sentences)?;
        let batches = length_batches(&numbered);
        let analysed: Result<Vec<Vec<Analysis>>> =
            batches.par_iter().map(|batch| self.analyse_batch(&numbered, batch)).collect();
        let mut analyses = vec![None; sentences.len()];
        for (at, analysis) in batches.concat().into_iter().zip(analysed?.into_iter().flatten()) {
            analyses[at] = Some(analysis);
        }
        Ok(analyses)
    }

    fn analyse_batch(&self, numbered: &[Numbered], batch: &[usize]) -> Result<Vec<Analysis>> {
        self.by.interrupt.check()?;
        let sentences: Vec<&Numbered> = batch.iter().map(|&s| &numbered[s]).collect();
        let packed = Batch::new(&sentences);
        let states = self.heads.model().encoder().states(&packed, None)?;
        let encoded = self.heads.encode_from(&states, &packed)?;
        let scores = self.heads.head_scores(&encoded)?;
        let mut rest = scores.as_slice();
        let mut parses = Vec::with_capacity(batch.len());
        let mut matrices = Vec::with_capacity(batch.len());
        for sentence in &sentences {
            let n = sentence.len();
            let (rows, after) = rest.split_at((n - 1) * n);
            rest = after;
            self.by.interrupt.check()?;
            // The decoder's matrix also has a row for ROOT.
            let matrix = [&vec![0.0; n], rows].concat();
            let heads = self.choose_heads(&matrix, n);
            parses.push(Parse { heads, ..Parse::empty() });
            matrices.push(matrix);
        }
        let heads: Vec<&[usize]> = parses.iter().map(|parse| parse.heads.as_slice()).collect();
        let names = self.labels();
        self.by.interrupt.check()?;
        let label_encoded = match self.shared {
            true => self.labels.encode_from(&states, &packed)?,
            false => self.labels.encode(&packed)?,
        };
        let mut scores = self.labels.label_scores(&label_encoded, &heads)?;
        self.exclude_empty(&mut scores);
        let mut rest = scores.as_slice();
        let mut analyses = Vec::with_capacity(batch.len());
        let states = encoded.by_sentence()?.into_iter().zip(label_encoded.by_sentence()?);
        for ((mut parse, head_scores), (head_states, label_states)) in parses.into_iter().zip(matrices).zip(states) {
            let (label_scores, after) = rest.split_at((parse.heads.len() - 1) * names.len());
            rest = after;
            for (row, word) in label_scores.chunks_exact(names.len().max(1)).zip(1..) {
                let label = self.choose_label(row, parse.heads[word]);
                parse.labels.push(names[label].clone());
            }
            let label_scores = label_scores.to_vec();
            analyses.push(Analysis {
                parse,
                head_scores,
                label_scores,
                head_states,
                label_states,
                sides: Default::default(),
            });
        }
        Ok(analyses)
    }
}
