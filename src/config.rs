//! The configuration of a model and its training: presets, overridden by a TOML file, with every value checked.

mod bert;
mod choices;
mod system;

pub(crate) use crate::rule::Aggregate;
pub use bert::{BertLayers, BertSettings};
pub use choices::{HeadSupport, LabelSupport, Preset, Schedule};
pub use system::{Basis, Similarity, System};

use crate::error::{Error, Result};
use crate::rule::Rule;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Everything that determines the result of a training run. Saved in the bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Which of the paper's six systems.
    pub system: System,
    /// How similarities to the support edges become one score.
    pub aggregate: Aggregate,
    /// Where the support edge of each label comes from in training.
    pub label_support: LabelSupport,
    /// The rule that the model is trained for.
    #[serde(default, with = "crate::rule::by_name")]
    pub rule: Rule,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Passes over the training treebank.
    pub epochs: usize,
    /// Query sentences in a batch (the paper's N).
    pub query_sentences: usize,
    /// Support sentences in a batch of the head model (the paper's M).
    pub support_sentences: usize,
    /// Learning rate of the first epoch.
    pub learning_rate: f64,
    /// With the inverse schedule, the rate of epoch t is `learning_rate / (1 + decay · t)`.
    pub decay: f64,
    /// Gradients with a larger norm are clipped to this.
    pub clip: f64,
    /// Dropout rate in training.
    pub dropout: f32,
    /// Share of known words that are replaced by the unknown word in training.
    pub word_dropout: f32,
    /// Words with fewer occurrences are unknown.
    pub min_count: usize,
    /// Dimensions of a word embedding.
    pub word_dim: usize,
    /// Dimensions of a character embedding.
    pub char_dim: usize,
    /// Filters of the character convolution (its window is 3).
    pub char_filters: usize,
    /// Whether the character convolution sees where words begin and end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub char_ends: bool,
    /// Layers of the BiLSTM.
    pub lstm_layers: usize,
    /// Units of the BiLSTM per direction.
    pub lstm_units: usize,
    /// Dimensions of an edge vector.
    pub edge_dim: usize,
    /// The factor τ of the cosine.
    pub scale: f64,
    /// Whether heads and labels are trained together on one encoder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub share_encoder: bool,
    /// Where the support edges of the head model come from in training.
    #[serde(default, skip_serializing_if = "HeadSupport::is_sampled")]
    pub head_support: HeadSupport,
    /// How the learning rate decreases.
    #[serde(default, skip_serializing_if = "Schedule::is_inverse")]
    pub schedule: Schedule,
    /// How BERT is used, if the model has one. Missing keys keep the preset's values.
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
            char_ends: false,
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
            Preset::Small => Self { label_support: LabelSupport::Batch, rule: Rule::votes(), epochs: 15, ..paper },
            Preset::Joint => Self {
                rule: Rule::votes(),
                share_encoder: true,
                head_support: HeadSupport::Batch,
                label_support: LabelSupport::Batch,
                schedule: Schedule::Linear,
                bert: BertSettings { layers: BertLayers::Mix, ..BertSettings::default() },
                epochs: 8,
                ..paper
            },
            Preset::Demo => Self {
                rule: Rule::votes(),
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

    /// A preset with the values of a TOML file on top. An unknown key is an error.
    pub fn load(preset: Preset, path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        Self::preset(preset).with_toml(&text, path)
    }

    pub(crate) fn with_toml(self, text: &str, path: &Path) -> Result<Self> {
        let problem = |message: String| Error::Config { path: path.to_path_buf(), message };
        let changes: toml::Table = toml::from_str(text).map_err(|e| problem(e.to_string()))?;
        let mut table = toml::Table::try_from(&self).map_err(|e| problem(e.to_string()))?;
        let names_rule = changes.contains_key("rule");
        for (key, change) in changes {
            match (table.get_mut(&key), change) {
                (Some(toml::Value::Table(own)), toml::Value::Table(change)) => own.extend(change),
                (_, change) => {
                    table.insert(key, change);
                }
            }
        }
        let mut config: Self = table.try_into().map_err(|e| problem(e.to_string()))?;
        // A preset's rule is not for a system that learns weights.
        if !names_rule && config.system.learning == Basis::Weights {
            config.rule = Rule::sum();
        }
        config.check().map_err(problem)?;
        Ok(config)
    }

    /// The configuration as TOML.
    pub(crate) fn to_toml(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads a configuration that [`to_toml`](Self::to_toml) wrote.
    pub(crate) fn from_toml(text: &str, path: &Path) -> Result<Self> {
        let problem = |message: String| Error::Config { path: path.to_path_buf(), message };
        let config: Self = toml::from_str(text).map_err(|e| problem(e.to_string()))?;
        config.check().map_err(problem)?;
        Ok(config)
    }

    /// Checks all values and describes the first invalid one.
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
        if self.epochs == 0 {
            return Err("epochs is 0, but must be at least 1".to_string());
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
        // A configuration is written with the name of its rule alone.
        if !Rule::named(&self.rule.to_string(), Default::default()).is_ok_and(|rule| rule == self.rule) {
            return Err(format!(
                "a model is trained for a rule of citree with its default settings, not for {:?}; decide by others later",
                self.rule
            ));
        }
        if !self.rule.is_linear() && self.system.learning == Basis::Weights {
            return Err(format!(
                "rule {} needs a system that learns by instances, not {}; set the rule to sum",
                self.rule, self.system
            ));
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_changes_only_the_keys_it_names() {
        let base = Config::preset(Preset::Small);
        let changed = base.clone().with_toml("epochs = 3\nsystem = \"WWd\"", Path::new("c.toml")).unwrap();
        let expected = Config { epochs: 3, system: "WWd".parse().unwrap(), rule: Rule::sum(), ..base.clone() };
        assert_eq!(changed, expected);
        let refused = base.with_toml("rule = \"knn\"\nsystem = \"WWd\"", Path::new("c.toml"));
        assert!(refused.unwrap_err().to_string().contains("learns by instances"));
    }

    #[test]
    fn a_table_of_a_file_changes_only_the_keys_it_names() {
        let base = Config::preset(Preset::Joint);
        let changed = base.clone().with_toml("[bert]\ntrain = true", Path::new("c.toml")).unwrap();
        let bert = BertSettings { train: true, ..base.bert.clone() };
        assert_eq!(changed, Config { bert, ..base });
    }

    #[test]
    fn keys_added_later_are_not_written_at_their_defaults_so_fingerprints_stay() {
        let text = Config::preset(Preset::Small).to_toml();
        for later in ["share_encoder", "schedule", "head_support", "[bert]"] {
            assert!(!text.contains(later), "{text}");
        }
    }

    #[test]
    fn an_unknown_key_or_invalid_value_is_refused_by_name() {
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
