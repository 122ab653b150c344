//! What a model is and how it is trained: presets, a TOML file on top, every value checked.

mod bert;
mod system;

pub use crate::rule::Aggregate;
pub use bert::{BertLayers, BertSettings};
pub use system::{Basis, Similarity, System};

use crate::error::{Error, Result};
use crate::rule::Rule;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Everything that decides the outcome of a training run. Saved in the bundle as it was used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Which of the paper's six systems.
    pub system: System,
    /// How similarities to the support edges become one score.
    pub aggregate: Aggregate,
    /// Where the support edge of each label comes from in training.
    pub label_support: LabelSupport,
    /// What the model learns to decide by.
    #[serde(default, with = "crate::rule::by_name")]
    pub rule: Rule,
    /// The seed of everything drawn at random.
    pub seed: u64,
    /// Passes over the training treebank.
    pub epochs: usize,
    /// Query sentences in a batch (the paper's N).
    pub query_sentences: usize,
    /// Support sentences in a batch of the head model (the paper's M).
    pub support_sentences: usize,
    /// Learning rate of the first epoch.
    pub learning_rate: f64,
    /// By the inverse schedule the rate of epoch t is `learning_rate / (1 + decay · t)`.
    pub decay: f64,
    /// Gradients longer than this are cut to it.
    pub clip: f64,
    /// Share of values set to zero in training.
    pub dropout: f32,
    /// Share of known words taken as unknown in training.
    pub word_dropout: f32,
    /// Words rarer than this are unknown.
    pub min_count: usize,
    /// Dimensions of a word embedding.
    pub word_dim: usize,
    /// Dimensions of a character embedding.
    pub char_dim: usize,
    /// Filters of the character convolution (its window is 3).
    pub char_filters: usize,
    /// Layers of the BiLSTM.
    pub lstm_layers: usize,
    /// Units of the BiLSTM in each direction.
    pub lstm_units: usize,
    /// Dimensions of an edge vector.
    pub edge_dim: usize,
    /// The factor τ of the cosine.
    pub scale: f64,
    /// Whether heads and labels are learnt together, on one encoder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub share_encoder: bool,
    /// Where the support edges of the head model come from in training.
    #[serde(default, skip_serializing_if = "HeadSupport::is_sampled")]
    pub head_support: HeadSupport,
    /// How the learning rate falls.
    #[serde(default, skip_serializing_if = "Schedule::is_inverse")]
    pub schedule: Schedule,
    /// How BERT is read, where a model has one. What is left out stays as the preset has it.
    #[serde(default, skip_serializing_if = "BertSettings::is_default")]
    pub bert: BertSettings,
}

impl Config {
    /// A preset by its name.
    pub fn preset(preset: Preset) -> Self {
        let paper = Self {
            system: System::IIC,
            aggregate: Aggregate::Mean,
            label_support: LabelSupport::Sampled,
            rule: Rule::sum(),
            seed: 1,
            epochs: 100,
            query_sentences: 32,
            support_sentences: 10,
            learning_rate: 0.001,
            decay: 0.05,
            clip: 5.0,
            dropout: 0.3,
            word_dropout: 0.05,
            min_count: 2,
            word_dim: 100,
            char_dim: 30,
            char_filters: 30,
            lstm_layers: 2,
            lstm_units: 300,
            edge_dim: 300,
            scale: 64.0,
            share_encoder: false,
            head_support: HeadSupport::Sampled,
            schedule: Schedule::Inverse,
            bert: BertSettings::default(),
        };
        match preset {
            Preset::Paper => paper,
            Preset::Small => Self { label_support: LabelSupport::Batch, epochs: 15, ..paper },
            Preset::Joint => Self {
                share_encoder: true,
                head_support: HeadSupport::Batch,
                label_support: LabelSupport::Batch,
                schedule: Schedule::Linear,
                bert: BertSettings { layers: BertLayers::Mix, ..BertSettings::default() },
                epochs: 8,
                ..paper
            },
            Preset::Demo => Self {
                label_support: LabelSupport::Batch,
                epochs: 20,
                query_sentences: 8,
                support_sentences: 4,
                learning_rate: 0.002,
                min_count: 2,
                word_dim: 50,
                lstm_layers: 1,
                lstm_units: 100,
                edge_dim: 100,
                ..paper
            },
        }
    }

    /// A preset with the values of a TOML file on top; a key that does not exist is an error.
    pub fn load(preset: Preset, path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        Self::preset(preset).with_toml(&text, path)
    }

    fn with_toml(self, text: &str, path: &Path) -> Result<Self> {
        let problem = |message: String| Error::Config { path: path.to_path_buf(), message };
        let changes: toml::Table = toml::from_str(text).map_err(|e| problem(e.to_string()))?;
        let mut table = toml::Table::try_from(&self).map_err(|e| problem(e.to_string()))?;
        for (key, change) in changes {
            match (table.get_mut(&key), change) {
                (Some(toml::Value::Table(own)), toml::Value::Table(change)) => own.extend(change),
                (_, change) => {
                    table.insert(key, change);
                }
            }
        }
        let config: Self = table.try_into().map_err(|e| problem(e.to_string()))?;
        config.check().map_err(problem)?;
        Ok(config)
    }

    /// The configuration as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads a configuration that [`to_toml`](Self::to_toml) wrote.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self> {
        let problem = |message: String| Error::Config { path: path.to_path_buf(), message };
        let config: Self = toml::from_str(text).map_err(|e| problem(e.to_string()))?;
        config.check().map_err(problem)?;
        Ok(config)
    }

    /// Says what is wrong with the values, if anything.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let positive = [
            ("query_sentences", self.query_sentences),
            ("support_sentences", self.support_sentences),
            ("word_dim", self.word_dim),
            ("char_dim", self.char_dim),
            ("char_filters", self.char_filters),
            ("lstm_layers", self.lstm_layers),
            ("lstm_units", self.lstm_units),
            ("edge_dim", self.edge_dim),
        ];
        const LARGEST: usize = 65_536;
        if let Some((name, value)) = positive.into_iter().find(|&(_, v)| v == 0 || v > LARGEST) {
            return Err(format!("{name} is {value}, but must lie in 1..={LARGEST}"));
        }
        for (name, value) in [("dropout", self.dropout), ("word_dropout", self.word_dropout)] {
            if !(0.0..1.0).contains(&value) {
                return Err(format!("{name} is {value}, but must be at least 0 and below 1"));
            }
        }
        let rates = [("learning_rate", self.learning_rate), ("clip", self.clip), ("scale", self.scale)];
        if let Some((name, value)) = rates.into_iter().find(|&(_, v)| !(v > 0.0 && v.is_finite())) {
            return Err(format!("{name} is {value}, but must be a positive number"));
        }
        if self.rule.neighbors().is_some() {
            return Err(format!("no model learns by the {} rule; train by sum or nca and decide by it", self.rule));
        }
        if !self.rule.is_linear() && self.system.learning == Basis::Weights {
            return Err(format!("rule {} needs a system that learns by instances, not {}", self.rule, self.system));
        }
        let by_dot = self.system.learning == Basis::Instances && self.system.similarity == Similarity::Dot;
        if self.label_support == LabelSupport::Memory && by_dot {
            return Err(format!(
                "label_support memory needs a system with cosine, not {}: what is remembered is not moved, and dot products \
                 of it were seen to end at nothing; use batch",
                self.system
            ));
        }
        self.bert.check()?;
        if !(self.decay >= 0.0 && self.decay.is_finite()) {
            return Err(format!("decay is {}, but must be 0 or more", self.decay));
        }
        Ok(())
    }
}

/// Named starting points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Sizes, sampling and 100 epochs of the paper.
    Paper,
    /// The paper's sizes for an hour on two cores: 15 epochs, label support from the batch where it has one.
    Small,
    /// The paper's sizes at less cost, made for BERT: heads and labels on one encoder, support from the batch where it has
    /// any, a mix of BERT's layers, a rate that falls in a straight line, 8 epochs.
    Joint,
    /// A tiny model that trains in seconds on a few hundred sentences.
    Demo,
}

/// How the label model gets its support edge for each label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelSupport {
    /// As the paper: one edge drawn uniformly from all training edges of the label.
    Sampled,
    /// The mean of the label's other edges in the batch, and one drawn edge where the batch has less than two: far
    /// fewer sentences to encode, and a steadier target.
    Batch,
    /// As `batch`, but where the batch has less than two, the last edge of the label in an earlier batch, as it was then:
    /// no sentence more to encode. One is drawn only for a label that was not seen yet. Cheapest, and good on a treebank of
    /// ten thousand sentences; on one of a few thousand, rare labels are not learnt well, since what is remembered is not moved.
    Memory,
}

/// Where the head model gets its support edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeadSupport {
    /// As the paper: the gold edges of `support_sentences` drawn sentences.
    #[default]
    Sampled,
    /// The gold edges of the query sentences themselves: no sentence more to encode.
    Batch,
}

impl HeadSupport {
    fn is_sampled(&self) -> bool {
        *self == Self::Sampled
    }
}

/// How the learning rate falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// As the paper: by `1 / (1 + decay · epoch)`.
    #[default]
    Inverse,
    /// In a straight line, to nothing at the end of training.
    Linear,
}

impl Schedule {
    // Bundles from before there was a choice must keep their text, and with it their fingerprint.
    fn is_inverse(&self) -> bool {
        *self == Self::Inverse
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_changes_only_the_keys_it_names() {
        let base = Config::preset(Preset::Small);
        let changed = base.clone().with_toml("epochs = 3\nsystem = \"WWd\"", Path::new("c.toml")).unwrap();
        assert_eq!(changed, Config { epochs: 3, system: "WWd".parse().unwrap(), ..base });
    }

    #[test]
    fn a_table_of_a_file_changes_only_the_keys_it_names() {
        let base = Config::preset(Preset::Joint);
        let changed = base.clone().with_toml("[bert]\ntrain = true", Path::new("c.toml")).unwrap();
        let bert = BertSettings { train: true, ..base.bert.clone() };
        assert_eq!(changed, Config { bert, ..base });
    }

    #[test]
    fn a_configuration_without_what_came_later_keeps_its_text_and_so_its_fingerprint() {
        let text = Config::preset(Preset::Small).to_toml();
        for later in ["share_encoder", "schedule", "head_support", "[bert]"] {
            assert!(!text.contains(later), "{text}");
        }
    }

    #[test]
    fn an_unknown_key_or_an_impossible_value_is_refused_with_its_name() {
        let base = Config::preset(Preset::Small);
        for (text, expected) in [
            ("epoch = 3", "epoch"),
            ("dropout = 1.0", "dropout"),
            ("lstm_units = 0", "lstm_units"),
            ("x", "expected"),
            ("[bert]\nwarmup = 2.0", "bert.warmup"),
            ("[bert]\nlayer = 1", "layer"),
            ("system = \"IId\"\nlabel_support = \"memory\"", "needs a system with cosine"),
        ] {
            let message = base.clone().with_toml(text, Path::new("c.toml")).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_saved_configuration_reads_back_equal() {
        for preset in [Preset::Paper, Preset::Small, Preset::Joint, Preset::Demo] {
            let config = Config::preset(preset);
            assert_eq!(Config::from_toml(&config.to_toml(), Path::new("c.toml")).unwrap(), config);
            assert_eq!(config.check(), Ok(()));
        }
    }
}
