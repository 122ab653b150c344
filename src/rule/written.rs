//! Rules as they are written: by name on the command line, with their settings in JSON, by name in configurations.

use super::{Rule, knn, nca};
use crate::error::{Error, Result};
use crate::task::Task;
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Settings of rules; those that are not given have defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RuleSettings {
    /// Of `nca` and `knn`: how much more near edges count than far ones.
    pub temperature: Option<f32>,
    /// Of `knn`: how many of the nearest edges count.
    pub neighbors: Option<usize>,
}

/// A rule as written on the command line: `knn`, or `heads=knn,labels=sum`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spelling([String; 2]);

impl std::str::FromStr for Spelling {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let names = Rule::NAMES.join(", ");
        let known = |name: &str| match Rule::NAMES.contains(&name) {
            true => Ok(name.to_string()),
            false => Err(format!("no rule `{name}`; there are {names}, or write heads=RULE,labels=RULE")),
        };
        if !text.contains('=') {
            return known(text).map(|name| Self([name.clone(), name]));
        }
        let mut halves = [const { None }; 2];
        for part in text.split(',') {
            let (task, name) = part.split_once('=').unwrap_or((part, ""));
            let half = Task::ALL.iter().position(|of| of.name() == task).and_then(|at| halves.get_mut(at));
            match half {
                Some(half @ None) => *half = Some(known(name)?),
                _ => return Err("write heads=RULE,labels=RULE, each once".to_string()),
            }
        }
        match halves {
            [Some(heads), Some(labels)] => Ok(Self([heads, labels])),
            _ => Err("write both, heads=RULE,labels=RULE".to_string()),
        }
    }
}

impl Rule {
    /// A rule by name, with the given or default settings. A setting of another rule is an error.
    pub fn named(name: &str, settings: RuleSettings) -> Result<Self> {
        let spelling = name.parse().map_err(|message| Error::Explanation { message })?;
        Self::spelled(&spelling, settings)
    }

    /// A rule as spelled. Settings apply to those of its halves that have them.
    pub(crate) fn spelled(Spelling([heads, labels]): &Spelling, settings: RuleSettings) -> Result<Self> {
        let rule = Self::each(&Self::one(heads, settings)?, &Self::one(labels, settings)?);
        let given = [("temperature", settings.temperature.is_some()), ("neighbors", settings.neighbors.is_some())];
        for (setting, _) in given.into_iter().filter(|(_, given)| *given) {
            let has = |task: &Task| rule.of(*task).settings().iter().any(|(name, _)| *name == setting);
            if !Task::ALL.iter().any(has) {
                return Err(Error::Explanation { message: format!("the {rule} rule has no `{setting}`") });
            }
        }
        Ok(rule)
    }

    fn one(name: &str, RuleSettings { temperature, neighbors }: RuleSettings) -> Result<Self> {
        match name {
            "nca" => Self::own(nca::Nca { temperature }),
            "knn" => Self::own(knn::Knn { neighbors: neighbors.unwrap_or(Self::NEIGHBORS), temperature }),
            // Spellings hold known names only.
            _ => Ok(Self::sum()),
        }
    }
}

/// One half of a rule: its name and settings.
struct Half<'a>(&'a Rule, Task);

impl Serialize for Half<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let scoring = self.0.of(self.1);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", scoring.name())?;
        for (name, value) in scoring.settings() {
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }
}

/// Serialises as `{"name": "nca", "temperature": 64.0}`, or as two of these under `heads` and `labels`.
impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if self.is_one() {
            return Half(self, Task::Heads).serialize(serializer);
        }
        let mut map = serializer.serialize_map(Some(2))?;
        for task in Task::ALL {
            map.serialize_entry(task.name(), &Half(self, task))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct One {
            name: String,
            temperature: Option<f32>,
            neighbors: Option<usize>,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Two {
            heads: One,
            labels: One,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            One(One),
            Two(Two),
        }
        let read = |One { name, temperature, neighbors }: One| {
            Rule::named(&name, RuleSettings { temperature, neighbors }).map_err(D::Error::custom)
        };
        match Written::deserialize(deserializer)? {
            Written::One(one) => read(one),
            Written::Two(Two { heads, labels }) => Ok(Rule::each(&read(heads)?, &read(labels)?)),
        }
    }
}

/// Serialises a rule in a configuration: its name alone.
pub(crate) mod by_name {
    use super::{Rule, RuleSettings};
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(rule: &Rule, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(rule)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rule, D::Error> {
        Rule::named(&String::deserialize(deserializer)?, RuleSettings::default()).map_err(D::Error::custom)
    }
}
