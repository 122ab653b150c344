//! A text of word vectors into a table, line by line: words stay in memory until they can be put in order, rows do not.

use super::content::Content;
use super::text::Text;
use super::{CODES, ENDS, FINGERPRINT, KIND, ROWS, SCALES, SPELLINGS, WordVectors, facts, in_bundle};
use crate::error::{Error, Result};
use citree_index::container::{Section, Writer};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Lines between two reports of progress.
const REPORT: usize = 4096;

/// What a conversion came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Converted {
    /// Words of the table.
    pub words: u64,
    /// Values of a word.
    pub dims: usize,
    /// Lines left out: a word that came before (the first one counts), or one that is not UTF-8.
    pub skipped: u64,
}

impl WordVectors {
    /// Makes the table `target` of a text of vectors: fastText's `.vec` or GloVe's `.txt`, plain or gzipped. Memory grows
    /// with the words, not with their values. `tell` is given the bytes read and those there are, now and then. The table
    /// appears under its name when it is whole; one that was there is replaced.
    pub(crate) fn convert(source: &Path, target: &Path, tell: &dyn Fn(u64, u64)) -> Result<Converted> {
        let mut temporary = target.as_os_str().to_owned();
        temporary.push(".new");
        let temporary = PathBuf::from(temporary);
        let mut text = Text::open(source)?;
        // What an interrupted conversion left.
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::io(&temporary)(error)),
            _ => {}
        }
        let converted = write(&mut text, &temporary, tell)
            .and_then(|converted| std::fs::rename(&temporary, target).map_err(Error::io(target)).map(|()| converted));
        if converted.is_err() {
            // The error that is reported says more than a failure to tidy up after it.
            drop(std::fs::remove_file(&temporary));
        }
        converted
    }
}

fn write(text: &mut Text, path: &Path, tell: &dyn Fn(u64, u64)) -> Result<Converted> {
    let dims = text.dims();
    let mut table = Table::create(path).map_err(in_bundle)?;
    let (mut values, mut skipped) = (Vec::new(), 0);
    for line in 0.. {
        if line % REPORT == 0 {
            let (read, total) = text.progress();
            tell(read, total);
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
    tell(read, total);
    let words = table.rows.len() as u64;
    table.finish(dims).map_err(in_bundle)?;
    Ok(Converted { words, dims, skipped })
}

/// A table in the making.
struct Table {
    file: Writer,
    stored: Section<i8>,
    rows: BTreeMap<Box<str>, u32>,
    scales: Vec<f32>,
    codes: Vec<i8>,
    /// Of the values as they will be read.
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
        // A row of zeros, or of values so small that their scale is zero, has the codes 0.
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
        // Nothing can bring a table of zeros to unit variance.
        let factor = if mean_square > 0.0 { mean_square.sqrt().recip() } else { 1.0 };
        self.file.finish(facts(self.rows.len(), dims, factor))
    }
}
