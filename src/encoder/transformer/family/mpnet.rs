//! MPNet: BERT with a bias of attention by distance, the same in all layers, and positions numbered from the padding
//! piece on.

use super::{Blueprint, Style, skipped_positions, usual_shape};
use crate::encoder::transformer::keys::Keys;
use crate::encoder::transformer::part::{LayerNames, Parts};
use crate::encoder::transformer::relative::{BIAS, BUCKETS, Relative};
use crate::error::Result;

const LAYER: LayerNames = LayerNames {
    attention: ["attention.attn.q", "attention.attn.k", "attention.attn.v"],
    output: ["attention.attn.o", "attention.LayerNorm"],
    rise: "intermediate.dense",
    fall: ["output.dense", "output.LayerNorm"],
};

/// A network of this family.
pub(super) fn read(keys: &Keys) -> Result<Blueprint> {
    // transformers has this number of buckets whatever the configuration says.
    keys.must_be("relative_attention_num_buckets", &BUCKETS.into())?;
    let mut shape = usual_shape(keys)?;
    let skipped = skipped_positions(keys)?;
    shape.window = shape.window.saturating_sub(skipped);
    let mut parts = Parts::default();
    parts.embeddings(&shape);
    parts.positions(&shape, "embeddings.position_embeddings.weight", skipped, None);
    parts.same(BIAS, &[BUCKETS, shape.heads], "encoder.relative_attention_bias.weight");
    for layer in 0..shape.layers {
        parts.layer(&shape, layer, &format!("encoder.layer.{layer}"), &LAYER);
    }
    Ok(Blueprint {
        family: "",
        style: Style::PostNorm { groups: shape.layers, relative: Relative::Bias },
        shape,
        parts: parts.finish(),
        prefix: "mpnet.",
        earlier: false,
    })
}
