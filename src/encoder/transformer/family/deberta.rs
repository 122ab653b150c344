//! DeBERTa-v2 and v3: queries and keys are also compared with embeddings of their distance.

use super::{Blueprint, Style, usual_shape};
use crate::encoder::transformer::keys::{ANOTHER, Keys};
use crate::encoder::transformer::part::{BERT_LAYER, LayerNames, Parts};
use crate::encoder::transformer::relative::{EMBEDDINGS, NORM, Relative, Spans};
use crate::encoder::transformer::shape::LONGEST_WINDOW;
use crate::error::Result;
use serde_json::Value;

const LAYER: LayerNames = LayerNames {
    attention: ["attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj"],
    ..BERT_LAYER
};

/// A network of this family.
pub(super) fn read(keys: &Keys) -> Result<Blueprint> {
    // What some published models have and this network has not.
    for (key, expected) in [("conv_kernel_size", 0), ("type_vocab_size", 0)] {
        keys.must_be(key, &expected.into())?;
    }
    let mut shape = usual_shape(keys)?;
    shape.epsilon = keys.epsilon_or("layer_norm_eps", 1e-7)?;
    keys.must_be("embedding_size", &shape.dims.into())?;
    keys.must_be("attention_head_size", &(shape.dims / shape.heads).into())?;
    let mut parts = Parts::default();
    parts.embeddings(&shape);
    if keys.flag_or("position_biased_input", true)? {
        parts.positions(&shape, "embeddings.position_embeddings.weight", 0, None);
    } else {
        shape.window = shape.window.min(LONGEST_WINDOW);
    }
    let relative = match keys.flag_or("relative_attention", false)? {
        false => Relative::None,
        true => {
            let spans = spans(keys)?;
            parts.same(EMBEDDINGS, &[2 * spans.span, shape.dims], "encoder.rel_embeddings.weight");
            if spans.normalised {
                parts.norm(NORM, shape.dims, "encoder.LayerNorm");
            }
            Relative::Embeddings(spans)
        }
    };
    for layer in 0..shape.layers {
        parts.layer(&shape, layer, &format!("encoder.layer.{layer}"), &LAYER);
    }
    Ok(Blueprint {
        family: "",
        style: Style::PostNorm { groups: shape.layers, relative },
        shape,
        parts: parts.finish(),
        prefix: "deberta.",
        earlier: false,
    })
}

fn spans(keys: &Keys) -> Result<Spans> {
    // Projections of their own for distances are not supported.
    if !keys.flag_or("share_att_key", false)? {
        return Err(keys.refusal("share_att_key", "true", ANOTHER));
    }
    let farthest = match keys.integer_or("max_relative_positions", -1)? {
        farthest if farthest > 0 => farthest as usize,
        _ => keys.size("max_position_embeddings")?,
    };
    let buckets = keys.integer_or("position_buckets", -1)?;
    // Buckets that are wider than one distance need some distances to share.
    if buckets > 0 && (buckets < 4 || farthest < buckets as usize / 2 + 2) {
        return Err(keys.refusal("position_buckets", "from 4 to about twice the largest distance", ANOTHER));
    }
    let compared = match keys.get("pos_att_type") {
        None => Some(Vec::new()),
        Some(Value::String(text)) => Some(text.split('|').map(str::trim).collect()),
        Some(value) => value.as_array().and_then(|list| list.iter().map(Value::as_str).collect::<Option<Vec<&str>>>()),
    };
    let known = |compared: &Vec<&str>| compared.iter().all(|kind| ["c2p", "p2c"].contains(kind));
    let compared = compared.filter(known).ok_or_else(|| keys.refusal("pos_att_type", "c2p, p2c or both", ANOTHER))?;
    let normalised = keys.get("norm_rel_ebd").and_then(Value::as_str).is_some_and(|text| text.contains("layer_norm"));
    Ok(Spans {
        span: if buckets > 0 { buckets as usize } else { farthest },
        farthest: (buckets > 0).then_some(farthest),
        normalised,
        to_position: compared.contains(&"c2p"),
        from_position: compared.contains(&"p2c"),
    })
}
