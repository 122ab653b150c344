//! Everything that can go wrong in the library, each with what was expected, what was found and what to do.

use std::path::{Path, PathBuf};

/// The result of every fallible call of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong; the message always says what to do about it where something can be done.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A treebank file breaks the CoNLL-U format, or a sentence of it is not a tree where one is needed.
    #[error("{}:{line}:{column}: {found}, but {expected}{}\n  {remedy}", file.display(), after_colon(sentence))]
    Treebank {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The column of the CoNLL-U line, 1 (ID) to 10 (MISC).
        column: usize,
        /// What is there.
        found: Box<str>,
        /// What should be there.
        expected: Box<str>,
        /// The sentence, the token at fault in brackets; empty where there is none.
        sentence: Box<str>,
        /// What to do.
        remedy: &'static str,
    },
    /// A text of word vectors cannot be made into a table.
    #[error("{}:{line}: {found}, but {expected}\n  {remedy}", file.display())]
    Vectors {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is there.
        found: Box<str>,
        /// What should be there.
        expected: Box<str>,
        /// What to do.
        remedy: &'static str,
    },
    /// A configuration has an unknown key or an impossible value.
    #[error("{}: {message}", path.display())]
    Config {
        /// The configuration file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A training set cannot be learnt from.
    #[error("cannot train: {message}")]
    Training {
        /// What is missing and what to do.
        message: String,
    },
    /// A bundle or checkpoint is missing, damaged, or of another make.
    #[error("{}: expected {expected}, found {found}; {remedy}", path.display())]
    Bundle {
        /// The file or folder.
        path: PathBuf,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// The index of training edges is missing, damaged, busy or of another make.
    #[error("{0}{command}", command = index_command(.0))]
    Index(citree_index::Error),
    /// The requested device is not available.
    #[error("device {device}: {message}")]
    Device {
        /// As the user wrote it.
        device: String,
        /// Why not, and what to do.
        message: String,
    },
    /// A name given for a treebank, its release or its files is not one.
    #[error("`{given}` is not {expected}")]
    TreebankName {
        /// What was given.
        given: String,
        /// What it should have been, with an example.
        expected: &'static str,
    },
    /// The start of a treebank's file names does not follow from its name.
    #[error(
        "{treebank}: no code is known for this language\n  \
         give what its file names start with, such as `--code en_ewt` for en_ewt-ud-train.conllu; \
         https://github.com/UniversalDependencies/{treebank} lists them"
    )]
    TreebankCode {
        /// The treebank.
        treebank: String,
    },
    /// A release of a treebank has none of its splits where they were looked for.
    #[error("{url} has none of {}\n  check the treebank, the release and the file names at {page}", files.join(", "))]
    TreebankMissing {
        /// The files looked for.
        files: Vec<String>,
        /// Where.
        url: String,
        /// The page where a person can look.
        page: String,
    },
    /// A file could not be downloaded.
    #[error(
        "cannot download {url}\n  {reason}\n  check the connection and try again, or get the file on another \
         machine and save it as {}; files already there are kept", path.display()
    )]
    Download {
        /// The file on the server.
        url: String,
        /// Where it would have gone.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// A sentence is longer than the parser takes.
    #[error("sentence {sentence} has {words} words, but at most {most} can be parsed; split it")]
    SentenceTooLong {
        /// Its `sent_id`.
        sentence: String,
        /// How many words it has.
        words: usize,
        /// How many it may have.
        most: usize,
    },
    /// A server could not be started.
    #[error("cannot serve: {message}")]
    Serve {
        /// What the system said.
        message: String,
    },
    /// Whoever watched asked to stop; what is finished is kept.
    #[error("stopped")]
    Stopped,
    /// What was asked about a parse makes no sense.
    #[error("{message}")]
    Explanation {
        /// What is wrong with it and what to do.
        message: String,
    },
    /// Two treebanks cannot be compared.
    #[error("cannot compare: {found}, but {expected}; {remedy}")]
    Evaluation {
        /// What is there.
        found: String,
        /// What should be there.
        expected: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Something could not be written as JSON: a bug, never the user's input.
    #[error("cannot write {what} as JSON: {message}")]
    Json {
        /// What was to be written.
        what: &'static str,
        /// What the serializer said.
        message: String,
    },
    /// A tensor operation failed: a bug or a lack of memory, never the user's input.
    #[error("tensor operation failed: {message}")]
    Tensor {
        /// What the tensor library said.
        message: String,
    },
}

impl Error {
    /// Wraps an I/O error with the path it happened on.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        move |source| Error::Io { path: path.to_path_buf(), source }
    }

    /// A file or folder of a bundle, or one that is to go into it, is not what it should be.
    pub(crate) fn unfit(path: &Path, expected: &str, found: &str, remedy: &str) -> Error {
        Error::Bundle {
            path: path.to_path_buf(),
            expected: expected.to_string(),
            found: found.to_string(),
            remedy: remedy.to_string(),
        }
    }
}

impl From<citree_index::Error> for Error {
    fn from(error: citree_index::Error) -> Self {
        Self::Index(error)
    }
}

/// The command that builds the index of the bundle, for errors that advise to build it.
fn index_command(error: &citree_index::Error) -> String {
    use citree_index::Error as Index;
    let path = match error {
        Index::Missing { path, .. }
        | Index::Foreign { path, .. }
        | Index::Version { path, .. }
        | Index::Length { path, .. }
        | Index::Damaged { path, .. }
        | Index::Model { path, .. } => path,
        _ => return String::new(),
    };
    let bundle = path.ancestors().find(|folder| folder.ends_with("index")).and_then(Path::parent);
    bundle.map_or_else(String::new, |bundle| {
        format!(" (`citree index {} --treebank TRAIN.conllu` builds it)", bundle.display())
    })
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_index_names_the_command_that_builds_it() {
        let missing = |path: &str| citree_index::Error::Missing { path: path.into(), remedy: "build one first" };
        assert_eq!(
            Error::from(missing("en.citree/index")).to_string(),
            "en.citree/index holds no index: build one first (`citree index en.citree --treebank TRAIN.conllu` builds it)"
        );
        assert_eq!(Error::from(missing("elsewhere")).to_string(), "elsewhere holds no index: build one first");
    }
}
