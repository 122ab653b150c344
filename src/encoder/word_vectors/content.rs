//! The contents of a table: rows in source order, and words in byte order with the row of each.

use super::grams::Grams;
use citree_index::container::{FACTS, View};
use std::cmp::Ordering;

/// The mapped sections of a table.
#[derive(Debug)]
pub(super) struct Content {
    /// `[words and buckets of n-grams, dims]`.
    pub(super) codes: View<i8>,
    /// The factor of each row: code times scale is the value in the source.
    pub(super) scales: View<f32>,
    /// All words in order, concatenated.
    pub(super) spellings: View<u8>,
    /// The end of each word in the spellings.
    pub(super) ends: View<u64>,
    /// The row of each word.
    pub(super) rows: View<u32>,
}

/// What is damaged, what was expected, what was found.
pub(super) type Damage = (String, String, String);

impl Content {
    /// The row of a word in exactly this form. Even in a damaged file the result is a valid row of this table.
    pub(super) fn find(&self, word: &str) -> Option<u32> {
        let (mut low, mut high) = (0, self.rows.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.word(middle)?.cmp(word.as_bytes()) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return self.rows.value(middle).filter(|&row| self.has_row(row)),
            }
        }
        None
    }

    /// Checks that words are in order and unique, and that each has its own row.
    pub(super) fn check(&self) -> Result<(), Damage> {
        let damage = |what: String, expected: &str, found: String| Err((what, expected.to_string(), found));
        let mut before: Option<&[u8]> = None;
        let mut taken = vec![false; self.scales.len()];
        for (at, &row) in self.rows.iter().enumerate() {
            let Some(word) = self.word(at) else {
                return damage(format!("the end of word {at}"), "inside the spellings", self.ends[at].to_string());
            };
            if before.is_some_and(|before| before >= word) {
                return damage(format!("word {at}"), "after the one before it", String::from_utf8_lossy(word).into());
            }
            before = Some(word);
            match taken.get_mut(row as usize) {
                Some(taken) if !*taken => *taken = true,
                _ => return damage(format!("the row of word {at}"), "a row of its own", row.to_string()),
            }
        }
        let covered = self.ends.last().copied().unwrap_or_default();
        if covered != self.spellings.len() as u64 {
            return damage("the end of the last word".into(), "the end of the spellings", covered.to_string());
        }
        match self.scales.iter().position(|scale| !(scale.is_finite() && *scale >= 0.0)) {
            Some(row) => damage(format!("the scale of row {row}"), "zero or more", self.scales[row].to_string()),
            None => Ok(()),
        }
    }

    /// A hash of all contents, and of how n-grams are found.
    pub(super) fn fingerprint(&self, grams: Option<&Grams>) -> [u8; 32] {
        let mut hash = blake3::Hasher::new();
        if let Some(grams) = grams {
            let mut facts = [0; FACTS];
            grams.write(&mut facts);
            feed(&mut hash, &facts, u64::to_le_bytes);
        }
        for length in [self.rows.len(), self.codes.len(), self.spellings.len()] {
            hash.update(&(length as u64).to_le_bytes());
        }
        feed(&mut hash, &self.codes, i8::to_le_bytes);
        feed(&mut hash, &self.scales, f32::to_le_bytes);
        hash.update(&self.spellings);
        feed(&mut hash, &self.ends, u64::to_le_bytes);
        feed(&mut hash, &self.rows, u32::to_le_bytes);
        *hash.finalize().as_bytes()
    }

    fn word(&self, at: usize) -> Option<&[u8]> {
        let start = if at == 0 { 0 } else { self.ends.value(at - 1)? };
        let end = self.ends.value(at)?;
        self.spellings.part(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    fn has_row(&self, row: u32) -> bool {
        (row as usize) < self.scales.len()
    }
}

/// Hashes numbers in pieces that are large enough for full speed and small enough for the CPU cache.
fn feed<T: Copy, const N: usize>(hash: &mut blake3::Hasher, values: &[T], bytes: fn(T) -> [u8; N]) {
    let mut buffer = Vec::new();
    for piece in values.chunks(1 << 14) {
        buffer.clear();
        buffer.extend(piece.iter().flat_map(|&value| bytes(value)));
        hash.update(&buffer);
    }
}
