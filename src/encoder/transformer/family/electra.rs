//! ELECTRA: BERT with embeddings of their own width, projected to that of the states.

use super::{Blueprint, Style, absolute_positions, usual_shape};
use crate::encoder::transformer::keys::Keys;
use crate::encoder::transformer::part::{BERT_LAYER, Parts};
use crate::encoder::transformer::post_norm::PROJECTION;
use crate::encoder::transformer::relative::Relative;
use crate::error::Result;

/// A network of this family.
pub(super) fn read(keys: &Keys) -> Result<Blueprint> {
    absolute_positions(keys)?;
    let mut shape = usual_shape(keys)?;
    shape.embedding = keys.size_or("embedding_size", 128)?;
    let mut parts = Parts::default();
    parts.embeddings(&shape);
    parts.positions(
        &shape,
        "embeddings.position_embeddings.weight",
        0,
        Some("embeddings.token_type_embeddings.weight"),
    );
    if shape.embedding != shape.dims {
        parts.product(PROJECTION, shape.embedding, shape.dims, &["embeddings_project".to_string()]);
    }
    for layer in 0..shape.layers {
        parts.layer(&shape, layer, &format!("encoder.layer.{layer}"), &BERT_LAYER);
    }
    Ok(Blueprint {
        family: "",
        style: Style::PostNorm { groups: shape.layers, relative: Relative::None },
        shape,
        parts: parts.finish(),
        prefix: "electra.",
        earlier: false,
    })
}
