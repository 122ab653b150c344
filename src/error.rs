//! The errors of the library. Each carries what was expected, what was found and a remedy.

use std::path::{Path, PathBuf};

/// The result of every fallible call of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Every message includes a remedy if there is one.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
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
        /// What was found.
        found: Box<str>,
        /// What was expected.
        expected: Box<str>,
        /// The sentence with the token at fault in brackets; empty if there is none.
        sentence: Box<str>,
        /// The remedy.
        remedy: &'static str,
    },
    /// A plain text cannot be read.
    #[error("{}:{line}: {found}, but plain text is UTF-8\n  {remedy}", file.display())]
    Text {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What was found.
        found: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// A text of word vectors cannot be converted to a table.
    #[error("{}:{line}: {found}, but {expected}\n  {remedy}", file.display())]
    Vectors {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What was found.
        found: Box<str>,
        /// What was expected.
        expected: Box<str>,
        /// The remedy.
        remedy: &'static str,
    },
    /// A configuration has an unknown key or an invalid value.
    #[error("{}: {message}", path.display())]
    Config {
        /// The configuration file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The training set or the configuration does not allow training.
    #[error("cannot train: {message}")]
    Training {
        /// What is missing, and the remedy.
        message: String,
    },
    /// A bundle or checkpoint is missing, damaged, or written by an incompatible version.
    #[error("{}: expected {expected}, found {found}; {remedy}", path.display())]
    Bundle {
        /// The file or folder.
        path: PathBuf,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
        /// The remedy.
        remedy: String,
    },
    /// The index of training edges is missing, damaged, locked, or built with another model or version.
    #[error("{0}{command}", command = index_command(.0))]
    Index(citree_index::Error),
    /// The requested device is not available.
    #[error("device {device}: {message}")]
    Device {
        /// The name that the user gave.
        device: String,
        /// The reason, and the remedy.
        message: String,
    },
    /// The name of a treebank, a release or a file is invalid.
    #[error("`{given}` is not {expected}")]
    TreebankName {
        /// The given name.
        given: String,
        /// What was expected, with an example.
        expected: &'static str,
    },
    /// The name or revision of a model is invalid.
    #[error("`{given}` is not {expected}")]
    HubName {
        /// The given name.
        given: String,
        /// What was expected, with an example.
        expected: &'static str,
    },
    /// There is no such encoder on this machine.
    #[error("{}: no such folder, and no such model in the cache\n  {remedy}", given.display())]
    NoEncoder {
        /// What was named.
        given: PathBuf,
        /// What to do.
        remedy: String,
    },
    /// A hub has no such model, or one that cannot be an encoder.
    #[error("{model}: {reason}\n  {remedy}")]
    HubModel {
        /// The model.
        model: String,
        /// What is wrong with it.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The prefix of a treebank's file names cannot be derived from its name.
    #[error(
        "{treebank}: no code is known for this language\n  \
         give what its file names start with, such as `--code en_ewt` for en_ewt-ud-train.conllu; \
         https://github.com/UniversalDependencies/{treebank} lists them"
    )]
    TreebankCode {
        /// The treebank.
        treebank: String,
    },
    /// A release of a treebank has none of the expected files.
    #[error("{url} has none of {}\n  check the treebank, the release and the file names at {page}", files.join(", "))]
    TreebankMissing {
        /// The expected files.
        files: Vec<String>,
        /// The URL that was tried.
        url: String,
        /// A page where a person can look.
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
        /// The path of the downloaded file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A bundle cannot be packed, or an archive cannot be unpacked.
    #[error("{}: {reason}", path.display())]
    Archive {
        /// The archive, or the bundle.
        path: PathBuf,
        /// The reason, and the remedy.
        reason: String,
    },
    /// A pattern is written wrongly.
    #[error("pattern, line {line}, column {column}: {found}; {expected}\n  {shown}")]
    Pattern {
        /// The line of the pattern, from 1.
        line: usize,
        /// The character of the line, from 1.
        column: usize,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
        /// The line, with a mark below the place.
        shown: String,
    },
    /// A pattern leaves too much open.
    #[error(
        "the pattern has too many combinations in sentence {sentence} of {words} words; tie its words to each other by edges or by their order"
    )]
    PatternTooWide {
        /// The name of the sentence.
        sentence: String,
        /// The number of words in it.
        words: usize,
    },
    /// A sentence is longer than the parser supports.
    #[error("sentence {sentence} has {words} words, but at most {most} can be parsed; split it")]
    SentenceTooLong {
        /// Its `sent_id`.
        sentence: String,
        /// The number of words in it.
        words: usize,
        /// The largest supported number.
        most: usize,
    },
    /// A server could not be started.
    #[error("cannot serve: {message}")]
    Serve {
        /// The reason.
        message: String,
    },
    /// The caller requested a stop. Finished work is kept.
    #[error("stopped")]
    Stopped,
    /// A request about a parse or an explanation is invalid.
    #[error("{message}")]
    Explanation {
        /// What is wrong with it, and the remedy.
        message: String,
    },
    /// A change of the evidence is refused. Nothing was changed.
    #[error("the evidence is unchanged: {message}")]
    Evidence {
        /// The reason, and the remedy.
        message: String,
    },
    /// The evidence was changed by somebody else since the given generation. Nothing was changed.
    #[error(
        "the evidence is unchanged: generation {found} is current, not {expected}; see what changed since, and try again"
    )]
    Stale {
        /// The generation that the change was meant for.
        expected: u64,
        /// The generation that is current.
        found: u64,
    },
    /// Training edges cannot be exported as requested.
    #[error("cannot export: {message}")]
    Export {
        /// The reason, and the remedy.
        message: String,
    },
    /// An audit cannot be made, or its decisions cannot be used.
    #[error("{message}")]
    Audit {
        /// The reason, and the remedy.
        message: String,
    },
    /// Two treebanks cannot be compared.
    #[error("cannot compare: {found}, but {expected}; {remedy}")]
    Evaluation {
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// Serialisation to JSON failed: a bug, never caused by user input.
    #[error("cannot write {what} as JSON: {message}")]
    Json {
        /// What was being serialised.
        what: &'static str,
        /// The message of the serialiser.
        message: String,
    },
    /// A tensor operation failed: a bug or too little memory, never caused by user input.
    #[error("tensor operation failed: {message}")]
    Tensor {
        /// The message of the tensor library.
        message: String,
    },
}

impl Error {
    /// Wraps an I/O error with the path it happened on.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        move |source| Error::Io { path: path.to_path_buf(), source }
    }

    /// A file or folder of a bundle, or one to be copied into it, is not as expected.
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
        match error {
            citree_index::Error::Stopped => Self::Stopped,
            error => Self::Index(error),
        }
    }
}

/// The command that builds the index of the bundle, for errors whose remedy is to build it.
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
