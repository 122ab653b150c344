//! Bundles as one file, to share: `en.citree.tar.zst`. [`pack`] makes it, [`unpack`] makes a bundle of it again.
//!
//! The file is a tar archive compressed by Zstandard. Its first entry, `pack.json`, says where the bundle comes from and under which
//! licence, and lists every other file with its length and its BLAKE3 hash; the others follow in that order. `unpack` trusts nothing: what
//! is not in the list, or not as listed, is refused before a bundle appears.

mod frames;
mod manifest;
mod pack;
#[cfg(test)]
mod tests;
mod unpack;

pub use manifest::Origin;
pub use pack::{Packed, pack};
pub use unpack::{Unpacked, unpack};

use ring::digest::{Context, SHA256};
use std::io::{self, Read, Write};

/// The ending of the name of a packed bundle.
pub const ENDING: &str = ".tar.zst";

/// Takes the SHA-256 of what passes.
struct Hashed<T> {
    inner: T,
    hasher: Context,
    bytes: u64,
}

impl<T> Hashed<T> {
    fn new(inner: T) -> Self {
        Self { inner, hasher: Context::new(&SHA256), bytes: 0 }
    }

    fn pass(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// The hash in hexadecimal digits.
    fn digits(&self) -> String {
        self.hasher.clone().finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.pass(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.pass(&buffer[..count]);
        Ok(count)
    }
}

/// Takes the BLAKE3 hash of what is read, and keeps an error of reading apart from one of writing.
struct Checked<R> {
    inner: R,
    hasher: blake3::Hasher,
    bytes: u64,
    failed: Option<String>,
}

impl<R> Checked<R> {
    fn new(inner: R) -> Self {
        Self { inner, hasher: blake3::Hasher::new(), bytes: 0, failed: None }
    }

    /// Whether what was read is this file.
    fn is(&self, file: &manifest::File) -> bool {
        self.bytes == file.bytes && self.hasher.finalize().to_hex().as_str() == file.blake3
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer).inspect_err(|error| self.failed = Some(error.to_string()))?;
        self.hasher.update(&buffer[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
}
