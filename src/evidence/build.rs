//! Builds the index of a bundle as a whole: every gold edge of a treebank, and the hardest wrong heads of every word.

use super::encode::Counted;
use super::groups::Numbering;
use super::labels::Labels;
use super::record::TrainingSentence;
use super::sum_of_sums;
use crate::error::{Error, Result};
use crate::flow::Flow;
use crate::model::Model;
use crate::treebank::Sentence;
use citree_index::sums::Sums;
use citree_index::{Builder, Progress};
use std::path::Path;

/// Rejected edges per word, by default.
pub(crate) const REJECTED: usize = 2;

/// The progress of a build.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
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
#[non_exhaustive]
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
    tell: &(dyn Fn(Step) -> Flow + Sync),
    encoded: impl FnOnce([Sums; 2]) -> Result<()>,
) -> Result<Built> {
    let labels = Labels::trained(model.tables.vocabulary.labels());
    let mut numbering = Numbering::default();
    let counted = Counted::of(model, labels, sentences, rejected, &mut numbering)?;
    let (edges, rejected_edges, left_out) = (counted.edges(), counted.rejected_edges, counted.left_out);
    if edges == 0 {
        let message = match left_out {
            0 => "the treebank has no words, so there is nothing to index; the index stays as it was".to_string(),
            _ => {
                "the model knows none of the treebank's labels, so there is nothing to index; the index stays as it was"
                    .to_string()
            }
        };
        return Err(Error::Training { message });
    }
    let spec = counted.spec(model, numbering)?;
    let mut builder = Builder::create(folder, spec)?.find_sources_by(TrainingSentence::key);
    let labels = model.tables.vocabulary.labels().len();
    let mut sums = [&model.heads, &model.labels].map(|model| Sums::new(labels, model.edges.dims()));
    counted.write(model, sentences, builder.segment(), tell, |label, rows| {
        sums.iter_mut().zip(rows).for_each(|(sums, row)| sums.add(label as usize, row));
    })?;
    let [head_sums, label_sums] = sums;
    encoded([one_class(&head_sums), label_sums])?;
    let generation = builder.finish(&|progress| tell(Step::Indexing(progress)).into())?;
    Ok(Built { generation, edges, rejected: rejected_edges, left_out })
}

/// Merges the sums of all labels into one class: the support of heads.
fn one_class(sums: &Sums) -> Sums {
    let count = sums.counts().iter().sum();
    Sums::from_parts(sums.dims(), sum_of_sums(sums), vec![count]).unwrap_or_else(|| Sums::new(1, sums.dims()))
}
