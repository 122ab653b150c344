//! Reads fastText's `.bin`: the vectors of words, and those of the n-grams of which fastText makes other words.
//!
//! The layout is that of fastText's `FastText::loadModel`, version 12: numbers of the model, the dictionary, the matrix of
//! words and buckets. What follows is not read.

use super::grams::{Grams, Hash, LONGEST};
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The first bytes of a `.bin`.
pub(super) const MAGIC: [u8; 4] = 793_712_314_i32.to_le_bytes();

/// The longest word.
const LONGEST_WORD: u64 = 1 << 16;
const REMEDY: &str = "get the file again, or give the .vec of the same vectors";

/// A `.bin`, opened and ready for its matrix to be read.
pub(super) struct Binary {
    path: PathBuf,
    from: BufReader<File>,
    /// The words in the order of their rows.
    pub(super) words: Vec<Box<[u8]>>,
    pub(super) dims: usize,
    /// `None` if it has no n-grams.
    pub(super) grams: Option<Grams>,
    /// Where the matrix begins.
    matrix: u64,
}

impl Binary {
    /// Whether a file begins as a `.bin` does.
    pub(super) fn is_one(path: &Path) -> Result<bool> {
        let mut start = Vec::new();
        File::open(path).and_then(|file| file.take(4).read_to_end(&mut start)).map_err(Error::io(path))?;
        Ok(start == MAGIC)
    }

    /// Reads everything before the matrix, and compares the sizes with the length of the file.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io(path))?;
        let length = file.metadata().map_err(Error::io(path))?.len();
        let mut binary = Self {
            path: path.to_path_buf(),
            from: BufReader::with_capacity(1 << 18, file),
            words: Vec::new(),
            dims: 0,
            grams: None,
            matrix: 0,
        };
        let [_, version, dims, _, _, _, _, _, _, _, buckets, shortest, longest, _] = binary.numbers()?;
        if version != 12 {
            return Err(binary.bad(format!("version {version}"), "version 12"));
        }
        binary.skip(8)?; // A threshold of training.
        let [_, words, labels] = binary.numbers()?;
        binary.skip(8)?; // How many words it was trained on.
        let pruned = i64::from_le_bytes(binary.bytes()?);
        if pruned > 0 {
            return Err(binary.bad("a pruned dictionary".to_string(), "all n-grams"));
        }
        let size = |number: i32, what: &str| {
            u64::try_from(number).map_err(|_| binary.bad(format!("{number} {what}"), "a number that is not negative"))
        };
        let (words, dims, buckets) = (size(words, "words")?, size(dims, "values")?, size(buckets, "buckets")?);
        let (shortest, longest) = (size(shortest, "characters")?, size(longest, "characters")?);
        if longest > LONGEST || words + buckets >= u64::from(u32::MAX) {
            return Err(binary.bad(format!("n-grams of {longest} characters, {words} words"), "fewer"));
        }
        let has_grams = buckets > 0 && longest > 0 && shortest <= longest;
        let grams = Grams { buckets, lengths: [shortest.max(1), longest], hash: Hash::FastText };
        for _ in 0..words {
            let word = binary.word()?;
            binary.words.push(word);
        }
        // The labels of a classifier have no rows.
        for _ in 0..labels.max(0) {
            binary.word()?;
        }
        binary.find_matrix(words + buckets, dims, length)?;
        binary.grams = has_grams.then_some(grams);
        binary.dims = dims as usize;
        Ok(binary)
    }

    /// Calls `row` with the rows of the buckets, in order.
    pub(super) fn buckets(&mut self, row: impl FnMut(&[f32]) -> Result<()>) -> Result<()> {
        let count = self.grams.map_or(0, |grams| grams.buckets);
        self.rows(self.words.len() as u64, count, row)
    }

    /// Calls `row` with the rows of all words, in order.
    pub(super) fn words(&mut self, mut row: impl FnMut(&[u8], &[f32]) -> Result<()>) -> Result<()> {
        let words = std::mem::take(&mut self.words);
        let mut next = words.iter();
        self.rows(0, words.len() as u64, |values| next.next().map_or(Ok(()), |word| row(word, values)))
    }

    fn rows(&mut self, first: u64, count: u64, mut row: impl FnMut(&[f32]) -> Result<()>) -> Result<()> {
        let bytes = self.dims as u64 * 4;
        let start = SeekFrom::Start(self.matrix + first * bytes);
        self.from.seek(start).map_err(Error::io(&self.path))?;
        let (mut buffer, mut values) = (vec![0; self.dims * 4], vec![0.0; self.dims]);
        for at in first..first + count {
            self.from.read_exact(&mut buffer).map_err(Error::io(&self.path))?;
            for (value, bytes) in values.iter_mut().zip(buffer.as_chunks::<4>().0) {
                *value = f32::from_le_bytes(*bytes);
            }
            if !values.iter().all(|value| value.is_finite()) {
                return Err(self.bad(format!("row {at} has a value that is not a number"), "finite numbers"));
            }
            row(&values)?;
        }
        Ok(())
    }

    /// Reads the head of the matrix, which follows the dictionary.
    fn find_matrix(&mut self, rows: u64, dims: u64, length: u64) -> Result<()> {
        let [quantised]: [u8; 1] = self.bytes()?;
        if quantised != 0 {
            return Err(self.bad("compressed vectors (.ftz)".to_string(), "numbers of 32 bits"));
        }
        let found = [self.bytes()?, self.bytes()?].map(u64::from_le_bytes);
        self.matrix = self.from.stream_position().map_err(Error::io(&self.path))?;
        let needed = rows.checked_mul(dims).and_then(|values| values.checked_mul(4)?.checked_add(self.matrix));
        if dims == 0 || found != [rows, dims] || needed.is_none_or(|needed| needed > length) {
            let found = format!("{} rows of {} values in {length} bytes", found[0], found[1]);
            return Err(self.bad(found, &format!("{rows} rows of {dims} values")));
        }
        Ok(())
    }

    /// An entry of the dictionary: a word, how often it occurred, and whether it is a label.
    fn word(&mut self) -> Result<Box<[u8]>> {
        let mut word = Vec::new();
        let read = self.from.by_ref().take(LONGEST_WORD).read_until(0, &mut word);
        read.map_err(Error::io(&self.path))?;
        if word.pop() != Some(0) {
            return Err(self.bad("a word without an end".to_string(), "words that end with a zero"));
        }
        self.skip(9)?;
        Ok(word.into())
    }

    fn numbers<const N: usize>(&mut self) -> Result<[i32; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = i32::from_le_bytes(self.bytes()?);
        }
        Ok(numbers)
    }

    fn skip(&mut self, bytes: u64) -> Result<()> {
        let read = io::copy(&mut self.from.by_ref().take(bytes), &mut io::sink()).map_err(Error::io(&self.path))?;
        if read == bytes { Ok(()) } else { Err(self.bad("an end too soon".to_string(), "more bytes")) }
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        match self.from.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.bad("an end too soon".to_string(), "more bytes"))
            }
            Err(error) => Err(Error::io(&self.path)(error)),
        }
    }

    /// The error for a file without rows.
    pub(super) fn empty(&self) -> Error {
        self.bad("no word vectors".to_string(), "at least one")
    }

    /// An error about the file.
    fn bad(&self, found: String, expected: &str) -> Error {
        Error::unfit(&self.path, &format!("a fastText model with {expected}"), &found, REMEDY)
    }
}
