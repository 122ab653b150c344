//! Explaining parses by the training edges behind them: what they are, how far they carry, what would change.

mod contrast;
mod evidence;
mod flip;
pub mod html;
mod neighbors;
mod rationale;
mod read;
mod rollup;
mod what_if;
pub mod words;

pub use contrast::{Contrast, WhyNot};
pub use evidence::{Evidence, Side};
pub use flip::{Flip, FlipSet};
pub use neighbors::{Ask, EdgeNeighbors};
pub use rationale::{Citation, Coverage, EdgeExplanation, Explanation, Options, Rationale, RunnerUp};
pub use read::{Reading, SHORTLIST};
pub use rollup::{By, Group, RollUp};
pub use what_if::{Change, changes};

use crate::config::{Aggregate, Basis, Similarity, System};
use crate::error::{Error, Result};
use crate::indexing::TrainingEdges;
use crate::model::Model;
use crate::parse::{Decode, Parser};
use candle_core::Device;
use serde::Serialize;
use std::path::Path;

/// How decisions are made from the similarities to the training edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "lowercase", tag = "rule")]
pub enum Inference {
    /// As the paper: every training edge counts by its similarity.
    #[default]
    Sum,
    /// Every training edge counts by exp(temperature · cosine): near ones for much, far ones for nothing.
    Nca {
        /// How much more the near ones count.
        temperature: f32,
    },
    /// Only the nearest training edges count, by their similarity.
    Knn {
        /// How many.
        neighbors: usize,
    },
}

/// How to parse and decide.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// How heads are chosen from their scores.
    pub decode: Decode,
    /// How similarities become a score; as the model was trained, if not given.
    pub aggregate: Option<Aggregate>,
    /// How decisions are made from similarities.
    pub inference: Inference,
    /// The paper's explainable mode: compare with every training edge one by one, for decisions and for citations.
    pub exact: bool,
}

/// A parser with the training edges that it can cite.
#[derive(Debug)]
pub struct Explainer {
    parser: Parser,
    evidence: Evidence,
    settings: Settings,
    /// The system, where it decides by learnt weights instead of training edges.
    by_weights: Option<System>,
}

impl Explainer {
    /// Opens the model and the index of a bundle.
    pub fn open(bundle: &Path, settings: Settings, device: &Device) -> Result<Self> {
        Self::new(&Model::load(bundle, device)?, bundle, settings, device)
    }

    /// Opens the index of a bundle whose model is loaded already.
    pub fn new(model: &Model, bundle: &Path, settings: Settings, device: &Device) -> Result<Self> {
        let aggregate = settings.aggregate.unwrap_or(model.config.aggregate);
        let evidence = Evidence::new(TrainingEdges::open(bundle, model)?, model, aggregate);
        Self::with(evidence, model, settings, device)
    }

    /// The same as if some training sentences were not in the index; `left_out` is asked of each by its number.
    pub fn without(self, model: &Model, left_out: impl Fn(u32) -> bool, device: &Device) -> Result<Self> {
        Self::with(self.evidence.without(|_, sentence| left_out(sentence)), model, self.settings, device)
    }

    fn with(evidence: Evidence, model: &Model, settings: Settings, device: &Device) -> Result<Self> {
        let system = model.config.system;
        if matches!(settings.inference, Inference::Nca { .. }) && system.similarity == Similarity::Dot {
            let message = format!("the nca rule needs a system with cosine, such as IIc, not {system}; use sum or knn");
            return Err(Error::Explanation { message });
        }
        let aggregate = settings.aggregate.unwrap_or(model.config.aggregate);
        let by_weights = (system.inference == Basis::Weights).then_some(system);
        let parser = match by_weights {
            Some(_) => Parser::new(model, settings.decode, aggregate, device)?,
            None => {
                let support = |task| evidence.support(task);
                Parser::with_support(model, settings.decode, aggregate, support, device)?
            }
        };
        Ok(Self { parser, evidence, settings, by_weights })
    }

    /// The parser.
    pub fn parser(&self) -> &Parser {
        &self.parser
    }

    /// The training edges.
    pub fn edges(&self) -> &TrainingEdges {
        self.evidence.edges()
    }

    /// The training edges as evidence.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The rule in use.
    pub fn inference(&self) -> Inference {
        self.settings.inference
    }

    /// Refuses a system whose decisions no training edge makes.
    fn require_instances(&self) -> Result<()> {
        let Some(system) = self.by_weights else { return Ok(()) };
        let message = format!(
            "{system} decides by learnt weights, so no training edge carries its decisions; train WIc or IIc to explain \
             them, or look at `citree neighbors`"
        );
        Err(Error::Explanation { message })
    }
}
