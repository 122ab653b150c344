//! Reads a BERT folder's `config.json` and checks that this network is supported.

use crate::error::{Error, Result};
use serde::Deserialize;
use std::path::Path;

/// The sizes of a BERT network.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Shape {
    #[serde(default)]
    model_type: String,
    /// Rows of the piece embedding.
    pub vocab_size: usize,
    /// Dimensions of a state.
    pub hidden_size: usize,
    /// Layers above the embedding.
    pub num_hidden_layers: usize,
    /// Attention heads of a layer.
    pub num_attention_heads: usize,
    /// Dimensions of the hidden layer of the feed-forward part.
    pub intermediate_size: usize,
    /// The longest window, special pieces included.
    pub max_position_embeddings: usize,
    #[serde(default = "gelu")]
    hidden_act: String,
    /// Added to variances before the square root.
    #[serde(default = "epsilon")]
    pub layer_norm_eps: f64,
    #[serde(default = "dropout")]
    /// Dropout rate when the network is fine-tuned.
    pub hidden_dropout_prob: f32,
    #[serde(default = "absolute")]
    position_embedding_type: String,
}

fn gelu() -> String {
    "gelu".to_string()
}

fn absolute() -> String {
    "absolute".to_string()
}

fn epsilon() -> f64 {
    1e-12
}

fn dropout() -> f32 {
    0.1
}

impl Shape {
    /// Reads and checks `config.json`.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        let shape: Self = serde_json::from_str(&text)
            .map_err(|e| Error::unfit(path, "the configuration of a BERT model", &e.to_string(), FOLDER))?;
        shape.check(path)?;
        Ok(shape)
    }

    fn check(&self, path: &Path) -> Result<()> {
        let words = [
            ("model_type", &self.model_type, "bert"),
            ("hidden_act", &self.hidden_act, "gelu"),
            ("position_embedding_type", &self.position_embedding_type, "absolute"),
        ];
        if let Some((key, found, expected)) = words.into_iter().find(|(_, found, expected)| found != expected) {
            let found = format!("{key} {found:?}");
            return Err(Error::unfit(path, &format!("{key} {expected:?}"), &found, "give a model of the BERT type"));
        }
        const LARGEST: usize = 1 << 24;
        /// The largest models have some dozens.
        const MOST_LAYERS: usize = 256;
        if self.num_hidden_layers > MOST_LAYERS {
            let (most, found) = (format!("at most {MOST_LAYERS} layers"), self.num_hidden_layers.to_string());
            return Err(Error::unfit(path, &most, &found, FOLDER));
        }
        let sizes = [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("intermediate_size", self.intermediate_size),
            ("max_position_embeddings", self.max_position_embeddings.saturating_sub(2)),
        ];
        if let Some((key, _)) = sizes.into_iter().find(|&(_, size)| size == 0 || size > LARGEST) {
            return Err(Error::unfit(path, &format!("a possible {key}"), "another", FOLDER));
        }
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            return Err(Error::unfit(
                path,
                "a hidden_size that is a multiple of num_attention_heads",
                "another",
                FOLDER,
            ));
        }
        let eps = self.layer_norm_eps;
        if !((0.0..1.0).contains(&self.hidden_dropout_prob) && eps > 0.0 && eps <= 1.0) {
            let expected = "a dropout below 1 and a layer_norm_eps above 0 and up to 1";
            return Err(Error::unfit(path, expected, "others", FOLDER));
        }
        Ok(())
    }
}

/// The remedy for a folder that is not a BERT folder.
pub(super) const FOLDER: &str = "give a folder with config.json, model.safetensors and tokenizer.json";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str) -> Result<Shape> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, text).unwrap();
        Shape::read(&path)
    }

    const TINY: &str = r#"{"model_type": "bert", "vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 24, "more": 1}"#;

    #[test]
    fn missing_keys_get_the_defaults_of_bert() {
        let shape = read(TINY).unwrap();
        assert_eq!((shape.hidden_size, shape.layer_norm_eps, shape.hidden_dropout_prob), (8, 1e-12, 0.1));
    }

    #[test]
    fn an_unsupported_network_is_refused_with_the_key_at_fault() {
        for (from, to, key) in [
            ("\"bert\"", "\"roberta\"", "model_type"),
            ("\"more\": 1", "\"hidden_act\": \"relu\"", "hidden_act"),
            ("\"more\": 1", "\"position_embedding_type\": \"relative_key\"", "position_embedding_type"),
            ("\"vocab_size\": 9", "\"vocab_size\": 0", "vocab_size"),
            ("\"num_attention_heads\": 2", "\"num_attention_heads\": 3", "hidden_size"),
            ("\"num_hidden_layers\": 1,", "", "num_hidden_layers"),
            ("\"num_hidden_layers\": 1,", "\"num_hidden_layers\": 16777216,", "at most 256 layers"),
            ("\"more\": 1", "\"layer_norm_eps\": 1e300", "layer_norm_eps"),
            ("\"max_position_embeddings\": 24", "\"max_position_embeddings\": 2", "max_position_embeddings"),
        ] {
            let message = read(&TINY.replace(from, to)).unwrap_err().to_string();
            assert!(message.contains(key), "{message}");
        }
    }
}
