//! The report of an experiment: tables and plots, written as JSON, CSV, Markdown and SVG.

use super::trainings::Record;
use super::{Experiment, Lab};
use crate::error::{Error, Result};
use crate::files::write_atomically;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;
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
    pub drawings: Vec<Drawing>,
    /// Long lists for machines: file names and their contents.
    pub files: Vec<(String, String)>,
}

/// A drawing.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// The name of its file, without `.svg`.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// The SVG text.
    pub svg: String,
}

/// A table of results.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    /// The name of its file, without `.csv`.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// The column headings.
    pub columns: Vec<String>,
    /// The cells of each row, one per column.
    pub rows: Vec<Vec<Cell>>,
    /// The number of rows in the Markdown; the CSV has all.
    #[serde(skip)]
    pub shown: Option<usize>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A count.
    Count(u64),
    /// A measured number.
    Value(f64),
    /// A measured number with its variation over seeds or draws.
    Mean {
        /// The mean.
        mean: f64,
        /// The standard deviation; `None` for a single value.
        deviation: Option<f64>,
    },
    /// An empty cell.
    Nothing,
}

impl Cell {
    /// A cell with text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A cell with the mean of some values and their deviation.
    pub(crate) fn mean(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self::Nothing;
        }
        let (mean, deviation) = super::statistics::mean_and_deviation(values);
        Self::Mean { mean, deviation }
    }

    fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.replace('|', "\\|").replace('\n', " "),
            Self::Count(count) => crate::explain::wording::count(*count),
            Self::Value(value) | Self::Mean { mean: value, deviation: None } => digits(*value),
            Self::Mean { mean, deviation: Some(deviation) } => format!("{} ± {deviation:.2}", digits(*mean)),
            Self::Nothing => String::new(),
        }
    }

    pub(super) fn csv(&self) -> String {
        match self {
            Self::Text(text) if text.contains([',', '"', '\n', '\r']) => format!("\"{}\"", text.replace('"', "\"\"")),
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Value(value) | Self::Mean { mean: value, .. } => value.to_string(),
            Self::Nothing => String::new(),
        }
    }

    fn csv_deviation(&self) -> String {
        match self {
            Self::Mean { deviation: Some(deviation), .. } => deviation.to_string(),
            _ => String::new(),
        }
    }
}

/// A number with a suitable number of decimals.
fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        ..0.01 => format!("{value:.5}"),
        ..1.0 => format!("{value:.3}"),
        ..1000.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

impl Table {
    /// A table without rows.
    pub(crate) fn new<S: Into<String>>(name: &str, caption: &str, columns: impl IntoIterator<Item = S>) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { name: name.to_string(), caption: caption.to_string(), columns, ..Self::default() }
    }

    fn markdown(&self) -> String {
        let mut out = format!("{}\n\n| {} |\n|", self.caption, self.columns.join(" | "));
        for column in 0..self.columns.len() {
            let words =
                self.rows.iter().all(|row| matches!(row.get(column), Some(Cell::Text(_) | Cell::Nothing) | None));
            out += if words { "---|" } else { "---:|" };
        }
        out.push('\n');
        let shown = self.shown.unwrap_or(self.rows.len());
        for row in self.rows.iter().take(shown) {
            let cells: Vec<String> = row.iter().map(Cell::shown).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        if shown < self.rows.len() {
            let _ =
                writeln!(out, "\nThe first {shown} of {}; all are in [{1}.csv]({1}.csv).", self.rows.len(), self.name);
        }
        out
    }

    fn csv(&self) -> String {
        let varies =
            |column: usize| self.rows.iter().any(|row| row.get(column).is_some_and(|c| !c.csv_deviation().is_empty()));
        let varying: Vec<bool> = (0..self.columns.len()).map(varies).collect();
        let mut names = Vec::new();
        for (name, varies) in self.columns.iter().zip(&varying) {
            names.push(Cell::text(name).csv());
            if *varies {
                names.push(Cell::text(format!("{name} deviation")).csv());
            }
        }
        let mut out = names.join(",") + "\n";
        for row in &self.rows {
            let mut cells = Vec::new();
            for (cell, varies) in row.iter().zip(&varying) {
                cells.push(cell.csv());
                if *varies {
                    cells.push(cell.csv_deviation());
                }
            }
            out += &(cells.join(",") + "\n");
        }
        out
    }
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

    fn markdown(&self, lab: &Lab, seeds: &BTreeSet<u64>, trained: &[Record]) -> String {
        let mut out = format!("# {}\n\n", self.title);
        for note in &self.notes {
            let _ = writeln!(out, "{note}\n");
        }
        for table in &self.tables {
            let _ = writeln!(out, "{}", table.markdown());
        }
        for Drawing { name, caption, .. } in &self.drawings {
            let _ = writeln!(out, "![{caption}]({name}.svg)\n");
        }
        let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
        let _ = writeln!(
            out,
            "## How it was made\n\n```sh\n{}\n```\n\ncitree {}, treebank {}: training set of {} sentences, {} words; dev set of {} sentences, {} words.{}\n",
            lab.command,
            env!("CARGO_PKG_VERSION"),
            lab.name,
            lab.train.len(),
            lab.words(lab.train),
            lab.dev.len(),
            lab.words(lab.dev),
            if seeds.is_empty() { String::new() } else { format!(" Seeds: {}.", seeds.join(", ")) }
        );
        if trained.is_empty() {
            let _ = writeln!(out, "Measured on a trained bundle with these settings:\n\n```toml\n{}```", toml(lab));
            return out;
        }
        let minutes = trained.iter().map(|training| training.seconds).sum::<f64>() / 60.0;
        let _ = writeln!(
            out,
            "{} models were trained, {} epochs each: {minutes:.1} minutes in all, summed over trainings that ran in \
             parallel.\n\n| model | best epoch | dev accuracy then, % | minutes | threads |\n|---|---:|---:|---:|---:|",
            trained.len(),
            lab.config.epochs
        );
        for Record { name, best_epoch, dev_accuracy, seconds, threads, .. } in trained {
            let (percent, minutes) = (dev_accuracy * 100.0, seconds / 60.0);
            let _ = writeln!(out, "| {name} | {best_epoch} | {percent:.2} | {minutes:.1} | {threads} |");
        }
        let _ = writeln!(out, "\n```toml\n{}```", toml(lab));
        out
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

fn toml(lab: &Lab) -> String {
    toml::to_string_pretty(&settings(lab)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("t", "What", ["name", "UAS"]);
        table.rows.push(vec![Cell::text("a, \"b\" | c"), Cell::mean(&[90.0, 91.0])]);
        table.rows.push(vec![Cell::text("d"), Cell::mean(&[90.0])]);
        table
    }

    #[test]
    fn markdown_shows_deviations_and_escapes_pipes() {
        let text = table().markdown();
        assert!(text.contains("| a, \"b\" \\| c | 90.50 ± 0.71 |\n| d | 90.00 |"), "{text}");
        assert!(text.contains("|---|---:|"), "{text}");
    }

    #[test]
    fn a_csv_has_a_column_of_deviations_if_there_are_any() {
        let text = table().csv();
        assert!(text.starts_with("name,UAS,UAS deviation\n\"a, \"\"b\"\" | c\",90.5,0.707"), "{text}");
        assert!(text.ends_with("\nd,90,\n"), "{text}");
    }

    #[test]
    fn a_long_table_is_truncated_with_a_note() {
        let text = Table { shown: Some(1), ..table() }.markdown();
        assert!(!text.contains("| d |") && text.contains("The first 1 of 2; all are in [t.csv](t.csv)."), "{text}");
    }
}
