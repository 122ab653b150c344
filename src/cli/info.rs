//! `citree info`: what a bundle is made of.

use super::machine::Machine;
use citree::encoder::pretrained::Contents;
use citree::indexing::{Grouping, TrainingEdges};
use citree::model::Model;
use citree::support::Task;
use citree_index::{Metric, SpaceFacts};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Say what a bundle holds: model, index, what its search finds, and its size.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree info en.citree
  citree info en.citree --format json | jq .index.heads.recall")]
pub struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    /// How to write it: text, or json
    #[arg(long, default_value = "text", value_parser = ["text", "json"])]
    format: String,
    #[command(flatten)]
    machine: Machine,
}

/// Prints the facts of a bundle.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let device = args.machine.start()?;
    let model = Model::load(&args.bundle, &device)?;
    let index = match args.bundle.join("index").exists() {
        true => index(&TrainingEdges::open(&args.bundle, &model)?, &args.bundle)?,
        false => Value::Null,
    };
    let parameters =
        |values: std::collections::BTreeMap<String, Vec<f32>>| values.values().map(Vec::len).sum::<usize>();
    let facts = json!({
        "model": {
            "system": model.config.system.to_string(),
            "fingerprint": hex(&model.fingerprint()?),
            "parameters": parameters(model.heads.parameters.values()?) + parameters(model.labels.parameters.values()?),
            "words": model.tables.vocabulary.word_count(),
            "labels": model.tables.vocabulary.labels().len(),
            "encoder": if model.config.share_encoder { "one for heads and labels" } else { "one each" },
            "bytes": size(&args.bundle.join("model"))?,
        },
        "pretrained": pretrained(&model, &args.bundle)?,
        "index": index,
    });
    let mut out = std::io::stdout().lock();
    match args.format.as_str() {
        "json" => writeln!(out, "{facts:#}")?,
        _ => show(&mut out, &facts)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What the model knew before it was trained, and where that is.
fn pretrained(model: &Model, bundle: &Path) -> anyhow::Result<Value> {
    let contents = Contents::read(bundle)?;
    let mut facts = json!({});
    if let Some(vectors) = contents.word_vectors {
        facts["word_vectors"] = json!({ "source": vectors.source, "words": vectors.words, "dims": vectors.dims });
    }
    if let (Some(kept), Some(bert)) = (contents.bert, &model.pretrained.bert) {
        facts["bert"] = json!({
            "dims": bert.shape().hidden_size,
            "layers": bert.shape().num_hidden_layers,
            "read": model.config.bert.layers,
            "trained": model.config.bert.train,
            "folder": kept.folder.map_or_else(|| "in the bundle".to_string(), |folder| folder.display().to_string()),
            "hash": kept.hash,
        });
    }
    if facts == json!({}) {
        return Ok(Value::Null);
    }
    facts["bytes"] = json!(size(&bundle.join("pretrained"))?);
    Ok(facts)
}

fn index(edges: &TrainingEdges, bundle: &Path) -> anyhow::Result<Value> {
    let (index, manifest) = (edges.index(), edges.index().manifest());
    Ok(json!({
        "generation": index.generation(),
        "edges": manifest.records,
        "sentences": manifest.sources,
        "documents": edges.group_names(Grouping::Document).len(),
        "genres": edges.group_names(Grouping::Genre),
        "treebank": hex(&manifest.content),
        "heads": space(edges.facts(Task::Heads)),
        "labels": space(edges.facts(Task::Labels)),
        "bytes": size(&bundle.join("index"))?,
    }))
}

fn space(facts: &SpaceFacts) -> Value {
    let mut value = json!({
        "dims": facts.dims,
        "metric": if facts.metric == Metric::Cosine { "cosine" } else { "dot" },
        "distinct": facts.distinct,
        "search": if facts.graph.is_some() { "graph" } else { "exact" },
    });
    if let Some(graph) = facts.graph {
        value["degree"] = json!(graph.degree);
        value["build_effort"] = json!(graph.build_effort);
        value["effort"] = json!(graph.effort);
        value["recall"] = json!((f64::from(graph.recall) * 1e4).round() / 1e4);
        value["held_out"] = json!(graph.held_out);
    }
    value
}

/// The same facts for a person: a line each, indented by depth.
fn show(out: &mut impl Write, facts: &Value) -> std::io::Result<()> {
    if facts["index"].is_null() {
        writeln!(out, "no index: build it with `citree index`")?;
    }
    for (part, values) in facts.as_object().into_iter().flatten() {
        let Some(values) = values.as_object() else { continue };
        writeln!(out, "{part}")?;
        for (name, value) in values {
            writeln!(out, "  {name:<12} {}", line(name, value))?;
        }
    }
    Ok(())
}

fn line(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if name == "bytes" => {
            indicatif::HumanBytes(number.as_u64().unwrap_or_default()).to_string()
        }
        Value::Object(values) => {
            values.iter().map(|(name, value)| format!("{name} {}", line(name, value))).collect::<Vec<_>>().join(", ")
        }
        Value::Array(values) if values.len() <= 8 => {
            values.iter().map(|value| line("", value)).collect::<Vec<_>>().join(", ")
        }
        Value::Array(values) => format!("{}", values.len()),
        other => other.to_string(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of the files in a folder and the folders in it.
fn size(folder: &Path) -> std::io::Result<u64> {
    std::fs::read_dir(folder)?.try_fold(0, |sum, entry| {
        let entry = entry?;
        let facts = entry.metadata()?;
        Ok(sum + if facts.is_dir() { size(&entry.path())? } else { facts.len() })
    })
}
