//! The rule that a request asks for, in each of its forms.

use super::problem::Problem;
use crate::rule::{Rule, RuleSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// More neighbours would take very long.
const MOST_NEIGHBORS: usize = 1000;

/// A rule: by name alone, by name with its settings, or one for heads and one for labels.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(untagged, try_from = "Value")]
pub(super) enum RuleRequest {
    /// `sum`, `nca` or `knn`, or one for heads and one for labels: `heads=knn,labels=sum`.
    Name(String),
    /// A rule with its settings.
    One(NamedRule),
    /// One rule for heads and one for labels.
    Each(RulePair),
}

/// A rule by name, with its settings.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedRule {
    /// `sum`, `nca` or `knn`, or one for heads and one for labels: `heads=knn,labels=sum`.
    name: String,
    /// For `nca` and `knn`: how much more near edges count than far ones; by default τ of the model.
    temperature: Option<f32>,
    /// For `knn`: how many of the nearest edges count; 20 by default.
    neighbors: Option<usize>,
}

/// One rule for heads and one for labels.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RulePair {
    /// The rule that decides about heads.
    heads: NamedRule,
    /// The rule that decides about labels.
    labels: NamedRule,
}

/// Looks at the form first, so that an error is about the form that was meant.
impl TryFrom<Value> for RuleRequest {
    type Error = String;
    fn try_from(value: Value) -> Result<Self, String> {
        let pair = value.get("heads").or(value.get("labels")).is_some();
        let read = match value {
            Value::String(name) => return Ok(Self::Name(name)),
            Value::Object(_) if pair => serde_json::from_value(value).map(Self::Each),
            Value::Object(_) => serde_json::from_value(value).map(Self::One),
            _ => return Err("`rule` is a name or an object".to_string()),
        };
        read.map_err(|error| format!("`rule`: {error}"))
    }
}

impl RuleRequest {
    /// The rule, if it is within the limits.
    pub(super) fn rule(&self) -> Result<Rule, Problem> {
        match self {
            Self::Name(name) => Ok(Rule::named(name, RuleSettings::default())?),
            Self::One(one) => one.rule(),
            Self::Each(RulePair { heads, labels }) => {
                if let Some(name) = [heads, labels].map(|half| &half.name).into_iter().find(|name| name.contains('=')) {
                    return Err(Problem::unfit(format!("`{name}` is a pair of rules, and stands for one here")));
                }
                Ok(Rule::each(&heads.rule()?, &labels.rule()?))
            }
        }
    }
}

impl NamedRule {
    fn rule(&self) -> Result<Rule, Problem> {
        let Self { name, temperature, neighbors } = self;
        if neighbors.is_some_and(|neighbors| neighbors > MOST_NEIGHBORS) {
            return Err(Problem::unfit(format!("`neighbors` is at most {MOST_NEIGHBORS} here")));
        }
        Ok(Rule::named(name, RuleSettings { temperature: *temperature, neighbors: *neighbors })?)
    }
}
