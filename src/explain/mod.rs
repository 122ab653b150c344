//! Explaining parses by the training edges behind them: functions over a decision and its evidence.
//!
//! `rationale` finds citations and their coverage. `rollup` splits a score over groups of training edges. `contrast`
//! compares a decision with an alternative. `flip` finds the smallest set of edges whose removal changes a decision.
//! `answer` combines them, `wording` states them in sentences, [`html`] and `conllu` write them.

mod answer;
mod citation;
mod conllu;
mod contrast;
mod flip;
pub mod html;
mod neighbors;
mod rationale;
mod repeats;
mod rollup;
mod what_if;
pub(crate) mod wording;

pub use answer::{Answer, Expected, Question};
pub use citation::Citation;
pub use contrast::{Contrast, WhyNot};
pub use flip::{Flip, FlipSet};
pub use neighbors::{EdgeNeighbors, NamedEdge, NamedNeighbor, NeighborQuery};
pub use rationale::{Coverage, EdgeExplanation, Explanation, Options, Rationale, RunnerUp};
pub(crate) use repeats::{Repeats, repeats};
pub use rollup::{By, Group, RollUp};
pub use what_if::Change;
pub(crate) use what_if::changes;

use crate::bundle::Bundle;
use crate::error::Result;
use crate::evidence::{Evidence, Side, TrainingEdges};
use crate::flow::{Flow, Interrupt};
use crate::parse::{Analysis, Parser, Settings};
use crate::rule::Rule;
use crate::task::Task;
use crate::treebank::Sentence;
use std::sync::Arc;

/// A parser with the training edges that it can cite. Cheap to clone, safe to share.
///
/// ```no_run
/// use citree::explain::Options;
/// let explainer = citree::Bundle::open("en.citree")?.explainer()?;
/// let sentence = explainer.parser().split("Anna doesn't like the rain.");
/// for explanation in explainer.explain(&[sentence], &Options::default())?.iter().flatten() {
///     for edge in &explanation.edges {
///         println!("{} ← {}: {}", edge.dependent, edge.head, edge.attachment.citations[0].source.sent_id);
///     }
/// }
/// # Ok::<(), citree::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Explainer {
    bundle: Bundle,
    settings: Settings,
    parser: Parser,
    evidence: Arc<Evidence>,
}

impl Bundle {
    /// An explainer that decides by the bundle's own rule.
    pub fn explainer(&self) -> Result<Explainer> {
        self.explainer_with(&Settings::default())
    }

    /// An explainer with custom settings.
    pub fn explainer_with(&self, settings: &Settings) -> Result<Explainer> {
        Explainer::new(self, self.evidence_for(settings)?, settings)
    }
}

impl Explainer {
    fn new(bundle: &Bundle, evidence: Arc<Evidence>, settings: &Settings) -> Result<Self> {
        let (rules, device) = (bundle.rules().clone(), bundle.device());
        let parser = Parser::new(bundle.model(), Some(evidence.clone()), rules, settings, device)?;
        Ok(Self { bundle: bundle.clone(), settings: settings.clone(), parser, evidence })
    }

    /// The same explainer without some training sentences. `left_out` gets the number of each sentence.
    pub fn without(&self, left_out: impl Fn(u32) -> bool) -> Result<Self> {
        let evidence = self.evidence.without(|_, sentence| left_out(sentence));
        let interrupt = self.parser.by().interrupt.clone();
        Ok(Self::new(&self.bundle, Arc::new(evidence), &self.settings)?.with_interrupt(interrupt))
    }

    /// The same explainer, which asks between two steps of its work whether to go on, from any thread. If not, what it does
    /// ends with [`Error::Stopped`](crate::Error::Stopped), as under [`Parser::interrupted_by`].
    pub fn interrupted_by(&self, ask: impl Fn() -> Flow + Send + Sync + 'static) -> Self {
        self.with_interrupt(Interrupt::new(ask))
    }

    fn with_interrupt(&self, interrupt: Interrupt) -> Self {
        Self { parser: self.parser.with_interrupt(interrupt), ..self.clone() }
    }

    /// The same parser and training edges, deciding by another rule.
    pub fn deciding_by(&self, rule: &Rule) -> Result<Self> {
        let settings = Settings { rule: Some(rule.clone()), ..self.settings.clone() };
        Ok(Self { parser: self.parser.deciding_by(rule)?, settings, ..self.clone() })
    }

    /// The bundle behind it.
    #[cfg(feature = "serve")]
    pub(crate) fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// The parser.
    pub fn parser(&self) -> &Parser {
        &self.parser
    }

    /// The training edges that count.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The index behind them.
    pub(crate) fn edges(&self) -> &TrainingEdges {
        self.evidence.edges()
    }

    /// The rule in use.
    pub(crate) fn rule(&self) -> &Rule {
        self.parser.rule()
    }

    /// Analyses sentences, in their order; `None` for one without words.
    pub(crate) fn analyse(&self, sentences: &[Sentence]) -> Result<Vec<Option<Analysis>>> {
        self.parser.require_instances()?;
        self.parser.analyse(sentences)
    }

    /// The share of nearest edges that a search finds, measured when the index was built. The lower one if it searches
    /// accepted and rejected edges; `None` if all edges are compared.
    pub(crate) fn recall(&self, side: &Side) -> Option<f32> {
        let accepted = self.edges().recall(side.task);
        let contrasts = self.edges().index().manifest().contrasts.as_ref();
        let both = side.task == Task::Heads && self.rule().of(side.task).counts_rejected();
        let rejected = contrasts.filter(|_| both).and_then(|contrasts| contrasts.space.graph).map(|graph| graph.recall);
        accepted.into_iter().chain(rejected).reduce(f32::min)
    }
}
