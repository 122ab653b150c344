//! Rules: how evidence becomes a score. Each training edge contributes a number to a side of a decision, and the
//! numbers add up.
//!
//! A rule is one file that implements [`Scoring`]. Parsing, explaining, training, the laboratory and the server use
//! only this interface. To add a rule, write its file and add its name to [`Rule::named`].

mod knn;
mod nca;
mod sum;
mod written;

pub use written::RuleSettings;
#[cfg(feature = "cli")]
pub(crate) use written::Spelling;
pub(crate) use written::by_name;

use crate::error::{Error, Result};
use crate::task::Task;
use candle_core::Tensor;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The interface of a rule: the contribution of one training edge to a side, and the score of all contributions.
pub trait Scoring: fmt::Debug + Send + Sync {
    /// The name in options, files and responses.
    fn name(&self) -> &'static str;

    /// The rule in one sentence.
    fn describe(&self) -> String;

    /// The settings of the rule, as written in requests and responses.
    fn settings(&self) -> Vec<(&'static str, serde_json::Value)> {
        Vec::new()
    }

    /// The same rule with the settings that it takes from a model, if it takes any.
    fn with_scale(&self, _scale: Scale) -> Option<Arc<dyn Scoring>> {
        None
    }

    /// The number of nearest training edges that count; `None` if all do.
    fn neighbors(&self) -> Option<usize> {
        None
    }

    /// Whether rejected edges count against a head.
    fn counts_rejected(&self) -> bool {
        false
    }

    /// Whether contributions are shares of what all counted edges contribute, those of other labels included. Then
    /// [`Context::whole`] is what they add up to where it is 1.
    fn gives_shares(&self, _compared: Compared) -> bool {
        false
    }

    /// The contribution of one training edge with this similarity. That of a rejected edge counts against the side.
    fn contribution(&self, similarity: f32, context: &Context) -> f64;

    /// The contributions of training edges with these similarities, added in order.
    fn total(&self, similarities: &[f32], context: &Context) -> f64 {
        similarities.iter().fold(0.0, |sum, &similarity| sum + self.contribution(similarity, context))
    }

    /// The score of a side. Probabilities are computed from scores.
    fn score(&self, totals: Totals, _context: &Context) -> f64 {
        totals.evidence()
    }

    /// The score of a label that no counted edge has, where only the nearest count: nothing says that it is better than any
    /// other such label.
    fn score_without_votes(&self) -> Option<f64> {
        None
    }

    /// The temperature T, if a contribution is exp(T · (similarity − 1)) times a constant. Totals are then densities, of
    /// which the index estimates the far part.
    fn exponent(&self) -> Option<f32> {
        None
    }

    /// Whether a contribution is the similarity times a constant, and only accepted edges count. A total is then the
    /// similarity to a summed vector, and no single training edge has to be read.
    fn is_linear(&self) -> bool {
        false
    }

    /// Refuses invalid settings, and similarities that the rule does not support: `cosine` is false for dot products.
    fn check(&self, _cosine: bool) -> std::result::Result<(), String> {
        Ok(())
    }

    /// The differentiable score of candidates from their similarities `[candidates, edges]` to accepted edges, and to
    /// rejected ones where they count, times the factor of the [`Scale`]. `None` if only the paper's loss applies.
    fn training_scores(&self, _accepted: &Tensor, _rejected: Option<&Tensor>) -> Option<candle_core::Result<Tensor>> {
        None
    }
}

/// How similarities to the support edges become one score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    /// Their mean: labels compete by similarity alone.
    Mean,
    /// Their sum, as in the paper's formulas: the score of a label grows with its frequency.
    Sum,
}

/// How the similarities of a model are scaled: the factor τ of cosine systems, and sum or mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// τ for cosine, 1 for dot products.
    pub factor: f64,
    /// Sum or mean.
    pub aggregate: Aggregate,
}

impl Scale {
    /// The weight of each of `count` training edges.
    pub fn share(&self, count: f64) -> f64 {
        match self.aggregate {
            Aggregate::Mean if count > 0.0 => 1.0 / count,
            Aggregate::Mean => 1.0,
            Aggregate::Sum => 1.0,
        }
    }
}

/// Which training edges a side is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// A head with accepted edges alone: the index has no rejected edges, or the rule does not count them.
    Accepted,
    /// A head with accepted and rejected edges.
    Both,
    /// A label with the edges that have it.
    Label,
}

/// What a contribution depends on besides the similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Context {
    /// How the model's similarities are scaled.
    pub scale: Scale,
    /// Which training edges the side is compared with.
    pub compared: Compared,
    /// The number of accepted edges that the side is compared with. Where treebanks have weights, those of the edges added
    /// up.
    pub count: f64,
    /// The highest similarity of a counted edge, where few count. Weights are relative to it, so that none overflows.
    pub nearest: f32,
    /// What all counted edges contribute together, if contributions are shares of that; 1 otherwise.
    pub whole: f64,
}

/// The contributions to a side, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Those of accepted edges.
    pub accepted: f64,
    /// Those of rejected edges, which count against the side.
    pub rejected: f64,
}

impl Totals {
    /// What the edges for the side contribute, less what those against it do.
    pub fn evidence(self) -> f64 {
        self.accepted - self.rejected
    }
}

/// A rule to decide by: one for heads and one for labels, often the same. Cheap to clone.
///
/// ```
/// use citree::Rule;
/// let rule = Rule::nca(64.0)?;
/// assert_eq!(rule.to_string(), "nca");
/// assert!(rule.describe().contains("exp(64"));
/// assert!(Rule::knn(0).is_err());
/// assert_eq!(Rule::each(&Rule::knn(20)?, &Rule::sum()).to_string(), "heads=knn,labels=sum");
/// # Ok::<(), citree::Error>(())
/// ```
#[derive(Clone)]
pub struct Rule([Arc<dyn Scoring>; 2]);

impl Rule {
    /// The default number of neighbours of `knn`.
    pub const NEIGHBORS: usize = 20;
    /// The names of the built-in rules.
    pub(crate) const NAMES: [&'static str; 3] = ["sum", "nca", "knn"];

    /// The paper's rule: every training edge counts by its similarity.
    pub fn sum() -> Self {
        Self::both(Arc::new(sum::Sum))
    }

    /// Every training edge counts by exp(temperature · cosine), so near edges dominate. Rejected edges count against a
    /// head. [`Rule::named`] without a temperature takes that of the model, τ.
    pub fn nca(temperature: f32) -> Result<Self> {
        Self::own(nca::Nca { temperature: Some(temperature) })
    }

    /// Only the nearest training edges count, of both kinds, by exp(τ · similarity).
    pub fn knn(neighbors: usize) -> Result<Self> {
        Self::own(knn::Knn { neighbors, temperature: None })
    }

    /// The kNN rule with the default number of neighbours, which presets train for.
    pub(crate) fn votes() -> Self {
        Self::both(Arc::new(knn::Knn { neighbors: Self::NEIGHBORS, temperature: None }))
    }

    /// A custom rule.
    pub fn own(scoring: impl Scoring + 'static) -> Result<Self> {
        scoring.check(true).map_err(|message| Error::Explanation { message })?;
        Ok(Self::both(Arc::new(scoring)))
    }

    /// A rule that decides about heads as one rule does, and about labels as another.
    pub fn each(heads: &Self, labels: &Self) -> Self {
        Self([heads.0[0].clone(), labels.0[1].clone()])
    }

    fn both(scoring: Arc<dyn Scoring>) -> Self {
        Self([scoring.clone(), scoring])
    }

    /// How it decides about heads, or about labels.
    pub(crate) fn of(&self, task: Task) -> &dyn Scoring {
        match task {
            Task::Heads => &*self.0[0],
            Task::Labels => &*self.0[1],
        }
    }

    /// Whether summed vectors decide about heads and labels alike, so that no single training edge has to be read.
    pub(crate) fn is_linear(&self) -> bool {
        Task::ALL.iter().all(|&task| self.of(task).is_linear())
    }

    /// Whether it compares every candidate with every training edge, which takes long. The nearest edges are found
    /// without that by a graph, which systems with dot products do not have: `cosine` is false for these.
    pub(crate) fn reads_all(&self, cosine: bool) -> bool {
        let searched = |task| cosine && self.of(task).neighbors().is_some();
        Task::ALL.iter().any(|&task| !self.of(task).is_linear() && !searched(task))
    }

    /// The same rule with the settings that its halves take from a model.
    pub(crate) fn with_scale(&self, scale: Scale) -> Self {
        Self(self.0.each_ref().map(|half| half.with_scale(scale).unwrap_or_else(|| half.clone())))
    }

    /// How many training edges to cite if nobody says: all that vote, up to 20, or 10 where all training edges count.
    #[cfg(feature = "serve")]
    pub fn citations(&self) -> usize {
        let voters = Task::ALL.iter().filter_map(|&task| self.of(task).neighbors()).max();
        voters.map_or(10, |voters| voters.min(Self::NEIGHBORS))
    }

    /// The rule in one sentence, or in one for heads and one for labels.
    pub fn describe(&self) -> String {
        match self.is_one() {
            true => self.of(Task::Heads).describe(),
            false => {
                format!("heads: {}; labels: {}", self.of(Task::Heads).describe(), self.of(Task::Labels).describe())
            }
        }
    }

    /// Refuses what one of its halves refuses.
    pub(crate) fn check(&self, cosine: bool) -> std::result::Result<(), String> {
        Task::ALL.iter().try_for_each(|&task| self.of(task).check(cosine))
    }

    /// Whether it decides about heads and labels in the same way.
    fn is_one(&self) -> bool {
        let [heads, labels] = Task::ALL.map(|task| self.of(task));
        heads.name() == labels.name() && heads.settings() == labels.settings()
    }
}

impl Default for Rule {
    fn default() -> Self {
        Self::sum()
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        let facts = |rule: &Self| Task::ALL.map(|task| (rule.of(task).name(), rule.of(task).settings()));
        facts(self) == facts(other)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The name, or `heads=NAME,labels=NAME`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [heads, labels] = Task::ALL.map(|task| self.of(task).name());
        if self.is_one() { f.write_str(heads) } else { write!(f, "heads={heads},labels={labels}") }
    }
}

#[cfg(test)]
mod tests;
