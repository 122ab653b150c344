//! Rules: how evidence becomes a score. Each training edge contributes a number to a side of a decision, and the
//! numbers add up.
//!
//! A rule is one file that implements [`Scoring`]. Parsing, explaining, training, the laboratory and the server use
//! only this interface. To add a rule, write its file and add its name to [`Rule::named`].

mod knn;
mod nca;
mod sum;

use crate::error::{Error, Result};
use candle_core::Tensor;
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The interface of a rule: the contribution of one training edge to a side, the total, and the score of a total.
pub trait Scoring: fmt::Debug + Send + Sync {
    /// The name in options, files and responses.
    fn name(&self) -> &'static str;

    /// The rule in one sentence.
    fn describe(&self) -> String;

    /// The setting of the rule, as written in requests and responses.
    fn setting(&self) -> Option<(&'static str, serde_json::Value)> {
        None
    }

    /// The number of nearest training edges that count; `None` if all do.
    fn neighbors(&self) -> Option<usize> {
        None
    }

    /// The contribution of one training edge with this similarity to a side with `count` counted training edges.
    fn contribution(&self, similarity: f32, scale: Scale, count: u64) -> f64;

    /// The total of training edges with these similarities, added in order.
    fn total(&self, similarities: &[f32], scale: Scale, count: u64) -> f64 {
        similarities.iter().fold(0.0, |sum, &similarity| sum + self.contribution(similarity, scale, count))
    }

    /// The score of a total. Probabilities are computed from scores.
    fn score(&self, total: f64) -> f64 {
        total
    }

    /// Whether a contribution is the similarity times a constant. A total is then the similarity to a summed vector,
    /// and no single training edge has to be read.
    fn is_linear(&self) -> bool {
        false
    }

    /// Refuses invalid settings, and similarities that the rule does not support: `cosine` is false for dot products.
    fn check(&self, _cosine: bool) -> std::result::Result<(), String> {
        Ok(())
    }

    /// The differentiable scores of candidates from their similarities `[candidates, edges]` to support edges, times the
    /// factor of the [`Scale`], for a model trained for this rule. `None` if the paper's loss applies.
    fn training_scores(&self, _similarities: &Tensor) -> Option<candle_core::Result<Tensor>> {
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
    pub fn share(&self, count: u64) -> f64 {
        match self.aggregate {
            Aggregate::Mean => 1.0 / (count.max(1) as f64),
            Aggregate::Sum => 1.0,
        }
    }
}

/// A rule to decide by. Cheap to clone.
///
/// ```
/// use citree::Rule;
/// let rule = Rule::nca(64.0)?;
/// assert_eq!(rule.to_string(), "nca");
/// assert!(rule.describe().contains("exp(64"));
/// assert!(Rule::knn(0).is_err());
/// # Ok::<(), citree::Error>(())
/// ```
#[derive(Clone)]
pub struct Rule(Arc<dyn Scoring>);

impl Rule {
    /// The default temperature of `nca`.
    pub const TEMPERATURE: f32 = 256.0;
    /// The default number of neighbours of `knn`.
    pub const NEIGHBORS: usize = 10;
    /// The names of the built-in rules.
    pub const NAMES: [&'static str; 3] = ["sum", "nca", "knn"];

    /// The paper's rule: every training edge counts by its similarity.
    pub fn sum() -> Self {
        Self(Arc::new(sum::Sum))
    }

    /// Every training edge counts by exp(temperature · cosine), so near edges dominate.
    pub fn nca(temperature: f32) -> Result<Self> {
        Self::own(nca::Nca { temperature })
    }

    /// Only the nearest training edges count, by their similarity.
    pub fn knn(neighbors: usize) -> Result<Self> {
        Self::own(knn::Knn { neighbors })
    }

    /// A custom rule.
    pub fn own(scoring: impl Scoring + 'static) -> Result<Self> {
        let rule = Self(Arc::new(scoring));
        rule.check(true).map_err(|message| Error::Explanation { message })?;
        Ok(rule)
    }

    /// A rule by name, with the given or default settings. A setting of another rule is an error.
    pub fn named(name: &str, temperature: Option<f32>, neighbors: Option<usize>) -> Result<Self> {
        let rule = match name {
            "sum" => Self::sum(),
            "nca" => Self::nca(temperature.unwrap_or(Self::TEMPERATURE))?,
            "knn" => Self::knn(neighbors.unwrap_or(Self::NEIGHBORS))?,
            _ => {
                let message = format!("no rule `{name}`; there are {}", Self::NAMES.join(", "));
                return Err(Error::Explanation { message });
            }
        };
        let own = rule.setting().map(|(setting, _)| setting);
        for (setting, given) in [("temperature", temperature.is_some()), ("neighbors", neighbors.is_some())] {
            if given && own != Some(setting) {
                return Err(Error::Explanation { message: format!("the {name} rule has no `{setting}`") });
            }
        }
        Ok(rule)
    }
}

impl Default for Rule {
    fn default() -> Self {
        Self::sum()
    }
}

impl Deref for Rule {
    type Target = dyn Scoring;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.setting() == other.setting()
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Serialises as `{"name": "nca", "temperature": 256.0}`.
impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.name())?;
        if let Some((name, value)) = self.setting() {
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            name: String,
            temperature: Option<f32>,
            neighbors: Option<usize>,
        }
        let Written { name, temperature, neighbors } = Written::deserialize(deserializer)?;
        Self::named(&name, temperature, neighbors).map_err(D::Error::custom)
    }
}

/// Serialises a rule in a configuration: its name alone.
pub(crate) mod by_name {
    use super::Rule;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(rule: &Rule, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(rule.name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rule, D::Error> {
        Rule::named(&String::deserialize(deserializer)?, None, None).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
