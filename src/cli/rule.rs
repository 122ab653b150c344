//! The options about the rule, which several verbs share.

use crate::rule::{Rule, RuleSettings, Spelling};

/// How decisions are made.
#[derive(clap::Args)]
pub(super) struct RuleOptions {
    /// How decisions are made: sum, nca or knn, or heads=RULE,labels=RULE [default: the bundle's own rule]
    #[arg(long, help_heading = "Rule")]
    rule: Option<Spelling>,
    /// By nca and knn: how much more near edges count than far ones [default: τ of the model]
    #[arg(long, value_name = "T", help_heading = "Rule")]
    temperature: Option<f32>,
    /// By knn: how many of the nearest edges count [default: 20]
    #[arg(long, value_name = "N", help_heading = "Rule")]
    neighbors: Option<usize>,
}

impl RuleOptions {
    /// The rule that was asked for; `None` for the bundle's own.
    pub(super) fn rule(&self) -> anyhow::Result<Option<Rule>> {
        let settings = RuleSettings { temperature: self.temperature, neighbors: self.neighbors };
        match &self.rule {
            Some(spelling) => Ok(Some(Rule::spelled(spelling, settings)?)),
            None if settings == RuleSettings::default() => Ok(None),
            None => anyhow::bail!("--temperature and --neighbors are settings of a rule; add --rule nca or --rule knn"),
        }
    }
}
