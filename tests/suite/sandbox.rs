//! A folder to run citree in, with a tiny treebank and a tiny configuration.

use crate::trained;
use citree::treebank::{Sentence, starter, write_sentence};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A model that trains in a second: small layers, few epochs.
pub const TINY: &str = "rule = \"sum\"\nlstm_units = 12\nedge_dim = 16\nword_dim = 10\nchar_dim = 6\nchar_filters = 6\nepochs = 3\nmin_count = 1\n";

/// A temporary folder that is removed with its test.
pub struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    /// A folder with `train.conllu`, `dev.conllu` (from the starter treebank) and `tiny.toml`.
    pub fn new() -> Self {
        let sandbox = Self { folder: tempfile::tempdir().unwrap() };
        sandbox.write_treebank("train.conllu", &starter::train()[..60]);
        sandbox.write_treebank("dev.conllu", &starter::dev()[..20]);
        sandbox.write("tiny.toml", TINY);
        sandbox
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn write_treebank(&self, name: &str, sentences: &[Sentence]) {
        let mut bytes = Vec::new();
        sentences.iter().for_each(|sentence| write_sentence(&mut bytes, sentence).unwrap());
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// The command, ready for more options.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_citree"));
        command.current_dir(self.folder.path()).args(args).stdin(Stdio::null());
        command
    }

    /// Runs citree and waits.
    pub fn citree(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs citree with this text on standard input.
    pub fn citree_with_input(&self, args: &[&str], input: &str) -> Output {
        use std::io::Write;
        let mut child =
            self.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// The arguments that train the tiny model into a bundle.
    pub fn training<'a>(&self, bundle: &'a str) -> Vec<&'a str> {
        vec!["train", "--train", "train.conllu", "--dev", "dev.conllu", "--config", "tiny.toml", bundle]
    }

    /// A trained tiny bundle: a copy of the one that all tests with the same input share.
    pub fn trained(&self, bundle: &str) {
        self.trained_with(bundle, &[]);
    }

    /// The same, trained with more options.
    pub fn trained_with(&self, bundle: &str, options: &[&str]) {
        trained::copy(self, options, &self.path(bundle));
    }

    /// A bundle that is trained now and not shared, for tests of training itself.
    pub fn train_anew(&self, bundle: &str, options: &[&str]) {
        let output = self.citree(&[&self.training(bundle)[..], options].concat());
        assert_eq!(output.status.code(), Some(0), "{options:?}: {}", stderr(&output));
    }
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// All files of a bundle's model, by name.
pub fn model_files(bundle: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(bundle.join("model")).unwrap();
    let mut files: Vec<_> = entries
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}
