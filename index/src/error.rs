//! Everything that can go wrong with an index, each with what was expected, what was found and what to do.

use std::{io, path::PathBuf};

/// What went wrong, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as a verb.
        action: &'static str,
        /// The system's own words.
        source: io::Error,
    },
    /// There is no index in this folder.
    #[error("{path} holds no index: {remedy}", path = path.display())]
    Missing {
        /// The folder of the index.
        path: PathBuf,
        /// What to do.
        remedy: &'static str,
    },
    /// Another process is building here.
    #[error("{path} is being built by another process: {remedy}", path = path.display())]
    Busy {
        /// The folder of the index.
        path: PathBuf,
        /// What to do.
        remedy: &'static str,
    },
    /// The file is something else.
    #[error("{path} is not an index file: it begins with {found:02x?}, not with {expected:02x?}; {remedy}", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The first bytes of every index file.
        expected: [u8; 8],
        /// The first bytes of this one.
        found: Vec<u8>,
        /// What to do.
        remedy: &'static str,
    },
    /// The file is of another version of the format.
    #[error("{path} has format version {found}, this program reads version {expected}: {remedy}", path = path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version that this program reads.
        expected: u32,
        /// The version of the file.
        found: u32,
        /// The possible ways out.
        remedy: &'static str,
    },
    /// The file is shorter or longer than it was when it was written.
    #[error("{path} has {found} bytes where its header says {expected}: {remedy}", path = path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes it should have.
        expected: u64,
        /// Bytes it has.
        found: u64,
        /// What to do.
        remedy: &'static str,
    },
    /// The content of the file contradicts itself.
    #[error("{path} is damaged: {what} is {found}, not {expected}; {remedy}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which part.
        what: String,
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The index was made with another model.
    #[error("{path} was built with model {found}, not with {expected}: {remedy}", path = path.display())]
    Model {
        /// The folder of the index.
        path: PathBuf,
        /// Fingerprint of the model in use, in hexadecimal.
        expected: String,
        /// Fingerprint in the index, in hexadecimal.
        found: String,
        /// What to do.
        remedy: &'static str,
    },
    /// What the caller gave does not fit the index.
    #[error("{what} is {found}, expected {expected}")]
    Input {
        /// Which argument.
        what: &'static str,
        /// What would have been right.
        expected: String,
        /// What was given.
        found: String,
    },
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

pub(crate) const REBUILD: &str = "build the index again, or restore it from a copy";

impl Error {
    pub(crate) fn input(what: &'static str, expected: impl ToString, found: impl ToString) -> Self {
        Self::Input { what, expected: expected.to_string(), found: found.to_string() }
    }
}

/// Turns an [`io::Error`] into ours by saying what was done to which path.
pub(crate) trait IoContext<T> {
    fn at(self, action: &'static str, path: &std::path::Path) -> Result<T>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &std::path::Path) -> Result<T> {
        self.map_err(|source| Error::Io { path: path.to_owned(), action, source })
    }
}
