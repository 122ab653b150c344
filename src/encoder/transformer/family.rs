//! The families of transformers, picked by the `model_type` of a `config.json`: what a family's keys mean, and what its
//! tensors are called.

mod albert;
mod bert;
mod deberta;
mod distilbert;
mod electra;
mod modernbert;
mod mpnet;
mod roberta;

use super::keys::Keys;
use super::part::Part;
use super::pre_norm::Locality;
use super::relative::Relative;
use super::shape::Shape;
use crate::error::Result;
use serde_json::Value;
use std::path::Path;

/// Everything that a network is built from, except its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Blueprint {
    /// The name of the family.
    pub family: &'static str,
    /// The sizes.
    pub shape: Shape,
    /// How the layers are connected.
    pub(super) style: Style,
    /// The tensors.
    pub(super) parts: Vec<Part>,
    /// What can stand before a tensor's name in a folder.
    pub(super) prefix: &'static str,
    /// Whether bundles of earlier versions have this family, so that its pieces stay as they were.
    pub(super) earlier: bool,
}

/// How the layers of a network are connected.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Style {
    /// Normalised after each sum, as in BERT. Layers of a group have the same parameters.
    PostNorm { groups: usize, relative: Relative },
    /// Normalised before each product, as in ModernBERT.
    PreNorm(Locality),
}

type Read = fn(&Keys) -> Result<Blueprint>;

/// Every supported `model_type`.
const FAMILIES: [(&str, Read); 10] = [
    ("albert", albert::read),
    ("bert", bert::read),
    ("camembert", roberta::read),
    ("deberta-v2", deberta::read),
    ("distilbert", distilbert::read),
    ("electra", electra::read),
    ("modernbert", modernbert::read),
    ("mpnet", mpnet::read),
    ("roberta", roberta::read),
    ("xlm-roberta", roberta::read),
];

impl Blueprint {
    /// Reads and checks `config.json`.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let keys = Keys::read(path)?;
        let found = keys.get("model_type").and_then(Value::as_str);
        let Some(&(family, read)) = FAMILIES.iter().find(|&&(family, _)| Some(family) == found) else {
            let known = FAMILIES.map(|(family, _)| family).join(", ");
            return Err(keys.refusal(
                "model_type",
                &format!("one of {known}"),
                "give a model of one of these families",
            ));
        };
        let blueprint = Self { family, ..read(&keys)? };
        blueprint.shape.check(keys.path())?;
        Ok(blueprint)
    }
}

/// The sizes by the keys that most families use.
fn usual_shape(keys: &Keys) -> Result<Shape> {
    let dims = keys.size("hidden_size")?;
    let shape = Shape {
        vocabulary: keys.size("vocab_size")?,
        embedding: dims,
        dims,
        layers: keys.size("num_hidden_layers")?,
        heads: keys.size("num_attention_heads")?,
        inner: keys.size("intermediate_size")?,
        window: keys.size("max_position_embeddings")?,
        activation: keys.activation_or("hidden_act", "gelu")?,
        epsilon: keys.epsilon_or("layer_norm_eps", 1e-12)?,
        dropout: keys.dropout_or("hidden_dropout_prob", 0.1)?,
    };
    // Checked here too, before a list of parts is made, which has some for each layer.
    shape.check(keys.path())?;
    Ok(shape)
}

/// How many rows of the position embeddings come before the first position in families that number positions from the
/// padding piece on.
fn skipped_positions(keys: &Keys) -> Result<usize> {
    match keys.integer_or("pad_token_id", 1)? {
        padding if padding >= 0 => Ok(padding as usize + 1),
        _ => Err(keys.refusal("pad_token_id", "from 0 on", super::keys::ANOTHER)),
    }
}

/// Refuses positions that are not one embedding each.
fn absolute_positions(keys: &Keys) -> Result<()> {
    keys.must_be("position_embedding_type", &Value::from("absolute"))
}
