//! Converts published word vectors to a table: a text line by line, a binary file row by row. Words stay in memory until
//! they can be sorted, and so do n-grams of a binary file; rows of words do not.

use super::binary::Binary;
use super::content::Content;
use super::floret::Floret;
use super::grams::Grams;
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
    /// Builds the table `target` from a file of vectors: fastText's `.vec` or GloVe's `.txt`, plain or gzipped, fastText's
    /// `.bin`, or floret's `.floret`. Memory grows with the number of words and of n-grams, not with the values of words.
    /// `progress` is called regularly with how much is done and the total. The table is renamed into place when it is complete, and replaces an existing one.
    pub(crate) fn convert(source: &Path, target: &Path, progress: &dyn Fn(u64, u64)) -> Result<Converted> {
        let mut temporary = target.as_os_str().to_owned();
        temporary.push(".new");
        let temporary = PathBuf::from(temporary);
        let source = Source::open(source)?;
        // Left by an interrupted conversion.
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::io(&temporary)(error)),
            _ => {}
        }
        let converted = match source {
            Source::Text(text) => write(text, &temporary, progress),
            Source::Binary(binary) => write_binary(binary, &temporary, progress),
            Source::Floret(floret) => write_floret(floret, &temporary, progress),
        };
        let converted = converted
            .and_then(|converted| std::fs::rename(&temporary, target).map_err(Error::io(target)).map(|()| converted));
        if converted.is_err() {
            // The conversion's error matters more than a failed cleanup.
            drop(std::fs::remove_file(&temporary));
        }
        converted
    }
}

/// A file of word vectors by its kind.
enum Source {
    Text(Text),
    Binary(Binary),
    Floret(Floret),
}

impl Source {
    fn open(path: &Path) -> Result<Self> {
        if Binary::is_one(path)? {
            return Ok(Self::Binary(Binary::open(path)?));
        }
        let text = Text::open(path)?;
        Ok(match Floret::begins(text)? {
            Ok(floret) => Self::Floret(floret),
            Err(text) => Self::Text(text),
        })
    }
}

fn write(mut text: Text, path: &Path, progress: &dyn Fn(u64, u64)) -> Result<Converted> {
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
    table.finish(dims, None).map_err(in_bundle)?;
    Ok(Converted { words, dims, skipped })
}

/// The vector of a word is the mean of its own row and of its n-grams' rows, as fastText itself answers.
fn write_binary(mut binary: Binary, path: &Path, progress: &dyn Fn(u64, u64)) -> Result<Converted> {
    let (dims, grams) = (binary.dims, binary.grams);
    let total = binary.words.len() as u64 + grams.map_or(0, |grams| grams.buckets);
    let mut done = 0;
    let mut step = || {
        if done % REPORT as u64 == 0 || done + 1 == total {
            progress(done + 1, total);
        }
        done += 1;
    };
    let mut buckets = Rounded::default();
    binary.buckets(|row| {
        step();
        buckets.push(row);
        Ok(())
    })?;
    let mut table = Table::create(path).map_err(in_bundle)?;
    // In f64, so that large values do not add up to infinity.
    let (mut skipped, mut sum, mut mean) = (0, vec![0.0_f64; dims], vec![0.0_f32; dims]);
    binary.words(|word, row| {
        step();
        let Some(word) = std::str::from_utf8(word).ok().filter(|word| !table.rows.contains_key(*word)) else {
            skipped += 1;
            return Ok(());
        };
        sum.iter_mut().zip(row).for_each(|(sum, &value)| *sum = f64::from(value));
        // The mark of a sentence's end has no n-grams.
        let shared = grams.filter(|_| word != "</s>").map_or(Vec::new(), |grams| grams.buckets(word));
        for &bucket in &shared {
            buckets.add_to(&mut sum, bucket as usize);
        }
        mean.iter_mut().zip(&sum).for_each(|(mean, sum)| *mean = (sum / (shared.len() + 1) as f64) as f32);
        table.rows.insert(word.into(), table.rows.len() as u32);
        table.add(&mean).map_err(in_bundle)
    })?;
    let words = table.rows.len() as u64;
    if words == 0 && grams.is_none() {
        return Err(binary.empty());
    }
    buckets.write(&mut table).map_err(in_bundle)?;
    table.finish(dims, grams.as_ref()).map_err(in_bundle)?;
    Ok(Converted { words, dims, skipped })
}

fn write_floret(mut floret: Floret, path: &Path, progress: &dyn Fn(u64, u64)) -> Result<Converted> {
    let (dims, grams) = (floret.dims(), floret.grams);
    let mut table = Table::create(path).map_err(in_bundle)?;
    let mut values = Vec::new();
    for row in 0..grams.buckets {
        if row % REPORT as u64 == 0 {
            let (read, total) = floret.progress();
            progress(read, total);
        }
        floret.row(row, &mut values)?;
        table.add(&values).map_err(in_bundle)?;
    }
    let (read, total) = floret.progress();
    progress(read, total);
    table.finish(dims, Some(&grams)).map_err(in_bundle)?;
    Ok(Converted { words: 0, dims, skipped: 0 })
}

/// Rows rounded to codes.
#[derive(Default)]
struct Rounded {
    codes: Vec<i8>,
    scales: Vec<f32>,
}

impl Rounded {
    fn push(&mut self, values: &[f32]) {
        let scale = values.iter().fold(0f32, |most, value| most.max(value.abs())) / 127.0;
        // A row of zeros, or of values so small that the scale underflows to zero, gets codes of 0.
        let inverse = if scale > 0.0 { 1.0 / f64::from(scale) } else { 0.0 };
        let code = |value: &f32| (f64::from(*value) * inverse).round().clamp(-127.0, 127.0) as i8;
        self.codes.extend(values.iter().map(code));
        self.scales.push(scale);
    }

    fn add_to(&self, sum: &mut [f64], row: usize) {
        let codes = &self.codes[row * sum.len()..(row + 1) * sum.len()];
        sum.iter_mut().zip(codes).for_each(|(sum, &code)| *sum += f64::from(code) * f64::from(self.scales[row]));
    }

    /// Writes the rows behind those of the table. They have no part in its size.
    fn write(self, table: &mut Table) -> Result<(), citree_index::Error> {
        table.scales.extend(self.scales);
        table.file.push(&table.stored, &self.codes)
    }
}

/// A table under construction.
struct Table {
    file: Writer,
    stored: Section<i8>,
    rows: BTreeMap<Box<str>, u32>,
    scales: Vec<f32>,
    /// The last row.
    last: Rounded,
    /// The sum of squares of the values after rounding to codes, and how many there are.
    sum_of_squares: f64,
    values: u64,
}

impl Table {
    fn create(path: &Path) -> Result<Self, citree_index::Error> {
        let mut file = Writer::create(path.to_path_buf(), KIND)?;
        let stored = file.start(CODES)?;
        let (rows, scales, last) = (BTreeMap::new(), Vec::new(), Rounded::default());
        Ok(Self { file, stored, rows, scales, last, sum_of_squares: 0.0, values: 0 })
    }

    fn add(&mut self, values: &[f32]) -> Result<(), citree_index::Error> {
        self.last.codes.clear();
        self.last.push(values);
        let scale = self.last.scales.pop().unwrap_or_default();
        let squares: f64 = self.last.codes.iter().map(|&code| f64::from(code).powi(2)).sum();
        self.sum_of_squares += squares * f64::from(scale).powi(2);
        self.values += values.len() as u64;
        self.scales.push(scale);
        self.file.push(&self.stored, &self.last.codes)
    }

    fn finish(mut self, dims: usize, grams: Option<&Grams>) -> Result<(), citree_index::Error> {
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
        file.section(FINGERPRINT, &content.fingerprint(grams))?;
        let mean_square = self.sum_of_squares / self.values.max(1) as f64;
        // A table of zeros cannot be scaled to unit variance.
        let factor = if mean_square > 0.0 { mean_square.sqrt().recip() } else { 1.0 };
        self.file.finish(facts(self.rows.len(), dims, factor, grams))
    }
}
