//! Verifies that the contents of a bundle are as they were written.

use super::Bundle;
use crate::encoder::Pretrained;
use crate::error::Result;

/// The facts of a verified bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The generation of the index.
    pub generation: u64,
    /// Training edges in it.
    pub edges: u64,
    /// Rejected edges beside them.
    pub rejected: u64,
    /// Training sentences in it.
    pub sentences: u64,
}

impl Bundle {
    /// Reads the whole index and the pretrained input, and checks them against their checksums and against each other.
    /// The outer error means that the check could not run; the inner error describes the damage.
    pub fn verify(&self) -> Result<Result<Verified>> {
        let edges = self.index()?;
        let index = edges.index();
        let sentences = || (0..edges.sentences()).try_for_each(|number| edges.sentence(number).map(drop));
        // A rejected edge is one that its sentence does not have.
        let rejected = || (0..edges.rejected()).try_for_each(|edge| edges.check_rejected(edge));
        let pretrained = || Pretrained::check(&self.layout().pretrained(), self.model().config.bert.train);
        let manifest = index.manifest();
        let verified = Verified {
            generation: index.generation(),
            edges: manifest.records,
            rejected: u64::from(edges.rejected()),
            sentences: manifest.sources,
        };
        Ok(index
            .verify()
            .map_err(Into::into)
            .and_then(|()| sentences())
            .and_then(|()| rejected())
            .and_then(|()| pretrained())
            .map(|()| verified))
    }
}
