//! What the command line asks of a laboratory before it runs.

use super::{Experiment, Lab, corpus};
use crate::error::Result;
use std::path::PathBuf;

impl Lab<'_> {
    /// The experiments that this treebank does not support, and why.
    pub(crate) fn impossible(&self) -> Result<Vec<(Experiment, String)>> {
        let several = corpus::genres(self)?.is_some();
        let why =
            "the dev set has one genre only, or shares none with the training set, by the first part of `sent_id`"
                .to_string();
        Ok(if several { Vec::new() } else { vec![(Experiment::Domains, why)] })
    }

    /// Refuses invalid settings before any work is done.
    pub(crate) fn check_before(&self, experiments: &[Experiment]) -> Result<()> {
        self.check(experiments).map(drop)
    }

    /// The folder of the pretrained input of all training runs.
    pub(crate) fn pretrained_folder(&self) -> PathBuf {
        self.folder.join("pretrained")
    }

    /// Whether the folder contains trained models or checkpoints.
    pub(crate) fn has_trainings(&self) -> bool {
        self.folder.join("trained").exists()
    }
}
