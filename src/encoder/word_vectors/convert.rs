//! Converts a text file of word vectors to a table, line by line. Words stay in memory until they can be sorted; rows
//! do not.

use super::content::Content;
use super::text::Text;
use super::{CODES, ENDS, FINGERPRINT, KIND, ROWS, SCALES, SPELLINGS, WordVectors, facts, in_bundle};
use crate::error::{Error, Result};
use citree_index::container::{Section, Writer};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Lines between two progress reports.
const REPORT: usize = 4096;

/// The result of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Converted {
    /// Number of words in the table.
    pub words: u64,
    /// Number of values per word.
    pub dims: usize,
    /// Skipped lines: repeated words (the first occurrence counts), and words that are not UTF-8.
    pub skipped: u64,
}

impl WordVectors {
    /// Builds the table `target` from a text of vectors: fastText's `.vec` or GloVe's `.txt`, plain or gzipped. Memory
    /// grows with the number of words, not with their values. `progress` is called regularly with the bytes read and the
    /// total. The table is renamed into place when it is complete, and replaces an existing one.
    pub(crate) fn convert(source: &Path, target: &Path, progress: &dyn Fn(u64, u64)) -> Result<Converted> {
        let mut temporary = target.as_os_str().to_owned();
        temporary.push(".new");
        let temporary = PathBuf::from(temporary);
        let mut text = Text::open(source)?;
        // Left by an interrupted conversion.
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::io(&temporary)(error)),
            _ => {}
        }
        let converted = write(&mut text, &temporary, progress)
            .and_then(|converted| std::fs::rename(&temporary, target).map_err(Error::io(target)).map(|()| converted));
        if converted.is_err() {
            // The conversion's error matters more than a failed cleanup.
            drop(std::fs::remove_file(&temporary));
        }
        converted
    }
}

fn write(text: &mut Text, path: &Path, progress: &dyn Fn(u64, u64)) -> Result<Converted> {
    let dims = text.dims();
    let mut table = Table::create(path).map_err(in_bundle)?;
    let (mut values, mut skipped) = (Vec::new(), 0);
    for line in 0.. {
        if line % REPORT == 0 {
            let (read, total) = text.progress();
            progress(read, total);
        }
        let Some(word) = text.next(&mut values)? else { break };
        let Some(word) = std::str::from_utf8(word).ok().filter(|word| !table.rows.contains_key(*word)) else {
            skipped += 1;
            continue;
        };
        let Some(row) = u32::try_from(table.rows.len()).ok().filter(|row| *row < u32::MAX) else {
            let (found, expected) = ("one word more".to_string(), "a table has fewer than 2^32".to_string());
            return Err(text.bad(found, expected, "leave out the rarest words"));
        };
        table.rows.insert(word.into(), row);
        table.add(&values).map_err(in_bundle)?;
    }
    if table.rows.is_empty() {
        return Err(text.empty());
    }
    let (read, total) = text.progress();
    progress(read, total);
    let words = table.rows.len() as u64;
    table.finish(dims).map_err(in_bundle)?;
    Ok(Converted { words, dims, skipped })
}

/// A table under construction.
struct Table {
    file: Writer,
    stored: Section<i8>,
    rows: BTreeMap<Box<str>, u32>,
    scales: Vec<f32>,
    codes: Vec<i8>,
    /// The sum of squares of the values after rounding to codes.
    sum_of_squares: f64,
}

impl Table {
    fn create(path: &Path) -> Result<Self, citree_index::Error> {
        let mut file = Writer::create(path.to_path_buf(), KIND)?;
        let stored = file.start(CODES)?;
        Ok(Self { file, stored, rows: BTreeMap::new(), scales: Vec::new(), codes: Vec::new(), sum_of_squares: 0.0 })
    }

    fn add(&mut self, values: &[f32]) -> Result<(), citree_index::Error> {
        let scale = values.iter().fold(0f32, |most, value| most.max(value.abs())) / 127.0;
        // A row of zeros, or of values so small that the scale underflows to zero, gets codes of 0.
        let inverse = if scale > 0.0 { 1.0 / f64::from(scale) } else { 0.0 };
        let code = |value: &f32| (f64::from(*value) * inverse).round().clamp(-127.0, 127.0) as i8;
        self.codes.clear();
        self.codes.extend(values.iter().map(code));
        let squares: f64 = self.codes.iter().map(|&code| f64::from(code).powi(2)).sum();
        self.sum_of_squares += squares * f64::from(scale).powi(2);
        self.scales.push(scale);
        self.file.push(&self.stored, &self.codes)
    }

    fn finish(mut self, dims: usize) -> Result<(), citree_index::Error> {
        let file = &mut self.file;
        let scales = file.section(SCALES, &self.scales)?;
        let spellings = file.start::<u8>(SPELLINGS)?;
        self.rows.keys().try_for_each(|word| file.push(&spellings, word.as_bytes()))?;
        let ends = file.start::<u64>(ENDS)?;
        let mut end = 0;
        for word in self.rows.keys() {
            end += word.len() as u64;
            file.push(&ends, &[end])?;
        }
        let rows = file.start::<u32>(ROWS)?;
        self.rows.values().try_for_each(|row| file.push(&rows, &[*row]))?;
        let content = Content {
            codes: file.seal(self.stored)?,
            scales: file.seal(scales)?,
            spellings: file.seal(spellings)?,
            ends: file.seal(ends)?,
            rows: file.seal(rows)?,
        };
        file.section(FINGERPRINT, &content.fingerprint())?;
        let mean_square = self.sum_of_squares / content.codes.len() as f64;
        // A table of zeros cannot be scaled to unit variance.
        let factor = if mean_square > 0.0 { mean_square.sqrt().recip() } else { 1.0 };
        self.file.finish(facts(self.rows.len(), dims, factor))
    }
}
