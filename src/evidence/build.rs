//! Builds the index of a bundle: encodes every gold edge of a treebank with both models, and the hardest wrong heads of
//! every word with the head model.

use super::groups::Numbering;
use super::record::{Edge, TrainingSentence};
use super::sum_of_sums;
use crate::config::{Aggregate, Basis, Similarity};
use crate::edge::{EdgeModel, Rivals, edges_and_rivals};
use crate::encoder::Numbered;
use crate::error::{Error, Result};
use crate::files::to_json;
use crate::model::Model;
use crate::support::{support_rows, support_sums};
use crate::task::Task;
use crate::treebank::{Sentence, write_sentence};
use candle_core::Tensor;
use citree_index::sums::Sums;
use citree_index::{Builder, GraphSpec, Metric, Progress, SpaceSpec, Spec};
use std::path::Path;

/// Sentences encoded before their rows are written; bounds the memory.
const CHUNK: usize = 2048;
/// Rejected edges per word, by default.
pub(crate) const REJECTED: usize = 2;
/// Sentences whose mean edge tells which wrong heads are hard. More would hardly change the mean.
const SAMPLE: usize = 2048;

/// The progress of a build.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Encoding edges.
    Encoding {
        /// Sentences encoded.
        done: usize,
        /// Sentences of the treebank.
        total: usize,
    },
    /// Building the index from the encoded edges.
    Indexing(Progress),
    /// Measuring rules on the dev set, at the end of training.
    Measuring {
        /// Rules measured.
        done: usize,
        /// Rules to measure.
        total: usize,
    },
}

/// The result of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Built {
    /// The number of the new generation, which is now current.
    pub generation: u64,
    /// Edges in the index.
    pub edges: u64,
    /// Rejected edges beside them.
    pub rejected: u64,
    /// Edges left out because their label is not in the model's training treebank.
    pub left_out: u64,
}

/// Encodes every gold edge of the sentences and `rejected` wrong heads of every word, and publishes a new generation of
/// the index in `folder`. If the build fails or the process ends, the previous generation stays unchanged.
///
/// `encoded` is called when all edges are encoded, with the summed support of heads and of labels. Training needs these
/// sums, so its treebank is encoded only once for both.
pub(crate) fn build(
    model: &Model,
    sentences: &[Sentence],
    folder: &Path,
    rejected: usize,
    tell: &(dyn Fn(Step) + Sync),
    encoded: impl FnOnce([Sums; 2]) -> Result<()>,
) -> Result<Built> {
    let vocabulary = &model.tables.vocabulary;
    // No training edge counts where learned weights decide.
    let rejected = if model.config.system.inference == Basis::Instances { rejected } else { 0 };
    let label = |sentence: usize, word: usize| vocabulary.label(&sentences[sentence].words()[word].label);
    let mut label_counts = vec![0; vocabulary.labels().len()];
    let (mut left_out, mut rejected_edges) = (0, 0);
    let mut numbering = Numbering::default();
    let mut groups = Vec::with_capacity(sentences.len());
    let documents = documents(sentences);
    let mut treebank = blake3::Hasher::new();
    for (at, sentence) in sentences.iter().enumerate() {
        if sentence.gold_heads().is_none() {
            let message = "the treebank has words without a head; run `citree check` on it".to_string();
            return Err(Error::Training { message });
        }
        write_sentence(&mut treebank, sentence).map_err(Error::io(folder))?;
        groups.push(numbering.groups(sentence, &documents[at]));
        for word in 0..sentence.words().len() {
            match label(at, word) {
                Some(label) => {
                    label_counts[label as usize] += 1;
                    // All positions but the word itself and its head; ROOT is one.
                    rejected_edges += rejected.min(sentence.words().len() - 1) as u64;
                }
                None => left_out += 1,
            }
        }
    }
    if label_counts.iter().all(|&count| count == 0) {
        let message = match left_out {
            0 => "the treebank has no words, so there is nothing to index; the index stays as it was".to_string(),
            _ => {
                "the model knows none of the treebank's labels, so there is nothing to index; the index stays as it was"
                    .to_string()
            }
        };
        return Err(Error::Training { message });
    }
    let metric = match model.config.system.similarity {
        Similarity::Cosine => Metric::Cosine,
        Similarity::Dot => Metric::Dot,
    };
    let space = |edges: &EdgeModel| SpaceSpec { dims: edges.dims(), metric };
    let edges = label_counts.iter().sum();
    let spec = Spec {
        spaces: [space(&model.heads.edges), space(&model.labels.edges)],
        class_counts: label_counts,
        groupings: numbering.counts(),
        contrasts: rejected_edges,
        attachment: to_json("the names of groups", &numbering.into_names())?.into_bytes(),
        model: model.fingerprint()?.to_vec(),
        content: treebank.finalize().as_bytes().to_vec(),
        graph: GraphSpec::default(),
    };
    let mut builder = Builder::create(folder, spec)?;
    let (heads_model, labels_model) = (model.heads.edges.frozen()?, model.labels.edges.frozen()?);
    let mut sums = [&heads_model, &labels_model].map(|model| Sums::new(vocabulary.labels().len(), model.dims()));
    let support = match rejected {
        0 => None,
        _ => Some(rival_support(model, &heads_model, sentences)?),
    };
    let rivals = support.as_ref().map(|support| Rivals { support, per_word: rejected });
    for (chunk, part) in sentences.chunks(CHUNK).enumerate() {
        tell(Step::Encoding { done: chunk * CHUNK, total: sentences.len() });
        let numbered = model.pretrained.number(vocabulary, part)?;
        let heads: Vec<&[usize]> = numbered.iter().map(|sentence| sentence.heads.as_slice()).collect();
        let models = [&heads_model, &labels_model];
        let (vectors, wrong) = edges_and_rivals(&models, model.config.share_encoder, &numbered, &heads, rivals)?;
        let [head_rows, label_rows] = &vectors[..] else { continue };
        for (offset, sentence) in part.iter().enumerate() {
            let at = chunk * CHUNK + offset;
            let number = builder.add_source(&TrainingSentence::encode(sentence, &documents[at]))?;
            let rows = head_rows[offset].chunks(heads_model.dims()).zip(label_rows[offset].chunks(labels_model.dims()));
            for (word, (head_row, label_row)) in rows.enumerate() {
                let Some(label) = label(at, word) else { continue };
                let head = heads[offset][word + 1] as u32;
                let edge = Edge { sentence: number, dependent: word as u32 + 1, head, label };
                builder.add(edge.into(), &groups[at][word], [head_row, label_row])?;
                let [head_sums, label_sums] = &mut sums;
                head_sums.add(label as usize, head_row);
                label_sums.add(label as usize, label_row);
            }
            let wrong = &wrong[offset];
            for (&(dependent, head), row) in wrong.edges.iter().zip(wrong.rows.chunks(heads_model.dims())) {
                if label(at, dependent as usize - 1).is_some() {
                    builder.add_contrast(number, [dependent, head], row)?;
                }
            }
        }
    }
    let [head_sums, label_sums] = sums;
    encoded([one_class(&head_sums), label_sums])?;
    let generation = builder.finish(&|progress| tell(Step::Indexing(progress)))?;
    Ok(Built { generation, edges, rejected: rejected_edges, left_out })
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

/// Merges the sums of all labels into one class: the support of heads.
fn one_class(sums: &Sums) -> Sums {
    let count = sums.counts().iter().sum();
    Sums::from_parts(sums.dims(), sum_of_sums(sums), vec![count]).unwrap_or_else(|| Sums::new(1, sums.dims()))
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
