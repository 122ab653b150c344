//! Encodes sentences for the index: every gold edge with both models, and the hardest wrong heads of every word with the
//! head model.

use super::build::Step;
use super::groups::{Grouping, Numbering};
use super::labels::Labels;
use super::record::{Edge, TrainingSentence};
use crate::config::{Aggregate, Basis, Similarity};
use crate::edge::{EdgeModel, Rivals, edges_and_rivals};
use crate::encoder::Numbered;
use crate::error::{Error, Result};
use crate::files::to_json;
use crate::flow::Flow;
use crate::model::Model;
use crate::support::{support_rows, support_sums};
use crate::task::Task;
use crate::treebank::{Sentence, write_sentence};
use candle_core::Tensor;
use citree_index::sums::Sums;
use citree_index::{GraphSpec, Metric, SegmentBuilder, SpaceSpec, Spec};
use std::path::Path;

/// Sentences encoded before their rows are written; bounds the memory.
const CHUNK: usize = 2048;
/// Sentences whose mean edge tells which wrong heads are hard. More would hardly change the mean.
const SAMPLE: usize = 2048;

/// What sentences give for an index, before they are encoded.
pub(super) struct Counted {
    labels: Labels,
    label_counts: Vec<u64>,
    /// Wrong heads per word.
    per_word: usize,
    pub(super) rejected_edges: u64,
    /// Edges left out because their label is none of the index.
    pub(super) left_out: u64,
    /// The groups of every edge of each sentence.
    groups: Vec<Vec<[u32; Grouping::ALL.len()]>>,
    documents: Vec<String>,
    /// Hash of the sentences.
    pub(super) content: Vec<u8>,
}

impl Counted {
    /// Counts the edges of sentences that can be evidence and have one of these labels, with `rejected` wrong heads of every word, and numbers
    /// their groups.
    pub(super) fn of(
        model: &Model,
        labels: Labels,
        sentences: &[Sentence],
        rejected: usize,
        numbering: &mut Numbering,
    ) -> Result<Self> {
        // No training edge counts where learned weights decide.
        let per_word = if model.config.system.inference == Basis::Instances { rejected } else { 0 };
        let mut label_counts = vec![0; labels.names().len()];
        let (mut left_out, mut rejected_edges) = (0, 0);
        let mut groups = Vec::with_capacity(sentences.len());
        let documents = documents(sentences);
        let mut treebank = blake3::Hasher::new();
        for (sentence, document) in sentences.iter().zip(&documents) {
            if sentence.gold_heads().is_none() {
                let message = "the treebank has words without a head; run `citree check` on it".to_string();
                return Err(Error::Training { message });
            }
            write_sentence(&mut treebank, sentence).map_err(Error::io(Path::new("the treebank")))?;
            groups.push(numbering.groups(sentence, document));
            for word in sentence.words().iter().filter(|word| word.is_evidence()) {
                match labels.number(&word.label) {
                    Some(label) => {
                        label_counts[label as usize] += 1;
                        // All positions but the word itself and its head; ROOT is one.
                        rejected_edges += per_word.min(sentence.words().len() - 1) as u64;
                    }
                    None => left_out += 1,
                }
            }
        }
        let content = treebank.finalize().as_bytes().to_vec();
        Ok(Self { labels, label_counts, per_word, rejected_edges, left_out, groups, documents, content })
    }

    /// The number of edges.
    pub(super) fn edges(&self) -> u64 {
        self.label_counts.iter().sum()
    }

    /// What a segment of these edges holds. `numbering` has the groups of all its edges.
    pub(super) fn spec(&self, model: &Model, numbering: Numbering) -> Result<Spec> {
        let metric = match model.config.system.similarity {
            Similarity::Cosine => Metric::Cosine,
            Similarity::Dot => Metric::Dot,
        };
        let space = |edges: &EdgeModel| SpaceSpec { dims: edges.dims(), metric };
        Ok(Spec {
            spaces: [space(&model.heads.edges), space(&model.labels.edges)],
            class_counts: self.label_counts.clone(),
            groupings: numbering.counts(),
            contrasts: self.rejected_edges,
            attachment: to_json("the names of groups", &numbering.into_names(self.labels.brought()))?.into_bytes(),
            model: model.fingerprint()?.to_vec(),
            content: self.content.clone(),
            graph: GraphSpec::default(),
        })
    }

    /// Encodes the sentences and adds them to a segment. `added` receives the label and the two rows of every edge.
    pub(super) fn write(
        &self,
        model: &Model,
        sentences: &[Sentence],
        out: &mut SegmentBuilder,
        tell: &(dyn Fn(Step) -> Flow + Sync),
        mut added: impl FnMut(u32, [&[f32]; 2]),
    ) -> Result<()> {
        let label = |sentence: usize, word: usize| {
            let word = &sentences[sentence].words()[word];
            self.labels.number(&word.label).filter(|_| word.is_evidence())
        };
        let (heads_model, labels_model) = (model.heads.edges.frozen()?, model.labels.edges.frozen()?);
        let support = match self.per_word {
            0 => None,
            _ => Some(rival_support(model, &heads_model, sentences)?),
        };
        let rivals = support.as_ref().map(|support| Rivals { support, per_word: self.per_word });
        for (chunk, part) in sentences.chunks(CHUNK).enumerate() {
            if tell(Step::Encoding { done: chunk * CHUNK, total: sentences.len() }) == Flow::Stop {
                return Err(Error::Stopped);
            }
            let numbered = model.pretrained.number(&model.tables.vocabulary, part)?;
            let heads: Vec<&[usize]> = numbered.iter().map(|sentence| sentence.heads.as_slice()).collect();
            let models = [&heads_model, &labels_model];
            let (vectors, wrong) = edges_and_rivals(&models, model.config.share_encoder, &numbered, &heads, rivals)?;
            let [head_rows, label_rows] = &vectors[..] else { continue };
            for (offset, sentence) in part.iter().enumerate() {
                let at = chunk * CHUNK + offset;
                let number = out.add_source(&TrainingSentence::encode(sentence, &self.documents[at]))?;
                let rows =
                    head_rows[offset].chunks(heads_model.dims()).zip(label_rows[offset].chunks(labels_model.dims()));
                for (word, (head_row, label_row)) in rows.enumerate() {
                    let Some(label) = label(at, word) else { continue };
                    let head = heads[offset][word + 1] as u32;
                    let edge = Edge { sentence: number, dependent: word as u32 + 1, head, label };
                    out.add(edge.into(), &self.groups[at][word], [head_row, label_row])?;
                    added(label, [head_row, label_row]);
                }
                let wrong = &wrong[offset];
                for (&(dependent, head), row) in wrong.edges.iter().zip(wrong.rows.chunks(heads_model.dims())) {
                    if label(at, dependent as usize - 1).is_some() {
                        out.add_contrast(number, [dependent, head], row)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The reference that ranks wrong heads: the mean edge of the training treebank, so that the ranking does not depend on
/// the sentences to index. During training that mean is not known yet. Then it is the mean of evenly spaced sentences, so
/// that the treebank is encoded only once.
fn rival_support(model: &Model, heads: &EdgeModel, sentences: &[Sentence]) -> Result<Tensor> {
    if let Some(sums) = &model.heads.sums {
        return Ok(support_rows(sums, Aggregate::Mean, heads.device())?.get(0)?);
    }
    let stride = sentences.len().div_ceil(SAMPLE).max(1);
    let sample: Vec<Sentence> = sentences.iter().step_by(stride).cloned().collect();
    let numbered = model.pretrained.number(&model.tables.vocabulary, &sample)?;
    let numbered: Vec<&Numbered> = numbered.iter().collect();
    let sums = support_sums(&[(Task::Heads, heads)], &numbered, 1)?;
    let sums = sums.into_iter().next().unwrap_or_else(|| Sums::new(1, heads.dims()));
    Ok(support_rows(&sums, Aggregate::Mean, heads.device())?.get(0)?)
}

/// The document of every sentence: the last one that started.
fn documents(sentences: &[Sentence]) -> Vec<String> {
    let mut current = String::new();
    let document = |sentence: &Sentence| {
        if let Some(document) = sentence.document() {
            current = document.to_string();
        }
        current.clone()
    };
    sentences.iter().map(document).collect()
}
