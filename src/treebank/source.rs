//! Where the text of a treebank comes from: a file or the standard input, plain or compressed by gzip.

use crate::error::{Error, Result};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

/// The first bytes of a file that gzip compressed.
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Opens a file; `-` is the standard input. What gzip compressed is unpacked as it is read, whatever its name.
pub(crate) fn open_text(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    let source: Box<dyn Read + Send> = match path == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path).map_err(Error::io(path))?),
    };
    unpacked(source).map_err(Error::io(path))
}

fn unpacked(mut source: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    const BUFFER: usize = 1 << 16;
    let mut start = [0; GZIP.len()];
    let mut length = 0;
    // A pipe can give one byte at a time. One that cannot be the first of a compressed file is not waited behind.
    while length < GZIP.len() && start[..length] == GZIP[..length] {
        match source.read(&mut start[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let whole = Cursor::new(start).take(length as u64).chain(source);
    let whole = BufReader::with_capacity(BUFFER, whole);
    Ok(match start[..length] == GZIP {
        true => Box::new(BufReader::with_capacity(BUFFER, Unpacked(MultiGzDecoder::new(whole)))),
        false => Box::new(whole),
    })
}

/// A decoder whose errors say what the file is. None of them passes for text that is not UTF-8, after which one can read on.
struct Unpacked<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
                io::Error::other(format!(
                    "the file is compressed by gzip, and damaged or truncated ({error}); get it again"
                ))
            }
            _ => error,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    /// Gives one byte at a time.
    struct Slow(Vec<u8>);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(buffer.len()).min(1);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0.drain(..count);
            Ok(count)
        }
    }

    fn packed(text: &str) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    }

    fn read(bytes: Vec<u8>) -> io::Result<String> {
        let mut text = String::new();
        unpacked(Slow(bytes))?.read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn plain_and_compressed_text_are_the_same_text() {
        for text in ["", "a", "1\tShe\n", "\u{1f}", "\u{1f}x"] {
            assert_eq!(read(text.as_bytes().to_vec()).unwrap(), text);
            assert_eq!(read(packed(text)).unwrap(), text);
        }
        assert_eq!(read([packed("one "), packed("text")].concat()).unwrap(), "one text");
    }

    #[test]
    fn a_truncated_or_damaged_file_is_an_error_wherever_it_ends() {
        let whole = packed("1\tShe\t_\n");
        for length in 2..whole.len() {
            let message = read(whole[..length].to_vec()).unwrap_err().to_string();
            assert!(message.contains("damaged or truncated"), "{message}");
        }
        let mut damaged = whole.clone();
        damaged[14] ^= 0x10;
        assert_eq!(read(damaged).unwrap_err().kind(), io::ErrorKind::Other);
    }
}
