//! The treebanks of a run as numbers.

use crate::encoder::{Numbered, Pretrained, Vocabulary};
use crate::error::{Error, Result};
use crate::treebank::Sentence;

/// The numbered treebanks of a run.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    /// The training set, which is also the support set.
    pub train: Vec<Numbered>,
    /// The dev set, which selects the best epoch.
    pub dev: Vec<Numbered>,
}

impl Data {
    /// Numbers both treebanks; every word must have a head.
    pub(super) fn new(
        vocabulary: &Vocabulary,
        pretrained: &Pretrained,
        train: &[Sentence],
        dev: &[Sentence],
    ) -> Result<Self> {
        let numbered = |name: &str, sentences: &[Sentence]| {
            let numbered = pretrained.number(vocabulary, sentences)?;
            let trees = numbered.iter().all(|s| s.heads.len() == s.len());
            if !trees || numbered.iter().all(|s| s.is_empty()) {
                let message = format!("the {name} set has no words, or words without a head; run `citree check` on it");
                return Err(Error::Training { message });
            }
            Ok(numbered)
        };
        Ok(Data { train: numbered("training", train)?, dev: numbered("dev", dev)? })
    }

    /// A hash that changes with any spelling, head or label (FNV-1a).
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut mix = |value: u64| hash = (hash ^ value).wrapping_mul(0x0100_0000_01b3);
        for (index, sentence) in self.train.iter().chain(&self.dev).enumerate() {
            mix(index as u64);
            sentence.spellings.iter().flatten().for_each(|&c| mix(u64::from(c)));
            sentence.heads.iter().for_each(|&head| mix(head as u64));
            sentence.labels.iter().for_each(|&label| mix(u64::from(label)));
        }
        hash
    }
}
