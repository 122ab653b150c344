//! Explaining parses by the training edges behind them.

mod neighbors;

pub use neighbors::{Ask, EdgeNeighbors};

use crate::config::Aggregate;
use crate::error::Result;
use crate::indexing::TrainingEdges;
use crate::model::Model;
use crate::parse::{Decode, Parser};
use candle_core::Device;
use std::path::Path;

/// A parser with the training edges that it can cite.
#[derive(Debug)]
pub struct Explainer {
    parser: Parser,
    edges: TrainingEdges,
}

impl Explainer {
    /// Opens the model and the index of a bundle.
    pub fn open(bundle: &Path, decode: Decode, device: &Device) -> Result<Self> {
        let model = Model::load(bundle, device)?;
        Self::new(&model, bundle, decode, model.config.aggregate, device)
    }

    /// Opens the index of a bundle whose model is loaded already.
    pub fn new(model: &Model, bundle: &Path, decode: Decode, aggregate: Aggregate, device: &Device) -> Result<Self> {
        let edges = TrainingEdges::open(bundle, model)?;
        Ok(Self { parser: Parser::new(model, decode, aggregate, device)?, edges })
    }

    /// The parser.
    pub fn parser(&self) -> &Parser {
        &self.parser
    }

    /// The training edges.
    pub fn edges(&self) -> &TrainingEdges {
        &self.edges
    }
}
