//! DistilBERT: BERT without sentence types, with names of its own.

use super::{Blueprint, Style};
use crate::encoder::transformer::keys::Keys;
use crate::encoder::transformer::part::{LayerNames, Parts};
use crate::encoder::transformer::relative::Relative;
use crate::encoder::transformer::shape::Shape;
use crate::error::Result;

const LAYER: LayerNames = LayerNames {
    attention: ["attention.q_lin", "attention.k_lin", "attention.v_lin"],
    output: ["attention.out_lin", "sa_layer_norm"],
    rise: "ffn.lin1",
    fall: ["ffn.lin2", "output_layer_norm"],
};

/// A network of this family.
pub(super) fn read(keys: &Keys) -> Result<Blueprint> {
    let dims = keys.size("dim")?;
    let shape = Shape {
        vocabulary: keys.size("vocab_size")?,
        embedding: dims,
        dims,
        layers: keys.size("n_layers")?,
        heads: keys.size("n_heads")?,
        inner: keys.size("hidden_dim")?,
        window: keys.size("max_position_embeddings")?,
        activation: keys.activation_or("activation", "gelu")?,
        epsilon: 1e-12,
        dropout: keys.dropout_or("dropout", 0.1)?,
    };
    // Before the list of parts, which has some for each layer.
    shape.check(keys.path())?;
    let mut parts = Parts::default();
    parts.embeddings(&shape);
    parts.positions(&shape, "embeddings.position_embeddings.weight", 0, None);
    for layer in 0..shape.layers {
        parts.layer(&shape, layer, &format!("transformer.layer.{layer}"), &LAYER);
    }
    Ok(Blueprint {
        family: "",
        style: Style::PostNorm { groups: shape.layers, relative: Relative::None },
        shape,
        parts: parts.finish(),
        prefix: "distilbert.",
        earlier: false,
    })
}
