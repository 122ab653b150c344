//! The OpenAPI document, generated from the handlers and from the JSON schema of explanations.

use serde_json::{Value, json};
use utoipa::openapi::OpenApi;

/// The JSON schema of the output of `citree explain --format json` for a sentence.
const EXPLANATION: &str = include_str!("../../docs/explain.schema.json");

/// The whole document.
pub(super) fn document(api: &OpenApi) -> Value {
    let mut document = serde_json::to_value(api).unwrap_or_default();
    document["info"] = json!({
        "title": "citree",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "A dependency parser that cites its sources. Errors are problem JSON (RFC 9457).",
        "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
    });
    document["components"]["securitySchemes"] = json!({
        "token": { "type": "http", "scheme": "bearer", "description": "The token of `citree serve --allow-changes`." },
    });
    let mut explanation: Value = serde_json::from_str(EXPLANATION).unwrap_or_default();
    moved(&mut explanation);
    let parts = explanation.as_object_mut().and_then(|whole| {
        whole.remove("$schema");
        whole.remove("$defs")
    });
    let schemas = &mut document["components"]["schemas"];
    for (name, part) in parts.as_ref().and_then(Value::as_object).into_iter().flatten() {
        schemas[explained(name)] = part.clone();
    }
    schemas["Explanation"] = explanation;
    schemas["Explained"]["properties"]["sentences"]["items"] = json!({ "$ref": "#/components/schemas/Explanation" });
    document
}

/// The name of a part of the explanation schema among all schemas.
fn explained(name: &str) -> String {
    format!("explanation.{name}")
}

/// Rewrites references inside the explanation schema to the new places of its parts.
fn moved(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && let Some(name) = reference.strip_prefix("#/$defs/")
            {
                *reference = format!("#/components/schemas/{}", explained(name));
            }
            members.values_mut().for_each(moved);
        }
        Value::Array(items) => items.iter_mut().for_each(moved),
        _ => {}
    }
}
