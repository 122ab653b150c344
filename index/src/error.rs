//! The error type of the crate. Each error says what was expected, what was found and what to do.

use std::{io, path::PathBuf};

use crate::container::Remedies;

/// What went wrong, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The attempted action, a verb.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The folder holds no index.
    #[error("{path} holds no index: {remedy}", path = path.display())]
    Missing {
        /// The folder of the index.
        path: PathBuf,
        /// What to do.
        remedy: &'static str,
    },
    /// Another build or change is running in the folder.
    #[error("{path} is being built or changed by another process: {remedy}", path = path.display())]
    Busy {
        /// The folder of the index.
        path: PathBuf,
        /// What to do.
        remedy: &'static str,
    },
    /// There is no change that could be undone.
    #[error("{path} has no change to undo: {remedy}", path = path.display())]
    NothingToUndo {
        /// The folder of the index.
        path: PathBuf,
        /// What to do.
        remedy: &'static str,
    },
    /// The file has another format.
    #[error("{path} is not a file of this format: it begins with {found:02x?}, not with {expected:02x?}; {remedy}", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The first bytes of every file of this format.
        expected: [u8; 8],
        /// The first bytes of this one.
        found: Vec<u8>,
        /// What to do.
        remedy: &'static str,
    },
    /// The file has another version of the format.
    #[error("{path} has format version {found}, this program reads version {expected}: {remedy}", path = path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version that this program reads.
        expected: u32,
        /// The version of the file.
        found: u32,
        /// What to do.
        remedy: &'static str,
    },
    /// The length of the file is not the one in its header.
    #[error("{path} has {found} bytes where its header says {expected}: {remedy}", path = path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// The length in the header, in bytes.
        expected: u64,
        /// The length of the file, in bytes.
        found: u64,
        /// What to do.
        remedy: &'static str,
    },
    /// The content of the file is inconsistent.
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
    /// The rows of the index come from another model.
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
    /// The caller asked to stop.
    #[error("stopped; the index is as it was before")]
    Stopped,
    /// An argument does not fit the index or the file.
    #[error("{what} is {found}, expected {expected}")]
    Input {
        /// Which argument.
        what: &'static str,
        /// What is valid.
        expected: String,
        /// What was given.
        found: String,
    },
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// The advice of errors about the files of an index.
pub(crate) const REMEDIES: Remedies = Remedies {
    damage: "build the index again, or restore it from a copy",
    version: "build the index again with this program, or use the program that built it",
};

impl Error {
    pub(crate) fn input(what: &'static str, expected: impl ToString, found: impl ToString) -> Self {
        Self::Input { what, expected: expected.to_string(), found: found.to_string() }
    }
}

/// Adds the action and the path to an [`io::Error`].
pub(crate) trait IoContext<T> {
    fn at(self, action: &'static str, path: &std::path::Path) -> Result<T>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &std::path::Path) -> Result<T> {
        self.map_err(|source| Error::Io { path: path.to_owned(), action, source })
    }
}
