//! What was measured of each rule on the dev set, and the rule that a bundle decides by.

use super::Layout;
use crate::error::{Error, Result};
use crate::files::{Sealed, to_json};
use crate::rule::Rule;
use crate::softmax::Softmax;
use crate::task::Task;
use serde::{Deserialize, Serialize};

const REMEDY: &str = "restore the file, or run `citree calibrate`";

/// The rule of a bundle, and what was measured of it and of others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MeasuredRules {
    /// The rule that decides unless another is asked for.
    pub own: Rule,
    /// The rules that were measured.
    pub measured: Vec<MeasuredRule>,
}

/// What was measured of a rule on a dev set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MeasuredRule {
    /// The rule.
    pub rule: Rule,
    /// Words that it was measured on.
    pub words: usize,
    /// Words with the right head, in percent, greedy.
    pub uas: f64,
    /// Words with the right head and label, in percent, greedy.
    pub las: f64,
    /// About heads.
    pub heads: Calibration,
    /// About labels.
    pub labels: Calibration,
}

/// How scores become probabilities, and how far these are from what happened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Calibration {
    /// How scores become probabilities, as it was fitted.
    #[serde(flatten)]
    pub softmax: Softmax,
    /// The expected calibration error with it.
    pub error: f64,
    /// The expected calibration error of a plain softmax.
    pub error_before: f64,
}

impl MeasuredRules {
    /// The softmax that was fitted for a rule; `None` if it was not measured with these settings.
    pub(crate) fn softmax(&self, rule: &Rule, task: Task) -> Option<Softmax> {
        let facts = |rule: &Rule| (rule.of(task).name(), rule.of(task).settings());
        let found = self.measured.iter().find(|measured| facts(&measured.rule) == facts(rule))?;
        Some(match task {
            Task::Heads => found.heads.softmax,
            Task::Labels => found.labels.softmax,
        })
    }

    /// Reads the record of a bundle. One without a record decides by the sum rule.
    pub(crate) fn read(layout: &Layout) -> Result<Self> {
        let path = layout.rules();
        let text = match Sealed::JSON.read(&path, REMEDY) {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            text => text?,
        };
        let unfit = |found: String| Error::unfit(&path, "what was measured of rules", &found, REMEDY);
        let read: Self = serde_json::from_str(&text).map_err(|error| unfit(error.to_string()))?;
        match read.measured.iter().all(|of| of.heads.softmax.is_valid() && of.labels.softmax.is_valid()) {
            true => Ok(read),
            false => Err(unfit("a temperature or a power that is not a positive number".to_string())),
        }
    }

    /// Writes the record into a bundle.
    pub(crate) fn write(&self, layout: &Layout) -> Result<()> {
        Sealed::JSON.write(&layout.rules(), &to_json("what was measured of rules", self)?)
    }
}
