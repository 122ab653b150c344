//! The options about the rule, which several verbs share.

use crate::rule::Rule;

/// How decisions are made.
#[derive(clap::Args)]
pub(super) struct RuleOptions {
    /// How decisions are made: sum, nca or knn
    #[arg(long, default_value = "sum", value_parser = Rule::NAMES, help_heading = "Rule")]
    rule: String,
    /// By nca: how much more near edges count than far ones [default: 256]
    #[arg(long, value_name = "T", help_heading = "Rule")]
    temperature: Option<f32>,
    /// By knn: how many of the nearest edges count [default: 10]
    #[arg(long, value_name = "N", help_heading = "Rule")]
    neighbors: Option<usize>,
}

impl RuleOptions {
    /// The rule that was chosen.
    pub(super) fn rule(&self) -> anyhow::Result<Rule> {
        Ok(Rule::named(&self.rule, self.temperature, self.neighbors)?)
    }
}
