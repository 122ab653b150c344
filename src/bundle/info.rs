//! The facts of a bundle: model, pretrained input, index, sizes, and training.

use super::{About, Bundle, MeasuredRules};
use crate::encoder::pretrained::Contents;
use crate::error::{Error, Result};
use crate::evidence::{Grouping, TrainingEdges};
use crate::task::Task;
use citree_index::{Metric, SpaceFacts};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;

/// The facts of a bundle, by part. Displays as text with one line per fact; serialises as JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Info {
    /// When it was trained, and its scores on the dev set.
    pub training: Value,
    /// The rule that decides, and what was measured of it and of others.
    pub rules: Value,
    /// The model.
    pub model: Value,
    /// The pretrained input; null if there is none.
    pub pretrained: Value,
    /// The index; null if there is none.
    pub index: Value,
}

impl Bundle {
    /// Collects the facts of this bundle.
    pub fn info(&self) -> Result<Info> {
        let (model, layout) = (self.model(), self.layout());
        let index = match self.has_index() {
            true => index(self.index()?, &layout.index())?,
            false => Value::Null,
        };
        let mut parameters = 0;
        for trained in [&model.heads, &model.labels] {
            parameters += trained.parameters.iter().map(|(_, var)| var.elem_count()).sum::<usize>();
        }
        Ok(Info {
            training: About::read(layout)?.map_or(Value::Null, |about| training(&about)),
            rules: rules(self.rules()),
            model: json!({
                "system": model.config.system.to_string(),
                "fingerprint": self.fingerprint()?,
                "parameters": parameters,
                "words": model.tables.vocabulary.word_count(),
                "labels": model.tables.vocabulary.labels().len(),
                "sentences": if model.text.is_some() { "cut as in the treebank" } else { "cut by the rules of Unicode" },
                "encoder": if model.config.share_encoder { "one for heads and labels" } else { "one each" },
                "bytes": size(&layout.model())?,
            }),
            pretrained: self.pretrained_facts()?,
            index,
        })
    }

    fn pretrained_facts(&self) -> Result<Value> {
        let (model, folder) = (self.model(), self.layout().pretrained());
        let contents = Contents::read(&folder)?;
        let mut facts = json!({});
        if let Some(vectors) = contents.word_vectors {
            facts["word_vectors"] = json!({ "source": vectors.source, "words": vectors.words, "dims": vectors.dims });
        }
        if let (Some(stored), Some(transformer)) = (contents.bert, &model.pretrained.transformer) {
            let place =
                stored.folder.map_or_else(|| "in the bundle".to_string(), |folder| folder.display().to_string());
            facts["bert"] = json!({
                "family": transformer.family(),
                "dims": transformer.shape().dims,
                "layers": transformer.shape().layers,
                "read": model.config.bert.layers,
                "trained": model.config.bert.train,
                "folder": place,
                "hash": stored.hash,
            });
        }
        if facts == json!({}) {
            return Ok(Value::Null);
        }
        facts["bytes"] = json!(size(&folder)?);
        Ok(facts)
    }
}

fn training(about: &About) -> Value {
    let mut facts = json!({
        "date": date(about.trained_at),
        "citree": about.citree,
        "sentences": about.sentences,
        "words": about.words,
    });
    for scores in &about.dev {
        facts[format!("dev {}", scores.decode)] = json!({ "UAS": rounded(scores.uas), "LAS": rounded(scores.las) });
    }
    if let Some(command) = &about.command {
        facts["command"] = json!(command);
    }
    facts
}

fn rules(rules: &MeasuredRules) -> Value {
    let mut facts = json!({ "decides": rules.own.describe() });
    for of in &rules.measured {
        facts[of.rule.to_string()] = json!({
            "UAS": rounded(of.uas),
            "LAS": rounded(of.las),
            "words": of.words,
            "calibration error": [rounded_error(of.heads.error), rounded_error(of.labels.error)],
        });
    }
    facts
}

fn rounded_error(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

fn rounded(percent: f64) -> f64 {
    (percent * 100.0).round() / 100.0
}

fn date(seconds: u64) -> String {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    humantime::format_rfc3339_seconds(time).to_string()
}

fn index(edges: &TrainingEdges, folder: &Path) -> Result<Value> {
    let (index, manifest) = (edges.index(), edges.index().manifest());
    let mut facts = json!({
        "generation": index.generation(),
        "edges": manifest.records,
        "sentences": manifest.sources,
        "documents": edges.group_names(Grouping::Document).len(),
        "genres": edges.group_names(Grouping::Genre),
        "treebank": hex(&manifest.content),
        "heads": space(edges.facts(Task::Heads)),
        "labels": space(edges.facts(Task::Labels)),
        "rejected": rejected(edges),
        "bytes": size(folder)?,
    });
    if !index.log().is_empty() {
        facts["segments"] = json!(index.segments().len());
        facts["changes"] = json!(index.log().len());
    }
    Ok(facts)
}

/// The rejected edges; null in an index without any.
fn rejected(edges: &TrainingEdges) -> Value {
    let contrasts = edges.index().manifest().contrasts.as_ref();
    contrasts.map_or(Value::Null, |contrasts| {
        let mut facts = space(&contrasts.space);
        facts["edges"] = json!(contrasts.records);
        facts
    })
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

impl std::fmt::Display for Info {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.index.is_null() {
            writeln!(f, "no index: build it with `citree index`")?;
        }
        let parts = [
            ("training", &self.training),
            ("rules", &self.rules),
            ("model", &self.model),
            ("pretrained", &self.pretrained),
            ("index", &self.index),
        ];
        for (part, facts) in parts {
            let Some(facts) = facts.as_object() else { continue };
            writeln!(f, "{part}")?;
            for (name, value) in facts {
                writeln!(f, "  {name:<12} {}", line(name, value))?;
            }
        }
        Ok(())
    }
}

fn line(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if name == "bytes" => bytes(number.as_u64().unwrap_or_default()),
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

/// A size with a binary unit and two decimals.
fn bytes(count: u64) -> String {
    let mut value = count as f64;
    let mut units = ["B", "KiB", "MiB", "GiB"].into_iter().peekable();
    while let Some(unit) = units.next() {
        if value < 1024.0 || units.peek().is_none() {
            return if unit == "B" { format!("{count} B") } else { format!("{value:.2} {unit}") };
        }
        value /= 1024.0;
    }
    String::new()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The total size of the files in a folder and its subfolders.
fn size(folder: &Path) -> Result<u64> {
    let entries = std::fs::read_dir(folder).map_err(Error::io(folder))?;
    let mut sum = 0;
    for entry in entries {
        let entry = entry.map_err(Error::io(folder))?;
        let facts = entry.metadata().map_err(Error::io(folder))?;
        sum += if facts.is_dir() { size(&entry.path())? } else { facts.len() };
    }
    Ok(sum)
}
