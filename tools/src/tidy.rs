//! The house rules that rustfmt and clippy do not check, applied to every file that git tracks or would track.

mod docs;
mod order;
mod python;
mod rust;
mod source;
mod text;

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};

/// The modules of `src` in data-flow order: each may use those before it, never those after it.
const DATA_FLOW: &[&str] = &[
    "error",
    "files",
    "flow",
    "random",
    "softmax",
    "task",
    "rule",
    "config",
    "device",
    "hub",
    "treebank",
    "find",
    "evaluate",
    "fetch",
    "ops",
    "encoder",
    "edge",
    "support",
    "score",
    "model",
    "evidence",
    "export",
    "bundle",
    "archive",
    "parse",
    "calibrate",
    "train",
    "explain",
    "audit",
    "lab",
    "serve",
    "cli",
    "internals",
];

/// Files that may contain `unsafe`, each with a `// SAFETY:` comment above it.
const UNSAFE_ALLOWED: &[&str] = &[
    "src/ops/gemm.rs",
    "src/serve/priority.rs",
    "index/src/container/map.rs",
    "index/src/container/truncation.rs",
    "index/src/simd.rs",
];

/// Crates of the command line, and the places of the root crate that may use them.
const COMMAND_LINE_CRATES: &[&str] = &["anyhow", "clap", "indicatif"];
const COMMAND_LINE: &[&str] = &["src/cli/", "src/cli.rs", "src/main.rs"];

/// Places that may use printing macros. Test modules may use them anywhere.
const MAY_PRINT: &[&str] =
    &["build.rs", "examples/", "src/cli/", "src/cli.rs", "src/main.rs", "tools/", "tests/", "index/examples/"];

/// The most lines in a file.
const MOST_LINES: usize = 400;

/// Top-level folders of single machines. Paths below them do not exist elsewhere.
const MACHINE_FOLDERS: &[&str] = &["work", "home", "root"];

/// Checks the repository and lists violations on standard output. Fails if there are any.
pub fn run(repository: &Path) -> anyhow::Result<ExitCode> {
    let files = read_files(repository)?;
    let violations = check(&files);
    let mut out = std::io::stdout().lock();
    for violation in &violations {
        writeln!(out, "{}:{}: {}", violation.path, violation.line, violation.message)?;
    }
    writeln!(std::io::stderr(), "tidy: {} files, {} violations", files.len(), violations.len())?;
    Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A text file of the repository. Its path is relative to the root, with forward slashes.
struct File {
    path: String,
    text: String,
}

/// A violation of a rule, with its place. Lines count from 1.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    path: String,
    line: usize,
    message: String,
}

impl Violation {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Violation { path: path.to_owned(), line, message: message.into() }
    }
}

fn check(files: &[File]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files {
        text::check(file, &mut violations);
        python::check(file, &mut violations);
        if file.path.ends_with(".rs") {
            let source = source::Source::new(&file.path, &file.text);
            rust::check(&source, UNSAFE_ALLOWED, &mut violations);
            order::check(&source, DATA_FLOW, &mut violations);
        }
    }
    docs::check(files, &mut violations);
    violations.sort();
    violations
}

/// Whether `path` is one of `places`: a file, or a path inside a folder (written with a trailing slash).
fn is_in(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| if place.ends_with('/') { path.starts_with(place) } else { path == *place })
}

fn read_files(repository: &Path) -> anyhow::Result<Vec<File>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(repository);
    let listing = git.output().context("tidy asks git for the files, but git does not run")?;
    ensure!(listing.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listing.stderr).trim());
    let listing = String::from_utf8(listing.stdout).context("a file name is not UTF-8")?;
    let mut paths: Vec<&str> = listing.split_terminator('\0').collect();
    paths.sort_unstable();
    paths.dedup();
    let mut files = Vec::new();
    for path in paths {
        let full = repository.join(path);
        // Skips symbolic links, and tracked files that are deleted.
        if !full.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let bytes = std::fs::read(&full).with_context(|| path.to_owned())?;
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => files.push(File { path: path.to_owned(), text }),
            _ => {} // binary
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rules_run_and_violations_are_sorted_by_file_and_line() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("src/parse/greedy.rs", "use crate::cli::Args; \nfn f() { todo!() }\n"),
            file("docs/orphan.md", "# Alone\n"),
        ];
        let found: Vec<(String, usize)> = check(&files).into_iter().map(|found| (found.path, found.line)).collect();
        let expected = [
            ("CHANGELOG.md", 1),
            ("docs/orphan.md", 1),
            ("src/parse/greedy.rs", 1),
            ("src/parse/greedy.rs", 1),
            ("src/parse/greedy.rs", 1),
            ("src/parse/greedy.rs", 2),
        ];
        assert_eq!(found, expected.map(|(path, line)| (path.to_owned(), line)));
    }

    #[test]
    fn a_place_is_a_file_or_everything_in_a_folder() {
        assert!(is_in("src/cli/fetch.rs", COMMAND_LINE) && is_in("src/main.rs", COMMAND_LINE));
        assert!(!is_in("src/client.rs", COMMAND_LINE) && !is_in("index/src/main.rs", COMMAND_LINE));
    }
}
