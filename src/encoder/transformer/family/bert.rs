//! BERT.

use super::{Blueprint, Style, absolute_positions, usual_shape};
use crate::encoder::transformer::keys::Keys;
use crate::encoder::transformer::part::{BERT_LAYER, Parts};
use crate::encoder::transformer::relative::Relative;
use crate::error::Result;

/// A network of this family.
pub(super) fn read(keys: &Keys) -> Result<Blueprint> {
    absolute_positions(keys)?;
    let shape = usual_shape(keys)?;
    let mut parts = Parts::default();
    parts.embeddings(&shape);
    parts.positions(
        &shape,
        "embeddings.position_embeddings.weight",
        0,
        Some("embeddings.token_type_embeddings.weight"),
    );
    for layer in 0..shape.layers {
        parts.layer(&shape, layer, &format!("encoder.layer.{layer}"), &BERT_LAYER);
    }
    Ok(Blueprint {
        family: "",
        style: Style::PostNorm { groups: shape.layers, relative: Relative::None },
        shape,
        parts: parts.finish(),
        prefix: "bert.",
        earlier: true,
    })
}
