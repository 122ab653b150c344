//! Compares normalised outputs with their golden files, and writes the files on request.

use crate::sandbox::{Sandbox, stderr, stdout};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A folder of golden files, and the differences found in it.
pub struct Goldens<'a> {
    folder: PathBuf,
    width: &'static str,
    sandbox: &'a Sandbox,
    checked: BTreeSet<String>,
    differences: String,
}

impl<'a> Goldens<'a> {
    /// The files of one group.
    pub fn new(group: &str, sandbox: &'a Sandbox) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(group);
        // Wide, so that line breaks do not depend on the digits of a number.
        let width = if group == "help" { "100" } else { "400" };
        Self { folder, width, sandbox, checked: BTreeSet::new(), differences: String::new() }
    }

    /// Runs citree and compares its whole output with the file of that name.
    pub fn check(&mut self, name: &str, arguments: &[&str]) {
        let mut command = self.sandbox.command(arguments);
        let output = command.env("COLUMNS", self.width).env("NO_COLOR", "1").output().unwrap();
        let mut written = stdout(&output);
        if !output.stderr.is_empty() {
            written += &format!("[stderr]\n{}", stderr(&output));
        }
        let written = written.replace(&self.sandbox.path("").display().to_string(), "FOLDER/");
        let mut found = format!("$ citree {}\n{}", arguments.join(" "), normalised(&written));
        if !output.status.success() {
            found += &format!("[exit code {}]\n", output.status.code().unwrap());
        }
        let path = self.folder.join(format!("{name}.txt"));
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(self.checked.insert(format!("{name}.txt")), "{name} is checked twice");
        if kept != found && blessed() {
            std::fs::create_dir_all(&self.folder).unwrap();
            std::fs::write(&path, &found).unwrap();
        } else if kept != found {
            self.differences += &format!("\n{}\n{}", path.display(), diff(&kept, &found));
        }
    }

    /// Fails if there are differences, or files that no output was compared with.
    pub fn finish(self) {
        for entry in std::fs::read_dir(&self.folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if !self.checked.contains(&name) {
                match blessed() {
                    true => std::fs::remove_file(entry.path()).unwrap(),
                    false => panic!("{}: nothing writes this any more", entry.path().display()),
                }
            }
        }
        let differences = &self.differences;
        let remedy = "look at them; if they are meant, run `CITREE_BLESS=1 cargo test --test suite golden`";
        assert!(differences.is_empty(), "outputs changed; {remedy}\n{differences}");
    }
}

fn blessed() -> bool {
    std::env::var_os("CITREE_BLESS").is_some_and(|value| !value.is_empty())
}

/// Numbers become `N` and hashes `HASH`; the padding of a number is one space, and no line ends in spaces.
fn normalised(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let start = out.len();
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let after_word = out[start..].ends_with(|c: char| c.is_ascii_alphanumeric());
            let hash = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
            if hash >= 16 && !after_word {
                out.push_str("HASH");
                rest = &rest[hash..];
            } else if first.is_ascii_digit() {
                let sign = out[start..].chars().next_back().filter(|c| "+-−".contains(*c));
                let before = out.len() - sign.map_or(0, char::len_utf8);
                let kept = out[..before].trim_end_matches(' ').len();
                if kept > start && kept < before {
                    out.replace_range(kept..before, " ");
                }
                out.push('N');
                rest = &rest[number(rest)..];
            } else {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        out.truncate(start.max(out.trim_end_matches(' ').len()));
        out.push('\n');
    }
    out
}

/// Bytes of the number that a text begins with: digits, with points or commas between them.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    while digit(end) || matches!(bytes.get(end), Some(b'.' | b',')) && digit(end + 1) {
        end += 1;
    }
    end
}

/// The lines that differ, with two lines around them.
fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // The length of the longest common subsequence after each pair of places.
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for (a, b) in (0..old.len()).rev().flat_map(|a| (0..new.len()).rev().map(move |b| (a, b))) {
        common[a][b] = if old[a] == new[b] { common[a + 1][b + 1] + 1 } else { common[a + 1][b].max(common[a][b + 1]) };
    }
    let (mut a, mut b) = (0, 0);
    let mut lines = Vec::new();
    while a < old.len() || b < new.len() {
        if a < old.len() && b < new.len() && old[a] == new[b] {
            lines.push((' ', old[a]));
            (a, b) = (a + 1, b + 1);
        } else if b == new.len() || a < old.len() && common[a + 1][b] >= common[a][b + 1] {
            lines.push(('-', old[a]));
            a += 1;
        } else {
            lines.push(('+', new[b]));
            b += 1;
        }
    }
    let near = |at: usize| lines[at.saturating_sub(2)..(at + 3).min(lines.len())].iter().any(|(sign, _)| *sign != ' ');
    (0..lines.len()).filter(|&at| near(at)).map(|at| format!("  {} {}\n", lines[at].0, lines[at].1)).collect()
}

#[test]
fn numbers_and_hashes_are_replaced_and_words_are_kept() {
    let text = "  12  a  0.25   -3,456.7 %\nkitchen-0012 gen-000001 0123456789abcdef0 x16 \n";
    assert_eq!(normalised(text), "  N  a N -N %\nkitchen-N gen-N HASH xN\n");
}

#[test]
fn a_difference_shows_the_lines_that_changed_and_those_around_them() {
    let old = "1\n2\n3\n4\n5\n6\n7\n";
    assert_eq!(diff(old, &old.replace('5', "five")), "    3\n    4\n  - 5\n  + five\n    6\n    7\n");
    assert_eq!(diff(old, old), "");
}
