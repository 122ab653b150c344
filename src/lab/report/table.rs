//! The tables of a report, their cells, and both as Markdown and CSV.

use serde::Serialize;
use std::fmt::Write;

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
        let (mean, deviation) = crate::lab::statistics::mean_and_deviation(values);
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

    pub(in crate::lab) fn csv(&self) -> String {
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

    pub(super) fn markdown(&self) -> String {
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

    pub(super) fn csv(&self) -> String {
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
