//! Reads word vectors as published, one word per line: fastText's with a header "words dims", GloVe's without, plain or
//! gzipped. floret's rows of buckets are such lines, too.

use crate::error::{Error, Result};
use flate2::bufread::MultiGzDecoder;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The longest line, enough for 100,000 values. The limit stops reading early if the file is not text.
const LONGEST_LINE: u64 = 1 << 22;

/// The most bytes of a wrong value that a message shows.
const LONGEST_SHOWN: usize = 40;

const NOT_VECTORS: &str = "give vectors as text, fastText's .vec or GloVe's .txt, plain or gzipped, fastText's .bin or floret's .floret; unpack a .zip first";
const BAD_LINE: &str = "get the file again, or correct or delete the line";

/// A text of word vectors, read line by line.
pub(super) struct Text {
    path: PathBuf,
    from: Box<dyn BufRead>,
    read: Rc<Cell<u64>>,
    total: u64,
    line: Vec<u8>,
    number: u64,
    dims: usize,
    /// Whether `line` is not yet returned. The first line is read early to find the dims.
    pending: bool,
}

impl Text {
    /// Opens a text and reads enough to know the number of values per word.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io(path))?;
        let total = file.metadata().map_err(Error::io(path))?.len();
        let read = Rc::new(Cell::new(0));
        let mut from = Counted { from: file, read: read.clone() };
        let mut start = Vec::new();
        from.by_ref().take(GZIP.len() as u64).read_to_end(&mut start).map_err(Error::io(path))?;
        let zipped = start == GZIP;
        let whole = BufReader::with_capacity(1 << 18, Cursor::new(start).chain(from));
        let from: Box<dyn BufRead> = if zipped {
            Box::new(BufReader::with_capacity(1 << 18, MultiGzDecoder::new(whole)))
        } else {
            Box::new(whole)
        };
        let (line, path) = (Vec::new(), path.to_path_buf());
        let mut text = Self { path, from, read, total, line, number: 0, dims: 0, pending: true };
        text.read_dims()?;
        Ok(text)
    }

    /// The first line of the file, if no word was read yet.
    pub(super) fn first_line(&self) -> &[u8] {
        if self.number == 1 { &self.line } else { &[] }
    }

    /// Takes the first line for that of a `.floret`, after which rows of so many values follow.
    pub(super) fn begin_rows(&mut self, dims: u64) -> Result<()> {
        self.dims = usize::try_from(dims).unwrap_or(usize::MAX);
        self.pending = false;
        match self.dims {
            0 => Err(self.bad("no values".to_string(), "a row has at least one".to_string(), NOT_VECTORS)),
            _ => Ok(()),
        }
    }

    /// Number of values per word.
    pub(super) fn dims(&self) -> usize {
        self.dims
    }

    /// Bytes read, and the size of the file.
    pub(super) fn progress(&self) -> (u64, u64) {
        (self.read.get(), self.total)
    }

    /// The next word, with its values in `values`; `None` at the end. The word is as in the file and can be invalid
    /// UTF-8.
    pub(super) fn next(&mut self, values: &mut Vec<f32>) -> Result<Option<&[u8]>> {
        let first = std::mem::take(&mut self.pending);
        if !first && !self.advance()? {
            return Ok(None);
        }
        let remedy = if first { NOT_VECTORS } else { BAD_LINE };
        // Counts values from the end, because a word can contain spaces.
        let spaces = self.line.iter().enumerate().rev().filter(|(_, byte)| **byte == b' ');
        let Some((space, _)) = spaces.clone().nth(self.dims - 1) else {
            let found = format!("the line has {} values", spaces.count());
            let expected = format!("by the first line of the file a word has {}", self.dims);
            return Err(self.bad(found, expected, remedy));
        };
        values.clear();
        for field in self.line[space + 1..].split(|byte| *byte == b' ') {
            let value = std::str::from_utf8(field).ok().and_then(|field| field.parse().ok());
            let Some(value) = value.filter(|value: &f32| value.is_finite()) else {
                let shown = field[..field.len().min(LONGEST_SHOWN)].escape_ascii();
                let found = format!("value {} is `{shown}`", values.len() + 1);
                return Err(self.bad(found, "every value is a finite number".to_string(), remedy));
            };
            values.push(value);
        }
        Ok(Some(&self.line[..space]))
    }

    /// An error about the current line.
    pub(super) fn bad(&self, found: String, expected: String, remedy: &'static str) -> Error {
        let (file, found, expected) = (self.path.clone(), found.into(), expected.into());
        Error::Vectors { file, line: self.number, found, expected, remedy }
    }

    fn read_dims(&mut self) -> Result<()> {
        if !self.advance()? {
            return Err(self.empty());
        }
        let header = header(&self.line);
        // A file of only this line has one word with one value.
        if let Some(dims) = header
            && self.has_more()?
        {
            self.dims = dims;
            self.advance()?;
        } else {
            self.dims = self.line.iter().filter(|byte| **byte == b' ').count();
        }
        if self.dims == 0 {
            return Err(self.bad("no values".to_string(), "a word has at least one".to_string(), NOT_VECTORS));
        }
        Ok(())
    }

    /// The error for a text without vectors.
    pub(super) fn empty(&self) -> Error {
        self.bad("no word vectors".to_string(), "there is a line for each word".to_string(), NOT_VECTORS)
    }

    /// Reads the next line without its line end; `false` at the end of the file.
    fn advance(&mut self) -> Result<bool> {
        self.line.clear();
        self.number += 1;
        let read = self.from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.line);
        let length = read.map_err(|error| self.unreadable(error))? as u64;
        if self.line.pop_if(|byte| *byte == b'\n').is_none() && length == LONGEST_LINE {
            let found = format!("the line has more than {LONGEST_LINE} bytes");
            return Err(self.bad(found, "it holds one word and its values".to_string(), NOT_VECTORS));
        }
        self.line.pop_if(|byte| *byte == b'\r');
        // fastText ends every line with a space.
        self.line.pop_if(|byte| *byte == b' ');
        Ok(length > 0)
    }

    fn has_more(&mut self) -> Result<bool> {
        match self.from.fill_buf() {
            Ok(bytes) => Ok(!bytes.is_empty()),
            Err(error) => Err(self.unreadable(error)),
        }
    }

    /// Reports a decoder's complaint as a bad file, and any other error as an I/O error.
    fn unreadable(&self, source: io::Error) -> Error {
        match source.kind() {
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => {
                let expected = "it is gzipped and must be whole".to_string();
                self.bad(format!("the file cannot be unpacked ({source})"), expected, "get the file again")
            }
            _ => Error::Io { path: self.path.clone(), source },
        }
    }
}

/// The dims in fastText's header: a line of exactly two whole numbers.
fn header(line: &[u8]) -> Option<usize> {
    let (words, dims) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    words.parse::<u64>().ok()?;
    dims.parse().ok()
}

/// Counts the bytes read from the file, for progress reports. The decoder's output does not show how much is left.
struct Counted<R> {
    from: R,
    read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(buffer)?;
        self.read.set(self.read.get() + length as u64);
        Ok(length)
    }
}
