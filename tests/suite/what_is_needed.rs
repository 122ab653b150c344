//! What some tests need from outside the repository. The table in `tests/README.md` lists the needs of each test. A test
//! without what it needs prints that it is skipped, and a test near the end counts them.

use crate::browser;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub const EWT: &str = "../shared/treebanks/en_ewt-2.7";
pub const IMST: &str = "../shared/treebanks/tr_imst-2.7";
pub const ROUNDTRIP: &str = "../shared/treebanks/roundtrip";
pub const BROWSER: &str = "chromium";
pub const UDTOOLS: &str = "udtools";
const BERT: &str = "CITREE_TEST_BERT";
const LARGE: [&str; 2] = ["CITREE_TEST_MPNET", "CITREE_TEST_ALBERT"];

/// Returns from the calling test if one of its needs is missing.
macro_rules! needs {
    ($($need:expr),+) => {{
        fn here() {}
        let test = std::any::type_name_of_val(&here).trim_end_matches("::here");
        let (_, test) = test.split_once("::").unwrap();
        if [$($need),+].into_iter().any(|need| crate::what_is_needed::is_missing(test, need)) {
            return;
        }
    }};
}
pub(crate) use needs;

/// Whether a test must be skipped. Panics if the need is required here, or if the table does not list the test.
pub fn is_missing(test: &str, need: &str) -> bool {
    let listed = table().contains(&(test.to_string(), need.to_string()));
    assert!(listed, "the table of tests/README.md does not say that `{test}` needs `{need}`");
    let missing = !is_here(need);
    if missing {
        assert!(!is_required(need), "{test} needs {need}, which is missing");
        say(&format!("skipped: {test} needs {need}"));
    }
    missing
}

/// The path of a need next to the repository, or below `CITREE_SHARED` if that is set.
pub fn beside(need: &str) -> PathBuf {
    match std::env::var_os("CITREE_SHARED") {
        Some(shared) => Path::new(&shared).join(need.trim_start_matches("../shared/")),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join(need),
    }
}

/// CI installs everything except what is next to the repository or large.
fn is_required(need: &str) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    is_set("CITREE_REQUIRE_ALL") || is_set("CI") && !need.starts_with("..") && !LARGE.contains(&need)
}

fn is_here(need: &str) -> bool {
    static PYTHON: OnceLock<bool> = OnceLock::new();
    let has_package = || {
        let output = Command::new("python3").args(["-c", "import udtools.udeval"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    match need {
        EWT | IMST | ROUNDTRIP => beside(need).is_dir(),
        BROWSER => browser::programs().is_some(),
        UDTOOLS => *PYTHON.get_or_init(has_package),
        need if need == BERT || LARGE.contains(&need) => std::env::var_os(need).is_some(),
        other => panic!("nobody knows how to find {other}"),
    }
}

/// The tests and their needs, as in the table.
fn table() -> BTreeSet<(String, String)> {
    let rows = include_str!("../README.md").lines().filter_map(|line| line.strip_prefix("| `"));
    let tests = rows.filter(|row| row.contains("::"));
    let mut table = BTreeSet::new();
    for row in tests {
        let (test, needs) = row.split_once("` | ").expect("a row has two columns");
        let needs = needs.split('`').skip(1).step_by(2);
        table.extend(needs.map(|need| (test.to_string(), need.to_string())));
    }
    table
}

/// Prints to standard error without a macro, because the test harness captures the macros.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Near the end in alphabetical order, so that its line is near the summary.
#[test]
fn tests_that_were_skipped_are_counted() {
    let table = table();
    let all: BTreeSet<&String> = table.iter().map(|(test, _)| test).collect();
    let missing: Vec<&(String, String)> = table.iter().filter(|(_, need)| !is_here(need)).collect();
    let skipped: BTreeSet<&String> = missing.iter().map(|(test, _)| test).collect();
    let needs: Vec<&str> = missing.iter().map(|(_, need)| need.as_str()).collect::<BTreeSet<_>>().into_iter().collect();
    say(&format!("{} skipped of {} tests that need more than the repository", skipped.len(), all.len()));
    if !needs.is_empty() {
        say(&format!("missing: {}", needs.join(", ")));
    }
    let required: Vec<&&str> = needs.iter().filter(|need| is_required(need)).collect();
    assert!(required.is_empty(), "required, but missing: {required:?}");
}

#[test]
fn the_readme_of_the_repository_names_the_same_needs() {
    let readme = include_str!("../../README.md");
    for (test, need) in table() {
        let file = test.rsplit_once("::").unwrap().0;
        let listed = readme.lines().any(|row| row.contains(&format!("`{file}`")) && row.contains(&format!("`{need}`")));
        assert!(listed, "no row of the README says that `{file}` needs `{need}`");
    }
}
