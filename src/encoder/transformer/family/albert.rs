//! ALBERT: layers share their parameters, and narrow embeddings are projected to the width of the states.

use super::{Blueprint, Style, absolute_positions, usual_shape};
use crate::encoder::transformer::keys::{ANOTHER, Keys};
use crate::encoder::transformer::part::{LayerNames, Parts};
use crate::encoder::transformer::post_norm::PROJECTION;
use crate::encoder::transformer::relative::Relative;
use crate::error::Result;

const LAYER: LayerNames = LayerNames {
    attention: ["attention.query", "attention.key", "attention.value"],
    output: ["attention.dense", "attention.LayerNorm"],
    rise: "ffn",
    fall: ["ffn_output", "full_layer_layer_norm"],
};

/// A network of this family.
pub(super) fn read(keys: &Keys) -> Result<Blueprint> {
    absolute_positions(keys)?;
    keys.must_be("inner_group_num", &1.into())?;
    let mut shape = usual_shape(keys)?;
    shape.embedding = keys.size_or("embedding_size", 128)?;
    shape.activation = keys.activation_or("hidden_act", "gelu_new")?;
    shape.dropout = keys.dropout_or("hidden_dropout_prob", 0.0)?;
    let groups = keys.size_or("num_hidden_groups", 1)?;
    if groups > shape.layers {
        return Err(keys.refusal("num_hidden_groups", "up to num_hidden_layers", ANOTHER));
    }
    let mut parts = Parts::default();
    parts.embeddings(&shape);
    parts.positions(
        &shape,
        "embeddings.position_embeddings.weight",
        0,
        Some("embeddings.token_type_embeddings.weight"),
    );
    parts.product(PROJECTION, shape.embedding, shape.dims, &["encoder.embedding_hidden_mapping_in".to_string()]);
    for group in 0..groups {
        let place = format!("encoder.albert_layer_groups.{group}.albert_layers.0");
        parts.layer(&shape, group, &place, &LAYER);
    }
    Ok(Blueprint {
        family: "",
        style: Style::PostNorm { groups, relative: Relative::None },
        shape,
        parts: parts.finish(),
        prefix: "albert.",
        earlier: false,
    })
}
