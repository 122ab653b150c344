//! The report of an experiment: tables and plots, written as JSON, CSV, Markdown and SVG.

mod page;
mod table;

pub use table::{Cell, Table};

use super::trainings::Record;
use super::{Experiment, Lab};
use crate::error::{Error, Result};
use crate::files::write_atomically;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

/// The results of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The heading.
    pub title: String,
    /// What was done, and how to read the tables; one paragraph each.
    pub notes: Vec<String>,
    /// The tables.
    pub tables: Vec<Table>,
    /// The drawings.
    pub(crate) drawings: Vec<Drawing>,
    /// Long lists for machines: file names and their contents.
    pub files: Vec<(String, String)>,
}

/// A drawing.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    /// The name of its file, without `.svg`.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// The SVG text.
    pub svg: String,
}

impl Report {
    /// Writes the folder of the experiment.
    pub(super) fn write(
        &self,
        lab: &Lab,
        experiment: Experiment,
        seeds: &BTreeSet<u64>,
        trained: &[Record],
    ) -> Result<()> {
        let folder = lab.folder.join(experiment.name());
        std::fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        clear(&folder)?;
        let put = |name: &str, text: &str| write_atomically(&folder.join(Path::new(name)), text.as_bytes());
        for table in &self.tables {
            put(&format!("{}.csv", table.name), &table.csv())?;
        }
        for drawing in &self.drawings {
            put(&format!("{}.svg", drawing.name), &drawing.svg)?;
        }
        for (name, text) in &self.files {
            put(name, text)?;
        }
        put("report.md", &self.markdown(lab, seeds, trained))?;
        let treebank = json!({
            "name": lab.name, "train_sentences": lab.train.len(), "train_words": lab.words(lab.train),
            "dev_sentences": lab.dev.len(), "dev_words": lab.words(lab.dev),
        });
        let all = json!({
            "experiment": experiment.name(), "title": self.title, "citree": env!("CARGO_PKG_VERSION"),
            "command": lab.command, "treebank": treebank, "seeds": seeds,
            "config": settings(lab), "trainings": trained, "notes": self.notes, "tables": self.tables,
        });
        let text = serde_json::to_string_pretty(&all).map_err(|e| Error::Tensor { message: e.to_string() })?;
        put("report.json", &(text + "\n"))
    }
}

/// Deletes an earlier report, so that none of its files stay next to the new one.
fn clear(folder: &Path) -> Result<()> {
    if !folder.join("report.json").is_file() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder))?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|kind| ["md", "json", "csv", "svg"].iter().any(|own| kind == *own)) {
            std::fs::remove_file(&path).map_err(Error::io(&path))?;
        }
    }
    Ok(())
}

/// The training settings, without system and seed, which the tables list.
fn settings(lab: &Lab) -> toml::Table {
    let config = lab.bundle.map_or(lab.config, |bundle| &bundle.model().config);
    // Converts via TOML text, because a direct conversion would show the `f32` 0.3 as 0.30000001.
    let mut table: toml::Table = toml::from_str(&config.to_toml()).unwrap_or_default();
    if lab.bundle.is_none() {
        table.retain(|key, _| key != "system" && key != "seed");
    }
    table
}
