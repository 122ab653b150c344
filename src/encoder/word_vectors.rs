//! Frozen word vectors: a table built once from a published file and then memory-mapped. Opening it is fast
//! whatever its size, and only the pages of the words in use take memory.
//!
//! A row is stored as i8 codes with its own scale, a quarter of the size of f32. All rows are multiplied by one factor
//! that makes the root mean square of the whole table 1. The other inputs of the encoder have unit variance too, and
//! published vectors differ widely in size.

mod binary;
mod content;
mod convert;
mod floret;
mod grams;
mod text;

#[cfg(test)]
use convert::Converted;

use self::content::Content;
use self::grams::Grams;
use crate::error::{Error, Result};
use citree_index::container::{FACTS, Sections};
use std::path::Path;
use std::sync::Arc;

/// The container kind of a word-vector table. Index files use the lower numbers.
const KIND: u32 = 4;

const CODES: u32 = 1;
const SCALES: u32 = 2;
const SPELLINGS: u32 = 3;
const ENDS: u32 = 4;
const ROWS: u32 = 5;
const FINGERPRINT: u32 = 6;

/// A mapped table of frozen word vectors.
#[derive(Debug)]
pub(crate) struct WordVectors {
    file: Sections,
    content: Content,
    dims: usize,
    factor: f64,
    /// How words without a row are put together, if they are.
    grams: Option<Grams>,
}

/// Where a word has its vector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nowhere: zeros stand for it.
    #[default]
    Nowhere,
    /// In a row of its own.
    Row(u32),
    /// It is the mean of these rows.
    Mean(Arc<[u32]>),
}

impl WordVectors {
    /// Maps a table. The cost does not depend on the number of words.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::map(path).map_err(in_bundle)
    }

    fn map(path: &Path) -> Result<Self, citree_index::Error> {
        let file = Sections::open(path.to_path_buf(), KIND)?;
        let facts = file.facts();
        let [words, dims, factor, ..] = facts;
        let factor = f64::from_bits(factor);
        let grams = Grams::of(&facts).map_err(|what| file.damaged(what, "those of fastText or floret", "others"))?;
        let rows = words.saturating_add(grams.map_or(0, |grams| grams.buckets));
        // Row numbers have 32 bits.
        if rows == 0 || rows > u64::from(u32::MAX) || dims == 0 {
            let found = format!("{words} of {dims} values");
            return Err(file.damaged("the number of words", "at least one, of at least one value", found));
        }
        if !(factor.is_finite() && factor > 0.0) {
            return Err(file.damaged("the factor of all values", "above zero", factor));
        }
        let content = Content {
            codes: file.view(CODES, &[rows, dims])?,
            scales: file.view(SCALES, &[rows])?,
            spellings: file.bytes(SPELLINGS)?,
            ends: file.view(ENDS, &[words])?,
            rows: file.view(ROWS, &[words])?,
        };
        // The codes are inside the mapped file, so their number, and thus `dims`, fits in a `usize`.
        Ok(Self { dims: content.codes.len() / content.scales.len(), file, content, factor, grams })
    }

    /// Number of values in a row.
    pub(crate) fn dims(&self) -> usize {
        self.dims
    }

    /// Number of words with a row of their own.
    pub(crate) fn len(&self) -> usize {
        self.content.rows.len()
    }

    /// The row of a word: the exact form, else the lower-cased form; `None` if neither is in the table.
    pub(crate) fn find(&self, word: &str) -> Option<u32> {
        self.content.find(word).or_else(|| self.content.find(&word.to_lowercase()))
    }

    /// Where a word has its vector: its own row, or the n-grams that it shares with others, if the table has them.
    pub(crate) fn place(&self, word: &str) -> Place {
        if let Some(row) = self.find(word) {
            return Place::Row(row);
        }
        let Some(grams) = &self.grams else { return Place::Nowhere };
        // All rows together have a number of 32 bits.
        let rows: Arc<[u32]> =
            grams.buckets(word).into_iter().map(|bucket| (self.len() as u64 + bucket) as u32).collect();
        if rows.is_empty() { Place::Nowhere } else { Place::Mean(rows) }
    }

    /// Reads the values of a word into `out`.
    ///
    /// # Panics
    /// Panics if the place is not from this table, or if `out` does not have length [`dims`](Self::dims).
    pub(crate) fn read(&self, place: &Place, out: &mut [f32]) {
        assert_eq!(out.len(), self.dims, "room for one row");
        let rows = match place {
            Place::Nowhere => &[][..],
            Place::Row(row) => std::slice::from_ref(row),
            Place::Mean(rows) => rows,
        };
        out.fill(0.0);
        for &row in rows {
            let row = row as usize;
            let scale = self.content.scales.value(row).expect("a row of `place`");
            let scale = (f64::from(scale) * self.factor / rows.len() as f64) as f32;
            let codes = self.content.codes.part(row * self.dims..(row + 1) * self.dims).expect("a row of `place`");
            out.iter_mut().zip(codes).for_each(|(out, &code)| *out += f32::from(code) * scale);
        }
    }

    /// Refuses a table of which something that was read so far differs from its checksum.
    pub(crate) fn intact(&self) -> Result<()> {
        self.file.intact().map_err(in_bundle)
    }

    /// Verifies the checksums, the order of words, the row numbers and the fingerprint. Reads the whole file.
    pub(crate) fn check(&self) -> Result<()> {
        self.file.check().map_err(in_bundle)?;
        let damage = |(what, expected, found): content::Damage| in_bundle(self.file.damaged(what, expected, found));
        self.content.check().map_err(damage)?;
        let (expected, found) = (self.content.fingerprint(self.grams.as_ref()), self.fingerprint()?);
        if found != expected {
            let hex = |bytes: [u8; 32]| blake3::Hash::from(bytes).to_string();
            return Err(damage(("the fingerprint".to_string(), hex(expected), hex(found))));
        }
        Ok(())
    }

    /// Identifies a table: a hash of its words and values, computed when it was built.
    pub(crate) fn fingerprint(&self) -> Result<[u8; 32]> {
        let bytes = self.file.view::<u8>(FINGERPRINT, &[32]).map_err(in_bundle)?;
        Ok(std::array::from_fn(|at| bytes[at]))
    }
}

/// The header fields of a table.
fn facts(words: usize, dims: usize, factor: f64, grams: Option<&Grams>) -> [u64; FACTS] {
    let mut facts = [0; FACTS];
    facts[..3].copy_from_slice(&[words as u64, dims as u64, factor.to_bits()]);
    if let Some(grams) = grams {
        grams.write(&mut facts);
    }
    facts
}

/// Converts a container error to a bundle error. The container's remedy is to rebuild an index, which does not help
/// here.
fn in_bundle(error: citree_index::Error) -> Error {
    use citree_index::Error as Index;
    const RESTORE: &str = "train again, or restore the file";
    let bundle = |path, expected, found, remedy: &str| Error::Bundle { path, expected, found, remedy: remedy.into() };
    match error {
        Index::Io { path, source, .. } => Error::Io { path, source },
        Index::Foreign { path, found, .. } => {
            let found = format!("a file that begins with {found:02x?}");
            bundle(path, "a table of word vectors written by citree".into(), found, RESTORE)
        }
        Index::Version { path, expected, found, .. } => {
            let remedy = "train again with this program, or use the program that wrote it";
            bundle(path, format!("format version {expected}"), format!("version {found}"), remedy)
        }
        Index::Length { path, expected, found, .. } => {
            bundle(path, format!("{expected} bytes"), format!("{found} bytes"), RESTORE)
        }
        Index::Damaged { path, what, expected, found, .. } => {
            bundle(path, format!("{what} to be {expected}"), found, RESTORE)
        }
        other => Error::Index(other),
    }
}

#[cfg(test)]
mod tests;
