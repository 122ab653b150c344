//! ModernBERT: rotated positions, attention that is local in most layers, gated feed-forward parts, few biases.

use super::{Blueprint, Style};
use crate::encoder::transformer::keys::{ANOTHER, Keys};
use crate::encoder::transformer::part::Parts;
use crate::encoder::transformer::pre_norm::Locality;
use crate::encoder::transformer::shape::{LONGEST_WINDOW, Shape};
use crate::error::Result;
use serde_json::Value;

/// A network of this family.
pub(super) fn read(keys: &Keys) -> Result<Blueprint> {
    let dims = keys.size("hidden_size")?;
    let shape = Shape {
        vocabulary: keys.size("vocab_size")?,
        embedding: dims,
        dims,
        layers: keys.size("num_hidden_layers")?,
        heads: keys.size("num_attention_heads")?,
        inner: keys.size("intermediate_size")?,
        window: keys.size("max_position_embeddings")?.min(LONGEST_WINDOW),
        activation: keys.activation_or("hidden_activation", "gelu")?,
        epsilon: keys.epsilon_or("norm_eps", 1e-5)?,
        dropout: keys.dropout_or("mlp_dropout", 0.0)?,
    };
    if !dims.is_multiple_of(2 * shape.heads) {
        return Err(keys.refusal("hidden_size", "a multiple of twice num_attention_heads", ANOTHER));
    }
    // Before the list of parts, which has some for each layer.
    shape.check(keys.path())?;
    let locality = Locality {
        local: local_layers(keys, shape.layers)?,
        reach: keys.size_or("local_attention", 128)? / 2,
        bases: [
            base(keys, "full_attention", "global_rope_theta", 160_000.0)?,
            base(keys, "sliding_attention", "local_rope_theta", 10_000.0)?,
        ],
    };
    Ok(Blueprint {
        family: "",
        parts: parts(keys, &shape)?,
        style: Style::PreNorm(locality),
        shape,
        prefix: "model.",
        earlier: false,
    })
}

fn parts(keys: &Keys, shape: &Shape) -> Result<Vec<crate::encoder::transformer::part::Part>> {
    let (dims, inner) = (shape.dims, shape.inner);
    let shifted = keys.flag_or("norm_bias", false)?;
    let [attention, gated] = [keys.flag_or("attention_bias", false)?, keys.flag_or("mlp_bias", false)?];
    let mut parts = Parts::default();
    let norm = |parts: &mut Parts, name: &str, from: &str| match shifted {
        true => parts.norm(name, dims, from),
        false => parts.scale(name, dims, from),
    };
    parts.same("pieces", &[shape.vocabulary, dims], "embeddings.tok_embeddings.weight");
    norm(&mut parts, "norm", "embeddings.norm");
    norm(&mut parts, "last.norm", "final_norm");
    for layer in 0..shape.layers {
        let own = |part: &str| format!("layer.{layer:02}.{part}");
        let from = |part: &str| format!("layers.{layer}.{part}");
        if layer > 0 {
            norm(&mut parts, &own("norm"), &from("attn_norm"));
        }
        norm(&mut parts, &own("rise.norm"), &from("mlp_norm"));
        for (name, inputs, outputs, place, biased) in [
            ("projection", dims, 3 * dims, "attn.Wqkv", attention),
            ("output", dims, dims, "attn.Wo", attention),
            ("rise", dims, 2 * inner, "mlp.Wi", gated),
            ("fall", inner, dims, "mlp.Wo", gated),
        ] {
            match biased {
                true => parts.product(&own(name), inputs, outputs, &[from(place)]),
                false => parts.weight(&own(name), inputs, outputs, &[from(place)]),
            }
        }
    }
    Ok(parts.finish())
}

/// Which layers are local, by a list or by the distance between global ones.
fn local_layers(keys: &Keys, layers: usize) -> Result<Vec<bool>> {
    let Some(types) = keys.get("layer_types") else {
        let every = keys.size_or("global_attn_every_n_layers", 3)?;
        return Ok((0..layers).map(|layer| layer % every != 0).collect());
    };
    let local = |kind: &Value| match kind.as_str() {
        Some("sliding_attention") => Some(true),
        Some("full_attention") => Some(false),
        _ => None,
    };
    let local: Option<Vec<bool>> = types.as_array().and_then(|types| types.iter().map(local).collect());
    local
        .filter(|local| local.len() == layers)
        .ok_or_else(|| keys.refusal("layer_types", "full_attention or sliding_attention for each layer", ANOTHER))
}

/// The base of the wavelengths in layers of a kind, by the newer key or the older one.
fn base(keys: &Keys, kind: &str, key: &str, default: f64) -> Result<f64> {
    let newer = keys.get("rope_parameters").and_then(|all| all.get(kind)).filter(|value| !value.is_null());
    let scaled = |value: &Value| value.get("rope_type").and_then(Value::as_str).is_some_and(|kind| kind != "default");
    if keys.get("rope_scaling").is_some() || newer.is_some_and(scaled) {
        return Err(keys.refusal("rope_parameters", "of the type default", ANOTHER));
    }
    let base = match newer.and_then(|value| value.get("rope_theta")) {
        Some(base) => base.as_f64().unwrap_or(0.0),
        None => keys.number_or(key, default)?,
    };
    if base >= 1.0 { Ok(base) } else { Err(keys.refusal(key, "from 1 on", ANOTHER)) }
}
