//! Explaining parses by the training edges behind them: what they are, how far they carry, what would change.

mod alternatives;
mod conllu;
mod contrast;
mod evidence;
mod flip;
pub mod html;
mod neighbors;
mod rationale;
mod read;
mod rollup;
mod told;
mod what_if;
pub mod words;

pub use contrast::{Contrast, WhyNot};
pub use evidence::{Evidence, Side};
pub use flip::{Flip, FlipSet};
pub use neighbors::{Ask, EdgeNeighbors, NamedEdge, NamedNeighbor};
pub use rationale::{Citation, Coverage, EdgeExplanation, Explanation, Options, Rationale, RunnerUp};
pub use read::{Reading, SHORTLIST};
pub use rollup::{By, Group, RollUp};
pub use told::{Alternative, Question, SCHEMA, Told};
pub use what_if::{Change, changes};

use crate::config::{Aggregate, Basis, Similarity, System};
use crate::error::{Error, Result};
use crate::indexing::TrainingEdges;
use crate::model::Model;
use crate::parse::{Decode, Parser};
use candle_core::Device;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// How decisions are made from the similarities to the training edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "rule", deny_unknown_fields)]
pub enum Inference {
    /// As the paper: every training edge counts by its similarity.
    #[default]
    Sum,
    /// Every training edge counts by exp(temperature · cosine): near ones for much, far ones for nothing.
    Nca {
        /// How much more the near ones count.
        #[serde(default = "Inference::usual_temperature")]
        temperature: f32,
    },
    /// Only the nearest training edges count, by their similarity.
    Knn {
        /// How many.
        #[serde(default = "Inference::usual_neighbors")]
        neighbors: usize,
    },
}

impl Inference {
    /// The temperature where none is given.
    pub const fn usual_temperature() -> f32 {
        256.0
    }

    /// How many neighbours vote where no number is given.
    pub const fn usual_neighbors() -> usize {
        10
    }

    /// Refuses numbers by which nothing can be decided.
    pub fn checked(self) -> Result<Self> {
        let refuse = |message: &str| Err(Error::Explanation { message: message.to_string() });
        match self {
            Self::Nca { temperature } if !(temperature > 0.0 && temperature.is_finite()) => {
                refuse("the `temperature` of the nca rule must be a positive number")
            }
            Self::Knn { neighbors: 0 } => refuse("the knn rule needs `neighbors` of 1 or more"),
            rule => Ok(rule),
        }
    }
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

/// A parser with the training edges that it can cite; cheap to clone, safe to share.
#[derive(Clone, Debug)]
pub struct Explainer {
    parser: Parser,
    evidence: Arc<Evidence>,
    settings: Settings,
    system: System,
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
        let aggregate = settings.aggregate.unwrap_or(model.config.aggregate);
        let parser = match system.inference {
            Basis::Weights => Parser::new(model, settings.decode, aggregate, device)?,
            Basis::Instances => {
                let support = |task| evidence.support(task);
                Parser::with_support(model, settings.decode, aggregate, support, device)?
            }
        };
        Self { parser, evidence: Arc::new(evidence), settings, system }.deciding_by(settings.inference)
    }

    /// The same parser and training edges, deciding by another rule.
    pub fn deciding_by(&self, inference: Inference) -> Result<Self> {
        let system = self.system;
        if matches!(inference, Inference::Nca { .. }) && system.similarity == Similarity::Dot {
            let message = format!("the nca rule needs a system with cosine, such as IIc, not {system}; use sum or knn");
            return Err(Error::Explanation { message });
        }
        Ok(Self { settings: Settings { inference, ..self.settings }, ..self.clone() })
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
        let system = self.system;
        if system.inference == Basis::Instances {
            return Ok(());
        }
        let message = format!(
            "{system} decides by learnt weights, so no training edge carries its decisions; train WIc or IIc to explain \
             them, or look at `citree neighbors`"
        );
        Err(Error::Explanation { message })
    }
}
